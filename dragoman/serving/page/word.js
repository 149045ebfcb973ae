// A word of the translation: what it looked at, what else could stand there, why it does, and a better sentence.
"use strict";

const FAINT = 0.05; // part of the largest weight below which a word is not shaded
const quoted = (word) => `“\u2068${word}\u2069”`; // whichever way it is written
const METHODS = [["erasure", "Without each word"], ["gradient", "Gradient of each word"]];

// What is known of a word, or of a sentence that was corrected.
function show(sentence, word) {
  one("chosen").textContent = word ? `${quoted(word.word)} looked at` : toldOf(sentence);
  one("pointed").textContent = "";
  one("looked").replaceChildren(...(word ? looked(sentence, word) : []));
  admit(one("looked"));
  one("unused").textContent = notCorrected(sentence);
  one("hint").hidden = !word;
}

// Why a correction of a sentence is not used, or none can be saved; nothing if neither is so.
function notCorrected({ source, rejected_correction: rejected }) {
  if (rejected) {
    const missing = rejected.missing.map(({ term, forms }) => `${forms.map(quoted).join(" or ")} for ${quoted(term)}`);
    return `A saved correction is not used, since the glossary asks for ${missing.join(" and ")}: ${quoted(rejected.text)}`;
  }
  return settings.suggestions && Array.isArray(source) ? "Corrections cannot be saved for several sources." : "";
}

// What there is to say of a sentence that has no words to choose.
function toldOf(sentence) {
  if (sentence.correction) return "A correction that was saved";
  return isWithheld(sentence) ? "The model is not sure of this sentence" : "The model wrote nothing";
}

// Each source with its words shaded by attention. Pointing at one shows which words of the translation looked at it.
function looked(sentence, word) {
  return sentence.translation.sources.map((source) => {
    const line = shaded(source, source.attention[word.number], 1, (text, weight, read) => {
      const button = element("button", text, { type: "button", class: "word", tabindex: "-1", title: percent(weight) });
      for (const event of ["mouseenter", "focus"]) button.addEventListener(event, () => point(sentence, source, read));
      for (const event of ["mouseleave", "blur"]) button.addEventListener(event, () => point(sentence));
      return button;
    });
    return labeled(line, source, sentence.translation);
  });
}

// The words of the translation that looked at a word of a source; none: as before.
function point(sentence, source, read) {
  const found = [];
  for (const [number, button] of sentence.buttons) {
    const weight = source ? source.attention[number][read] : 0;
    button.classList.toggle("lit", weight >= FAINT);
    button.style.setProperty("--weight", strength(weight));
    if (weight >= FAINT) found.push(`${quoted(button.textContent)} ${percent(weight)}`);
  }
  if (source) one("pointed").textContent = `${quoted(source.words[read])} was looked at by ${found.join(", ") || "no word"}`;
}

// A text whose words are made by a function and shaded by their values; those against are shaded in another color.
function shaded(source, values, most, made) {
  const line = element("p", "", { dir: "auto" });
  const [text, places] = placed(source);
  let end = 0;
  places.forEach((begin, number) => {
    line.append(text.slice(end, begin));
    end = begin + source.words[number].length;
    const share = values[number] / most;
    const part = made(text.slice(begin, end), values[number], number);
    if (Math.abs(share) >= FAINT) {
      part.classList.add(share < 0 ? "against" : "for");
      part.style.setProperty("--weight", strength(Math.abs(share)));
    }
    line.append(part);
  });
  line.append(text.slice(end));
  return line;
}

// A text in which all of its words were found, and where each begins. The model may read it composed and in lower case.
function placed({ text, words: read }) {
  const composed = text.normalize("NFC"), lower = composed.toLowerCase();
  for (const form of [text, composed, lower, read.join(" ")]) {
    const places = [];
    let end = 0;
    for (const word of read) {
      const begin = form.indexOf(word, end);
      if (begin < 0) break;
      places.push(begin);
      end = begin + word.length;
    }
    if (places.length === read.length) return [form === lower && lower.length === composed.length ? composed : form, places];
  }
}

// The line of one of several sources, with its name.
function labeled(line, { name }, { sources }) {
  if (sources.length > 1) line.prepend(element("span", `${name} `, { class: "muted", dir: "ltr" }));
  return line;
}

const percent = (share) => `${Math.round(100 * share)} %`;
const strength = (share) => `${Math.round(10 + 60 * share)}%`;

// A word that was chosen stays shown, with what else could stand there.
async function choose(next) {
  chosen?.button.setAttribute("aria-pressed", "false");
  chosen = next && next.button !== chosen?.button ? next : null;
  for (const id of ["others", "reasons"]) one(id).replaceChildren();
  for (const id of ["why", "correction"]) one(id).hidden = true;
  if (!chosen) return closeDetail();
  const { sentence, word, button } = chosen;
  button.setAttribute("aria-pressed", "true");
  show(sentence, word);
  one("hint").hidden = true;
  one("correction").hidden = !settings.suggestions || Array.isArray(sentence.source);
  one("better").value = sentence.draft ?? sentence.text;
  one("kept").textContent = "";
  openAt(button);
  if (word) await others(sentence, word, button);
}

// Offer what else could stand in the place of a word.
async function others(sentence, word, button) {
  const prefix = sentence.text.slice(0, word.begin);
  try {
    const wish = { q: sentence.source, ...sentence.wish, prefix: prefix.trimEnd(), alternatives: 5, diverse: true };
    const found = await (await post("v1/translate", wish)).json();
    if (chosen?.button !== button) return;
    const [best] = found.sentences, its = best.translation;
    const every = (its ? [its, ...(its.alternatives ?? [])] : []).map((each) => [following(each, prefix.trimEnd().length), each.text]);
    const different = every.filter(([other, text]) => other && other !== word.word && text !== sentence.text);
    chosen.others = new Map(different.reverse()); // the best text of each
    const names = [...chosen.others.keys()].reverse();
    one("others").append(element("span", names.length ? "Or here:" : "Nothing else fits here.", { class: "muted" }));
    for (const other of names) {
      const choice = element("button", other, { type: "button" });
      choice.addEventListener("click", () => retranslate(sentence, prefix, other));
      one("others").append(choice);
    }
    one("why").hidden = "read" in sentence; // the model has read a translation of it
    one("rather").replaceChildren(element("option", "any other", { value: "" }), ...names.map((other) => element("option", other)));
  } catch (error) {
    if (!/prefix:/.test(error.message)) say(error.message);
    else if (chosen?.button === button) one("others").append(element("span", "Nothing else can be offered here.", { class: "muted" }));
  }
}

// The word of a translation after the first characters of its text.
function following(translation, prefix) {
  return words(translation.text, translation).find(({ begin }) => begin >= prefix)?.word;
}

// Translate a sentence again with another word after its beginning.
async function retranslate(sentence, beginning, word = "") {
  const turn = sentence.turn = Symbol("a choice, which a later one takes the place of");
  choose(null);
  say("Translating …");
  try {
    const prefix = beginning + word;
    const found = await (await post("v1/translate", { q: sentence.source, ...sentence.wish, prefix })).json();
    if (!sentences.includes(sentence) || sentence.turn !== turn) return; // another text was translated meanwhile
    const [again] = found.sentences;
    Object.assign(sentence, { text: again.text, translation: again.translation, correction: undefined, draft: undefined });
    draw(sentence);
    say(legend());
    const number = words(sentence.text, sentence.translation).find(({ begin }) => begin >= beginning.length)?.number;
    const button = sentence.buttons.get(number) ?? sentence.place.querySelector(".word");
    if (button && document.activeElement === document.body) focusOn(button); // where the choice was made
  } catch (error) {
    if (sentences.includes(sentence) && sentence.turn === turn) say(error.message);
  }
}

// Why this word, or why not another one in its place: what its probability loses without each source word, and gradients.
async function explain() {
  const { sentence, word, others } = chosen, other = one("rather").value;
  const asked = chosen.asked = Symbol("a question, which a later one takes the place of");
  const { source, target } = sentence.wish;
  one("reasons").replaceChildren(element("p", "Working it out …", { class: "muted" }));
  try {
    const texts = [sentence.text, ...(other ? [others.get(other)] : [])]; // they are the same before the word
    const found = await Promise.all(texts.map(async (translation) => (
      await post("v1/explain", { q: sentence.source, source, target, translation })).json()));
    if (chosen?.asked === asked) one("reasons").replaceChildren(...reasons(found, word, other));
  } catch (error) {
    if (chosen?.asked === asked) one("reasons").replaceChildren(element("p", error.message));
  }
}

function reasons([found, instead], word, other) {
  const number = found.words[word.number] === word.word ? word.number : found.words.indexOf(word.word);
  if (number < 0 || (instead && number >= instead.words.length)) return [element("p", "This word cannot be explained by itself.")];
  return METHODS.flatMap(([method, title]) => {
    const its = ({ explanation }, source) => explanation.sources[source][method][number];
    const maps = found.sources.map((_, source) => its(found, source).map(
      (value, read) => value - (instead ? its(instead, source)[read] : 0)));
    const every = maps.flatMap((values, source) => values.map((value, read) => [value, found.sources[source].words[read]]));
    const [most, strongest] = every.reduce((best, each) => (Math.abs(each[0]) > Math.abs(best[0]) ? each : best), [0, ""]);
    const lines = found.sources.map((source, which) => labeled(
      shaded(source, maps[which], Math.abs(most) || 1, weighed), source, found));
    return [element("h3", title), ...lines, element("p", told(method, most, strongest, word.word, other), { class: "muted" })];
  });
}

// A word with its value, which is told to those who do not see it if it is shaded.
function weighed(text, value) {
  const mark = element("mark", text, { title: nats(value) });
  mark.append(element("span", ` ${nats(value)} `, { class: "unseen" }));
  return mark;
}

const nats = (value) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(2)} nats`;

// The largest value in words.
function told(method, most, strongest, word, other) {
  if (Math.abs(most) < 0.005) return "No word of the source matters.";
  if (method === "gradient") {
    const rather = other ? ` rather than ${quoted(other)}` : "";
    return `${quoted(strongest)} speaks most ${most < 0 ? "against" : "for"} ${quoted(word)}${rather}: ${nats(most)}.`;
  }
  const factor = Math.exp(Math.abs(most));
  const times = factor > 1000 ? "over 1,000" : factor.toFixed(factor < 10 ? 1 : 0);
  const change = `${times} times ${most < 0 ? "more" : "less"} probable`;
  return `Without ${quoted(strongest)}, ${quoted(word)} would be ${change}${other ? ` compared with ${quoted(other)}` : ""}.`;
}

// Whether somebody has begun to write a better sentence.
function correcting() {
  return sentences.some(({ draft, text }) => draft !== undefined && draft.trim() !== text.trim());
}

async function correct() {
  const { sentence } = chosen, { source, target } = sentence.wish;
  const better = one("better").value.trim(), { turn } = sentence;
  if (!better) return;
  const tell = (line) => { if (chosen?.sentence === sentence) one("kept").textContent = line; };
  try {
    await post("suggest", { q: sentence.source, s: better, source, target });
    const saved = { text: better, translation: undefined, rejected_correction: undefined, correction: { source: sentence.source, score: 1 } };
    Object.assign(sentence, saved);
    if (sentence.draft?.trim() === better) sentence.draft = undefined; // or it is written on meanwhile
    if (sentence.turn && sentence.turn === turn) { // an alternative that was asked for before is not wanted any more
      sentence.turn = undefined;
      say("");
    }
    draw(sentence);
    if (chosen?.sentence === sentence) choose({ sentence, button: sentence.place.querySelector("button") });
    tell(sentence.draft === undefined ? "Saved." : "");
    await checkUse(sentence, better, tell);
  } catch (error) {
    tell(error.message);
  }
}

// Report whether a glossary keeps a correction that was saved from being used.
async function checkUse(sentence, better, tell) {
  if (!sentence.wish.glossary.length) return;
  let rejected;
  try {
    const answer = await (await post("v1/translate", { q: sentence.source, ...sentence.wish })).json();
    rejected = answer.sentences[0].rejected_correction;
  } catch {
    return; // it is saved, whatever becomes of this question
  }
  if (rejected && sentence.text === better) tell(`Saved. ${notCorrected({ rejected_correction: rejected })}`);
}

one("why").addEventListener("submit", (event) => { event.preventDefault(); explain(); });
one("rather").addEventListener("change", () => { if (one("reasons").hasChildNodes()) explain(); });
one("better").addEventListener("input", () => {
  chosen.sentence.draft = one("better").value;
  one("kept").textContent = "";
});
one("correction").addEventListener("submit", (event) => { event.preventDefault(); correct(); });
