// The popover at a word of the translation: where it stands, what opens and closes it, and arrow keys between words.
"use strict";

const GAP = 6, EDGE = 8; // pixels between the popover and its word, and to the edges of the window
const ROOM = 320; // pixels below a word that suffice for the popover
const LINGER = 300; // milliseconds until it closes when the pointer has left, so that it can be reached
const PAUSE = 120; // milliseconds on a word before it opens, so that crossing a text opens nothing

let anchor = null; // the word that the popover is at
let timer; // opens or closes it
let silent = false; // whether the focus returns to a word that is not to open the popover again

const isOpen = () => one("detail").matches(":popover-open");

// Show the popover at a word. Nothing else on the page moves.
function openAt(button) {
  clearTimeout(timer);
  anchor = button;
  if (!isOpen()) one("detail").showPopover();
  place();
}

// Close the popover. The focus, if it was inside, returns to the word.
function closeDetail() {
  clearTimeout(timer);
  if (!isOpen()) return;
  const button = anchor, inside = one("detail").contains(document.activeElement);
  anchor = null;
  one("detail").hidePopover();
  if (inside && button?.isConnected) focusOn(button);
}

// Move the focus to a word without showing what is known of it.
function focusOn(button) {
  silent = true;
  button.focus();
  silent = false;
}

// Put the popover below its word if there is room, or else on the side that has more.
function place() {
  if (!anchor) return;
  if (!anchor.isConnected) return choose(null);
  const { style, offsetWidth } = one("detail");
  const { clientWidth: width, clientHeight: height } = document.documentElement;
  const word = anchor.getBoundingClientRect();
  const top = Math.min(Math.max(word.top, 0), height), bottom = Math.min(Math.max(word.bottom, 0), height);
  const above = top - GAP - EDGE, below = height - bottom - GAP - EDGE;
  const under = below >= Math.min(ROOM, height / 2) || below >= above;
  style.top = under ? `${bottom + GAP}px` : "auto";
  style.bottom = under ? "auto" : `${height - top + GAP}px`;
  style.maxHeight = `${under ? below : above}px`;
  style.left = `${Math.max(EDGE, Math.min(word.left, width - offsetWidth - EDGE))}px`;
}

// Show what is known of a word as long as it is pointed at or has the focus; not while another one is chosen.
function preview(sentence, word, button) {
  if (chosen) return;
  show(sentence, word);
  openAt(button);
}

function leave() {
  clearTimeout(timer);
  if (!chosen) timer = setTimeout(closeDetail, LINGER);
}

// What opens and closes the popover of a word.
function watch(button, sentence, word) {
  button.addEventListener("pointerenter", ({ pointerType }) => {
    clearTimeout(timer);
    if (pointerType !== "touch") timer = setTimeout(() => preview(sentence, word, button), isOpen() ? 0 : PAUSE);
  });
  button.addEventListener("pointerleave", leave);
  button.addEventListener("focus", () => {
    if (silent || !button.matches(":focus-visible")) return; // a click chooses the word
    if (chosen && chosen.button !== button) choose(null);
    preview(sentence, word, button);
  });
}

// One word of a text is reached with Tab, the others from there with arrow keys.
function rove(container) {
  container.addEventListener("focusin", ({ target }) => {
    if (!target.matches(".word")) return;
    for (const word of container.querySelectorAll('.word[tabindex="0"]')) word.tabIndex = -1;
    target.tabIndex = 0;
  });
  container.addEventListener("keydown", (event) => {
    const words = [...container.querySelectorAll(".word")], number = words.indexOf(event.target);
    if (number < 0 || event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) return;
    const forward = getComputedStyle(event.target).direction === "rtl" ? "ArrowLeft" : "ArrowRight";
    let next;
    if (event.key === "ArrowLeft" || event.key === "ArrowRight") next = words[number + (event.key === forward ? 1 : -1)];
    else if (event.key === "ArrowUp" || event.key === "ArrowDown") next = onNextLine(words, event.target, event.key === "ArrowDown");
    else if (event.key === "Home") next = words[0];
    else if (event.key === "End") next = words.at(-1);
    else return;
    event.preventDefault();
    next?.focus();
  });
}

// The word on the line below or above that is nearest.
function onNextLine(words, from, down) {
  const middle = ({ left, right, top, bottom }) => [(left + right) / 2, (top + bottom) / 2];
  const [x, y] = middle(from.getBoundingClientRect()), height = from.getBoundingClientRect().height;
  let best, least = Infinity;
  for (const word of words) {
    const [across, along] = middle(word.getBoundingClientRect());
    const lines = (down ? along - y : y - along) / height;
    const distance = 1000 * Math.round(2 * lines) + Math.abs(across - x) / height;
    if (lines > 0.5 && distance < least) [best, least] = [word, distance];
  }
  return best;
}

// Let one word be reached with Tab.
function admit(container) {
  const first = container.querySelector(".word");
  if (first && !container.querySelector('.word[tabindex="0"]')) first.tabIndex = 0;
}

const isOfPopover = (target) => one("detail").contains(target) || target.closest?.("#translation .word");

// Close the popover by the keyboard: the focus stays at the word.
function leaveByKey() {
  const button = chosen?.button;
  choose(null);
  if (button?.isConnected && document.activeElement === document.body) focusOn(button);
}

for (const id of ["translation", "looked"]) rove(one(id));
one("detail").addEventListener("pointerenter", () => clearTimeout(timer));
one("detail").addEventListener("pointerleave", leave);
one("close").addEventListener("click", () => choose(null));
document.addEventListener("pointerdown", ({ target }) => { if (isOpen() && !isOfPopover(target)) choose(null); });
document.addEventListener("focusin", ({ target }) => { if (isOpen() && !isOfPopover(target)) choose(null); });
document.addEventListener("keydown", (event) => { if (event.key === "Escape" && isOpen()) leaveByKey(); });
document.addEventListener("scroll", ({ target }) => { if (!one("detail").contains(target)) place(); }, { capture: true, passive: true });
window.addEventListener("resize", place);
