// What all parts of the page use. Every text is set as text, never as markup.

const at = id => document.getElementById(id);

function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

const clamp = (value, low, high) => Math.min(Math.max(value, low), high);
const fold = text => text.normalize("NFC").toLowerCase();
const blank = word => word.trim() ? word : "␣";
const decimal = (value, places = 2) => value.toFixed(places).replace("-", "−");
const signed = value => (value < 0 ? "" : "+") + decimal(value);
const plural = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;

// With places where a path may go on in the next line.
const breakable = name => name.split(/(?<=[\/\\_|])/).flatMap((part, number) => number ? [make("wbr"), part] : [part]);

// A text with what was searched for marked in it, if its letters are as many in lower case.
function marked(text, terms) {
  const folded = fold(text), found = [];
  if (folded.length !== text.length) return [text];
  for (const term of terms)
    for (let start = folded.indexOf(term); start >= 0; start = folded.indexOf(term, start + term.length))
      found.push([start, start + term.length]);
  const parts = [];
  let end = 0;
  for (const [start, stop] of found.sort(([one], [other]) => one - other)) {
    if (start < end) continue;
    parts.push(text.slice(end, start), make("mark", {}, text.slice(start, stop)));
    end = stop;
  }
  return [...parts, text.slice(end)];
}

// One of several elements has the place of all in the order of the Tab key; the arrow keys move within them.
function rove(elements, number) {
  elements.forEach((element, index) => { element.tabIndex = index === number ? 0 : -1; });
}

// A table that is opened; its rows may have headings.
function foldOut(title, rows, heads = []) {
  const cells = rows.map(row => make("tr", {}, ...row.map(text =>
    make("td", { dir: "auto", ...(/^[−+-]?[\d,]+(\.\d+)?$/.test(text) && { class: "number" }) }, text))));
  const head = heads.length ? [make("thead", {}, make("tr", {}, ...heads.map(text => make("th", { scope: "col" }, text))))] : [];
  return make("details", {}, make("summary", {}, title), make("table", {}, ...head, make("tbody", {}, ...cells)));
}
