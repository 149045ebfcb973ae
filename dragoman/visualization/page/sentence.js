// The chosen sentence: its sources and reference, what every system made of it, and the weights of one of them.

const view = { run: 0, map: "attention" };  // what stays chosen from one sentence to the next

function show(sentence, place, terms) {
  const said = sentence.found.some(each => each.run === view.run) ? view.run : sentence.found[0].run;
  const weights = make("div", { id: "weights" });
  at("shown").replaceChildren(heading(sentence, place), texts(sentence, terms), systems(sentence, said, terms, weights), weights);
  inspect(sentence.found.find(each => each.run === said), weights);
}

function heading(sentence, { number, count }) {
  const buttons = [["back", "All sentences"], ["before", "Previous"], ["after", "Next"]]
    .map(([name, text]) => make("button", { type: "button", class: `turn ${name}`, "data-turn": name }, text));
  buttons[1].disabled = number === 0;
  buttons[2].disabled = number === count - 1;
  const pair = sentence.pair ? `, ${sentence.pair}` : "";
  return make("div", { class: "heading" },
    make("h3", {}, `Sentence ${(sentence.number + 1).toLocaleString("en")}${pair}`), make("span", { class: "turns" }, ...buttons));
}

function texts(sentence, terms) {
  const list = make("dl", { class: "texts" });
  const add = (name, text) => list.append(make("div", {}, make("dt", {}, name),
    make("dd", { dir: "auto" }, ...(text ? marked(text, terms) : [make("span", { class: "muted" }, "(empty)")]))));
  for (const [name, text] of sentence.texts) add(sentence.texts.length > 1 ? `Source ${name}` : "Source", text);
  if (sentence.reference !== null) add("Reference", sentence.reference);
  return list;
}

// A choice between the systems: it tells whose weights are shown.
function systems(sentence, said, terms, weights) {
  const best = data.measures.map(({ higher }, number) => {
    const values = sentence.found.map(each => each.values[number]).filter(value => value !== undefined && value !== null);
    return values.length > 1 && new Set(values).size > 1 ? (higher ? Math.max : Math.min)(...values) : undefined;
  });
  const options = sentence.found.map(each => {
    const input = make("input", { type: "radio", name: "shown-system", value: each.run });
    input.checked = each.run === said;
    input.addEventListener("change", () => { view.run = each.run; inspect(each, weights); });
    const values = data.measures.map((measure, number) => [measure.name, each.values[number], best[number]])
      .filter(([, value]) => value !== undefined && value !== null);
    const figures = values.map(([name, value, top]) =>
      make("span", value === top ? { class: "best" } : {}, `${name} `, make("b", {}, decimal(value)), value === top ? " best" : ""));
    if (each.score !== null) figures.push(make("span", {}, "model score ", make("b", {}, decimal(each.score))));
    const own = each.reference === undefined ? [] : [make("span", { class: "note", dir: "auto" }, `Reference: ${each.reference}`)];
    return make("label", { class: "system" }, input, make("span", { class: "made" },
      make("span", { class: `key run-${each.run % COLORS} name` }, ...breakable(data.runs[each.run] + (each.pair ? `: ${each.pair}` : ""))),
      make("span", { class: "said", dir: "auto" }, ...compared(each, sentence, terms)), ...own,
      make("span", { class: "figures note" }, ...figures)));
  });
  const name = sentence.found.length > 1 ? "Translations" : "Translation";
  const note = options.some(each => each.querySelector(".other")) ? ", with the words underlined that the reference does not have" : "";
  return make("fieldset", {}, make("legend", {}, name + note), ...options);
}

// The translation, with the words that its reference does not have underlined.
function compared(found, sentence, terms) {
  const reference = found.reference ?? sentence.reference;
  if (!found.text) return [make("span", { class: "muted" }, "(nothing)")];
  if (!reference || !found.text.includes(" ")) return marked(found.text, terms);
  const bare = word => fold(word).replace(/[^\p{L}\p{N}\p{M}]/gu, "");
  const left = new Map();
  for (const word of reference.split(/\s+/).map(bare)) left.set(word, (left.get(word) || 0) + 1);
  return found.text.split(/(\s+)/).map(part => {
    const word = bare(part), rest = left.get(word) || 0;
    if (word) left.set(word, rest - 1);
    return !word || rest > 0 ? make("span", {}, ...marked(part, terms)) : make("span", { class: "other" }, ...marked(part, terms));
  });
}

// The weights of one system: words, matrix, alignment, and what else it found.
function inspect(found, place) {
  place.replaceChildren();
  if (found.source.length && found.target.length) {
    const map = found.maps.find(each => each.name === view.map) || found.maps[0];
    const rows = unpack(map, found.target.length, found.source.length), top = scaleTop(rows);
    const name = map.name[0].toUpperCase() + map.name.slice(1);
    const whose = data.runs.length > 1 ? ` of ${data.runs[found.run]}` : "";
    const head = make("div", { class: "heading" }, make("h4", {}, name, ...breakable(whose)));
    if (found.maps.length > 1) head.append(chooser(found, map, place));
    place.append(head, ...wordLines(found, rows, top), ...table(found, rows, top, name));
    if (found.links.length && map === found.maps[0]) place.append(links(found, rows));
  }
  if (found.best) place.append(foldOut(`${found.best.length} best translations`,
    found.best.map(([text, score]) => [score === null ? "" : decimal(score), text])));
  if (found.contrast) place.append(foldOut("Why not the reference?", found.contrast.slice(1), found.contrast[0]));
  if (found.nearest) place.append(foldOut("Similar training pairs",
    found.nearest.map(([text, score, source]) => [decimal(score), source, text]), ["similar", "source", "translation"]));
  if (found.search) place.append(searchTree(found.search));
}

function chooser(found, map, place) {
  const select = make("select", { id: "map" }, ...found.maps.map(each => make("option", { value: each.name }, each.name)));
  select.value = map.name;
  select.addEventListener("change", () => {
    view.map = select.value;
    inspect(found, place);
    at("map").focus();
  });
  return make("label", {}, "Weights ", select);
}

// A large matrix is drawn when it is asked for.
function table(found, rows, top, name) {
  if (found.source.length * found.target.length <= MOST_CELLS) return matrix(found, rows, top, name);
  const part = make("details", {}, make("summary", {}, `Matrix of ${found.target.length} by ${found.source.length} words`));
  part.addEventListener("toggle", () => part.append(...matrix(found, rows, top, name)), { once: true });
  return [part];
}

// The hypotheses of the search: what they share stands once, and what goes on from it is below, further in.
const ENDS = { finished: ["✔", "finished"], pruned: ["✗", "pruned"], open: ["…", "open"] };

function searchTree({ told: summary, tree }) {
  const lines = tree.map(([depth, text, fate, figure]) => {
    const line = make("li", { "aria-level": depth + 1, dir: "auto" }, text);
    line.style.setProperty("--depth", depth);
    if (fate) line.append(make("span", { class: `note ${fate}` }, " ", make("span", { "aria-hidden": "true" }, ENDS[fate][0]),
      make("span", { class: "unseen" }, ENDS[fate][1]), figure === null ? "" : ` ${decimal(figure)}`));
    return line;
  });
  const part = make("details", {}, make("summary", {}, `Search: ${summary}`));
  part.addEventListener("toggle", () => part.append(make("ul", { class: "tree" }, ...lines)), { once: true });
  return part;
}
