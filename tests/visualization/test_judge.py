"""The page to judge translations on: inert to its texts, asking nothing of the network, and alive in a browser."""

import json
import re
import time

import pytest

from dragoman.evaluation.human.blinding import blind, shown
from dragoman.evaluation.human.forms import ERRORS, QUESTIONS, RANK, Key
from dragoman.visualization.judge import page
from tests.browser import Browser

pytestmark = pytest.mark.spec("H10")
NASTY = "</script><b>bold</b> & {{data}} \u2028 <!--"
SYSTEMS = {"poor": ["le noir chat", "faux", "egal"], "fine": ["le chat noir", "juste", "egal"]}


def key(questions: list[str], seed: int) -> Key:
    sources = ["the black cat", "right", "equal"]
    return blind(sources, SYSTEMS, questions, ["grammar", "omission"], sentences=None, seed=seed)


def text(*questions: str, seed: int = 1) -> str:
    """A page with all questions, or with these. What the browser has stored belongs to the pages of one seed."""
    return page(shown(key(list(questions or [*QUESTIONS, ERRORS, RANK]), seed)))


def test_the_page_asks_nothing_of_the_network_and_has_no_system() -> None:
    html = text()
    assert "default-src 'none'" in html
    assert not re.search(r"https?://|@import|url\(|fetch\(|XMLHttpRequest|import\(|\ssrc=", html)
    assert not re.search(r"\b(poor|fine)\b", html.replace("equal ranks are fine", ""))


def test_texts_are_never_taken_for_markup() -> None:
    nasty = blind([NASTY], {"a": [NASTY], "b": ["\ud800"]}, ["fluency"], [], sentences=None, seed=1)
    html = page(shown(nasty))
    assert "<b>bold" not in html
    data = json.loads(re.findall(r'<script type="application/json" id="data">(.*?)</script>', html, re.DOTALL)[0])
    assert data["items"][0]["source"] == NASTY
    assert html.encode()


# Answers as a person who knows French: by clicks, as the page's own listeners see them.
ANNOTATE = """
const $ = selector => document.querySelector(selector), all = selector => [...document.querySelectorAll(selector)];
const saved = [], files = [];
window.Blob = class { constructor(parts) { saved.push(JSON.parse(parts.join(""))); } };
URL.createObjectURL = () => "#"; URL.revokeObjectURL = () => {};
HTMLAnchorElement.prototype.click = function () { files.push(this.download); };
window.confirm = () => true;
const press = (part, key, more) =>
  part.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...more }));
const choose = (set, value) => set.querySelector(`input[value="${value}"]`).click();
const name = $("#annotator"), progress = () => $("#progress").textContent;
function judge() {
  const outputs = all(".output"), good = outputs.map(each => !/faux|noir chat/.test(each.textContent));
  outputs.forEach((output, number) => {
    const sets = output.querySelectorAll("fieldset");
    [4, 5, 1, 1].forEach((value, question) => choose(sets[question], value - !good[number]));
  });
  all(".rank").forEach((row, number) => choose(row, good[number] ? 1 : 2));
}
"""


def test_what_is_judged_is_what_is_saved(browser: Browser) -> None:
    probe = """
    $("#save").click();  // without a name
    const refused = [files.length, document.activeElement.id];
    name.value = "Zoëlle B."; name.dispatchEvent(new Event("input"));
    const told = [];
    for (let sentence = 0; sentence < 3; sentence++) { judge(); told.push(progress()); $("#next").click(); }
    $("#save").click();
    tell({ refused, told, files, saved, stays: JSON.parse(localStorage.getItem(localStorage.key(0))) });
    """
    saved_file = browser.evaluate(text(), ANNOTATE + probe)
    assert saved_file["refused"] == [0, "annotator"]
    assert saved_file["told"] == ["1 of 3 done", "2 of 3 done", "3 of 3 done"]
    assert saved_file["files"] == ["judgments-Zoelle-B.json"]
    (saved,) = saved_file["saved"]
    assert saved == {**saved_file["stays"], "annotator": "Zoëlle B."}
    page_key = key([*QUESTIONS, ERRORS, RANK], seed=1)
    assert saved["page"] == page_key.page
    for item in page_key.items:
        for output in item.outputs:
            answers = saved["judgments"][item.id][output.id]
            good = "fine" in output.systems
            assert [answers[name] for name in QUESTIONS] == ([4, 5, 1, 1] if good else [3, 4, 0, 0])
            assert answers.get("rank") == (None if len(item.outputs) == 1 else 1 if good else 2)


def test_errors_are_marked_with_the_mouse_and_the_keyboard(browser: Browser) -> None:
    probe = """
    const go = () => { while (!$(".source").textContent.includes("cat")) $("#next").click(); };
    go();
    const card = all(".output").find(each => each.textContent.includes("noir chat"));
    const words = () => [...card.querySelectorAll(".word")], form = card.querySelector(".marking");
    const shown = () => words().filter(word => word.classList.contains("on")).map(word => word.textContent);
    const add = severity => form.querySelector(`[aria-label="Add as ${severity}"]`).click();
    const told = [form.hidden];
    words()[2].click(); words()[1].click();
    told.push(shown(), form.hidden);
    add("major");
    told.push(form.hidden, words().map(word => word.className));
    words()[0].focus(); press(words()[0], "ArrowRight"); press(document.activeElement, " ");
    told.push(shown(), document.activeElement.textContent);
    press(document.activeElement, "Escape");
    told.push(shown());
    card.querySelector(".add").click();
    add("minor");
    getSelection().setBaseAndExtent(words()[0].firstChild, 1, words()[1].firstChild, 2);
    card.querySelector(".said").dispatchEvent(new Event("pointerup", { bubbles: true }));
    told.push(shown());
    add("critical");
    card.querySelector(".errors li:last-child button").click();
    told.push([...card.querySelectorAll(".errors li")].map(each => each.textContent));
    $("#back").disabled || $("#back").click(); go();  // and back again: marks stay
    told.push(all(".word.major").map(word => word.textContent));
    name.value = "A"; name.dispatchEvent(new Event("input"));
    $("#save").click();
    tell({ told, saved });
    """
    saved = browser.evaluate(text(seed=2), ANNOTATE + probe)
    hidden, chosen, open_now, closed, classes, pressed, focus, escaped, dragged, listed, again = saved["told"]
    assert (hidden, open_now, closed) == (True, False, True)
    assert chosen == ["noir", "chat"]
    assert classes == ["word", "word major", "word major"]
    assert (pressed, focus, escaped) == (["noir"], "noir", [])
    assert dragged == ["le", "noir"]
    assert listed == ["noir chat: grammar, majorRemove", "(missing): omission, minorRemove"]
    assert again == ["noir", "chat"]
    (errors,) = [
        answers["errors"]
        for by_output in saved["saved"][0]["judgments"].values()
        for answers in by_output.values()
        if answers["errors"]
    ]
    assert errors == [
        {"category": "grammar", "severity": "major", "words": [1, 2]},
        {"category": "omission", "severity": "minor", "words": None},
    ]


def test_digits_answer_and_go_on_to_the_next_question(browser: Browser) -> None:
    probe = """
    while ($(".source").textContent !== "equal") $("#next").click();
    const [first] = document.querySelectorAll("fieldset");
    first.querySelector("input").focus();
    press(document.activeElement, "4"); press(document.activeElement, "2");
    const before = progress();
    press(document.activeElement, "7"); press(document.activeElement, "1"); press(document.activeElement, "0");
    const focus = document.activeElement.id, one = all("input:checked").map(each => each.value);
    const here = $("#sentence").selectedIndex;
    press(document.body, "Enter", { ctrlKey: true });
    tell({ before, focus, one, after: progress(), moved: $("#sentence").selectedIndex !== here });
    """
    saved = browser.evaluate(text(seed=3), ANNOTATE + probe)
    assert saved["before"] == "2 to answer, 0 of 3 done"
    assert saved["one"] == ["4", "2", "1", "0"]
    assert (saved["focus"], saved["moved"]) == ("next", True)
    assert saved["after"].endswith(" 1 of 3 done")


def test_work_is_there_again_when_the_page_is_opened_again(browser: Browser) -> None:
    work = """judge(); name.value = "Anna"; name.dispatchEvent(new Event("input")); tell([]);"""
    look = """tell([name.value, progress(), $("#help").open]);"""
    anew = """$("#anew").click(); tell([name.value, progress()]);"""
    browser.evaluate(text(seed=4), ANNOTATE + work)
    for seconds in (0, 0.1, 1, 3, 6):  # a browser may hand what was stored to the next page late
        time.sleep(seconds)
        annotator, progress, help_is_open = browser.told_again(ANNOTATE + look)
        if annotator:
            break
    assert (annotator, help_is_open) == ("Anna", False)
    assert re.fullmatch(r"\d+ to answer, 1 of 3 done", progress)  # at the first that is to be judged
    annotator, progress = browser.told_again(ANNOTATE + anew)
    assert annotator == ""
    assert re.fullmatch(r"\d+ to answer, 0 of 3 done", progress)


def test_what_another_tab_has_judged_is_taken_over(browser: Browser) -> None:
    probe = """
    judge();
    const before = progress(), place = Object.keys(localStorage).find(key => key.startsWith("dragoman judge "));
    const kept = { ...JSON.parse(localStorage.getItem(place)), annotator: "Eve", judgments: {} };
    dispatchEvent(new StorageEvent("storage", { key: place, newValue: JSON.stringify(kept) }));
    const other = JSON.stringify({ ...kept, annotator: "Bob" });
    dispatchEvent(new StorageEvent("storage", { key: "another", newValue: other }));
    const taken = [name.value, progress()];
    tell([before, ...taken]);
    """
    before, name, after = browser.evaluate(text(seed=5), ANNOTATE + probe)
    assert before.endswith("1 of 3 done")
    assert (name, after[-11:]) == ("Eve", "0 of 3 done")


def test_without_storage_work_goes_on_from_a_saved_file(browser: Browser) -> None:
    """And a file of another page is refused."""
    without = "Object.defineProperty(window, 'localStorage', { get() { throw new Error('denied'); } });"
    broken = text().replace('"use strict";', f'"use strict"; {without}', 1)
    page_key = key([*QUESTIONS, ERRORS, RANK], seed=1)
    answers = {"errors": [], "adequacy": 4, "fluency": 5, "correct": 1, "human": 0, "rank": 1}
    item = page_key.items[0]
    saved = {"version": 1, "page": page_key.page, "annotator": "Ben", "judgments": {}}
    saved["judgments"] = {item.id: {output.id: answers for output in item.outputs}}
    probe = f"""
    const $ = selector => document.querySelector(selector), name = $("#annotator");
    const warned = !$("#volatile").hidden, saved = {json.dumps(saved)};
    async function open(value) {{
      const files = new DataTransfer();
      files.items.add(new File([JSON.stringify(value)], "ben.json"));
      $("#open").files = files.files;
      $("#open").dispatchEvent(new Event("change"));
      await new Promise(done => setTimeout(done, 200));
      return [$("#told").textContent, name.value];
    }}
    (async () => tell([warned, await open({{ ...saved, page: "0" }}), await open(saved)]))();
    """
    warned, refused, opened = browser.evaluate(broken, probe)
    assert warned is True
    assert refused == ["ben.json has no judgments of this page.", ""]
    assert opened == ["ben.json: 1 of 3 done.", "Ben"]


LABELLED = """
while (document.querySelector(".source").textContent === "equal") document.getElementById("next").click();
const nameless = [...document.querySelectorAll("input, select, button, [role=button]")].filter(part =>
  !(part.textContent.trim() || part.ariaLabel || part.labels?.length));
const sets = [...document.querySelectorAll("fieldset")].filter(set => !set.querySelector("legend").textContent);
document.body.style.width = "360px";
tell([nameless.length, sets.length, document.body.scrollWidth, document.querySelectorAll("section").length]);
"""


def test_everything_has_a_name_for_screen_readers_and_fits_a_phone(browser: Browser) -> None:
    assert browser.evaluate(text(), LABELLED) == [0, 0, 360, 3]
