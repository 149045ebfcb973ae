// Files: chosen or dropped on the page, sent to be translated, and offered to be saved.
"use strict";

const FETCHED = 30; // minutes that the server keeps a file for

async function send(file) {
  if (!file || !settings.filesTranslation || several()) return;
  one("files").open = true;
  one("sent").textContent = `Translating ${file.name} …`;
  const form = new FormData();
  for (const [name, value] of Object.entries({ file, ...pair() })) form.append(name, value);
  try {
    const { translatedFileUrl } = await (await answered("translate_file", { body: form })).json();
    const ending = file.name.slice(file.name.lastIndexOf("."));
    const name = `${file.name.slice(0, -ending.length)}_${pair().target}${ending}`;
    const link = element("a", name, { href: `download_file/${translatedFileUrl.split("/").pop()}`, download: name });
    const item = element("li");
    item.append(link);
    one("done").prepend(item);
    one("sent").textContent = `Translated; it can be saved for ${FETCHED} minutes.`;
    link.focus();
  } catch (error) {
    one("sent").textContent = error.message;
  }
}

function offer() {
  one("file").accept = settings.supportedFilesFormat.join(",");
  one("formats").textContent = settings.supportedFilesFormat.join(" ");
}

one("file").addEventListener("change", () => { send(one("file").files[0]); one("file").value = ""; });
document.addEventListener("dragover", (event) => { if (event.dataTransfer.types.includes("Files")) event.preventDefault(); });
document.addEventListener("drop", (event) => {
  if (!event.dataTransfer.files.length) return;
  event.preventDefault();
  send(event.dataTransfer.files[0]);
});
started.then(offer);
