"""The endpoints of LibreTranslate, as its clients ask them."""

import json
import logging
import random
import re
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from starlette.testclient import TestClient
from typer.testing import CliRunner

from dragoman.cli import app
from dragoman.documents.html import Page
from dragoman.documents.passages import Passage
from dragoman.documents.passages import split_text as really_split
from dragoman.documents.translated import TranslatedText
from dragoman.serving.client_limits import Keys, RequestLimits
from dragoman.serving.corrections import CorrectionEntry, Corrections, NotKeptError
from dragoman.serving.request_queue import BusyError
from dragoman.serving.server import JsonFormatter
from dragoman.serving.service import Service
from tests import toy
from tests.serving.conftest import LIMITS
from tests.serving.server import serving


@pytest.fixture(params=["json", "data"])
def ask(request: pytest.FixtureRequest, client: TestClient) -> Any:
    """Sends parameters as JSON, or as a form."""
    return lambda path, **parameters: client.post(path, **{request.param: parameters})


Open = Callable[..., TestClient]
PAIR = {"source": "en", "target": "fr"}


def test_a_list_is_answered_with_a_list(client: TestClient) -> None:
    texts = ["one two", "", "six one\n\n  one two", "one two"]
    answer = client.post("/translate", json={"q": texts, **PAIR, "alternatives": 2}).json()
    assert answer["translatedText"] == ["deux un", "", "un six\n\n  deux un", "deux un"]
    assert list(map(len, answer["alternatives"])) == [2, 0, 2, 2]
    assert "deux un" not in answer["alternatives"][0]


@pytest.mark.parametrize("path", ["/translate", "/v1/translate"])
def test_texts_are_split_by_the_rules_of_their_language(path: str, client: TestClient) -> None:
    """A sentence may end in `vs.` in English, and not in French."""

    def translated(text: str) -> str:
        answer = client.post(path, json={"q": text, **PAIR}).json()
        return str(answer["translatedText"] if path == "/translate" else answer["text"])

    assert translated("one vs. Two six") == f"{translated('one vs.')} {translated('Two six')}"


def test_texts_are_read_beside_the_event_loop(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """Long ones would keep all other clients waiting."""
    threads: list[str] = []

    def split(text: str, language: str, *, sentences: bool) -> Passage:
        threads.append(threading.current_thread().name)
        return really_split(text, language, sentences=sentences)

    monkeypatch.setattr("dragoman.documents.passages.split_text", split)
    for path in ("/translate", "/v1/translate"):
        assert client.post(path, json={"q": "one two", **PAIR}).status_code == 200
    assert len(threads) == 2
    assert all(name.startswith("asyncio_") for name in threads)


def test_html_is_read_and_written_in_another_process(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(*_: object) -> None:
        pytest.fail("HTML is read in the server")

    monkeypatch.setattr(Page, "__init__", read)
    monkeypatch.setattr(Page, "text", read)
    answer = client.post("/translate", json={"q": "<p>one <b>two</b>", "format": "html", **PAIR})
    assert answer.json() == {"translatedText": "<p><b>deux</b> un"}


@pytest.mark.parametrize(
    ("body", "line"),
    [
        (b"[" * 5000, "Invalid JSON format"),
        (b'{"q": ' + b"9" * 5000 + b"}", "Invalid JSON format"),
        (b'{"q": 3, "source": "en", "target": "fr"}', "Invalid request: q is no string"),
        (b'{"q": ["a", 3], "source": "en", "target": "fr"}', "Invalid request: q has something that is no string"),
        (b'{"q": "a", "source": ["en"], "target": "fr"}', "Invalid request: source is no string"),
    ],
)
def test_damaged_json_is_told(client: TestClient, body: bytes, line: str) -> None:
    answer = client.post("/translate", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400
    assert line in answer.json()["error"]


def test_bodies_have_a_limit(client: TestClient) -> None:
    for content in (b"x" * 10_001, iter([b"x" * 6_000, b"x" * 6_000])):
        answer = client.post("/translate", content=content, headers={"Content-Type": "application/json"})
        assert answer.status_code == 413
        assert "10000 bytes" in answer.json()["error"]


def test_lone_surrogates_and_zeros_are_no_trouble(client: TestClient) -> None:
    body = b'{"q": "a\\ud800 \\u0000", "source": "en", "target": "fr"}'
    answer = client.post("/translate", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 200


@pytest.mark.slow
def test_a_thousand_placeholders_survive(opened: Open) -> None:
    """Masked as Weblate masks them, also beside words that the model does not know."""
    generator = random.Random(1)
    words = [*toy.WORDS, "sevenonethree", "a"]
    texts = []
    for number in range(1_000):
        parts = generator.choices(words, k=generator.randint(0, 5)) + [f"[X{number}X]"]
        generator.shuffle(parts)
        texts.append(generator.choice(["", " "]).join(parts))
    limits = LIMITS._replace(body=10**6, characters=10**6, texts=1_000)
    with opened(limits) as client:
        translations = client.post("/translate", json={"q": texts, **PAIR}).json()["translatedText"]
    lost = [
        (text, translation)
        for number, (text, translation) in enumerate(zip(texts, translations, strict=True))
        if translation.count(f"[X{number}X]") != 1
    ]
    assert lost == []


def test_measures_tell_of_requests_and_of_no_text(client: TestClient) -> None:
    client.post("/translate", json={"q": "cat", **PAIR})
    measures = client.get("/metrics").text
    assert 'dragoman_characters_total{source="en",target="fr"}' in measures
    assert 'dragoman_requests_total{path="/translate",status="200"}' in measures
    assert "cat" not in measures


def test_the_log_has_keys_for_what_is_known_of_a_request(
    client: TestClient, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    with caplog.at_level(logging.INFO, "dragoman.serving"):
        client.post("/translate?q=secret", data={"q": "one secret", **PAIR})
        client.get("/download_file/secret")
        client.get("/secret")
        monkeypatch.setattr("dragoman.serving.libretranslate.guess_form", lambda _: 1 / 0)
        assert client.post("/detect", json={"q": "secret"}).status_code == 500
    lines = [
        json.loads(JsonFormatter().format(record)) for record in caplog.records if record.name == "dragoman.serving"
    ]
    assert [(line["method"], line["path"], line.get("status"), "trace" in line) for line in lines] == [
        ("POST", "/translate", 200, False),
        ("GET", "/download_file/{name}", 404, False),
        ("GET", "other", 404, False),
        ("POST", "/detect", None, True),
        ("POST", "/detect", 500, False),
    ]
    assert all(line["seconds"] >= 0 for line in lines if "status" in line)
    assert "secret" not in json.dumps(lines)


def test_a_key_may_stand_in_a_header_and_is_known_before_the_body_is_read(opened: Open, tmp_path: Path) -> None:
    file = tmp_path / "keys"
    key = Keys.make("weblate", file)
    assert key not in file.read_text("utf-8")
    assert file.stat().st_mode & 0o777 == 0o600
    large = b"x" * (LIMITS.body + 1)
    with opened(keys=Keys(file)) as client:

        def status(authorization: str, body: bytes = b'{"q": "one", "source": "en", "target": "fr"}') -> int:
            headers = {"Authorization": authorization, "Content-Type": "application/json"}
            return client.post("/translate", content=body, headers=headers).status_code

        assert [status(f"Bearer {key}"), status("Bearer wrong"), status("Basic wrong")] == [200, 403, 400]
        assert [status(f"Bearer {key}", large), status("Bearer wrong", large)] == [413, 413]
        both = {"q": "one", "source": "en", "target": "fr", "api_key": key}
        assert client.post("/translate", json=both, headers={"Authorization": "Bearer other"}).status_code == 200
    with opened(LIMITS._replace(rate=1), Keys(file)) as client:
        assert [status(f"Bearer {key}"), status(f"Bearer {key}", large)] == [200, 429]


def test_wrong_keys_count(opened: Open, tmp_path: Path) -> None:
    """And keep nobody out who has one."""
    key = Keys.make("one", tmp_path / "keys")
    with opened(RequestLimits(rate=2), Keys(tmp_path / "keys")) as client:
        answers = [client.post("/detect", json={"q": "cat", "api_key": api_key}) for api_key in ["x", "y", "z", key]]
        assert [answer.status_code for answer in answers] == [403, 403, 429, 200]


def test_an_address_without_a_key_has_its_rate_before_the_body_is_read(opened: Open) -> None:
    with opened(LIMITS._replace(rate=1)) as client:
        large = b"x" * (LIMITS.body + 1)
        assert [client.post("/detect", content=large).status_code for _ in range(2)] == [413, 429]


def test_a_rate_is_kept_for_each_key(opened: Open, tmp_path: Path) -> None:
    file = tmp_path / "keys"
    keys = [Keys.make(name, file) for name in ("one", "two")]
    with opened(RequestLimits(rate=2), Keys(file)) as client:
        answers = [client.post("/detect", json={"q": "cat", "api_key": keys[0]}) for _ in range(3)]
        assert [answer.status_code for answer in answers] == [200, 200, 429]
        assert answers[2].json()["error"].startswith("Slowdown: ")
        assert 1 <= int(answers[2].headers["Retry-After"]) <= 60
        assert client.post("/detect", json={"q": "cat", "api_key": keys[1]}).status_code == 200


@pytest.mark.parametrize(
    "text", ["one [X1X] two", "[X1X]", "[X1X][X22X] one. two [X1X]", "six %(name)s", "one {a} {a}"]
)
def test_placeholders_come_through(ask: Any, text: str) -> None:
    translation = ask("/translate", q=text, **PAIR).json()["translatedText"]
    for placeholder in ("[X1X]", "[X22X]", "%(name)s", "{a}"):
        assert translation.count(placeholder) == text.count(placeholder)


def test_markup_is_kept(client: TestClient) -> None:
    texts = ["<p>one <b>two</b></p>\n<!-- one -->", "", "<ul><li>six<li>one &amp; <code>two</code></ul>"]
    answer = client.post("/translate", json={"q": texts, **PAIR, "format": "html"}).json()["translatedText"]
    assert answer[:2] == ["<p><b>deux</b> un</p>\n<!-- one -->", ""]
    assert answer[2].startswith("<ul><li>six<li>")
    assert answer[2].count("<code>two</code>") == 1


@pytest.mark.parametrize("kind", ["text", "html"])
def test_numbered_tags_are_kept_around_their_words(client: TestClient, kind: str) -> None:
    body = {"q": "two <1>one</1> six<0/>", **PAIR, "format": kind}
    text = client.post("/translate", json=body).json()["translatedText"]
    assert re.fullmatch(r"(<0/> ?)?six(<0/>)? <1>un</1> deux(<0/>)?", text), text


def test_corrections_come_first(opened: Open, tmp_path: Path, client: TestClient) -> None:
    suggestion = {"q": "one two. six.", "s": "uno dos. seis.", **PAIR}
    assert client.post("/suggest", data=suggestion).status_code == 403
    Keys.make("ann", tmp_path / "keys")
    key = Keys.make("bob", tmp_path / "keys")
    database = tmp_path / "corrections"
    for times in range(2):
        with opened(keys=Keys(tmp_path / "keys"), kept=Corrections(database)) as kept:
            if not times:
                assert kept.post("/suggest", data={**suggestion, "api_key": key}).json() == {"success": True}
            body = {"q": ["one two.", "six.", "one two. six. six one"], **PAIR, "api_key": key}
            translations = kept.post("/translate", json=body).json()["translatedText"]
            assert translations[:2] == ["uno dos.", "seis."]
            assert translations[2].startswith("uno dos. seis. ")
    corrections = [entry.correction for entry in Corrections(database).entries()]
    assert [(correction.source, correction.correction, correction.author) for correction in corrections] == [
        ("one two. six.", "uno dos. seis.", "bob"),
        ("one two.", "uno dos.", "bob"),
        ("six.", "seis.", "bob"),
    ]
    machine = client.post("/translate", json={"q": [correction.source for correction in corrections], **PAIR}).json()[
        "translatedText"
    ]
    assert [correction.machine for correction in corrections] == machine  # by the model alone
    assert Corrections(database).entries(translations=True) == Corrections(database).entries()
    refused = opened(kept=Corrections(database)).post("/suggest", json={**suggestion, "target": "zz"})
    assert (refused.status_code, refused.json()) == (400, {"error": "en to zz is not supported"})


@pytest.mark.parametrize(
    ("text", "better"),
    [
        ("one two three.", "Uno. Dos tres."),  # a sentence that becomes two
        ("one two. three.", "Uno dos tres."),  # two that become one
        ("one two. three. six.", "Uno. Dos tres, seis."),
        ("one two\nthree", "Uno dos tres"),
        (" one\n\n", "uno"),
    ],
)
def test_a_correction_in_other_sentences_is_kept_and_given(
    opened: Open, tmp_path: Path, text: str, better: str
) -> None:
    with opened(kept=Corrections(tmp_path / "db")) as client:
        assert client.post("/suggest", json={"q": text, "s": better, **PAIR}).json() == {"success": True}
        for path in ("/translate", "/v1/translate"):
            answer = client.post(path, json={"q": f" {text}", **PAIR}).json()
            assert (answer.get("translatedText") or answer["text"]).strip() == better
        events = client.post("/v1/stream", json={"q": text, **PAIR}).text
        assert json.dumps(better)[1:-1] in events
        client.post("/suggest", json={"q": text, "s": "seis", **PAIR})
        assert client.post("/translate", json={"q": text, **PAIR}).json()["translatedText"].strip() == "seis"


def test_a_correction_is_split_by_the_rules_of_its_language(opened: Open, tmp_path: Path) -> None:
    """By English rules it would have two sentences, and so be two corrections more."""
    database = Corrections(tmp_path / "db")
    with opened(kept=database) as client:
        client.post("/suggest", json={"q": "one. two.", "s": "Dr. Uno. Dos.", **PAIR})
        assert [tuple(entry.correction[:2]) for entry in database.entries()] == [("one. two.", "Dr. Uno. Dos.")]


def test_numbers_of_items_are_no_part_of_corrections(opened: Open, tmp_path: Path) -> None:
    """But for those that a correction adds. A number alone cannot be corrected."""
    database = Corrections(tmp_path / "db")
    with opened(kept=database) as client:
        for text, better in (("1. one", "1. uno"), ("two", "(a) dos"), ("2. one. Two.", "2. uno. Dos.")):
            assert client.post("/suggest", json={"q": text, "s": better, **PAIR}).json() == {"success": True}
            assert client.post("/translate", json={"q": text, **PAIR}).json() == {"translatedText": better}
        assert client.post("/translate", json={"q": "3. one", **PAIR}).json() == {"translatedText": "3. uno"}
        assert client.post("/translate", json={"q": "3. 4.", **PAIR}).json() == {"translatedText": "3. 4."}
        answer = client.post("/suggest", json={"q": "1.", "s": "one", **PAIR})
    assert (answer.status_code, answer.json()) == (400, {"error": "Invalid request: there is no sentence to correct"})


def test_pages_of_other_sites_suggest_nothing_without_a_key(opened: Open, tmp_path: Path) -> None:
    suggestion, database = {"q": "one", "s": "uno", **PAIR}, Corrections(tmp_path / "db")
    key = Keys.make("ann", tmp_path / "keys")
    with opened(kept=database) as client:
        for origin, status in (
            ("http://testserver", 200),
            ("https://example.org", 403),
            ("null", 403),
            ("http://[", 403),
        ):
            assert client.post("/suggest", json=suggestion, headers={"Origin": origin}).status_code == status
        for host, status in (
            ("localhost:5000", 200),
            ("192.0.2.2:5000", 200),
            ("[2001:db8::1]:5000", 200),
            ("[2001:db8::1]", 200),
            ("evil.example:5000", 403),  # whose name suddenly leads here
            ("2001.evil.example", 403),
        ):
            from_itself = {"Origin": f"http://{host}", "Host": host}
            assert client.post("/suggest", json=suggestion, headers=from_itself).status_code == status
    with opened(kept=Corrections(tmp_path / "db"), trusted=["Translate.example.org"]) as client:
        from_itself = {"Origin": "https://translate.example.org", "Host": "translate.example.org"}
        assert client.post("/suggest", json=suggestion, headers=from_itself).status_code == 200
    with opened(keys=Keys(tmp_path / "keys"), kept=Corrections(tmp_path / "db")) as client:
        with_key = {**suggestion, "api_key": key}
        assert client.post("/suggest", json=with_key, headers={"Origin": "https://example.org"}).status_code == 200


def test_a_sentence_that_stands_twice_may_be_corrected_in_two_ways(opened: Open, tmp_path: Path) -> None:
    database = Corrections(tmp_path / "db")
    with opened(kept=database) as client:

        def translation() -> str:
            return str(client.post("/translate", json={"q": "one. one.", **PAIR}).json()["translatedText"])

        client.post("/suggest", json={"q": "one. one.", "s": "uno. una.", **PAIR})
        assert translation() == "uno. una."
        client.post("/suggest", json={"q": "one.", "s": "eins.", **PAIR})  # which is newer
        assert translation() == "eins. eins."
        client.post("/suggest", json={"q": "one. one.", "s": "uno. una.", **PAIR})
        assert database.forget("one. one.") == 6
        assert translation() == "eins. eins."


@pytest.mark.parametrize("name", ["q", "s"])
def test_a_blank_suggestion_is_missing(opened: Open, tmp_path: Path, name: str) -> None:
    with opened(kept=Corrections(tmp_path / "db")) as client:
        answer = client.post("/suggest", json={"q": "one", "s": "un", **PAIR, name: "  "})
        assert (answer.status_code, answer.json()) == (400, {"error": f"Invalid request: missing {name} parameter"})


def test_corrections_are_looked_up_in_time(opened: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(*_: Any) -> None:
        time.sleep(0.05)

    with opened(LIMITS._replace(seconds=0.2), kept=Corrections(tmp_path / "db")) as client:
        monkeypatch.setattr(Corrections, "find", slow)
        body = {"q": "\n".join(f"one {number}" for number in range(50)), **PAIR}
        assert client.post("/translate", json=body).status_code == 503


def test_a_full_disk_is_told(opened: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise NotKeptError("database or disk is full")

    monkeypatch.setattr(Corrections, "add", full)
    monkeypatch.setattr(Corrections, "note", full)
    with opened(kept=Corrections(tmp_path / "db"), history=True) as client:
        answer = client.post("/suggest", json={"q": "one", "s": "un", **PAIR})
        assert (answer.status_code, list(answer.json()), answer.headers["Retry-After"]) == (503, ["error"], "60")
        assert client.post("/translate", json={"q": "one two", **PAIR}).json() == {"translatedText": "deux un"}


def test_translations_are_kept_where_that_is_asked_for(opened: Open, tmp_path: Path) -> None:
    database = tmp_path / "db"
    with opened(kept=Corrections(database), history=True) as client:
        client.post("/suggest", json={"q": "six", "s": "seis", **PAIR})
        client.post("/translate", json={"q": ["one two", "one two", "six"], **PAIR})
        client.post("/v1/stream", json={"q": "two one", **PAIR})
        for chosen in ({"prefix": "six"}, {"glossary": [["two", "PRIVATE"]]}):  # which are no model's own
            for path in ("/v1/translate", "/v1/stream"):
                assert client.post(path, json={"q": "one two", **PAIR, **chosen}).status_code == 200
        client.post("/v1/translate", json={"q": "three", **PAIR, "glossary": []})
    rows = [(entry.correction.source, entry.correction.correction, entry.model) for entry in entries(database)]
    assert rows == [
        ("six", "seis", ""),
        ("one two", "deux un", "run"),
        ("two one", "un deux", "run"),
        ("three", "trois", "run"),
    ]


def entries(database: Path) -> list[CorrectionEntry]:
    return Corrections(database).entries(translations=True)


@pytest.mark.slow
def test_a_client_of_libretranslate_works_unchanged(served: str) -> None:
    libretranslatepy = pytest.importorskip("libretranslatepy")
    api = libretranslatepy.LibreTranslateAPI(served)
    assert api.translate("one two three", "en", "fr") == "trois deux un"
    assert api.detect("one") == [{"confidence": 100, "language": "en"}]
    assert [language["code"] for language in api.languages()] == ["en", "fr"]


def test_the_correction_of_a_similar_text_keeps_to_its_own_spans(opened: Open, tmp_path: Path) -> None:
    with opened(kept=Corrections(tmp_path / "db", threshold=0.6)) as client:
        suggestion = {"q": "one two [X1X] six three one two", "s": "uno dos [X1X] seis tres uno dos", **PAIR}
        assert client.post("/suggest", json=suggestion).status_code == 200
        for text, used in (("[X1X]", True), ("[X2X]", False)):
            similar = suggestion["q"].replace("[X1X]", text).replace("three", "two")
            translation = client.post("/translate", json={"q": similar, **PAIR}).json()["translatedText"]
            assert ("uno" in translation, translation.count(text)) == (used, 1)


def test_a_correction_that_ends_a_line_adds_none(opened: Open, tmp_path: Path) -> None:
    with opened(kept=Corrections(tmp_path / "db")) as client:
        client.post("/suggest", json={"q": "one two six.\n", "s": "uno dos seis.\n", **PAIR})
        translation = client.post("/translate", json={"q": "one two six.\nthree", **PAIR}).json()["translatedText"]
        assert translation == "uno dos seis.\ntrois"


@pytest.mark.parametrize("path", ["/", "/page.css", "/page.js", "/word.js", "/files.js"])
def test_the_page_loads_nothing_from_elsewhere_and_is_taken_for_nothing_else(client: TestClient, path: str) -> None:
    headers = client.get(path).headers
    policy = dict(part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert {policy[name] for name in ("script-src", "style-src", "connect-src")} == {"'self'"}
    assert (headers["x-content-type-options"], headers["referrer-policy"]) == ("nosniff", "no-referrer")


@pytest.mark.slow
def test_a_server_trusts_the_host_that_it_is_started_for(run: Path, tmp_path: Path) -> None:
    host = "translate.example.org"
    options = ["--corrections", str(tmp_path / "db"), "--trusted-host", host]
    body = json.dumps({"q": "one", "s": "uno", **PAIR}).encode()
    with serving(run, options=options) as address:
        statuses = {}
        for name in (host, f"evil.{host}"):
            headers = {"Host": name, "Origin": f"https://{name}", "Content-Type": "application/json"}
            try:
                with urlopen(Request(f"{address}/suggest", body, headers)) as answer:
                    statuses[name] = answer.status
            except HTTPError as error:
                statuses[name] = error.code
    assert statuses == {host: 200, f"evil.{host}": 403}


@pytest.mark.parametrize("name", ["https://translate.example.org", "translate.example.org:8443", ""])
def test_a_trusted_host_is_a_name_alone(name: str, run: Path) -> None:
    outcome = CliRunner().invoke(app, ["serve", str(run), "--trusted-host", name])
    assert outcome.exit_code == 2
    assert "expected a host name" in " ".join(outcome.stderr.replace("│", " ").split())


@pytest.mark.parametrize("path", ["/translate", "/v1/translate"])
def test_who_comes_too_early_is_told_when_to_come_back(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    async def busy(*_: object) -> list[TranslatedText]:
        raise BusyError("too many texts are waiting", 37)

    monkeypatch.setattr(Service, "translate_passages", busy)
    answer = client.post(path, json={"q": "one", **PAIR})
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "37")
    assert answer.json() == {"error": "Service is busy: too many texts are waiting"}
