"""Whatever a client sends: an answer in JSON, and never a fault of the service. `make fuzz` sends 10,000 requests."""

import io
import json
import logging
import os
import socket
import time
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from tests.serving.server import serving

POSTS = (
    *("/translate", "/detect", "/suggest", "/v1/translate", "/v1/stream", "/v1/explain", "/translate_file"),
    *("/api/generate", "/api/chat", "/api/show", "/v1/chat/completions"),
)
NAMES = [
    *"q s source target format alternatives prefix diverse".split(),
    *"glossary min_confidence translation contrast api_key file".split(),
    *"model messages prompt system stream stream_options".split(),
]
TEXTS = st.one_of(
    st.text(max_size=60),
    st.sampled_from(
        ["en", "fr", "auto", "html", "one two", "../../etc/passwd", "\0", "\ud800", "<b>one", "[X1X]", "%s" * 9]
    ),
)
VALUES = st.recursive(
    st.one_of(
        TEXTS,
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.sampled_from([10**400, -1, 2**63, 1e308]),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=8,
)
PROMPT = "Translate into French:\none two"
ASKED = {"prompt": PROMPT, "messages": [{"role": "user", "content": PROMPT}]}
USUAL = {"q": "one two", "source": "en", "target": "fr", **ASKED}
BODIES = st.builds(lambda changes: {**USUAL, **changes}, st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=4))
KINDS = st.sampled_from(
    ["application/json", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/plain", "x", ""]
)
ESCAPES = [
    *("\\ud800", "\\udc00", "\\ud83d\\ude00", "\\UFFFFFFFF", "\\x00", "\\n", "\\\\", '\\"'),
    "&#xd800;",
    "a: one",
]
REQUESTS = int(os.environ.get("FUZZ_REQUESTS", "0"))  # at least so many, others each time, in place of a few


def drawn(few: int) -> settings:
    """As many examples as each of the five tests has, so that there are enough requests."""
    checks = list(HealthCheck)
    if REQUESTS:
        return settings(max_examples=-(-REQUESTS // 5), derandomize=False, database=None, suppress_health_check=checks)
    return settings(max_examples=few, suppress_health_check=checks)


sent = Counter[int]()  # answers by their status


def check(answer: Any) -> None:
    sent[answer.status_code] += 1
    assert answer.status_code < 500 or answer.status_code == 503, (answer.status_code, answer.text)
    assert "Traceback" not in answer.text
    if answer.status_code >= 400:
        assert list(answer.json()) == ["error"]


@pytest.mark.slow
@drawn(150)
@given(path=st.sampled_from(POSTS), values=BODIES)
def test_values_of_any_type(client: TestClient, path: str, values: dict[str, Any]) -> None:
    body = json.dumps(values).encode()  # with lone surrogates, NaN and numbers of 400 digits
    check(client.post(path, content=body, headers={"Content-Type": "application/json"}))


@pytest.mark.slow
@drawn(150)
@given(path=st.sampled_from(POSTS), kind=KINDS, body=st.binary(max_size=200), whole=st.booleans())
def test_bodies_of_any_bytes(client: TestClient, path: str, kind: str, body: bytes, whole: bool) -> None:
    if whole:
        head = b'--x\r\nContent-Disposition: form-data; name="file"; filename="../a.json"\r\n\r\n'
        body = head + body + b"\r\n--x--\r\n"
    check(client.post(path, content=body, headers={"Content-Type": kind}))


@pytest.mark.slow
@drawn(150)
@given(name=st.text(alphabet="./\\%:~a\0é", max_size=30), ending=st.sampled_from([".txt", ".html", ".md", ".docx", ""]))
def test_paths_of_any_kind(client: TestClient, name: str, ending: str) -> None:
    check(client.get(f"/download_file/{name.replace(chr(0), '%00')}"))
    files = {"file": (name + ending, b"one two")}
    answer = client.post("/translate_file", files=files, data={"source": "en", "target": "fr"})
    check(answer)
    if answer.status_code == 200:
        assert ".." not in answer.json()["translatedFileUrl"]


@pytest.mark.slow
@drawn(60)
@given(
    ending=st.sampled_from([".json", ".yaml", ".html", ".md", ".po", ".srt", ".tmx", ".xliff", ".txt"]),
    parts=st.lists(
        st.one_of(st.sampled_from(ESCAPES), st.text(alphabet="<>/{}[]\"'&!-#*|:=\n ,one%@\t1\\", max_size=20))
    ),
    target=st.sampled_from(["en", "fr"]),
)
def test_documents_of_any_text(client: TestClient, ending: str, parts: list[str], target: str) -> None:
    text = "".join(parts)
    for whole in (text, f'["{text} one"]'):  # text between double quotes has the escapes of JSON and YAML
        files = {"file": (f"a{ending}", whole.encode())}
        check(client.post("/translate_file", files=files, data={"source": "en", "target": target}))


@pytest.mark.slow
@drawn(60)
@given(
    changes=st.dictionaries(st.integers(0, 2_000), st.integers(0, 255), max_size=4),
    end=st.one_of(st.none(), st.integers(0, 2_000)),
    ending=st.sampled_from([".docx", ".pptx"]),
)
def test_archives_with_any_damage(client: TestClient, changes: dict[int, int], end: int | None, ending: str) -> None:
    whole = bytearray(archive())
    for place, byte in changes.items():
        whole[place % len(whole)] = byte
    files = {"file": (f"a{ending}", bytes(whole[:end]))}
    check(client.post("/translate_file", files=files, data={"source": "en", "target": "fr"}))


def archive() -> bytes:
    """A small document of Word, with a picture."""
    space = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    text = f'<w:document xmlns:w="{space}"><w:p><w:r><w:t>one two</w:t></w:r></w:p></w:document>'
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as new:
        new.writestr("word/document.xml", text)
        new.writestr("word/media/a.png", bytes(range(100)))
    return buffer.getvalue()


@pytest.mark.skipif(not REQUESTS, reason="make fuzz")
def test_so_many_requests_were_sent() -> None:
    assert sent.total() >= REQUESTS, sent
    assert sent[200] > REQUESTS / 10, sent  # or they would not get far


def connected(served: str) -> socket.socket:
    where = urlsplit(served)
    assert where.hostname is not None
    return socket.create_connection((where.hostname, where.port or 80), timeout=20)


def answers(served: str) -> bool:
    with connected(served) as client:
        client.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        return b'"ok"' in b"".join(iter(lambda: client.recv(4096), b""))


@pytest.mark.slow
def test_clients_that_leave_in_the_middle_or_are_slow(served: str) -> None:
    """The server, whose log must have no trace, goes on (see `served`)."""
    body = json.dumps({**USUAL, "q": "one two. " * 500}).encode()
    head = (
        f"POST /v1/stream HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    for cut in (0, len(body) // 2):
        with connected(served) as client:
            client.sendall(head.encode() + body[:cut])
    with connected(served) as client:
        client.sendall(head.encode() + body)
        assert client.recv(100).startswith(b"HTTP/1.1 200")  # and leaves in the stream
    assert answers(served)
    with connected(served) as slow:
        slow.sendall(head.encode())
        began = time.monotonic()
        for byte in body[:10]:
            slow.sendall(bytes([byte]))
            assert answers(served)  # meanwhile
        assert time.monotonic() - began < 10


@pytest.mark.slow
def test_a_body_has_a_time_to_arrive_and_connections_a_number(run: Path) -> None:
    with serving(run, options=["--seconds", "0.5", "--connections", "2"]) as served:
        with connected(served) as slow:
            slow.sendall(b"POST /translate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n")
            slow.sendall(b'Content-Length: 99\r\n\r\n{"q": ')
            answer = b"".join(iter(lambda: slow.recv(4096), b""))  # up to its end: the connection is closed
        assert answer.startswith(b"HTTP/1.1 408")
        assert b'{"error":"Invalid request: the body took longer than 0.5 seconds"}' in answer
        with connected(served):
            assert answers(served)
            with connected(served), connected(served) as fourth:
                fourth.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                assert fourth.recv(100).startswith(b"HTTP/1.1 503")
        time.sleep(0.2)
        assert answers(served)


@pytest.mark.slow
def test_what_is_no_http_is_answered_and_the_server_goes_on(served: str) -> None:
    for data in (
        b"\0\xff\r\n\r\n",
        b"GET /" + b"a" * 100_000,
        b"POST /translate HTTP/1.1\r\nContent-Length: 9e99\r\n\r\n",
    ):
        with connected(served) as client:
            client.sendall(data)
            client.shutdown(socket.SHUT_WR)
            assert b"Traceback" not in client.recv(4096)
    assert answers(served)


@pytest.fixture(autouse=True)
def no_trace(caplog: pytest.LogCaptureFixture) -> Any:
    """Nothing that goes wrong inside the service is an answer to a client."""
    with caplog.at_level(logging.ERROR, "dragoman.serving"):
        yield
    assert not [record for record in caplog.records if record.exc_info]


def test_the_description_tells_of_refusals_and_of_what_is_no_json(client: TestClient) -> None:
    """What schemathesis found: answers that the service's own OpenAPI did not have."""
    paths = client.get("/spec").json()["paths"]
    for path in (*POSTS, "/download_file/{name}"):
        for operation in paths[path].values():
            assert {"4XX", "503"} <= set(operation["responses"]), path
    kinds = {
        "/metrics": client.get("/metrics").headers["content-type"],
        "/v1/stream": client.post("/v1/stream", json=USUAL).headers["content-type"],
        "/download_file/{name}": "application/octet-stream",
    }
    for path, kind in kinds.items():
        (operation,) = paths[path].values()
        (media_type,) = operation["responses"]["200"]["content"]
        assert kind.startswith(media_type.partition(";")[0]), path
