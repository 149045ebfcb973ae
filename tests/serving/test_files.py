"""Files that are sent to be translated."""

import asyncio
import io
import json
import time
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from starlette.datastructures import UploadFile
from starlette.testclient import TestClient

from dragoman.documents import table
from dragoman.errors import UserError
from dragoman.serving import files
from dragoman.serving.client_limits import Keys, RequestLimits
from dragoman.serving.document_process import DocumentProcess
from dragoman.serving.files import DownloadStore, TranslatedFile
from dragoman.serving.http_error import HTTPError

Open = Callable[..., TestClient]
PAIR = {"source": "en", "target": "fr"}


def sent(client: TestClient, name: str, data: bytes, **parameters: str) -> Any:
    return client.post("/translate_file", files={"file": (name, data)}, data={**PAIR, **parameters})


def fetched(client: TestClient, answer: Any) -> Any:
    assert answer.status_code == 200, answer.text
    return client.get(urlsplit(answer.json()["translatedFileUrl"]).path)


def test_a_file_comes_back_translated_with_its_layout(client: TestClient) -> None:
    download = fetched(client, sent(client, "guide 1.md", b"# one two\n\n* six `one`\n"))
    assert download.status_code == 200
    assert download.text.startswith("# deux un\n\n* ")
    assert "`one`" in download.text
    assert download.headers["content-disposition"] == "attachment; filename*=UTF-8''guide%201_fr.md"
    assert download.headers["x-content-type-options"] == "nosniff"


def test_strings_of_programs_are_not_split_into_sentences(client: TestClient) -> None:
    strings = fetched(client, sent(client, "a.json", b'{"a": "one. two", "b": ["[X1X]", 6]}')).json()
    whole = client.post("/v1/translate", json={"q": "one. two", **PAIR}).json()
    assert len(whole["sentences"]) == 2
    assert strings["a"] != whole["text"]
    assert strings["b"] == ["[X1X]", 6]


def test_the_language_is_detected_and_may_be_the_same(client: TestClient) -> None:
    assert fetched(client, sent(client, "a.txt", b"one two\n", source="auto")).text == "deux un\n"
    assert fetched(client, sent(client, "a.txt", b"one two\n", target="en")).text == "one two\n"


def test_the_glossary_of_a_request_applies_to_a_file(client: TestClient) -> None:
    terms = json.dumps([["two", "zwei"], ["one"]])
    words = fetched(client, sent(client, "a.txt", b"one two\n", glossary=terms)).text.split()
    assert {"zwei", "one"} <= set(words)
    assert fetched(client, sent(client, "a.txt", b"one two\n", glossary="")).text == "deux un\n"


@pytest.mark.parametrize(
    ("name", "data", "parameters", "line"),
    [
        ("passwd", b"one", {}, "Invalid request: file format not supported"),
        ("a.txt", b"one\n\xff", {}, "Cannot translate file: a.txt:2: is not UTF-8"),
        ("../../etc/a.json", b"{", {}, "Cannot translate file: a.json:1: "),
        ("a.json", b"[" * 4_000, {}, "Cannot translate file: "),
        ("a.json", b"1" * 5_000, {}, "Cannot translate file: a.json:1: not JSON (a number has too many digits)"),
        ("a.json", b"\n-" + b"1" * 5_000, {"glossary": "[]"}, "Cannot translate file: a.json:1: not JSON (a number"),
        ("a.yaml", b"[" * 400, {}, "Cannot translate file: "),
        ("C:\\x\\a.docx", b"PK", {}, "Cannot translate file: a.docx: invalid Office document"),
        ("a.txt", b"one " * 700, {}, "Invalid request: request (2794) exceeds text limit (2500)"),
        (
            "a.txt",
            b"one",
            {"glossary": json.dumps([["a" * 2_498]])},
            "Invalid request: request (2501) exceeds text limit (2500)",
        ),
        (
            "a.txt",
            b"one",
            {"glossary": "{"},
            "Invalid request: glossary: expected a list of at most 1000 lists of strings",
        ),
        ("a.txt", b"one", {"glossary": '["a"]'}, "Invalid request: glossary: expected a list of at most 1000 lists of"),
    ],
)
def test_what_cannot_be_is_told(
    client: TestClient, name: str, data: bytes, parameters: dict[str, str], line: str
) -> None:
    answer = sent(client, name, data, **parameters)
    assert answer.status_code == 400
    assert answer.json()["error"].startswith(line)
    assert not client.post("/translate_file", data={**PAIR, "file": "a.txt"}).is_success


@pytest.mark.parametrize(
    ("ending", "data", "expected"),
    [
        (".yaml", rb'a: "\ud800 one"', 'a: "\ufffd one"'),
        (".yaml", rb'a: "\ud83d\ude00 one"', 'a: "\U0001f600 one"'),
        (".json", rb'["\ud800 one"]', '["\\ufffd one"]'),
        (".srt", rb"1" + b"\n00:00:01,000 --> 00:00:02,000\n" + rb"\ud800 one" + b"\n\n", None),
    ],
)
def test_halves_of_characters_are_no_trouble(
    client: TestClient, ending: str, data: bytes, expected: str | None
) -> None:
    same = fetched(client, sent(client, f"a{ending}", data, target="en"))
    assert same.text == (data.decode() if expected is None else expected)
    assert "un" in fetched(client, sent(client, f"a{ending}", data)).text


def damaged(client: TestClient, data: bytes) -> str:
    answer = sent(client, "a.docx", data)
    assert answer.status_code == 400
    return str(answer.json()["error"])


def test_a_damaged_archive_is_told(client: TestClient) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("word/document.xml", "<a/>")
        archive.writestr("word/media/a.png", "picture")
    whole = buffer.getvalue()
    line = damaged(client, whole.replace(b"picture", b"pictures"[1:]))
    assert line == "Cannot translate file: a.docx: invalid Office document (Bad CRC-32 for file 'word/media/a.png')"
    assert "invalid Office document" in damaged(client, whole[:40] + whole[46:])


def test_a_file_that_cannot_be_written_is_told(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    async def write(*_: object, **__: object) -> bytes:
        raise UserError("a.txt: is too deep")

    monkeypatch.setattr(DocumentProcess, "write", write)
    answer = sent(client, "a.txt", b"one")
    assert (answer.status_code, answer.json()) == (400, {"error": "Cannot translate file: a.txt: is too deep"})


@pytest.mark.slow
def test_a_file_and_what_it_unpacks_to_have_limits(opened: Open) -> None:
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", bytes(300_000))
    with opened(RequestLimits(file=20_000, body=5_000)) as client:
        assert fetched(client, sent(client, "a.txt", b"\n \none two\n" + b"\n" * 15_000)).text[:11] == "\n \ndeux un\n"
        assert sent(client, "a.txt", b"\n" * 35_000).status_code == 413
        answer = sent(client, "a.docx", bomb.getvalue())
        assert (answer.status_code, "unpacks to more than 200,000 bytes" in answer.text) == (400, True)
        assert client.post("/translate", json={"q": "x" * 6_000, **PAIR}).status_code == 413


@pytest.mark.slow
def test_only_who_has_a_key_may_send_and_only_who_has_the_address_may_fetch(opened: Open, tmp_path: Path) -> None:
    key = Keys.make("ann", tmp_path / "keys")
    with opened(keys=Keys(tmp_path / "keys")) as client:
        assert sent(client, "a.txt", b"one").status_code == 400
        assert fetched(client, sent(client, "a.txt", b"one two", api_key=key)).text == "deux un"
        for name in ("a.txt", "..%2Fa.txt", "%2Fetc%2Fpasswd", "x" * 5_000):
            answer = client.get(f"/download_file/{name}")
            assert (answer.status_code, list(answer.json())) == (404, ["error"])


@pytest.mark.slow
@pytest.mark.parametrize("valid", [True, False])
def test_a_key_may_stand_behind_the_file_as_browsers_send_it(opened: Open, tmp_path: Path, valid: bool) -> None:
    key = Keys.make("ann", tmp_path / "keys") if valid else "wrong"
    Keys.make("bob", tmp_path / "keys")
    parts = {'file"; filename="a.txt': "one two\n", **PAIR, "api_key": key}
    body = "".join(
        f'--x\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n' for name, value in parts.items()
    )
    headers = {"Content-Type": "multipart/form-data; boundary=x"}
    with opened(keys=Keys(tmp_path / "keys")) as client:
        answer = client.post("/translate_file", content=f"{body}--x--\r\n".encode(), headers=headers)
    assert answer.status_code == (200 if valid else 403), answer.text


def test_files_are_kept_for_a_while_and_not_more_than_there_is_room_for() -> None:
    async def test() -> None:
        store = DownloadStore(10, 0.05)
        name = store.keep(TranslatedFile("a.txt", b"12345"))
        assert name.endswith(".txt")
        assert store.find(name) == TranslatedFile("a.txt", b"12345")
        again = store.keep(TranslatedFile("b.txt", b"12345"))
        assert store.find(name)
        last = store.keep(TranslatedFile("c.txt", b"123"))
        assert (store.find(name), bool(store.find(again)), bool(store.find(last))) == (None, True, True)
        with pytest.raises(HTTPError) as refused:
            store.keep(TranslatedFile("d.txt", b"12345678901"))
        assert (refused.value.status_code, bool(store.find(last))) == (503, True)
        await asyncio.sleep(0.2)
        assert store.find(again) is store.find(last) is None

    asyncio.run(test())


@pytest.mark.slow
def test_few_files_are_in_memory_at_once(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    reads, really = list[float](), UploadFile.read

    async def read(self: UploadFile, size: int = -1) -> bytes:
        reads.append(time.monotonic())
        return await really(self, size)

    async def slow(*_: object, **__: object) -> None:
        await asyncio.sleep(1.2)
        raise UserError("a.txt: is damaged")

    monkeypatch.setattr(files, "IN_MEMORY", 1)
    monkeypatch.setattr(UploadFile, "read", read)
    monkeypatch.setattr(DocumentProcess, "read", slow)
    with opened(RequestLimits(seconds=2.0)) as client, ThreadPoolExecutor(3) as clients:
        answers = list(clients.map(lambda _: sent(client, "a.txt", b"one\n"), range(3)))
    assert sorted(answer.status_code for answer in answers) == [400, 400, 503]
    (busy,) = (answer for answer in answers if answer.status_code == 503)
    assert busy.json() == {"error": "Service is busy: other files are being translated"}
    assert busy.headers["retry-after"] == "60"
    assert len(reads) == 2
    assert reads[1] - reads[0] > 1


@pytest.mark.slow
def test_a_file_with_little_text_is_not_read_for_long(opened: Open) -> None:
    with opened(RequestLimits(characters=100)) as client:
        assert sent(client, "a.yaml", b"a: one\n" + b"# " * 2_400).is_success
        answer = sent(client, "a.yaml", b"a: one\n" + b"# " * 2_600)
        assert (answer.status_code, answer.json()) == (
            400,
            {"error": "Invalid request: file (5207) exceeds text limit (500)"},
        )


@pytest.mark.slow
@pytest.mark.parametrize("ending", sorted(table.FORMATS))
def test_damaged_files_of_every_format_are_answered(client: TestClient, ending: str) -> None:
    for data in (
        b"",
        b"\0",
        b"<",
        b"\xff\xfe",
        b"{" * 3_000,
        b"<a>" * 3_000,
        b"- " * 3_000,
        json.dumps("one").encode(),
    ):
        answer = sent(client, f"a{ending}", data)
        assert answer.status_code in (200, 400, 413), (data[:9], answer.text)
