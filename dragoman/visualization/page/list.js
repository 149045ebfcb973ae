// The list of sentences: which, in what order, and the one that is chosen.

const data = JSON.parse(at("data").textContent);
const COLORS = 8;
const MANY = 100;  // are listed at a time
const narrow = matchMedia("(max-width: 56rem)");
const [search, order, measure, system, other, list, count, desk] =
  ["search", "order", "measure", "system", "other", "list", "count", "desk"].map(at);

data.sentences.forEach((sentence, number) => {
  const told = sentence.found.flatMap(each => [each.text, each.reference || ""]);
  sentence.number = number;
  sentence.all = fold([...sentence.texts.map(([, text]) => text), sentence.reference || "", ...told].join("\n"));
});

const wanted = {};  // the numbers of the measure and the systems that are chosen
const made = (sentence, number) => sentence.found.find(each => each.run === number);
const valued = (sentence, number) => made(sentence, number)?.values[wanted.measure] ?? null;
const sign = () => data.measures[wanted.measure]?.higher === false ? -1 : 1;
const longest = sentence => Math.max(...sentence.texts.map(([, text]) => text.length));
const difference = sentence => {
  const [one, two] = [valued(sentence, wanted.system), valued(sentence, wanted.other)];
  return one === null || two === null ? null : one - two;
};
const mean = values => values?.length ? values.reduce((sum, value) => sum + value, 0) / values.length : null;
const by = (value, sign) => value === null || value === undefined || Number.isNaN(value) ? Infinity : sign * value;

// What to sort by, ascending; sentences without it come last. `asks` are the further choices that it depends on.
const orders = {
  file: { name: "as in the test set", asks: [], key: sentence => sentence.number },
  worst: { name: "worst first", asks: ["system"], key: sentence => by(valued(sentence, wanted.system), sign()) },
  best: { name: "best first", asks: ["system"], key: sentence => by(valued(sentence, wanted.system), -sign()) },
  apart: { name: "largest difference first", asks: ["system", "other"],
    key: sentence => by(difference(sentence) === null ? null : Math.abs(difference(sentence)), -1) },
  behind: { name: "most behind first", asks: ["system", "other"],
    key: sentence => by(difference(sentence), sign()) },
  unsure: { name: "lowest model score first", asks: ["system"], key: sentence => by(made(sentence, wanted.system)?.score, 1) },
  doubtful: { name: "least confident first", asks: ["system"],
    key: sentence => by(mean(made(sentence, wanted.system)?.confidence), 1) },
  long: { name: "longest first", asks: [], key: sentence => -longest(sentence) },
};

// The terms of a search: words or quoted phrases, and what a text may not have.
function parsed(text) {
  const required = [], excluded = [];
  for (const [, minus, phrase, word] of fold(text).matchAll(/(-?)(?:"([^"]*)"?|(\S+))/g))
    if (phrase || word) (minus ? excluded : required).push(phrase || word);
  return { required, excluded };
}

let listed = [], chosen = null, terms = [];

function refresh() {
  const { required, excluded } = parsed(search.value), { key, asks } = orders[order.value];
  Object.assign(wanted, { measure: Number(measure.value), system: Number(system.value), other: Number(other.value) });
  for (const label of document.querySelectorAll("#choices [data-for]")) {
    const select = label.querySelector("select");
    label.hidden = !["measure", ...asks].includes(label.dataset.for) || select.options.length < 2;
  }
  terms = required;
  const found = data.sentences.filter(({ all }) =>
    required.every(term => all.includes(term)) && !excluded.some(term => all.includes(term)));
  const keys = new Map(found.map(sentence => [sentence, key(sentence)]));
  listed = found.sort((one, two) => keys.get(one) < keys.get(two) ? -1 : keys.get(one) > keys.get(two) ? 1 : one.number - two.number);
  const total = data.sentences.length, all = plural(total, "sentence");
  const told = scored ? `, ${data.measures[wanted.measure].name} of each` : "";
  count.textContent = (listed.length < total ? `${listed.length.toLocaleString("en")} of ${all}` : all) + told;
  list.replaceChildren();
  list.scrollTop = 0;
  more(MANY);
  if (!listed.length) list.append(make("li", { class: "note" }, "No sentence has these words."));
  choose(0, { read: !narrow.matches });
}

// Extend the list, which is drawn as far as it is looked at.
function more(upTo) {
  for (let number = list.children.length; number < Math.min(upTo, listed.length); number++) list.append(item(listed[number]));
}

function item(sentence) {
  const text = sentence.texts.map(([, each]) => each).find(each => each) || "(empty)";
  const button = make("button", { type: "button", tabindex: "-1" }, make("span", { class: "source", dir: "auto" }, ...marked(text, terms)));
  const values = sentence.found.map(each => [each.run, valued(sentence, each.run)]).filter(([, value]) => value !== null);
  const name = data.measures[wanted.measure]?.name;
  if (values.length) button.append(make("span", { class: "figures note" }, make("span", { class: "unseen" }, `${name}: `),
    ...values.map(([number, value]) => make("span", { class: `key run-${number % COLORS}` },
      make("span", { class: "unseen" }, `${data.runs[number]} `), decimal(value, 1)))));
  const apart = orders[order.value].asks.includes("other") ? difference(sentence) : null;
  if (apart !== null) button.lastChild.append(make("b", {}, signed(apart)));
  return make("li", {}, button);
}

// Make a sentence the current one; where there is room for it beside the list, or if it is opened, show it.
function choose(number, { read = true, focus = false } = {}) {
  if (!listed.length) { at("shown").replaceChildren(); desk.classList.remove("reading"); return; }
  more(number + 20);
  const buttons = [...list.querySelectorAll("button")];
  rove(buttons, number);
  buttons.forEach((button, index) => index === number && read ? button.setAttribute("aria-current", "true") : button.removeAttribute("aria-current"));
  if (focus) buttons[number].focus({ preventScroll: true });
  scrollTo(buttons[number]);
  if (!read) return;
  chosen = listed[number];
  show(chosen, { number, count: listed.length }, terms);
}

function scrollTo(button) {
  const above = button.offsetTop - list.offsetTop, below = above + button.offsetHeight;
  if (above < list.scrollTop) list.scrollTop = above;
  else if (below > list.scrollTop + list.clientHeight) list.scrollTop = below - list.clientHeight;
}

// On a narrow screen, the sentence takes the place of the list.
function open(number) {
  choose(number);
  desk.classList.add("reading");
  if (narrow.matches) {
    at("shown").focus({ preventScroll: true });
    at("sentences").scrollIntoView();
  }
}

list.addEventListener("scroll", () => {
  if (list.scrollTop + 2 * list.clientHeight > list.scrollHeight) more(list.children.length + MANY);
});
list.addEventListener("click", event => {
  const line = event.target.closest("button")?.parentNode;
  if (line) open([...list.children].indexOf(line));
});
list.addEventListener("keydown", event => {
  const now = [...list.children].indexOf(document.activeElement.parentNode), last = listed.length - 1;
  const steps = { ArrowDown: now + 1, ArrowUp: now - 1, PageDown: now + 10, PageUp: now - 10, Home: 0, End: last };
  if (now < 0 || !(event.key in steps)) return;
  event.preventDefault();
  choose(clamp(steps[event.key], 0, last), { read: !narrow.matches, focus: true });
});
at("shown").addEventListener("click", event => {
  const turn = event.target.closest("[data-turn]")?.dataset.turn, now = listed.indexOf(chosen);
  if (turn === "back") {
    desk.classList.remove("reading");
    choose(now, { focus: true });
  } else if (turn) {
    choose(now + (turn === "after" ? 1 : -1));
    const button = at("shown").querySelector(`.${turn}`);
    (button.disabled ? at("shown") : button).focus({ preventScroll: true });
  }
});
search.addEventListener("keydown", event => {
  if (event.key !== "ArrowDown" || !listed.length) return;
  event.preventDefault();
  list.querySelector("[tabindex='0']").focus();
});
search.addEventListener("input", refresh);
for (const select of [order, measure, system, other]) select.addEventListener("change", refresh);
at("choices").addEventListener("submit", event => event.preventDefault());
narrow.addEventListener("change", () => {
  desk.classList.remove("reading");
  refresh();
});

const option = (value, name) => make("option", { value }, name);
for (const select of [system, other]) select.append(...data.runs.map((name, number) => option(number, name)));
other.value = Math.min(1, data.runs.length - 1);
measure.append(...data.measures.map(({ name }, number) => option(number, name)));
measure.value = Math.max(0, data.measures.findIndex(({ name }) => name.startsWith("chrF")));  // BLEU of a sentence is often 0
const every = data.sentences.flatMap(({ found }) => found), scored = every.some(({ values }) => values.length);
const possible = { worst: scored, best: scored, apart: scored && data.runs.length > 1, behind: scored && data.runs.length > 1,
  doubtful: every.some(({ confidence }) => confidence) };
order.append(...Object.entries(orders).filter(([name]) => possible[name] ?? true).map(([value, { name }]) => option(value, name)));
refresh();
