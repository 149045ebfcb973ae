"""The picture of the page in the README: `python -m tests.serving.picture runs/demo/run docs/serve.png`."""

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.browser import Browser, started
from tests.serving.server import serving

WIDTH, HEIGHT = 1000, 640
WORDS = "#translation .word"
SHOWN = "return [...document.querySelectorAll('#translation .word')].map((word) => word.textContent)"
TEXT = "My teacher isn't reading the letter.\nThe teacher is reading a letter this morning."


def until(find: Callable[[], Any]) -> Any:
    """What is found as soon as it is something."""
    end = time.monotonic() + 30
    while not (value := find()):
        assert time.monotonic() < end, "nothing was found"
        time.sleep(0.05)
    return value


def translate(page: Browser, text: str) -> list[str]:
    """Translate a text on the page; its words."""
    page.find("#text").clear()
    page.find("#text").send_keys(text)
    page.find("#go").click()
    return list(until(lambda: page.run("return !document.querySelector('#copy').disabled") and page.run(SHOWN)))


def choose(page: Browser, number: int) -> None:
    """Choose a word of the translation, and wait for the alternatives to it."""
    page.driver.find_elements("css selector", WORDS)[number].click()
    until(lambda: page.driver.find_elements("css selector", "#others button"))


def taken(browser: Browser, address: str, text: str, word: int) -> bytes:
    """A PNG of a text that is translated, with a word of it chosen and explained."""
    browser.driver.execute_cdp_cmd("Emulation.setScrollbarsHidden", {"hidden": True})
    browser.visit(address, WIDTH, HEIGHT)
    until(lambda: browser.run("return document.querySelector('#target').value"))
    translate(browser, text)
    choose(browser, word)
    browser.find("#why button").click()
    until(lambda: browser.texts("#reasons h3"))
    return browser.driver.get_screenshot_as_png()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.serving.picture", description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("picture", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, serving(options.run) as address:
        for browser in started(Path(folder)):
            options.picture.write_bytes(taken(browser, address, TEXT, 4))


if __name__ == "__main__":
    main()
