// Files: chosen or dropped on the page, sent to be translated, and offered to be saved.
"use strict";

const FETCHED = 30; // minutes that the server keeps a file for

let sending = Promise.resolve(); // until all files have come back
let failed = []; // of those that were sent since then
let waiting = 0; // batches of files

// Translate files after those before, all of them between the languages that are chosen now.
function send(files) {
  if (!settings.filesTranslation || several()) return say("Files are not translated here.");
  one("files").open = true;
  const wish = { ...pair(), glossary: JSON.stringify(glossary()) };
  if (!waiting) failed = [];
  waiting += 1;
  sending = sending.then(() => sendAll(files, wish));
}

async function sendAll(files, wish) {
  let done = 0;
  for (const file of files) {
    one("sent").textContent = [...failed, `Translating ${file.name} …`].join("\n");
    try {
      await sent(file, wish);
      done += 1;
    } catch (error) {
      failed.push(`${file.name}: ${error.message}`);
    }
  }
  waiting -= 1;
  const told = done ? [`Translated; it can be saved for ${FETCHED} minutes.`] : [];
  one("sent").textContent = [...failed, ...told].join("\n");
  if (done && [document.body, one("file")].includes(document.activeElement)) one("done").querySelector("a").focus();
}

// Send a file, and offer what comes back.
async function sent(file, wish) {
  const form = new FormData();
  for (const [name, value] of Object.entries({ ...wish, file })) form.append(name, value);
  const { translatedFileUrl } = await (await answered("translate_file", { body: form })).json();
  const ending = file.name.slice(file.name.lastIndexOf("."));
  const name = `${file.name.slice(0, -ending.length)}_${wish.target}${ending}`;
  const link = element("a", name, { href: `download_file/${translatedFileUrl.split("/").pop()}`, download: name });
  const item = element("li");
  item.append(link);
  one("done").prepend(item);
}

function offer() {
  one("file").accept = settings.supportedFilesFormat.join(",");
  one("formats").textContent = settings.supportedFilesFormat.join(" ");
}

one("file").addEventListener("change", () => {
  const files = [...one("file").files];
  one("file").value = "";
  if (files.length) send(files);
});
document.addEventListener("dragover", (event) => { if (event.dataTransfer.types.includes("Files")) event.preventDefault(); });
document.addEventListener("drop", (event) => {
  if (!event.dataTransfer.files.length) return;
  event.preventDefault();
  send([...event.dataTransfer.files]);
});
started.then(offer, () => {}); // what failed is said above
