"""The page of the service in a browser."""

import json
import re
import struct
import time
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from tests.browser import Browser
from tests.serving.picture import HEIGHT, SHOWN, WIDTH, WORDS, choose, taken, translate, until
from tests.serving.server import serving


def plain(text: str) -> str:
    """A text without the marks around words that may run the other way."""
    return text.replace("\u2068", "").replace("\u2069", "")


def problems(page: Browser) -> list[Any]:
    """What is wrong with the page when all of its sections are open, those too that this service does not need."""
    page.run("for (const each of document.querySelectorAll('details')) { each.hidden = false; each.open = true; }")
    return page.problems()


@pytest.fixture
def page(browser: Browser, served: str) -> Browser:
    browser.visit(served)
    until(lambda: browser.run("return document.querySelector('#target').value"))
    return browser


def test_a_word_tells_what_it_looked_at_and_gives_way_to_another(page: Browser) -> None:
    assert translate(page, "one two three\nsix one") == ["trois", "deux", "un", "un", "six"]
    assert page.run("return document.querySelector('#translation').textContent") == "trois deux un\nun six"
    page.driver.find_elements("css selector", WORDS)[0].click()
    assert plain(page.find("#chosen").text) == "“trois” looked at"
    weights = page.driver.find_elements("css selector", "#looked .for")
    assert max(weights, key=lambda element: int(element.get_attribute("title").split()[0])).text == "three"
    buttons = until(lambda: page.driver.find_elements("css selector", "#others button"))
    word = buttons[0].text
    buttons[0].click()
    until(lambda: page.run(SHOWN)[:1] == [word])
    assert page.run(SHOWN)[-2:] == ["un", "six"]


def test_the_keyboard_is_enough(page: Browser) -> None:
    page.find("#text").send_keys("one two")
    page.press("TAB", "ENTER")
    until(lambda: page.run(SHOWN) == ["deux", "un"])
    page.press("TAB", "TAB")
    assert page.focused.text == "deux"
    assert plain(page.find("#chosen").text) == "“deux” looked at"
    page.press("ARROW_RIGHT")
    assert (page.focused.text, plain(page.find("#chosen").text)) == ("un", "“un” looked at")
    page.press("HOME", "ENTER")
    until(lambda: page.driver.find_elements("css selector", "#others button"))
    while page.focused.text != "Why this word?":
        assert page.focused.get_attribute("id") != "forget", "the button is not reached with Tab"
        page.press("TAB")
    page.press("ENTER")
    until(lambda: page.texts("#reasons h3"))
    assert plain(page.find("#chosen").text) == "“deux” looked at"  # though other words had the focus
    assert "“deux” would be" in plain(page.find("#reasons").text)
    page.press("ESCAPE")
    assert not page.find("#detail").is_displayed()
    assert page.focused.text == "deux"


def test_hovering_shows_what_a_word_looked_at(page: Browser) -> None:
    from selenium.webdriver.common.action_chains import ActionChains

    translate(page, "one two three")
    ActionChains(page.driver).move_to_element(page.driver.find_elements("css selector", WORDS)[2]).perform()
    until(lambda: plain(page.find("#chosen").text) == "“un” looked at")
    ActionChains(page.driver).move_to_element(page.find("#looked")).perform()
    time.sleep(0.6)
    assert page.find("#detail").is_displayed()  # what it shows can be pointed at
    ActionChains(page.driver).move_to_element(page.find("h1")).perform()
    until(lambda: not page.find("#detail").is_displayed())


LONG = "one('text').value = 'one two three six five four. '.repeat(40).trim(); count(); translate()"
STOPS = "return [...document.querySelectorAll('#translation .word')].filter((word) => word.tabIndex === 0).length"
INSIDE = """const { left, top, right, bottom } = one('detail').getBoundingClientRect();
const word = anchor.getBoundingClientRect();
return [left >= 0, top >= 0, right <= innerWidth, bottom <= innerHeight, bottom <= word.top || top >= word.bottom];"""
LAYOUT = """return [document.documentElement.scrollHeight, ...['text', 'translation', 'terms'].map((id) => {
  const { left, top, width, height } = one(id).getBoundingClientRect();
  return [left, top + scrollY, width, height];
})];"""


@pytest.mark.parametrize(("width", "height"), [(1280, 700), (360, 640)])
@pytest.mark.parametrize("number", [0, 100, -1])
def test_the_popover_stands_at_its_word_in_the_window_and_moves_nothing(
    page: Browser, served: str, width: int, height: int, number: int
) -> None:
    from selenium.webdriver.common.action_chains import ActionChains

    page.visit(served, width, height)
    until(lambda: page.run("return document.querySelector('#target').value"))
    page.run(LONG)
    until(lambda: page.run("return whole"))
    word = page.driver.find_elements("css selector", WORDS)[number]
    before = page.run(LAYOUT)
    ActionChains(page.driver).move_to_element(word).perform()
    until(lambda: page.find("#detail").is_displayed())
    assert page.run(INSIDE) == [True] * 5
    word.click()
    until(lambda: page.texts("#others span, #others button"))
    assert page.run(INSIDE) == [True] * 5
    page.run("scrollBy(0, 50)")
    time.sleep(0.1)
    assert page.run(INSIDE)[:4] == [True] * 4
    assert page.run(LAYOUT) == before
    page.find("h1").click()
    assert not page.find("#detail").is_displayed()
    assert page.texts('#translation [aria-pressed="true"]') == []


def test_a_long_text_has_one_tab_stop_and_arrow_keys_move_in_it(page: Browser) -> None:
    page.run(LONG)
    until(lambda: page.run("return whole"))
    assert page.run("return sentences.length") == 40
    assert page.run(STOPS) == 1
    page.run("one('clear').focus()")
    page.press("TAB")
    words = page.driver.find_elements("css selector", WORDS)
    assert page.focused == words[0]
    page.press("END")
    assert (page.focused, page.run(STOPS)) == (words[-1], 1)
    page.press("ARROW_RIGHT")
    assert page.focused == words[-1]  # it is the last
    page.press("ARROW_LEFT", "ARROW_LEFT")
    assert page.focused == words[-3]
    page.press("HOME", "ARROW_DOWN")
    assert page.focused.location["x"] == words[0].location["x"]
    assert 0 < page.focused.location["y"] - words[0].location["y"] < 60
    page.press("ARROW_UP")
    assert page.focused == words[0]
    page.press("SPACE")
    until(lambda: page.texts("#others span, #others button"))
    page.press("ARROW_RIGHT")  # another word takes the place of the one that was chosen
    assert page.texts('#translation [aria-pressed="true"]') == []
    assert page.find("#detail").is_displayed()
    page.press("ESCAPE")
    assert (page.find("#detail").is_displayed(), page.focused) == (False, words[1])
    page.press("ENTER")
    until(lambda: page.texts("#others span, #others button"))
    page.press("TAB")
    assert page.run("return one('detail').contains(document.activeElement)")
    page.press("ESCAPE")
    assert (page.find("#detail").is_displayed(), page.focused) == (False, words[1])
    page.press("TAB")
    assert page.focused.get_attribute("id") == "copy"


def test_from_right_to_left_the_arrow_keys_follow_the_words(page: Browser) -> None:
    page.run("""one('translation').replaceChildren();
    const translation = { words: ["שלום", "עולם"], log_probs: [0, 0], sources: [] };
    add({ source: "one", text: "שלום עולם", before: "", after: "", translation });""")
    first, second = page.driver.find_elements("css selector", WORDS)
    first.click()
    page.press("ARROW_LEFT")
    assert page.focused == second
    page.press("ARROW_RIGHT")
    assert page.focused == first


def test_pointing_at_a_word_of_the_source_shows_which_words_looked_at_it(page: Browser) -> None:
    from selenium.webdriver.common.action_chains import ActionChains

    translate(page, "one two three")
    page.driver.find_elements("css selector", WORDS)[0].click()
    first = page.driver.find_elements("css selector", "#looked button")[0]
    ActionChains(page.driver).move_to_element(first).perform()
    assert re.match(r"“one” was looked at by .*“un” \d+ %", plain(page.find("#pointed").text))
    assert "un" in page.texts("#translation .lit")
    ActionChains(page.driver).move_to_element(page.find("h1")).perform()
    assert page.texts("#translation .lit") == []


def test_a_word_tells_why_it_is_there_and_not_another(page: Browser) -> None:
    translate(page, "one two three")
    choose(page, 0)
    page.find("#why button").click()
    notes = until(lambda: page.texts("#reasons .muted")[-2:] if page.texts("#reasons h3") else None)
    erasure, gradient = map(plain, notes)
    assert re.fullmatch(r"Without “three”, “trois” would be (over )?[\d.,]+ times less probable\.", erasure)
    assert re.fullmatch(r"“\w+” speaks most (for|against) “trois”: [+−][\d.]+ nats\.", gradient)
    page.find("#rather").send_keys(page.texts("#rather option")[1])
    other = page.texts("#others button")[0]
    until(lambda: f"compared with “{other}”." in plain(page.find("#reasons").text))
    assert plain(page.texts("#reasons .muted")[0]).startswith("Without “three”, “trois” would be")
    assert f"rather than “{other}”: " in plain(page.find("#reasons").text)
    assert page.texts("#reasons .for, #reasons .against")
    assert problems(page) == []


def test_a_correction_is_saved_and_given_from_then_on(browser: Browser, run: Path, tmp_path: Path) -> None:
    with serving(run, options=["--corrections", str(tmp_path / "db")]) as address:
        browser.visit(address)
        until(lambda: browser.run("return document.querySelector('#target').value"))
        assert translate(browser, "one two") == ["deux", "un"]
        choose(browser, 0)
        browser.find("#better").clear()
        browser.find("#better").send_keys("uno dos")
        browser.find("#correction button").click()
        until(lambda: browser.find("#kept").text == "Saved.")
        assert browser.find("#translation").text == "uno dos"
        assert browser.find("#chosen").text == "A correction that was saved"  # the panel is about it now
        assert not browser.find("#why").is_displayed()
        assert browser.texts("#others button") == []
        browser.visit(address)
        until(lambda: browser.run("return document.querySelector('#target').value"))
        browser.find("#text").send_keys("one two")
        browser.find("#go").click()
        until(lambda: browser.find("#translation").text == "uno dos")
        browser.find(WORDS).click()  # and is corrected again
        assert browser.find("#chosen").text == "A correction that was saved"
        assert not browser.find("#why").is_displayed()
        browser.find("#better").send_keys(" tres")
        browser.find("#correction button").click()
        until(lambda: browser.find("#kept").text == "Saved.")
        assert browser.find("#translation").text == "uno dos tres"
        assert problems(browser) == []


def test_what_is_typed_is_translated_when_typing_pauses(page: Browser) -> None:
    page.run("localStorage.clear(); showHistory()")
    page.find("#text").send_keys("one two")
    until(lambda: page.run(SHOWN) == ["deux", "un"])
    assert page.run("return document.querySelectorAll('#history button').length") == 0  # more may come
    page.find("#text").send_keys(" three")
    until(lambda: page.run(SHOWN) == ["trois", "deux", "un"])
    page.press("TAB")
    until(lambda: page.run("return document.querySelectorAll('#history button').length") == 1)
    page.run("localStorage.clear()")


def test_texts_before_are_there_until_they_are_forgotten(page: Browser, served: str) -> None:
    page.run("localStorage.clear()")
    for text in ("one two", "six"):
        translate(page, text)
    page.visit(served)
    until(lambda: page.run("return document.querySelectorAll('#history button').length") == 2)
    page.find("#past summary").click()
    assert page.texts("#history button") == ["six", "one two"]
    page.driver.find_elements("css selector", "#history button")[1].click()
    until(lambda: page.run(SHOWN) == ["deux", "un"])
    page.find("#forget").click()
    assert page.texts("#history button") == []
    page.visit(served)
    assert page.run("return document.querySelectorAll('#history button').length") == 0


def test_a_text_from_right_to_left_is_written_so(page: Browser) -> None:
    page.find("#text").send_keys("שלום one")
    direction = "return getComputedStyle(document.querySelector('{}')).direction"
    assert page.run(direction.format("#text")) == "rtl"
    page.find("#text").clear()
    page.find("#terms summary").click()
    page.find("#glossary").send_keys("one = שלום\ntwo = עולם")
    assert set(translate(page, "one two")) == {"שלום", "עולם"}
    assert page.run(direction.format("#translation")) == "rtl"
    page.run("localStorage.clear()")
    assert page.run(direction.format("#better")) == "ltr"


def test_a_glossary_holds_and_stays(page: Browser, served: str) -> None:
    page.find("#terms summary").click()
    page.find("#glossary").send_keys("two = zwei")
    assert "zwei" in translate(page, "one two")
    page.visit(served)
    assert until(lambda: page.run("return document.querySelector('#glossary').value")) == "two = zwei"
    change = "const source = document.querySelector('#source'); source.value = '{}'; "
    change += "source.dispatchEvent(new Event('change')); return document.querySelector('#glossary').value"
    assert page.run(change.format("en+digits")) == ""  # of other languages
    assert page.run(change.format("en")) == "two = zwei"
    page.run("localStorage.clear()")


def test_what_is_not_to_be_translated_stays(page: Browser) -> None:
    page.find("#terms summary").click()
    page.find("#never").send_keys("three\ntwo")
    assert {"two", "three"} <= set(translate(page, "one two three"))
    page.run("localStorage.clear()")


DROP = """const dataTransfer = new DataTransfer();
dataTransfer.items.add(new File(["<p>one <b>two</b></p>"], "a b.html"));
const event = new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true });
document.querySelector("main").dispatchEvent(event);"""
CALIBRATED = """const sources = [{ words: ["one"], attention: [[1]] }];
one("translation").replaceChildren();
for (const sure of [undefined, 0.9, 0.2]) {
  const confidence = sure && { sentence: sure, words: [sure] };
  const translation = { words: ["un"], log_probs: [-3], sources, confidence };
  add({ source: "one", text: "un", before: "", after: " ", translation });
}"""


def test_a_file_that_is_dropped_comes_back(page: Browser, served: str) -> None:
    page.run(DROP)
    link = until(lambda: page.driver.find_elements("css selector", "#done a"))[0]
    assert (link.text, link.get_attribute("download")) == ("a b_fr.html", "a b_fr.html")
    assert page.focused == link
    with urlopen(link.get_attribute("href")) as answer:
        assert answer.read() == b"<p><b>deux</b> un</p>"
    page.run(DROP.replace("a b.html", "a.exe"))
    until(lambda: "not supported" in page.find("#sent").text)
    assert problems(page)[1:] == []  # the browser's own word of the refusal


def test_words_are_shaded_by_confidence_where_the_run_is_calibrated(page: Browser) -> None:
    page.run(CALIBRATED)
    plain, sure, unsure = page.driver.find_elements("css selector", WORDS)
    assert [element.get_attribute("class") for element in (plain, sure, unsure)] == [
        "word unsure",
        "word shaded",
        "word unsure shaded",
    ]
    assert [element.get_attribute("title") for element in (plain, sure, unsure)] == ["", "90 % sure", "20 % sure"]
    colors = [element.value_of_css_property("background-color") for element in (sure, unsure)]
    assert len(set(colors)) == 2
    assert problems(page) == []


def test_texts_are_never_markup(page: Browser) -> None:
    translate(page, "<img src=x onerror=document.title='bad'> one")
    assert page.driver.title != "bad"
    assert not page.driver.find_elements("css selector", "#translation img, #history img")


@pytest.mark.parametrize(("width", "dark"), [(360, True), (1200, False)])
def test_nothing_is_wrong_with_it_and_it_asks_nobody_else(page: Browser, served: str, width: int, dark: bool) -> None:
    page.visit(served, width, dark=dark)
    translate(page, "one two three")
    choose(page, 1)
    assert problems(page) == []
    assert page.run("return document.documentElement.scrollWidth") <= width
    assert all(url.startswith(served) for url in page.requests())


def test_the_picture_in_the_docs_is_one_of_the_page(browser: Browser, served: str, repository: Path) -> None:
    for picture in (taken(browser, served, "one two three", 1), (repository / "docs" / "serve.png").read_bytes()):
        assert picture.startswith(b"\x89PNG")
        assert struct.unpack(">II", picture[16:24]) == (WIDTH, HEIGHT)


def test_words_are_found_in_a_text_that_the_model_reads_in_another_form(page: Browser) -> None:
    placed = "return placed({ text: arguments[0], words: arguments[1] })"
    assert page.run(placed, "one two one", ["one", "two", "one"]) == ["one two one", [0, 4, 8]]
    assert page.run(placed, "One TWO one", ["one", "two", "one"]) == ["One TWO one", [0, 4, 8]]
    assert page.run(placed, "cafe\u0301 ONE", ["caf\u00e9", "one"]) == ["caf\u00e9 ONE", [0, 5]]
    assert page.run(placed, "one", ["two", "one"]) == ["two one", [0, 4]]  # otherwise as it was read
    following = "return following({ text: arguments[0], words: arguments[1], log_probs: [0, 0, 0] }, arguments[2])"
    assert page.run(following, "cinq l'un six", ["cinq", "l'un", "six"], 4) == "l'un"


def test_to_swap_loses_no_text(page: Browser) -> None:
    both = "languages.find(({ code }) => code === 'fr').targets = ['en']; options(one('source'), ['en', 'fr'], 'en');"
    page.run(f"{both} targets('fr')")
    assert translate(page, "one two") == ["deux", "un"]
    page.run("one('text').value = 'three four'; one('swap').click()")
    pair = "return [one('source').value, one('target').value, stored('source'), one('text').value]"
    assert page.run(pair) == ["fr", "en", "fr", "three four"]
    page.run("one('swap').click()")
    assert translate(page, "one two") == ["deux", "un"]
    page.run("one('swap').click()")
    assert page.run(pair) == ["fr", "en", "fr", "deux un"]
    page.run("localStorage.clear()")


def test_what_cannot_be_copied_is_selected(page: Browser) -> None:
    translate(page, "one two")
    page.run("Object.defineProperty(navigator, 'clipboard', { value: undefined })")  # as without encryption
    page.find("#copy").click()
    until(lambda: page.find("#state").text == "Press Ctrl+C to copy.")
    assert page.run("return String(getSelection())") == "deux un"


def test_the_draft_of_a_correction_stays(browser: Browser, run: Path, tmp_path: Path) -> None:
    with serving(run, options=["--corrections", str(tmp_path / "db")]) as address:
        browser.visit(address)
        until(lambda: browser.run("return document.querySelector('#target').value"))
        translate(browser, "one two\nsix one")
        words = browser.driver.find_elements("css selector", WORDS)
        draft = "return document.querySelector('#better').value"
        words[0].click()
        browser.find("#better").send_keys(" tres")
        words[1].click()
        assert browser.run(draft) == "deux un tres"
        browser.press("ESCAPE")
        words[0].click()
        assert browser.run(draft) == "deux un tres"
        slow = "const real = post; post = async (...given) => { const found = await real(...given); "
        browser.run(f"{slow} await new Promise((done) => setTimeout(done, 500)); return found; }}")
        browser.find("#correction button").click()
        browser.run("arguments[0].click()", words[2])  # of another sentence, whose correction is not saved
        until(lambda: browser.run("return document.querySelector('#translation').textContent")[:12] == "deux un tres")
        assert browser.find("#kept").text == ""
        assert browser.run(draft) == "un six"
        browser.find("#better").send_keys("!")
        browser.find("#correction button").click()
        browser.find("#better").send_keys("?")  # while it is saved: the answer still waits, as above
        until(lambda: browser.run("return sentences[1].correction"))
        assert (browser.run(draft), browser.find("#kept").text) == ("un six!?", "")
        browser.find("#correction button").click()
        until(lambda: browser.find("#kept").text == "Saved.")
        browser.find("#better").send_keys("!")
        assert browser.find("#kept").text == ""
        browser.run("document.querySelector('#translation .word').click()")  # of the first sentence
        browser.find("#text").send_keys(" one")
        time.sleep(1)
        assert browser.run("return document.querySelector('#translation').textContent").endswith("un six!?")
        assert browser.find("#state").text.startswith("A better translation has not been saved.")


def test_what_has_failed_is_translated_when_it_is_typed_again(page: Browser) -> None:
    page.run("window.reached = fetch; window.fetch = () => Promise.reject(new Error('nobody is there'))")
    page.find("#text").send_keys("one two")
    until(lambda: page.find("#state").text.startswith("The server does not answer."))
    page.run("window.fetch = window.reached")
    page.run("one('enter').requestSubmit()")  # with another key
    until(lambda: page.run(SHOWN) == ["deux", "un"])
    page.run("window.fetch = () => Promise.reject(new Error('nobody is there'))")
    page.find("#go").click()
    until(lambda: page.find("#state").text.startswith("The server does not answer."))
    page.run("window.fetch = window.reached; one('text').dispatchEvent(new Event('input'))")
    until(lambda: page.run(SHOWN) == ["deux", "un"])


def test_the_last_choice_counts_and_not_the_last_answer(page: Browser) -> None:
    translate(page, "one two")
    page.run("""const real = post;
    window.came = 0;
    post = async (path, given) => {
      const found = await real(path, given);
      await new Promise((done) => setTimeout(done, given.prefix === "trois" ? 1000 : 0));
      window.came += 1;
      return found;
    };
    retranslate(sentences[0], "trois");
    retranslate(sentences[0], "six");""")
    until(lambda: page.run("return window.came") == 2)
    assert page.run(SHOWN)[:1] == ["six"]


def test_a_sentence_without_a_translation_can_be_chosen(page: Browser) -> None:
    nothing = "{ words: [], log_probs: [], sources: [] }"
    page.run(f"add({{ source: 'one', text: '', before: '', after: '', translation: {nothing}, wish: wished() }})")
    button = page.find(WORDS)
    assert button.text == "…"
    button.click()
    assert page.find("#chosen").text == "The model wrote nothing"


def test_files_are_translated_one_after_another(page: Browser) -> None:
    other = 'dataTransfer.items.add(new File(["x"], "a.exe")); dataTransfer.items.add(new File(["six"], "b.txt"));\n'
    page.run(DROP.replace("const event", f"{other}const event"))
    until(lambda: len(page.driver.find_elements("css selector", "#done a")) == 2)
    until(lambda: "Translated" in page.find("#sent").text)
    assert page.find("#sent").text.startswith("a.exe: ")
    assert page.texts("#done a") == ["b_fr.txt", "a b_fr.html"]
    page.run(f"settings.filesTranslation = false; {DROP}")
    assert page.find("#state").text == "Files are not translated here."


def test_long_words_do_not_widen_the_page(page: Browser, served: str) -> None:
    page.visit(served, 360)
    until(lambda: page.run("return document.querySelector('#target').value"))
    translate(page, "one https://example.org/" + "a" * 170)
    page.driver.find_elements("css selector", WORDS)[0].click()
    until(lambda: page.find("#others").text)
    assert page.run("return document.documentElement.scrollWidth") <= 360


ANSWERS = """window.fetch = async () => new Response({body}, {{ status: {status}, headers: {headers} }});
one('text').value = 'one two'; count(); translate();"""


@pytest.mark.parametrize(
    ("status", "body", "line"),
    [
        (413, '{"error": "Request body is too large"}', "This is larger than what the server accepts at once. Tr"),
        (
            400,
            '{"error": "Invalid request: request (1234) exceeds text limit (500)"}',
            "1,234 characters are too many: at most 500 are translated at once.",
        ),
        (400, '{"error": "Cannot translate text: there are no words"}', "There are no words."),
        (403, '{"error": "Invalid API key"}', "Invalid API key."),
        (429, '{"error": "Slowdown: 5 per 1 minute"}', "Too many requests. Wait a minute, then try again."),
        (503, '{"error": "Service is busy: not translated in time"}', "The server is busy. Try again in 7 seconds."),
        (500, '{"error": "Internal error"}', "The server could not do this (500). If it happens again, its log"),
        (502, "<html>Bad Gateway</html>", "The server does not answer."),
        (200, 'event: sentence\ndata: {"before": "", "text": "un", "after": ""}\n\n', "The connection ended before"),
        (200, 'event: error\ndata: {"error": "the service is stopping"}\n\n', "The service is stopping."),
    ],
)
def test_what_goes_wrong_is_told_plainly(page: Browser, status: int, body: str, line: str) -> None:
    page.run(ANSWERS.format(body=json.dumps(body), status=status, headers='{ "Retry-After": "7" }'))
    until(lambda: page.find("#state").text.startswith(line))
    assert page.find("#copy").is_enabled() == ("un" in page.texts("#translation span"))


@pytest.mark.slow
def test_a_text_over_the_limit_is_not_sent(browser: Browser, run: Path) -> None:
    with serving(run, options=["--characters", "1000"]) as address:
        browser.visit(address)
        until(lambda: browser.run("return document.querySelector('#target').value"))
        browser.run("one('text').value = 'one '.repeat(251); one('text').dispatchEvent(new Event('input'))")
        line = "1,004 characters are too many: at most 1,000 are translated at once."
        until(lambda: browser.find("#state").text == line)
        assert browser.find("#count").get_attribute("class") == "over"
        browser.find("#go").click()
        until(lambda: browser.find("#state").text == line)
        assert not any("v1/stream" in url for url in browser.requests())
        browser.run("one('text').value = 'one '.repeat(250)")
        browser.find("#go").click()
        until(lambda: browser.run("return whole"))
        assert browser.find("#state").text != line


@pytest.mark.parametrize(
    ("blocked", "line"),
    [
        ("languages", "The languages of this server could not be loaded. The server does not answer."),
        ("page.js", "A part of this page could not be loaded"),
        ("popover.js", "A part of this page could not be loaded"),
        ("word.js", "A part of this page could not be loaded"),
        ("files.js", "A part of this page could not be loaded"),
    ],
)
def test_a_page_that_lacks_a_part_says_so(browser: Browser, served: str, blocked: str, line: str) -> None:
    block = browser.driver.execute_cdp_cmd
    block("Network.enable", {})
    block("Network.setBlockedURLs", {"urls": [f"*{blocked}"]})
    try:
        browser.visit(served)
        until(lambda: browser.find("#trouble").text.startswith(line))
        assert not browser.find("#go").is_enabled()
    finally:
        block("Network.setBlockedURLs", {"urls": []})


def test_a_page_that_lacks_nothing_shows_no_trouble(page: Browser) -> None:
    time.sleep(3.2)
    assert page.texts(".trouble") == []
    assert page.find("#go").is_enabled()


def test_without_javascript_the_page_says_that_it_needs_it(browser: Browser, served: str) -> None:
    browser.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.visit(served)
        page = browser.driver.find_element("css selector", "main").text
        assert page.startswith("This page needs JavaScript")
        assert "Translate" not in page.splitlines()
        browser.find("noscript a").click()
        until(lambda: browser.find("h1").text == "API")
    finally:
        browser.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


@pytest.mark.parametrize(("width", "dark"), [(360, True), (1200, False)])
def test_the_documentation_has_every_endpoint(browser: Browser, served: str, width: int, dark: bool) -> None:
    browser.visit(f"{served}/docs", width, dark=dark)
    with urlopen(f"{served}/spec") as answer:
        paths = json.load(answer)["paths"]
    wanted = [f"{method.upper()} {path}" for path, methods in paths.items() for method in methods]
    assert browser.texts("h2") == wanted
    assert "POST /v1/translate" in wanted
    cells = "glossary", "array", "optional; terms, each with the forms of its translation"
    assert any(row.startswith(" ".join(cells)) for row in browser.texts("tr"))
    assert f"curl {served}/translate" in browser.find("pre").text
    assert browser.problems() == []
    assert browser.run("return document.documentElement.scrollWidth") <= width


def test_what_was_copied_is_said_until_the_text_changes(page: Browser) -> None:
    page.run("Object.defineProperty(navigator, 'clipboard', { value: { writeText: async () => {} } })")
    for change in ("one('text').value += ' one'; typed()", "retranslate(sentences[0], '', 'six')"):
        translate(page, "one two")
        page.find("#copy").click()
        until(lambda: page.find("#state").text == "Copied.")
        page.run(change)
        until(lambda: page.find("#state").text != "Copied.")


def test_a_text_is_cleared(page: Browser) -> None:
    assert not page.find("#clear").is_enabled()
    translate(page, "one two")
    page.find("#clear").click()
    assert page.run("return [one('text').value, one('translation').textContent]") == ["", ""]
    assert page.find("#count").text.startswith("0 of ")
    assert page.focused == page.find("#text")
    assert not page.find("#clear").is_enabled()
    assert not page.find("#copy").is_enabled()


def test_the_page_has_an_icon_of_its_own(page: Browser) -> None:
    icon = page.find('link[rel="icon"]').get_attribute("href")
    page.run("window.icon = new Image(); icon.src = arguments[0]", icon)
    until(lambda: page.run("return icon.complete && icon.naturalWidth") or None)
    assert page.driver.get_log("browser") == []  # the page's policy lets it in


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("a = b=c", [["a", "b=c"]]),
        ("a=b = c", [["a=b", "c"]]),
        ("a=b=c", [["a", "b=c"]]),
        ("a = b = c", [["a", "b = c"]]),
        ("a=b\tc = d", [["a=b", "c = d"]]),
        ("a\tb\tc", [["a", "b", "c"]]),
        ("a\n\n b =\n= c", [["a"], ["b"]]),
    ],
)
def test_a_term_is_parted_from_its_translation_once(page: Browser, lines: str, expected: list[list[str]]) -> None:
    assert page.run("one('glossary').value = arguments[0]; return glossary()", lines) == expected
    assert "first = between spaces" in page.run("return one('form').textContent.replace(/\\s+/g, ' ')")


def test_the_glossary_of_the_page_applies_to_files(page: Browser) -> None:
    page.run("one('glossary').value = 'two = zwei'; one('never').value = 'one'")
    page.run(DROP)
    link = until(lambda: page.driver.find_elements("css selector", "#done a"))[0]
    with urlopen(link.get_attribute("href")) as answer:
        text = answer.read().decode()
    assert "zwei" in text
    assert "one" in text


@pytest.mark.slow
def test_a_glossary_leaves_corrections_that_agree_with_it(browser: Browser, run: Path, tmp_path: Path) -> None:
    with serving(run, options=["--corrections", str(tmp_path / "db")]) as address:
        browser.visit(address)
        until(lambda: browser.run("return document.querySelector('#target').value"))
        browser.run("one('glossary').value = 'two = dos'")
        translate(browser, "one two")
        choose(browser, 0)
        browser.find("#better").clear()
        browser.find("#better").send_keys("uno dos")
        browser.find("#correction button").click()
        until(lambda: browser.find("#kept").text == "Saved.")
        assert browser.find("#translation").text == "uno dos"
        translate(browser, "one two")
        assert browser.find("#translation").text == "uno dos"
        browser.run("one('glossary').value = 'two = zwei'")
        assert "zwei" in translate(browser, "one two")
        assert browser.find("#state").text == "A saved correction is not used because of the glossary."
        choose(browser, 0)
        reason = "A saved correction is not used, since the glossary asks for “zwei” for “two”: “uno dos”"
        assert plain(browser.find("#unused").text) == reason
        browser.find("#better").clear()
        browser.find("#better").send_keys("uno dos tres")
        browser.find("#correction button").click()
        until(lambda: plain(browser.find("#kept").text).startswith("Saved. A saved correction is not used"))
        browser.run("localStorage.clear()")


@pytest.mark.slow
def test_a_correction_is_saved_though_its_use_cannot_be_checked(browser: Browser, run: Path, tmp_path: Path) -> None:
    fail_second = """window.reached = fetch; window.count = 0; window.fetch = (...wish) => (
        window.count++ ? Promise.reject(new Error('nobody is there')) : window.reached(...wish))"""
    with serving(run, options=["--corrections", str(tmp_path / "db")]) as address:
        browser.visit(address)
        until(lambda: browser.run("return document.querySelector('#target').value"))
        browser.run("one('glossary').value = 'two = dos'")
        translate(browser, "one two")
        choose(browser, 0)
        until(lambda: browser.find("#others").text)
        browser.find("#better").send_keys(" tres")
        browser.run(fail_second)
        browser.find("#correction button").click()
        until(lambda: browser.run("return window.count") == 2)
        assert browser.find("#kept").text == "Saved."
        browser.run("localStorage.clear()")


@pytest.mark.slow
def test_the_language_of_a_text_is_detected(browser: Browser, run: Path, back: Path) -> None:
    with serving(run, back) as address:
        browser.visit(address)
        until(lambda: browser.run("return document.querySelector('#target').value"))
        browser.run("localStorage.clear()")
        assert browser.texts("#source option") == ["Detect language", "English", "French"]
        browser.run("one('source').value = 'auto'; one('source').dispatchEvent(new Event('change'))")
        assert browser.texts("#target option") == ["English", "French"]
        assert not browser.find("#swap").is_enabled()
        browser.run("one('target').value = 'fr'; one('target').dispatchEvent(new Event('change'))")
        browser.run("stored('glossary en fr', 'two = zwei')")
        translate(browser, "one two three with the house")
        assert browser.texts("#source option")[0] == "Detected: English"
        assert browser.run("return one('detected').textContent") == "Detected: English"
        assert "zwei" in browser.run(SHOWN)  # by the glossary of the languages
        assert browser.run("return one('glossary').value") == "two = zwei"
        choose(browser, 0)  # what is known of a word is asked for in that language
        browser.find("#why button").click()
        until(lambda: browser.texts("#reasons h3"))
        browser.press("ESCAPE")
        browser.find("#swap").click()
        assert browser.run("return pair()") == {"source": "fr", "target": "en"}
        browser.run("one('source').value = 'auto'; one('source').dispatchEvent(new Event('change'))")
        browser.run("one('target').value = 'en'; one('text').value = 'one two with the house'; translate()")
        until(lambda: browser.find("#state").text == "This text is in the target language already.")
        assert browser.find("#translation").text == "one two with the house"
        browser.run("localStorage.clear()")


def test_the_page_of_one_source_language_detects_none(page: Browser) -> None:
    assert page.texts("#source option") == ["English", "en + digits"]


ROWS = """const tops = (ids) => ids.map((selector) => {
  const { top, bottom } = document.querySelector(selector).getBoundingClientRect();
  return (top + bottom) / 2;
});
return [["label[for=source]", "#source"], ["label[for=target]", "#target"]].map((ids) => {
  const [label, select] = tops(ids);
  return Math.abs(label - select) < 5;
});"""


@pytest.mark.slow
@pytest.mark.parametrize("width", [320, 360])
def test_on_a_small_screen_what_belongs_together_stays_together(page: Browser, served: str, width: int) -> None:
    page.visit(served, width)
    until(lambda: page.run("return document.querySelector('#target').value"))
    page.run("one('target').options[0].textContent = 'French as it is spoken in Switzerland and elsewhere'")
    assert page.run(ROWS) == [True, True]
    for padding in range(4, 40, 2):  # so that a line ends at each of them
        text = "x" * padding + " xx l'homme xx« y's."
        page.run(
            """one('translation').replaceChildren();
            const words = arguments[0].match(/l'|'s|[^\\s'«.]+|[«.]/g);
            const translation = { words, log_probs: words.map(() => 0), sources: [] };
            add({ source: "one", text: arguments[0], before: "", after: "", translation });""",
            text,
        )
        places = {element.text: element.location["y"] for element in page.driver.find_elements("css selector", WORDS)}
        assert places["l'"] == places["homme"]
        assert places["y"] == places["'s"] == places["."]
    assert page.run("return document.documentElement.scrollWidth") <= width
