"""The page of the service in a browser."""

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
    assert max(weights, key=lambda each: int(each.get_attribute("title").split()[0])).text == "three"
    others = until(lambda: page.driver.find_elements("css selector", "#others button"))
    word = others[0].text
    others[0].click()
    until(lambda: page.run(SHOWN)[:1] == [word])
    assert page.run(SHOWN)[-2:] == ["un", "six"]


def test_the_keyboard_is_enough(page: Browser) -> None:
    page.find("#text").send_keys("one two")
    page.press("TAB", "ENTER")
    until(lambda: page.run(SHOWN) == ["deux", "un"])
    page.press("TAB")
    assert page.focused.text == "deux"
    assert plain(page.find("#chosen").text) == "“deux” looked at"
    page.press("ENTER")
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


def test_hovering_shows_what_a_word_looked_at(page: Browser) -> None:
    from selenium.webdriver.common.action_chains import ActionChains

    translate(page, "one two three")
    ActionChains(page.driver).move_to_element(page.driver.find_elements("css selector", WORDS)[2]).perform()
    assert plain(page.find("#chosen").text) == "“un” looked at"


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
    told = until(lambda: page.texts("#reasons .muted")[-2:] if page.texts("#reasons h3") else None)
    erasure, gradient = map(plain, told)
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
  add({ source: "one", text: "un", before: "", behind: " ", translation });
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
    assert [each.get_attribute("class") for each in (plain, sure, unsure)] == [
        "word unsure",
        "word shaded",
        "word unsure shaded",
    ]
    assert [each.get_attribute("title") for each in (plain, sure, unsure)] == ["", "90 % sure", "20 % sure"]
    colours = [each.value_of_css_property("background-color") for each in (sure, unsure)]
    assert len(set(colours)) == 2
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
    assert all(each.startswith(served) for each in page.requests())


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
        words[2].click()  # of another sentence, whose correction is not saved
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
    until(lambda: page.find("#state").text == "nobody is there")
    page.run("window.fetch = window.reached")
    page.run("one('enter').requestSubmit()")  # with another key
    until(lambda: page.run(SHOWN) == ["deux", "un"])
    page.run("window.fetch = () => Promise.reject(new Error('nobody is there'))")
    page.find("#go").click()
    until(lambda: page.find("#state").text == "nobody is there")
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
    page.run(f"add({{ source: 'one', text: '', before: '', behind: '', translation: {nothing}, wish: wished() }})")
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
