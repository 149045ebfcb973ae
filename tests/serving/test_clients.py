"""The requests of clients of LibreTranslate, as they send them, and what they read of the answers."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from starlette.testclient import TestClient

from dragoman.serving.client_limits import RequestLimits
from dragoman.serving.corrections import Corrections
from tests.serving.conftest import LIMITS, Open

PAIR = {"source": "en", "target": "fr"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@pytest.mark.slow
def test_dialect(opened: Open, tmp_path: Path) -> None:
    """A translator for GNOME: it looks at the title of /spec, then at languages and settings."""
    with opened(kept=Corrections(tmp_path / "db")) as client:
        assert client.get("/spec").json()["info"]["title"] == "LibreTranslate"
        languages = {language["code"]: language["name"] for language in client.get("/languages").json()}
        assert languages == {"en": "English", "fr": "French"}
        settings = client.get("/frontend/settings").json()
        assert (settings["suggestions"], settings["apiKeys"], settings["charLimit"]) == (True, False, 500)
        headers = {"Content-Type": "application/json", "User-Agent": "Dialect App"}
        body = json.dumps({"q": "one two", "source": "auto", "target": "fr"})
        answer = client.post("/translate", content=body, headers=headers).json()
        assert (answer["translatedText"], answer["detectedLanguage"]["language"]) == ("deux un", "en")
        form = urlencode({"q": "one two", **PAIR, "s": "uno dos"})
        assert client.post("/suggest", content=form, headers=FORM).json() == {"success": True}
        guesses = client.post("/detect", content=urlencode({"q": "hello", "api_key": "x"}), headers=FORM).json()
        assert "confidence" in guesses[0]


@pytest.mark.parametrize("written", ["<br />", "<br/>", "<br>", "<BR />"])
def test_subtitle_edit(client: TestClient, written: str) -> None:
    """It writes the lines of a subtitle so in JSON, and reads such tags as line ends."""
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    body = f'{{"q": "one two{written}six one", "source": "en", "target": "fr"}}'
    answer = client.post("/translate", content=body.encode(), headers=headers)
    assert answer.json() == {"translatedText": f"deux un{written}un six"}
    ours = client.post("/v1/translate", json={"q": f"one two {written} six one", **PAIR}).json()
    assert ours["text"] == f"deux un {written} un six"
    assert [sentence["source"] for sentence in ours["sentences"]] == ["one two", "six one"]


def test_weblate(client: TestClient) -> None:
    """Its settings are checked with a word from English to German, whatever languages there are."""
    headers = {"User-Agent": "Weblate/5.14.3", "Accept": "application/json; charset=utf-8"}
    assert {language["code"] for language in client.get("/languages", headers=headers).json()} == {"en", "fr"}
    check = {"api_key": "", "q": ["test"], "source": "en", "target": "de"}
    answer = client.post("/translate", json=check, headers=headers)
    assert (answer.status_code, answer.json()) == (200, {"translatedText": ["test"]})
    for other, agent in (({"q": ["one"]}, headers), ({"target": "es"}, headers), ({}, {})):
        assert client.post("/translate", json={**check, **other}, headers=agent).status_code == 400
    strings = {"api_key": "", "q": ["one two", "six [X4X]"], **PAIR}
    translations = client.post("/translate", json=strings, headers=headers).json()["translatedText"]
    assert translations[0] == "deux un"
    assert "[X4X]" in translations[1]


def test_maubot(client: TestClient) -> None:
    """The plugin `translate` of the chat bot sends a key of null, and reads the detected language."""
    codes = [language["code"] for language in client.get("/languages").json()]
    assert "fr" in codes
    for source in ("auto", "en"):
        body = {"q": "one two", "source": source, "target": "fr", "format": "text", "api_key": None}
        answer = client.post("/translate", content=json.dumps(body), headers={"Content-Type": "application/json"})
        assert answer.status_code == 200
        assert answer.json()["translatedText"] == "deux un"
        if source == "auto":
            assert answer.json()["detectedLanguage"]["language"] == "en"


@pytest.mark.slow
def test_libretranslate_aio(client: TestClient) -> None:
    """It sends all parameters as forms, a list as a parameter that is repeated."""
    form = [("q", "one two"), ("q", "six one"), *PAIR.items(), ("format", "text"), ("alternatives", "1")]
    answer = client.post("/translate", content=urlencode(form), headers=FORM).json()
    assert answer["translatedText"] == ["deux un", "un six"]
    assert [len(alternatives) for alternatives in answer["alternatives"]] == [1, 1]
    single = client.post("/translate", data={"q": "one two", **PAIR, "format": "text"}).json()
    assert single == {"translatedText": "deux un"}
    assert client.post("/detect", data={"q": "one two"}).json()[0]["language"] == "en"
    file = client.post("/translate_file", files={"file": ("a.txt", b"one two")}, data=PAIR).json()
    assert file["translatedFileUrl"].endswith(".txt")
    assert set(client.get("/languages").json()[0]) == {"code", "name", "targets"}


@pytest.mark.parametrize("multipart", [False, True])
def test_a_parameter_that_is_repeated_is_a_list(client: TestClient, multipart: bool) -> None:
    def post(path: str, form: dict[str, Any]) -> Any:
        if multipart:
            return client.post(path, data=form, files={"unused": ("a", b"")})
        return client.post(path, data=form)

    texts = ["one two", "", "six one"]
    assert post("/translate", {"q": texts, **PAIR}).json() == {"translatedText": ["deux un", "", "un six"]}
    assert post("/detect", {"q": texts}).json()[0]["language"] == "en"
    assert post("/translate", {"q": "one two", **PAIR}).json() == {"translatedText": "deux un"}
    assert post("/translate", {"q": ["one"] * 6, **PAIR}).status_code == 400  # more texts than are taken


@pytest.mark.slow
@pytest.mark.parametrize(("source", "target"), [("EN", "FR"), ("En", "fr"), ("AUTO", "Fr")])
def test_codes_may_have_capitals(client: TestClient, source: str, target: str) -> None:
    pair = {"source": source, "target": target}
    assert client.post("/translate", json={"q": "one two", **pair}).json()["translatedText"] == "deux un"
    assert client.post("/v1/translate", json={"q": "one two", **pair}).json()["text"] == "deux un"
    file = client.post("/translate_file", files={"file": ("a.txt", b"one two")}, data=pair)
    assert file.status_code == 200


def test_codes_of_suggestions_may_have_capitals(opened: Open, tmp_path: Path) -> None:
    kept = Corrections(tmp_path / "db")
    with opened(kept=kept) as client:
        suggestion = {"q": "one", "s": "uno", "source": "EN", "target": "FR"}
        assert client.post("/suggest", json=suggestion).json() == {"success": True}
        assert client.post("/translate", json={"q": "one", **PAIR}).json()["translatedText"] == "uno"


@pytest.mark.parametrize("path", ["/", "/page.css", "/health", "/metrics", "/languages", "/spec", "/frontend/settings"])
def test_head_is_get_without_a_body(client: TestClient, path: str) -> None:
    head, get = client.head(path), client.get(path)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-type"] == get.headers["content-type"]
    assert client.head("/translate").status_code == 405


def test_there_are_as_many_alternatives_as_the_limit_says(opened: Open) -> None:
    """More than the beam of the run is wide, too."""
    with opened(LIMITS._replace(alternatives=10)) as client:
        answer = client.post("/translate", json={"q": "one two six", **PAIR, "alternatives": 10})
        assert answer.status_code == 200
        assert 5 <= len(answer.json()["alternatives"]) <= 10
        assert answer.json()["translatedText"] not in answer.json()["alternatives"]
        assert client.post("/translate", json={"q": "one", **PAIR, "alternatives": 11}).status_code == 400


@pytest.mark.slow
def test_a_file_may_have_more_text_than_a_request(opened: Open) -> None:
    text = b"one two six\n" * 60
    with opened(RequestLimits(characters=200)) as client:
        answer = client.post("/translate", json={"q": text.decode(), **PAIR})
        assert answer.status_code == 400
        assert client.post("/translate_file", files={"file": ("a.txt", text)}, data=PAIR).status_code == 200
        answer = client.post("/translate_file", files={"file": ("a.txt", 2 * text)}, data=PAIR)
        assert answer.json() == {"error": "Invalid request: request (1320) exceeds text limit (1000)"}
    assert RequestLimits().file_characters > 200_000
