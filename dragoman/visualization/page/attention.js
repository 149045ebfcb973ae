// The weights between the words of a translation and of its source, as words that light up and as a matrix.

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const VALUES = Object.fromEntries([...DIGITS].map((digit, value) => [digit, value]));
const MOST_CELLS = 2500;  // of a matrix that is open before anyone asks for it

// The rows of a map; two digits are a weight, between the ends of its range.
function unpack({ range: [low, high], weights }, rows, columns) {
  const step = (high - low) / 4095;
  const weight = place => low + step * (64 * VALUES[weights[place]] + VALUES[weights[place + 1]]);
  return Array.from({ length: rows }, (_, t) =>
    Array.from({ length: columns }, (_, s) => weight(2 * (t * columns + s))));
}

// Which way words are written, by the first letter that has a direction.
const LEFTWARDS = /^\P{L}*[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}]/u;
const direction = words => LEFTWARDS.test(words.join(" ")) ? "rtl" : "ltr";

// A word in a line of text, which it does not turn round.
const inLine = word => LEFTWARDS.test(word) ? `\u2068${word}\u2069` : blank(word);

// The end of the scale of colors, as in pictures (scale_top): the largest weight, rounded up to a tenth or a hundredth.
function scaleTop(rows) {
  let largest = 0;
  for (const row of rows) for (const weight of row) largest = Math.max(largest, Math.abs(weight));
  const unit = largest > 0.1 ? 10 : 100;
  return largest > 0 ? Math.max(Math.ceil(largest * unit - 1e-6), 1) / unit : 1;
}

const told = weight => decimal(weight);
const short = weight => {
  const text = decimal(weight);
  return Number(weight.toFixed(2)) === 0 ? "" : text.replace(/^(−?)0\./, "$1.");
};

function shade(element, weight, top) {
  element.style.setProperty("--weight", clamp(Math.abs(weight) / top, 0, 1).toFixed(3));
  element.classList.toggle("against", weight < 0);
}

// Both lines of words; one that is pointed at, or has the focus, shows its weights under the words of the other.
function wordLines(found, rows, top) {
  const confidence = found.confidence || [];
  const sides = [found.target, found.source].map((words, side) => {
    const buttons = words.map((word, number) => {
      const label = (found.shares || []).includes(number) && side ? "word share" : "word";
      const button = make("button", { type: "button", class: label }, make("span", {}, blank(word)), make("small"));
      const sure = side ? undefined : confidence[number];
      if (sure !== undefined && sure !== null) {
        button.classList.add("sure");
        button.style.setProperty("--doubt", (1 - clamp(sure, 0, 1)).toFixed(3));
        button.append(make("span", { class: "unseen" }, ` confidence ${decimal(sure)}`));
      }
      return button;
    });
    rove(buttons, 0);
    return buttons;
  });
  const output = make("output", { class: "note" }, "Point at a word, or move to it with the arrow keys.");
  const show = (side, number) => {
    const weights = side ? rows.map(row => row[number]) : rows[number];
    const words = side ? found.target : found.source;
    sides.forEach((buttons, other) => buttons.forEach((button, index) => {
      const weight = other === side ? 0 : weights[index];
      button.classList.toggle("on", other === side && index === number);
      button.children[1].textContent = short(weight);
      shade(button, weight, top);
    }));
    const most = weights.map((weight, index) => [weight, index]).filter(([weight]) => Math.abs(weight) >= 0.005)
      .sort(([one], [other]) => Math.abs(other) - Math.abs(one)).slice(0, 5);
    const list = most.map(([weight, index]) => `${inLine(words[index])} ${told(weight)}`).join(", ");
    const sure = side ? null : confidence[number];
    output.textContent = `${inLine((side ? found.source : found.target)[number])} ${side ? "→" : "←"} ${list || "nothing"}`
      + (sure === null || sure === undefined ? "" : `; confidence ${decimal(sure)}`);
  };
  sides.forEach((buttons, side) => buttons.forEach((button, number) => {
    for (const event of ["pointerenter", "focus", "click"]) button.addEventListener(event, () => show(side, number));
    button.addEventListener("focus", () => rove(buttons, number));
  }));
  const lines = [1, 0].map(side => make("div", {
    class: "words", role: "group", dir: direction(side ? found.source : found.target),
    "aria-label": side ? "Words of the source" : "Words of the translation",
  }, ...sides[side]));
  lines.forEach((line, index) => line.addEventListener("keydown", event => step(event, sides, 1 - index)));
  return [...lines, output];
}

// Along a line of words, whichever way it is written, and from one line to the other.
function step(event, sides, side) {
  const buttons = sides[side], now = buttons.indexOf(document.activeElement);
  const forwards = getComputedStyle(event.currentTarget).direction === "rtl" ? -1 : 1;
  const steps = { ArrowRight: now + forwards, ArrowLeft: now - forwards, Home: 0, End: buttons.length - 1 };
  let wanted = event.key in steps ? buttons[clamp(steps[event.key], 0, buttons.length - 1)] : null;
  if (event.key === "ArrowUp" || event.key === "ArrowDown")
    wanted = sides[1 - side].find(button => button.tabIndex === 0);
  if (!wanted || now < 0) return;
  event.preventDefault();
  wanted.focus();
}

// Rows are words of the translation, columns words of the source.
function matrix(found, rows, top, name) {
  const { source, target } = found, marks = new Set((found.gold || []).map(([s, t]) => `${s} ${t}`));
  const output = make("output", { class: "note" }, "Point at a cell, or move with the arrow keys.");
  const heads = source.map((word, s) => make("th", { scope: "col", class: (found.shares || []).includes(s) ? "share" : "" },
    make("span", {}, blank(word))));
  const lines = rows.map((row, t) => make("tr", {}, make("th", { scope: "row" }, make("bdi", {}, blank(target[t]))),
    ...row.map((weight, s) => {
      const cell = make("td", marks.has(`${s} ${t}`) ? { class: "gold" } : {}, short(weight));
      shade(cell, weight, top);
      return cell;
    })));
  const label = `${name}: a row for each word of the translation`;
  const table = make("table", { class: "heat", tabindex: "0", dir: direction(source), "aria-label": label },
    make("thead", {}, make("tr", {}, make("td"), ...heads)), make("tbody", {}, ...lines));
  const box = make("div", { class: "scroll" }, table);
  let here = [0, -1];
  const point = (t, s) => {
    here = [clamp(t, 0, target.length - 1), clamp(s, 0, source.length - 1)];
    table.querySelectorAll(".on").forEach(each => each.classList.remove("on"));
    const cell = lines[here[0]].children[here[1] + 1];
    for (const part of [cell, lines[here[0]].firstChild, heads[here[1]]]) part.classList.add("on");
    output.textContent = `${inLine(source[here[1]])} → ${inLine(target[here[0]])} ${told(rows[here[0]][here[1]])}`
      + (cell.classList.contains("gold") ? ", gold link" : "");
    return cell;
  };
  table.addEventListener("pointerover", event => {
    const cell = event.target.closest("tbody td");
    if (cell) point(cell.parentNode.rowIndex - 1, cell.cellIndex - 1);
  });
  table.addEventListener("keydown", event => {
    const forwards = getComputedStyle(table).direction === "rtl" ? -1 : 1;
    const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -forwards], ArrowRight: [0, forwards] };
    if (!(event.key in steps)) return;
    event.preventDefault();
    point(here[0] + steps[event.key][0], here[1] + steps[event.key][1]).scrollIntoView({ block: "nearest", inline: "nearest" });
  });
  return [box, output, scale(found, rows, top)];
}

function scale(found, rows, top) {
  const parts = make("p", { class: "scale note" }, "0", make("i"), decimal(top, top < 0.1 ? 2 : 1));
  if (rows.some(row => row.some(weight => weight < 0)))
    parts.append(make("span", {}), "0", make("i", { class: "against" }), decimal(-top, top < 0.1 ? 2 : 1));
  if (found.gold) parts.append(make("b"), "gold link");
  if (found.confidence) parts.append(make("u"), "low confidence");
  return parts;
}

// The word that each word of the translation is linked to, also as a line of Pharaoh's.
function links(found, rows) {
  const pairs = [...found.links].sort((one, other) => one[1] - other[1]);
  const part = foldOut("Alignment", pairs.map(([s, t]) =>
    [blank(found.source[s]), "→", blank(found.target[t]), told(rows[t][s])]));
  const first = (found.shares || [])[0] === 0 ? 1 : 0;  // the column of the first word, which is 0 for Pharaoh
  part.append(make("p", {}, make("code", {}, found.links.map(([s, t]) => `${s - first}-${t}`).join(" "))));
  return part;
}
