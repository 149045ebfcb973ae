"""The requests of Weblate 5.14.3 (`LibreTranslateTranslation` in weblate/machinery/libretranslate.py), replayed as that
class sent them to a service, and what it reads of the answers.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from dragoman.serving.client_limits import Keys
from tests.serving.conftest import LIMITS, Open

HEADERS = {
    "User-Agent": "Weblate/5.14.3",
    "Accept-Encoding": "gzip, deflate",
    "Accept": "application/json; charset=utf-8",
    "Connection": "keep-alive",
    "Referer": "https://weblate.example",
}
STOPPED = {401, 403, 429, 456, 503}  # after which it asks nothing for half an hour
PLACEHOLDER = re.compile(r"%\(\w+\)s|%[sd]|\{\w*\}")


class Weblate:
    """What its class does: strings of a catalogue with their placeholders as `[X12X]`, where 12 is the offset."""

    def __init__(self, client: TestClient, key: str) -> None:
        self.client = client
        self.key = key

    def languages(self) -> set[str]:
        answer = self.client.get("/languages", headers=HEADERS)
        assert answer.status_code < 400
        return {language["code"] for language in answer.json()}

    def ask(self, source: str, target: str, texts: list[str]) -> Any:
        body = json.dumps({"api_key": self.key, "q": texts, "source": source, "target": target})
        headers = {**HEADERS, "Content-Type": "application/json"}
        return self.client.post("/translate", content=body.encode(), headers=headers)

    def translated(self, source: str, target: str, strings: list[str]) -> list[str]:
        """The translations of strings; a text is sent once, and an empty one is not."""
        assert {source, target} <= self.languages()
        masked = {
            string: PLACEHOLDER.sub(lambda translations: f"[X{translations.start()}X]", string) for string in strings
        }
        texts = list(dict.fromkeys(filter(None, masked.values())))
        answer = self.ask(source, target, texts)
        assert answer.status_code < 400
        translations = answer.json()["translatedText"]
        assert len(translations) == len(texts)
        by_text = {"": "", **dict(zip(texts, translations, strict=True))}
        return [self._unmasked(by_text[masked[string]], string) for string in strings]

    def _unmasked(self, text: str, string: str) -> str:
        for placeholder in PLACEHOLDER.finditer(string):
            text = re.sub(rf"\[X{placeholder.start()}X *\]", placeholder[0], text)
        return text


@pytest.fixture
def weblate(opened: Open, tmp_path: Path) -> Iterator[Weblate]:
    key = Keys.make("weblate", tmp_path / "keys")
    with opened(LIMITS, Keys(tmp_path / "keys")) as client:
        yield Weblate(client, key)


@pytest.mark.slow
def test_strings_are_translated_with_their_placeholders(weblate: Weblate) -> None:
    strings = ["one two", "six %(count)s one", "{0}", "one two", "", "three {name}. six %s"]
    translations = weblate.translated("en", "fr", strings)
    assert translations[0] == translations[3] == "deux un"
    assert (translations[2], translations[4]) == ("{0}", "")
    for before, after in zip(strings, translations, strict=True):
        assert sorted(PLACEHOLDER.findall(after)) == sorted(PLACEHOLDER.findall(before))
        assert "[X" not in after


@pytest.mark.slow
def test_the_settings_are_checked_with_a_word_from_english_to_german(weblate: Weblate) -> None:
    """Which is answered by a server that has other languages, too: otherwise they could not be saved."""
    assert weblate.languages() == {"en", "fr"}
    answer = weblate.ask("en", "de", ["test"])
    assert (answer.status_code, answer.json()) == (200, {"translatedText": ["test"]})
    answer = weblate.ask("en", "de", ["one"])
    assert (answer.status_code, answer.json()) == (400, {"error": "de is not supported"})
    assert answer.status_code not in STOPPED


@pytest.mark.slow
def test_errors_are_lines_and_stop_it_where_they_should(weblate: Weblate) -> None:
    """It shows `error` where that is a string."""
    refused = {
        (403, "Invalid API key"): Weblate(weblate.client, "wrong").ask("en", "fr", ["one"]),
        (400, "Please contact the server operator to get an API key"): Weblate(weblate.client, "").ask(
            "en", "fr", ["one"]
        ),
        (400, "Invalid request: request (6) exceeds text limit (5)"): weblate.ask("en", "fr", ["one"] * 6),
    }
    for (status, line), answer in refused.items():
        assert (answer.status_code, answer.json()["error"], status in STOPPED) == (status, line, status == 403)


def test_a_key_is_left_empty_where_none_is_needed(client: TestClient) -> None:
    assert Weblate(client, "").translated("en", "fr", ["one two"]) == ["deux un"]
