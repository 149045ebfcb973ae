"""Chromium for tests of pages: by Debian's packages chromium and chromium-driver, selenium and axe-core-python. What
is missing skips these tests.
"""

import importlib.util
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pytest

if TYPE_CHECKING:
    from selenium.webdriver.chrome.webdriver import WebDriver
    from selenium.webdriver.remote.webelement import WebElement

OPTIONS = """--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking
--disable-component-update --disable-sync --force-prefers-reduced-motion"""
AXE = """const done = arguments[0];
axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) =>
  done(violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html).slice(0, 5)])));"""


class Browser:
    """A browser and the page that it shows."""

    def __init__(self, driver: "WebDriver", folder: Path) -> None:
        self.driver = driver
        self._folder = folder

    def open(self, page: str, width: int = 1400, height: int = 900, *, dark: bool = False) -> Self:
        """Show the text of a page in a window of this size, in the light or the dark scheme."""
        path = self._folder / "page.html"
        path.write_text(page, encoding="utf-8")
        return self.visit(path.as_uri(), width, height, dark=dark)

    def visit(self, address: str, width: int = 1400, height: int = 900, *, dark: bool = False) -> Self:
        """Show the page of this address in the same way."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
        for log in ("browser", "performance"):
            self.driver.get_log(log)  # forgets what earlier pages said and asked for
        self.driver.get("about:blank")
        self.driver.get(address)
        return self

    def find(self, selector: str) -> "WebElement":
        return self.driver.find_element("css selector", selector)

    def texts(self, selector: str) -> list[str]:
        """The texts of all elements that are shown."""
        return [
            element.text for element in self.driver.find_elements("css selector", selector) if element.is_displayed()
        ]

    def press(self, *keys: str) -> None:
        """Press keys, named as in `Keys`, or text, wherever the focus is."""
        from selenium.webdriver.common.action_chains import ActionChains
        from selenium.webdriver.common.keys import Keys

        ActionChains(self.driver).send_keys(*(getattr(Keys, key, key) for key in keys)).perform()

    def run(self, script: str, *values: Any) -> Any:
        return self.driver.execute_script(script, *values)

    def evaluate(self, page: str, probe: str) -> Any:
        """What a script tells, by `tell(value)`, in a page that is opened for the first time."""
        self.open(page)
        self.run("try { localStorage.clear() } catch { /* a page may have none */ }")
        return self.told_again(probe)

    def told_again(self, probe: str) -> Any:
        """What a script tells when the same page is loaded again.

        It is not left meanwhile: what a page stores may reach the next one late.
        """
        self.driver.refresh()
        self.driver.set_script_timeout(120)
        return self.driver.execute_async_script(f"const tell = arguments[0];\n{probe}")

    @property
    def focused(self) -> "WebElement":
        return self.driver.switch_to.active_element

    def problems(self) -> list[Any]:
        """What axe-core finds wrong with the page, and what the page's own script or policy complains of."""
        axe = importlib.util.find_spec("axe_core_python")
        if axe is None or axe.origin is None:
            pytest.skip("needs axe-core-python, of the extra dev")
        self.driver.execute_script((Path(axe.origin).parent / "axe.min.js").read_text("utf-8"))
        self.driver.set_script_timeout(120)
        return [*self.driver.execute_async_script(AXE), *(entry["message"] for entry in self.driver.get_log("browser"))]

    def requests(self) -> list[str]:
        """The addresses that the page has asked for, its own among them."""
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        sent = [event["params"] for event in events if event["method"] == "Network.requestWillBeSent"]
        return [event["request"]["url"] for event in sent]


def started(folder: Path) -> Iterator[Browser]:
    """A browser with a fresh profile in the folder; it is ended afterwards."""
    programs = [shutil.which(name) for name in ("chromium", "chromedriver")]
    if not all(programs):
        pytest.skip("needs chromium and chromedriver")
    webdriver = pytest.importorskip("selenium.webdriver", reason="needs selenium, of the extra dev")
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = programs[0]
    for word in [*OPTIONS.split(), f"--user-data-dir={folder / 'profile'}"]:
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(programs[1]))
    yield Browser(driver, folder)
    driver.quit()
