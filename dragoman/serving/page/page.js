// The page of `dragoman serve`: text in, translation out as it is made.
"use strict";

const AUTO = "auto"; // the source whose language is detected
const GONE = "The server does not answer. It may have been stopped, or this computer is not connected. Try again.";
const BROKEN = "The connection ended before everything was translated. Try again.";
const COPIED = "Copied.", TO_COPY = "Press Ctrl+C to copy.";

const UNSURE = 0.5; // probability of a word below which it is underlined
const PAST = 20; // texts in the history
const one = (id) => document.getElementById(id);

let languages = [];
let settings = {};
let together = []; // {sources, target} of each run that reads several texts
let sentences = []; // of the translation that is shown
let chosen = null; // {sentence, word, button, others}; no word: a sentence that was corrected
let detected = ""; // the language of the text, where it was to be detected
let running = null; // aborts the request that is under way
let typing; // the timer of a pause in typing
let asked = ""; // what was asked for last
let whole = false; // whether all of it has been translated
let done = ""; // the text that was translated last
const TYPED = 2000; // characters at most of a text that is translated while it is typed

// Everything that comes from texts is inserted as text, never as markup.
function element(name, content = "", attributes = {}) {
  const made = document.createElement(name);
  made.textContent = content;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

function stored(name, value) {
  try {
    if (value === undefined) return localStorage.getItem(`dragoman.${name}`) ?? "";
    localStorage.setItem(`dragoman.${name}`, value);
  } catch { /* a browser that keeps nothing */ }
  return "";
}

// The name under which the glossary of a pair of languages stays in the browser.
const itsGlossary = () => `glossary ${language()} ${one("target").value}`;

// The language of the text, if it is known.
const language = () => (one("source").value === AUTO && detected) || one("source").value;

// Terms with their translations, and those that stay as they are.
function glossary() {
  const lines = (id) => one(id).value.split("\n").filter((line) => line.trim());
  const terms = lines("glossary").map(termOf).filter(([term]) => term);
  return [...terms, ...lines("never").map((line) => [line.trim()])];
}

// A term and its translation: parted by tabs as in a table, by the first " = ", or by the first "=".
function termOf(line) {
  const separator = ["\t", " = ", "="].find((part) => line.includes(part));
  const at = separator && line.indexOf(separator);
  const parts = !separator ? [line] : separator === "\t" ? line.split(separator)
    : [line.slice(0, at), line.slice(at + separator.length)];
  const [term, ...forms] = parts.map((part) => part.trim());
  return [term, ...forms.filter(Boolean)];
}

function post(path, given, signal) {
  return answered(path, { headers: { "Content-Type": "application/json" }, body: JSON.stringify(given), signal });
}

async function answered(path, { headers = {}, ...request }) {
  const key = one("key").value.trim();
  const sent = { ...headers, ...(key && { Authorization: `Bearer ${key}` }) };
  const answer = await fetch(path, { method: "POST", headers: sent, ...request }).catch((error) => {
    throw error.name === "AbortError" ? error : new Error(GONE);
  });
  if (!answer.ok) {
    const { error = "" } = await answer.json().catch(() => ({}));
    throw new Error(plainly(answer.status, error, answer.headers.get("Retry-After")));
  }
  return answer;
}

// What a user can do about an answer that is none, by its status and the server's own line.
function plainly(status, line, seconds) {
  const limit = /\((\d+)\) exceeds text limit \((\d+)\)/.exec(line);
  if (limit) return tooLong(...limit.slice(1).map(Number));
  if (status === 413) return "This is larger than what the server accepts at once. Translate it in parts.";
  if (status === 429) return "Too many requests. Wait a minute, then try again.";
  if (status === 503) return `The server is busy. Try again in ${seconds > 1 ? `${seconds} seconds` : "a moment"}.`;
  if (status === 502 || status === 504) return GONE;
  const reason = line.replace(/^(Invalid request|Cannot translate (text|file)): /, "");
  if (status < 500 && reason) return reason[0].toUpperCase() + reason.slice(1) + (/[.!?]$/.test(reason) ? "" : ".");
  return `The server could not do this (${status}). If it happens again, its log says why.`;
}

const tooLong = (size, most) => `${counted(size)} characters are too many: at most ${counted(most)} are translated at once.`;
const counted = (number) => number.toLocaleString("en");

async function* events(answer) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let waiting = "";
  for (;;) {
    const { value, done } = await reader.read().catch((error) => {
      throw error.name === "AbortError" ? error : new Error(BROKEN);
    });
    if (done) return;
    const whole = (waiting + value).split("\n\n");
    waiting = whole.pop();
    for (const event of whole) {
      const [name, data] = event.split("\n").map((line) => line.slice(line.indexOf(": ") + 2));
      yield { name, data: JSON.parse(data) };
    }
  }
}

function pair() {
  return { source: one("source").value, target: one("target").value };
}

// The sources that are read together, if the choice is of such.
function several() {
  return languages.find(({ code }) => code === one("source").value)?.sources;
}

// What is asked of the server besides texts.
function wished() {
  return { ...pair(), ...(several() && { source: several() }), glossary: glossary() };
}

function texts() {
  return [...document.querySelectorAll("#texts textarea")].map((area) => area.value);
}

// As many boxes as there are sources.
function boxes() {
  const names = several();
  document.querySelector(".columns").classList.toggle("several", Boolean(names));
  one("named").textContent = names ? names[0] : "Text to translate";
  one("named").className = names ? "muted" : "unseen";
  for (const more of document.querySelectorAll("#texts > div:not(:first-child)")) more.remove();
  (names ?? []).slice(1).forEach((name, number) => {
    const id = `text${number + 2}`;
    const area = element("textarea", "", { id, dir: "auto", rows: "7" });
    area.addEventListener("input", typed);
    area.addEventListener("keydown", hurry);
    const box = element("div");
    box.append(element("label", name, { for: id, class: "muted" }), area);
    one("texts").append(box);
  });
  one("files").hidden = Boolean(names) || !settings.filesTranslation;
  count();
}

// Show which language was detected, in the place of the question.
function showDetected() {
  const option = one("source").querySelector(`option[value="${AUTO}"]`);
  const name = detected && languages.find(({ code }) => code === detected)?.name;
  if (option) option.textContent = name ? `Detected: ${name}` : "Detect language";
  one("detected").textContent = name && one("source").value === AUTO ? `Detected: ${name}` : "";
  swappable();
}

function swappable() {
  const back = languages.find(({ code }) => code === one("target").value);
  one("swap").disabled = !back?.targets.includes(language());
}

function hurry(event) {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) translate();
}

// Translate what is typed when nothing more is typed for a while.
function typed() {
  count();
  settle();
  clearTimeout(typing);
  typing = setTimeout(() => {
    if (correcting()) return say("A better translation has not been saved. Press Translate to go on without it.");
    if (wanted() === asked) return void (whole && say(legend()));
    if (texts().join("").length <= TYPED || isTooLong()) translate(true);
    else say("Press Translate.");
  }, settings.frontendTimeout);
}

// What is to be translated, and how.
function wanted() {
  return JSON.stringify([texts(), wished()]);
}

// Take back what was said of a text that has changed since.
function settle() {
  if ([COPIED, TO_COPY].includes(one("state").textContent)) say(legend());
}

const isTooLong = () => characters() > (settings.charLimit ?? Infinity);

// While a text is typed, its translation stays until there is another one.
async function translate(whileTyping = false) {
  running?.abort();
  clearTimeout(typing);
  const abort = running = new AbortController();
  const q = several() ? texts() : one("text").value, wish = wished();
  asked = wanted();
  whole = false;
  let stale = true;
  const clear = () => {
    stale = false;
    sentences = [];
    choose(null);
    one("translation").replaceChildren();
    one("copy").disabled = true;
  };
  const blank = !texts().some((text) => text.trim());
  if (!whileTyping || blank) clear();
  if (blank) {
    detected = "";
    showDetected();
    return say("");
  }
  if (isTooLong()) return say(tooLong(characters(), settings.charLimit));
  if (!whileTyping) say("Translating …");
  let ended = false;
  try {
    for await (const { name, data } of events(await post("v1/stream", { q, ...wish }, abort.signal))) {
      if (running !== abort) return;
      if (name === "error") throw new Error(plainly(400, data.error));
      if (name === "language") {
        if (detect(data.language, wish)) return translate(whileTyping); // by the glossary of this language
        wish.source = data.language;
      }
      if (name === "sentence") {
        if (stale) clear();
        add({ ...data, wish }); // as it was asked for, whatever is chosen later
      }
      ended ||= name === "end";
    }
    if (!ended) throw new Error(BROKEN);
    whole = true;
    say(legend());
    done = several() ? "" : q;
    if (done && (!whileTyping || document.activeElement !== one("text"))) remember(done);
  } catch (error) {
    if (error.name !== "AbortError" && running === abort) {
      if (stale) clear();
      asked = ""; // it may be asked for again
      say(error.message);
    }
  }
  one("copy").disabled = !sentences.length;
}

// Take in the language that was detected, and tell whether there is another glossary for it than the one that was sent.
function detect(code, wish) {
  if (code === detected) return false;
  const before = detected ? "" : one("glossary").value; // written when the language was not known yet
  if (before) stored(itsGlossary(), "");
  detected = code;
  const every = [stored(itsGlossary()), before].filter((terms) => terms.trim()).join("\n");
  stored(itsGlossary(), every);
  one("glossary").value = every;
  showDetected();
  return JSON.stringify(glossary()) !== JSON.stringify(wish.glossary);
}

function legend() {
  if (sentences.length && sentences.every(isSame)) return "This text is in the target language already.";
  if (sentences.some((sentence) => sentence.rejected_correction)) return "A saved correction is not used because of the glossary.";
  const every = sentences.flatMap(({ text, translation }) => words(text, translation));
  if (!every.some((word) => word.unsure)) return "";
  return every.some((word) => word.sure !== undefined) ? "The stronger the color, the less sure." : "Underlined: the model is unsure.";
}

function say(line) {
  one("state").textContent = line;
}

// The words of a translation, if it is known, where they stand in a text, and whether the model was unsure of them.
function words(text, { words: written, confidence, log_probs } = { words: [] }) {
  const found = [];
  let end = 0;
  written.forEach((word, number) => {
    const begin = text.indexOf(word, end);
    if (begin < 0) return;
    end = begin + word.length;
    const sure = confidence?.words[number]; // of a run that is calibrated
    const unsure = (sure ?? Math.exp(log_probs[number])) < UNSURE;
    found.push({ number, word, begin, end, sure, unsure });
  });
  return found;
}

// The translation as it is shown.
const shown = () => sentences.map((each) => each.before + each.text + each.after).join("");

function add(sentence) {
  sentences.push(sentence);
  const place = element("span");
  sentence.place = place;
  one("translation").append(document.createTextNode(sentence.before), place, document.createTextNode(sentence.after));
  draw(sentence);
}

function draw(sentence) {
  const { place, text, translation } = sentence;
  place.replaceChildren();
  place.className = sentence.correction ? "corrected" : "";
  sentence.buttons = new Map(); // by the number of their word
  settle();
  if (isWhole(sentence)) {
    place.append(pressed(sentence, text.trim() ? text : "…"));
    return admit(one("translation"));
  }
  let end = 0;
  for (const word of words(text, translation)) {
    if (end < word.begin) place.append(text.slice(end, word.begin));
    const button = pressed(sentence, word.word, word);
    button.classList.toggle("unsure", word.unsure);
    if (word.sure !== undefined) {
      button.classList.add("shaded");
      button.style.setProperty("--doubt", `${Math.round(60 * (1 - word.sure))}%`);
      button.title = `${Math.round(100 * word.sure)} % sure`;
    }
    sentence.buttons.set(word.number, button);
    const last = place.lastElementChild;
    if (last && end === word.begin && place.lastChild === last && clings(last.textContent, word.word)) {
      const joined = last.classList.contains("joined") ? last : element("span", "", { class: "joined" });
      if (joined !== last) last.replaceWith(joined);
      joined.append(...(joined === last ? [] : [last]), button);
    } else place.append(button);
    end = word.end;
  }
  place.append(text.slice(end));
  admit(one("translation"));
}

// Whether no line may end between two words: no full stop begins one, and no apostrophe or bracket ends one.
const clings = (before, word) => !/[\p{L}\p{N}]/u.test(word) || /^['’ʼ]/.test(word) || /['’ʼ\p{Ps}\p{Pi}¿¡]$/u.test(before);

const isWithheld = ({ translation }) => translation?.withheld !== undefined;

// Whether a sentence was not translated, since it was detected to be in the target language.
const isSame = ({ wish, translation }) => !translation && wish?.source === wish?.target;

// Whether a sentence has no words to choose.
const isWhole = (sentence) => Boolean(sentence.correction) || isWithheld(sentence) || !sentence.text.trim();

// A button for a word, or for a whole sentence that was corrected, which shows what is known of it.
function pressed(sentence, text, word) {
  const button = element("button", text, { type: "button", class: "word", tabindex: "-1", "aria-pressed": "false" });
  watch(button, sentence, word);
  button.addEventListener("click", () => choose({ sentence, word, button }));
  return button;
}

function remember(text) {
  const past = [text, ...history().filter((each) => each !== text)].slice(0, PAST);
  stored("history", JSON.stringify(past));
  showHistory();
}

function history() {
  try {
    return JSON.parse(stored("history") || "[]");
  } catch {
    return [];
  }
}

function showHistory() {
  one("history").replaceChildren(...history().map((text) => {
    const item = element("li");
    const button = element("button", text, { type: "button", dir: "auto" });
    button.addEventListener("click", () => { one("text").value = text; count(); translate(); });
    item.append(button);
    return item;
  }));
}

const characters = () => texts().reduce((sum, text) => sum + [...text].length, 0);

function count() {
  const size = characters();
  one("count").textContent = settings.charLimit ? `${counted(size)} of ${counted(settings.charLimit)} characters` : `${counted(size)} characters`;
  one("count").classList.toggle("over", isTooLong());
  one("clear").disabled = !size;
}

function options(select, codes, wanted) {
  const names = new Map(languages.map(({ code, name }) => [code, name]));
  const display = new Intl.DisplayNames(["en"], { type: "language", fallback: "code" });
  select.replaceChildren(...codes.map((code) => element("option", names.get(code) ?? named(display, code), { value: code })));
  if (codes.includes(wanted)) select.value = wanted;
}

function named(display, code) {
  try { return display.of(code.replace("_", "-")); } catch { return code; }
}

function targets(wanted) {
  const source = one("source").value;
  const every = languages.filter(({ code, sources }) => source === AUTO ? !sources : code === source);
  const codes = every.flatMap(({ code, targets }) => targets.filter((target) => target !== code));
  options(one("target"), [...new Set(codes)].sort(), wanted);
  showDetected();
  one("glossary").value = stored(itsGlossary());
}

async function start() {
  const paths = ["languages", "v1/sources", "frontend/settings"];
  const read = async (path) => (await answered(path, { method: "GET" })).json();
  [languages, together, settings] = await Promise.all(paths.map(read));
  const joint = Map.groupBy(together, ({ sources }) => sources.join("+"));
  joint.forEach((runs, code) => languages.push({
    code, name: runs[0].sources.join(" + "), sources: runs[0].sources, targets: runs.map(({ target }) => target),
  }));
  const sources = languages.filter(({ code, targets }) => targets.some((target) => target !== code));
  const codes = sources.map(({ code }) => code);
  const detectable = sources.filter((each) => !each.sources).length > 1; // or there is nothing to find out
  options(one("source"), detectable ? [AUTO, ...codes] : codes, stored("source") || codes[0]);
  targets(stored("target"));
  boxes();
  one("access").hidden = !settings.keyRequired;
  one("access").open = settings.keyRequired && !stored("key");
  one("key").value = stored("key");
  one("never").value = stored("never");
  showHistory();
  count();
  one("go").disabled = one("trouble").classList.contains("now");
}

one("ask").addEventListener("submit", (event) => { event.preventDefault(); translate(); });
one("text").addEventListener("input", typed);
one("text").addEventListener("change", () => { if (done === one("text").value) remember(done); });
one("text").addEventListener("keydown", hurry);
one("source").addEventListener("change", () => { targets(one("target").value); stored("source", one("source").value); boxes(); typed(); });
one("target").addEventListener("change", () => { targets(one("target").value); stored("target", one("target").value); typed(); });
one("swap").addEventListener("click", () => {
  const source = language(), { target } = pair(), text = shown();
  const takes = text && whole && wanted() === asked; // or it is of another text than the one that would be lost
  one("source").value = target;
  targets(source);
  for (const id of ["source", "target"]) stored(id, one(id).value);
  if (!takes) return typed();
  one("text").value = text;
  count();
  translate();
});
one("clear").addEventListener("click", () => {
  for (const area of document.querySelectorAll("#texts textarea")) area.value = "";
  count();
  translate();
  one("text").focus();
});
one("copy").addEventListener("click", async () => {
  try {
    await navigator.clipboard.writeText(shown());
    say(COPIED);
  } catch { // a page that is not from this machine and not encrypted may not
    getSelection().selectAllChildren(one("translation"));
    say(TO_COPY);
  }
});
one("glossary").addEventListener("input", () => { stored(itsGlossary(), one("glossary").value); typed(); });
one("never").addEventListener("input", () => { stored("never", one("never").value); typed(); });
one("key").addEventListener("input", () => stored("key", one("key").value));
one("enter").addEventListener("submit", (event) => { event.preventDefault(); translate(); });
one("forget").addEventListener("click", () => { stored("history", "[]"); showHistory(); });
const started = start();
started.catch((error) => fail(`The languages of this server could not be loaded. ${error instanceof SyntaxError ? GONE : error.message}`));

// Say above everything else that the page does not work.
function fail(line) {
  if (line) one("trouble").textContent = line;
  one("trouble").classList.add("now");
  one("trouble").hidden = false;
  one("go").disabled = true;
}

// All scripts have run, or failed to load.
document.addEventListener("DOMContentLoaded", () => {
  if ([typeof openAt, typeof choose, typeof send].includes("undefined")) fail();
  else if (!one("trouble").classList.contains("now")) one("trouble").hidden = true;
});
