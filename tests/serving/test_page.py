"""The page of the service in a browser."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.browser import Browser

WORDS = "#translation .word"
SHOWN = "return [...document.querySelectorAll('#translation .word')].map((word) => word.textContent)"


def until(found: Callable[[], Any]) -> Any:
    """What is found as soon as it is something."""
    end = time.monotonic() + 30
    while not (value := found()):
        assert time.monotonic() < end, "nothing was found"
        time.sleep(0.05)
    return value


@pytest.fixture
def page(browser: Browser, served: str) -> Browser:
    browser.visit(served)
    until(lambda: browser.run("return document.querySelector('#target').value"))
    return browser


def translate(page: Browser, text: str) -> list[str]:
    page.find("#text").clear()
    page.find("#text").send_keys(text)
    page.find("#go").click()
    return list(until(lambda: page.run("return !document.querySelector('#copy').disabled") and page.run(SHOWN)))


def test_a_word_tells_what_it_looked_at_and_gives_way_to_another(page: Browser) -> None:
    assert translate(page, "one two three\nsix one") == ["trois", "deux", "un", "un", "six"]
    assert page.run("return document.querySelector('#translation').textContent") == "trois deux un\nun six"
    page.driver.find_elements("css selector", WORDS)[0].click()
    assert page.find("#chosen").text == "“trois” looked at"
    weights = page.driver.find_elements("css selector", "#looked mark")
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
    assert page.find("#chosen").text == "“deux” looked at"
    page.press("ENTER")
    until(lambda: page.driver.find_elements("css selector", "#others button"))
    page.press("ESCAPE")
    assert not page.find("#detail").is_displayed()


def test_a_glossary_holds_and_stays(page: Browser, served: str) -> None:
    page.find("#terms summary").click()
    page.find("#glossary").send_keys("two = zwei")
    assert "zwei" in translate(page, "one two")
    page.visit(served)
    assert until(lambda: page.run("return document.querySelector('#glossary').value")) == "two = zwei"
    page.run("localStorage.clear()")


def test_texts_are_never_markup(page: Browser) -> None:
    translate(page, "<img src=x onerror=document.title='bad'> one")
    assert page.driver.title != "bad"
    assert not page.driver.find_elements("css selector", "#translation img, #history img")


@pytest.mark.parametrize(("width", "dark"), [(360, True), (1200, False)])
def test_nothing_is_wrong_with_it_and_it_asks_nobody_else(page: Browser, served: str, width: int, dark: bool) -> None:
    page.visit(served, width, dark=dark)
    translate(page, "one two three")
    page.driver.find_elements("css selector", WORDS)[1].click()
    until(lambda: page.driver.find_elements("css selector", "#others *"))
    assert page.problems() == []
    assert page.run("return document.documentElement.scrollWidth") <= width
    assert all(each.startswith(served) for each in page.requests())
