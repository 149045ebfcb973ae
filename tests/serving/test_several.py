"""Runs that read several texts together."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import dragoman
from dragoman.serving.app import create
from dragoman.serving.backend import Backend
from dragoman.serving.client_limits import AccessControl, RequestLimits
from dragoman.serving.models import ServedModel
from dragoman.serving.prometheus import Metrics
from dragoman.serving.service import Service
from tests.browser import Browser
from tests.serving.picture import WORDS, until

BOTH = {"source": ["en", "digits"], "target": "fr"}
APART = (
    "Invalid request: the texts do not match line by line: they have 2 and 1 lines, or long lines of different lengths"
)
CHOOSE = """const chosen = document.querySelector('#source');
chosen.value = 'en+digits';
chosen.dispatchEvent(new Event('change'));"""
LIMITS = RequestLimits(characters=1000, texts=5, alternatives=3)


@pytest.fixture(scope="module")
def client(two: Path) -> Iterator[TestClient]:
    with TestClient(
        create(Backend(Service([ServedModel.load(two)]), LIMITS, AccessControl(LIMITS), Metrics()))
    ) as test_client:
        yield test_client


def post(client: TestClient, **parameters: Any) -> Any:
    return client.post("/v1/translate", json={**BOTH, **parameters}).json()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("q", "rows"),
    [
        (["one two. six", "1 2. 6"], [("one two.", "1 2."), ("six", "6")]),
        (["one two. six", "1 2 6"], [("one two. six", "1 2 6")]),
        (["one. two\n\nsix", "1 2\n6"], [("one. two", "1 2"), ("six", "6")]),
        (["", "1 2"], [("", "1 2")]),
        (["one two", " "], [("one two", "")]),
    ],
)
def test_each_sentence_is_read_in_all_sources(client: TestClient, two: Path, q: list[str], rows: Any) -> None:
    answer = post(client, q=q)
    assert [tuple(sentence["source"]) for sentence in answer["sentences"]] == rows
    for sentence, alone in zip(answer["sentences"], dragoman.load(two).translate(rows), strict=True):
        assert sentence["text"] == alone.text
        translation = dragoman.Result.from_json(sentence["translation"]).translation
        assert [source.name for source in translation.sources] == ["en", "digits"]
        assert [source.words for source in translation.sources] == [source.words for source in alone.sources]
        assert all(
            source.attention.shape == (len(translation.words), len(source.words)) for source in translation.sources
        )


def test_sources_stand_in_any_order_and_may_be_left_out(client: TestClient) -> None:
    answer = post(client, q=["one two", "1 2"])
    assert post(client, q=["1 2", "one two"], source=["digits", "en"]) == answer
    assert post(client, q=["1 2"], source=["digits"]) == post(client, q=["", "1 2"])


def test_a_placeholder_in_both_comes_through_once(client: TestClient) -> None:
    assert post(client, q=["one [X1X] two", "1 [X1X] 2"])["text"].count("[X1X]") == 1
    assert post(client, q=["", "1 [X1X] 2"])["text"].count("[X1X]") == 1


def test_sentences_are_sent_as_they_are_done(client: TestClient) -> None:
    answer = client.post("/v1/stream", json={"q": ["one two. six", "1 2. 6"], **BOTH})
    assert answer.text.count("event: sentence") == 2
    assert answer.text.endswith("event: end\ndata: {}\n\n")


@pytest.mark.parametrize(
    ("parameters", "line"),
    [
        ({"q": "one"}, "Invalid request: expected one text per source, found 1 for 2"),
        (
            {"q": ["1", "2"], "source": ["en", "en"]},
            "Invalid request: expected one text per source, found 2 for 2",
        ),
        ({"q": ["one", "un"], "source": ["en", "fr"]}, "en and fr to fr is not supported"),
        ({"q": ["one", "1"], "target": "de"}, "en and digits to de is not supported"),
        ({"q": "one", "source": "en"}, "en to fr is not supported"),
        ({"q": "one", "source": "en+digits"}, "en+digits to fr is not supported"),
        ({"q": ["one\ntwo", "1"]}, APART),
    ],
)
def test_what_cannot_be_is_told(client: TestClient, parameters: dict[str, Any], line: str) -> None:
    answer = client.post("/v1/translate", json={**BOTH, **parameters})
    assert (answer.status_code, answer.json()) == (400, {"error": line})


def test_clients_of_libretranslate_see_no_run_of_several_sources(client: TestClient) -> None:
    assert client.get("/languages").json() == []
    assert client.get("/v1/sources").json() == [{"sources": ["en", "digits"], "target": "fr"}]
    assert client.get("/frontend/settings").json()["language"]["target"]["code"] == "fr"
    assert client.post("/detect", json={"q": "one"}).json() == []
    for source in ("en", "auto"):
        answer = client.post("/translate", json={"q": "one", "source": source, "target": "fr"})
        assert (answer.status_code, answer.json()) == (400, {"error": f"{source} is not supported"})
    answer = client.post("/translate_file", data={"source": "auto", "target": "fr"}, files={"file": ("a.txt", b"one")})
    assert (answer.status_code, answer.json()) == (400, {"error": "auto is not supported"})


@pytest.mark.parametrize("width", [360, 1200])
def test_the_page_has_a_box_for_each_source(browser: Browser, served: str, width: int) -> None:
    browser.visit(served, width)
    until(lambda: browser.run("return document.querySelector('#target').value"))
    browser.run(CHOOSE)
    assert browser.texts("#texts label") == ["en", "digits"]
    assert not browser.find("#files").is_displayed()
    for place, text in (("#text", "one two three"), ("#text2", "1 2 3")):
        browser.find(place).send_keys(text)
    browser.find("#go").click()
    until(lambda: browser.run("return !document.querySelector('#copy').disabled"))
    browser.driver.find_elements("css selector", WORDS)[0].click()
    assert browser.texts("#looked p") == ["en one two three", "digits 1 2 3"]
    assert browser.driver.find_elements("css selector", "#looked p:nth-child(2) .for")
    until(lambda: browser.driver.find_elements("css selector", "#others *"))
    assert not browser.find("#correction").is_displayed()
    first, second = (browser.find(place).rect for place in ("#text", "#text2"))
    assert (first["y"] == second["y"]) == (width > 1000), "side by side where there is room"
    assert browser.run("return document.documentElement.scrollWidth") <= width
    assert browser.problems() == []
    browser.run("localStorage.clear()")
