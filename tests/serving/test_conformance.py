"""What LibreTranslate's documentation says of its API, and its server does, item by item."""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest
from starlette.testclient import TestClient

from dragoman.documents import table
from dragoman.serving.client_limits import Keys
from dragoman.serving.corrections import Corrections
from tests.serving.conftest import LIMITS, Open

KEY = "a key"
PAIR = {"source": "en", "target": "fr"}
TEXT = {"q": "one two three", **PAIR}


def missing(name: str) -> str:
    return f"Invalid request: missing {name} parameter"


class Item(NamedTuple):
    """A behavior: the parameters of a POST, without any a GET; the status of the answer; its JSON, or what has to hold
    of it (an error's is its line); and which service is asked.
    """

    name: str
    path: str
    sent: dict[str, Any] | None
    status: int
    answer: Any
    service: str = "usual"


def refused(name: str, path: str, sent: dict[str, Any], line: str, status: int = 400, service: str = "usual") -> Item:
    return Item(name, path, sent, status, {"error": line}, service)


TRANSLATE = [
    Item("a text is answered with a text", "/translate", TEXT, 200, {"translatedText": "trois deux un"}),
    Item(
        "a list of texts is answered with a list",
        "/translate",
        {**TEXT, "q": ["one two", "six one"]},
        200,
        {"translatedText": ["deux un", "un six"]},
    ),
    Item(
        "format: text is the default",
        "/translate",
        {**TEXT, "format": "text"},
        200,
        {"translatedText": "trois deux un"},
    ),
    Item(
        "format: html keeps the markup",
        "/translate",
        {**TEXT, "q": '<p class="green">one two</p>', "format": "html"},
        200,
        {"translatedText": '<p class="green">deux un</p>'},
    ),
    Item(
        "a list of texts in HTML",
        "/translate",
        {**TEXT, "q": ["<p>one two</p>", "<p>six one</p>"], "format": "html"},
        200,
        {"translatedText": ["<p>deux un</p>", "<p>un six</p>"]},
    ),
    Item(
        "source: auto detects the language",
        "/translate",
        {**TEXT, "source": "auto"},
        200,
        {"translatedText": "trois deux un", "detectedLanguage": {"confidence": 100, "language": "en"}},
    ),
    Item(
        "source: auto of a list has a language for each",
        "/translate",
        {**TEXT, "source": "auto", "q": ["one two", "six one"]},
        200,
        {
            "translatedText": ["deux un", "un six"],
            "detectedLanguage": [{"confidence": 100, "language": "en"}] * 2,
        },
    ),
    Item(
        "alternatives are further texts",
        "/translate",
        {**TEXT, "alternatives": 2},
        200,
        lambda body: len({body["translatedText"], *body["alternatives"]}) == 3,
    ),
    Item(
        "alternatives of a list are lists",
        "/translate",
        {**TEXT, "q": ["one two", "six one"], "alternatives": 2},
        200,
        lambda body: [len(alternatives) for alternatives in body["alternatives"]] == [2, 2],
    ),
    Item(
        "alternatives: 0 is the default",
        "/translate",
        {**TEXT, "alternatives": 0},
        200,
        {"translatedText": "trois deux un"},
    ),
    Item(
        "negative alternatives are none",
        "/translate",
        {**TEXT, "alternatives": -1},
        200,
        {"translatedText": "trois deux un"},
    ),
    Item(
        "HTML has no alternatives",
        "/translate",
        {**TEXT, "q": "<p>one two</p>", "format": "html", "alternatives": 2},
        200,
        {"translatedText": "<p>deux un</p>", "alternatives": []},
    ),
    Item(
        "a text stays in its own language", "/translate", {**TEXT, "target": "en"}, 200, {"translatedText": TEXT["q"]}
    ),
    Item("what is no text stays", "/translate", {**TEXT, "q": "😀"}, 200, {"translatedText": "😀"}),
    Item(
        "parameters that are not known are ignored",
        "/translate",
        {**TEXT, "secret": "x"},
        200,
        {"translatedText": "trois deux un"},
    ),
    refused("a text without q", "/translate", PAIR, missing("q")),
    refused("a text with an empty q", "/translate", {**TEXT, "q": ""}, missing("q")),
    refused("an empty list of texts", "/translate", {**TEXT, "q": []}, missing("q")),
    refused("a text without source", "/translate", {"q": "one", "target": "fr"}, missing("source")),
    refused("a text without target", "/translate", {"q": "one", "source": "en"}, missing("target")),
    refused("a source language that is not known", "/translate", {**TEXT, "source": "zz"}, "zz is not supported"),
    refused("a target language that is not known", "/translate", {**TEXT, "target": "zz"}, "zz is not supported"),
    refused(
        "a pair of languages without a model",
        "/translate",
        {**TEXT, "source": "fr", "target": "en"},
        "English (en) is not available as a target language from French (fr)",
    ),
    refused("another format", "/translate", {**TEXT, "format": "xml"}, "xml format is not supported"),
    refused(
        "alternatives that are no number",
        "/translate",
        {**TEXT, "alternatives": "many"},
        "Invalid request: alternatives parameter is not a number",
    ),
    refused(
        "more alternatives than the limit",
        "/translate",
        {**TEXT, "alternatives": 4},
        "Invalid request: alternatives parameter must be <= 3",
    ),
    refused(
        "a longer text than the limit",
        "/translate",
        {**TEXT, "q": "x" * 501},
        "Invalid request: request (501) exceeds text limit (500)",
    ),
    refused(
        "more texts than the limit",
        "/translate",
        {**TEXT, "q": ["one"] * 6},
        "Invalid request: request (6) exceeds text limit (5)",
    ),
]
DETECT = [
    Item("languages are detected", "/detect", {"q": "one two"}, 200, [{"confidence": 100, "language": "en"}]),
    Item(
        "languages of a list are detected",
        "/detect",
        {"q": ["one", "six"]},
        200,
        [{"confidence": 100, "language": "en"}],
    ),
    refused("detection without q", "/detect", {}, missing("q")),
]
SUGGESTION = {"q": "one two", "s": "un deux", **PAIR}
SUGGEST = [
    Item("a suggestion is taken", "/suggest", SUGGESTION, 200, {"success": True}, "suggestions"),
    *(
        refused(
            f"a suggestion without {name}",
            "/suggest",
            {key: value for key, value in SUGGESTION.items() if key != name},
            missing(name),
            service="suggestions",
        )
        for name in SUGGESTION
    ),
    refused("suggestions that are not wanted", "/suggest", SUGGESTION, "Suggestions are disabled on this server.", 403),
]
SETTINGS = {
    "charLimit": 500,
    "frontendTimeout": 500,
    "apiKeys": False,
    "keyRequired": False,
    "suggestions": False,
    "filesTranslation": True,
    "supportedFilesFormat": list(table.FORMATS),
    "language": {"source": {"code": "en", "name": "English"}, "target": {"code": "fr", "name": "French"}},
}
TOLD = [
    Item(
        "languages have codes, names in English and targets",
        "/languages",
        None,
        200,
        [
            {"code": "en", "name": "English", "targets": ["en", "fr"]},
            {"code": "fr", "name": "French", "targets": ["fr"]},
        ],
    ),
    Item("health", "/health", None, 200, {"status": "ok"}),
    Item("settings", "/frontend/settings", None, 200, SETTINGS),
    Item(
        "settings where suggestions are taken",
        "/frontend/settings",
        None,
        200,
        {**SETTINGS, "suggestions": True},
        "suggestions",
    ),
    Item(
        "settings where a key is needed",
        "/frontend/settings",
        None,
        200,
        {**SETTINGS, "apiKeys": True, "keyRequired": True},
        "keys",
    ),
    Item(
        "settings where no files are translated",
        "/frontend/settings",
        None,
        200,
        {**SETTINGS, "filesTranslation": False, "supportedFilesFormat": []},
        "no files",
    ),
    Item(
        "the description has every endpoint",
        "/spec",
        None,
        200,
        lambda body: (
            {
                "/translate",
                "/translate_file",
                "/download_file/{name}",
                "/detect",
                "/suggest",
                "/languages",
                "/frontend/settings",
                "/health",
            }
            <= body["paths"].keys()
        ),
    ),
    Item("languages need no key", "/languages", None, 200, lambda body: len(body) == 2, "keys"),
    Item("a GET of /translate", "/translate", None, 405, {"error": "Method Not Allowed"}),
    Item("a GET of /detect", "/detect", None, 405, {"error": "Method Not Allowed"}),
    Item("another path", "/nothing", None, 404, {"error": "Not Found"}),
]
ALLOWED = [
    Item("a key", "/translate", {**TEXT, "api_key": KEY}, 200, {"translatedText": "trois deux un"}, "keys"),
    Item(
        "a key for detection",
        "/detect",
        {"q": "one", "api_key": KEY},
        200,
        [{"confidence": 100, "language": "en"}],
        "keys",
    ),
    Item(
        "a key where none is needed", "/translate", {**TEXT, "api_key": "x"}, 200, {"translatedText": "trois deux un"}
    ),
    *(
        refused(f"{path} with a wrong key", path, {**SUGGESTION, "api_key": "x"}, "Invalid API key", 403, "keys")
        for path in ("/translate", "/detect")
    ),
    *(
        refused(
            f"{path} without a key",
            path,
            SUGGESTION,
            "Please contact the server operator to get an API key",
            400,
            "keys",
        )
        for path in ("/translate", "/detect")
    ),
]
ITEMS = [*TRANSLATE, *DETECT, *SUGGEST, *TOLD, *ALLOWED]


def ways(item: Item) -> list[str]:
    """How an item may be sent; a form has no lists."""
    if item.sent is None:
        return ["get"]
    lists = any(isinstance(value, list) for value in item.sent.values())
    return ["json"] if lists else ["json", "form", "multipart", "address"]


@pytest.fixture(scope="module")
def services(
    opened: Open, client: TestClient, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, TestClient]]:
    folder = tmp_path_factory.mktemp("services")
    keys = folder / "keys"
    keys.write_text(f"weblate {hashlib.sha256(KEY.encode()).hexdigest()}\n", "utf-8")
    configured = {
        "keys": opened(keys=Keys(keys)),
        "suggestions": opened(kept=Corrections(folder / "corrections")),
        "no files": opened(LIMITS._replace(file=0)),
    }
    with ExitStack() as stack:
        yield {"usual": client, **{name: stack.enter_context(context) for name, context in configured.items()}}


@pytest.mark.parametrize(
    ("item", "way"), [pytest.param(item, way, id=f"{item.name} ({way})") for item in ITEMS for way in ways(item)]
)
def test_requests(services: dict[str, TestClient], item: Item, way: str) -> None:
    client, sent = services[item.service], item.sent or {}
    send: dict[str, Callable[[], Any]] = {
        "get": lambda: client.get(item.path),
        "json": lambda: client.post(item.path, json=sent),
        "form": lambda: client.post(item.path, data=sent),
        "multipart": lambda: client.post(item.path, files={name: (None, str(value)) for name, value in sent.items()}),
        "address": lambda: client.post(item.path, params=sent),
    }
    answer = send[way]()
    body = answer.json()
    assert (answer.status_code, answer.headers["content-type"]) == (item.status, "application/json"), body
    assert item.answer(body) if callable(item.answer) else body == item.answer, body


@pytest.mark.parametrize("body", [b"{", b"[1]", b'"one"', b"\xff", b"null"])
def test_bodies_that_are_no_object_of_json(client: TestClient, body: bytes) -> None:
    answer = client.post("/translate", content=body, headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()) == (400, {"error": "Invalid JSON format"})


@pytest.mark.parametrize(
    "body",
    ["q=He’s+in+Zoé’s%20café.".encode(), b"q=He%E2%80%99s+in+Zo%c3%a9\xe2\x80\x99s caf%C3%A9."],
    ids=["as it is", "in part percent-encoded"],
)
def test_forms_are_utf_8(opened: Open, tmp_path: Path, body: bytes) -> None:
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    key, form = Keys.make("ann", tmp_path / "keys"), b"&source=en&target=fr"
    with opened(keys=Keys(tmp_path / "keys"), kept=Corrections(tmp_path / "kept")) as client:
        better = f"&s=Il est au café de Zoé.&api_key={key}".encode()
        assert client.post("/suggest", content=body + better + form, headers=headers).json() == {"success": True}
    (kept,) = Corrections(tmp_path / "kept").entries()
    assert (*kept.pair, *kept.correction[:2]) == ("en", "fr", "He’s in Zoé’s café.", "Il est au café de Zoé.")


@pytest.mark.parametrize("text", [b"caf\xe9", b"caf%E9", b"one" + b"&a=" * 1000], ids=["bytes", "encoded", "fields"])
def test_damaged_forms_are_refused(client: TestClient, text: bytes) -> None:
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = client.post("/translate", content=b"source=en&target=fr&q=" + text, headers=headers)
    assert (answer.status_code, answer.json()) == (400, {"error": "Invalid request: malformed form data"})


def test_line_ends_of_forms_count_as_one_character(client: TestClient) -> None:
    answer = client.post("/translate", data={**TEXT, "q": "\r\n" * 249 + "one"})
    assert answer.json() == {"translatedText": "\n" * 249 + "un"}


@pytest.mark.parametrize(
    ("name", "parameters", "service", "status", "line"),
    [
        pytest.param("a.txt", {"source": ""}, "usual", 400, missing("source"), id="without source"),
        pytest.param("a.txt", {"target": ""}, "usual", 400, missing("target"), id="without target"),
        pytest.param(None, {}, "usual", 400, missing("file"), id="without a file"),
        pytest.param("", {}, "usual", 400, "Invalid request: empty file", id="without a name"),
        pytest.param("a.exe", {}, "usual", 400, "Invalid request: file format not supported", id="another format"),
        pytest.param("a.txt", {"source": "zz"}, "usual", 400, "zz is not supported", id="another source language"),
        pytest.param("a.txt", {"target": "zz"}, "usual", 400, "zz is not supported", id="another target language"),
        pytest.param(
            "a.txt", {}, "no files", 403, "Files translation are disabled on this server.", id="no files are wanted"
        ),
        pytest.param("a.txt", {"api_key": "x"}, "keys", 403, "Invalid API key", id="a wrong key"),
    ],
)
def test_files_that_are_refused(
    services: dict[str, TestClient], name: str | None, parameters: dict[str, str], service: str, status: int, line: str
) -> None:
    answer = sent(services[service], name, parameters)
    assert (answer.status_code, answer.json()) == (status, {"error": line})


@pytest.mark.parametrize("source", ["en", "auto"])
def test_a_file_is_translated_and_fetched(client: TestClient, source: str) -> None:
    answer = sent(client, "a.txt", {"source": source})
    assert (answer.status_code, list(answer.json())) == (200, ["translatedFileUrl"])
    address = urlsplit(answer.json()["translatedFileUrl"])
    assert (address.scheme, address.path.startswith("/download_file/")) == ("http", True)
    download = client.get(address.path)
    assert (download.status_code, download.content) == (200, b"trois deux un\n")
    assert download.headers["content-disposition"].startswith("attachment; ")


def test_files_that_cannot_be_fetched(services: dict[str, TestClient]) -> None:
    """LibreTranslate's own status for a name that is not there is 500."""
    answer = services["usual"].get("/download_file/a.txt")
    assert (answer.status_code, answer.json()) == (404, {"error": "Invalid filename"})
    answer = services["no files"].get("/download_file/a.txt")
    assert (answer.status_code, answer.json()) == (400, {"error": "Files translation are disabled on this server."})


def sent(client: TestClient, name: str | None, parameters: dict[str, str]) -> Any:
    """The answer to a file with this name, or to none."""
    if name == "":  # which the client would leave out
        body = "".join(
            f'--x\r\nContent-Disposition: form-data; name="{field}"\r\n\r\n{value}\r\n' for field, value in PAIR.items()
        )
        body += '--x\r\nContent-Disposition: form-data; name="file"; filename=""\r\n\r\none\r\n--x--\r\n'
        headers = {"Content-Type": "multipart/form-data; boundary=x"}
        return client.post("/translate_file", content=body, headers=headers)
    files = {} if name is None else {"file": (name, b"one two three\n")}
    return client.post("/translate_file", files=files, data={**PAIR, **parameters})


def test_more_requests_than_the_rate(opened: Open) -> None:
    with opened(LIMITS._replace(rate=2)) as client:
        answers = [client.post("/translate", json=TEXT) for _ in range(3)]
        assert [answer.status_code for answer in answers] == [200, 200, 429]
        assert answers[2].json() == {"error": "Slowdown: 2 per 1 minute"}
        assert client.get("/languages").status_code == 200


def test_measures_for_prometheus(client: TestClient) -> None:
    answer = client.get("/metrics")
    assert (answer.status_code, answer.headers["content-type"].partition(";")[0]) == (200, "text/plain")


def test_pages_of_other_sites_may_ask(client: TestClient) -> None:
    origin = {"Origin": "https://example.org"}
    answer = client.post("/translate", json=TEXT, headers=origin)
    assert answer.headers["access-control-allow-origin"] == "*"
    headers = {**origin, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}
    preflight = client.options("/translate", headers=headers)
    assert (preflight.status_code, preflight.headers["access-control-allow-origin"]) == (200, "*")
    assert "POST" in preflight.headers["access-control-allow-methods"]
    assert preflight.headers["access-control-allow-headers"] == "content-type"
