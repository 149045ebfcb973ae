"""Options of the service and of what it keeps."""

from collections.abc import Callable
from typing import Any

from starlette.testclient import TestClient

from dragoman.serving.corrections import Corrections
from tests.system.options.effects import Done, Effect, Effects, Watch
from tests.system.options.of_preparing import computing

SERVE = "serve runs/toy"
KEPT = f"{SERVE} --corrections both.sqlite"
PAIR = {"source": "en", "target": "fr"}
WRITTEN = "corrections both.sqlite -o kept.tmx"


def _run(*_: object, **__: object) -> None:
    return None


def arguments(done: Done) -> object:
    """What the server is started with, without the application and what belongs to it."""
    _, host, port, _, _, connections = done.of("server.run")[0].arguments
    return host, port, connections


def answered(ask: Callable[[TestClient], Any]) -> Callable[[Done], object]:
    """Return what sees the answer of a service."""

    def answer(done: Done) -> object:
        with TestClient(done.of("server.run")[0].arguments[0], base_url="http://localhost") as client:
            result = ask(client)
            return result if isinstance(result, list | int | str) else (result.status_code, result.text)

    return answer


def translation(text: str = "one two", **parameters: Any) -> Callable[[Done], object]:
    """Return what sees the translation of a text."""
    return answered(lambda client: client.post("/v1/translate", json={**PAIR, "q": text, **parameters}))


def status(**parameters: Any) -> Callable[[Done], object]:
    """Return what sees the status of a request's answer."""
    return answered(lambda client: client.post("/translate", json={**PAIR, "q": "one", **parameters}).status_code)


def often(client: TestClient) -> list[int]:
    """The status of several requests, one after the other."""
    return [client.post("/translate", json={**PAIR, "q": "one"}).status_code for _ in range(3)]


def hits(client: TestClient) -> str:
    """How many of two equal texts had been translated before."""
    for _ in range(2):
        client.post("/translate", json={**PAIR, "q": "one"})
    return next(
        line for line in client.get("/metrics").text.splitlines() if line.startswith("dragoman_cache_hits_total")
    )


def file(client: TestClient) -> int:
    """The status of a request with a file."""
    return client.post(
        "/translate_file", data=PAIR, files={"file": ("x.txt", b"one two\n" + b"\n" * 20_000)}
    ).status_code


def history(done: Done) -> object:
    """What is kept after a text was translated."""
    translation("one six")(done)
    return entries(done)


def entries(done: Done) -> object:
    """What a database has."""
    kept = Corrections.existing(done.folder / "both.sqlite")
    try:
        return [entry.correction[:2] for entry in kept.entries(translations=True)]
    finally:
        kept.close()


def trusted(client: TestClient) -> int:
    """The status of a correction that is sent from a page at some address."""
    headers = {"Host": "page.example", "Origin": "http://page.example"}
    return client.post("/suggest", json={**PAIR, "q": "one", "s": "une"}, headers=headers).status_code


WATCHED = {"serve": (Watch("dragoman.serving.server.run", _run),)}
TABLE: dict[str, Effects] = {
    "serve": {
        "--host": Effect(SERVE, "--host 0.0.0.0", arguments, "", "0.0.0.0"),
        "--port": Effect(SERVE, "--port 1234", arguments, "", "1234"),
        "--keys": Effect(SERVE, "--keys mine", status(), "", "40"),
        "--trusted-host": Effect(KEPT, "--trusted-host page.example", answered(trusted), "", "200"),
        "--make-key": Effect("serve --keys keys", "--make-key ann", "files", "runs/toy", "keys"),
        "--corrections": Effect(SERVE, "--corrections both.sqlite", translation("one"), "", "une"),
        "--history": Effect(KEPT, "--history", history, "", "one six"),
        "--similar": Effect(SERVE + " --corrections kept.sqlite", "--similar 0.2", translation("one two three")),
        "--glossary": Effect(SERVE, "--glossary en,fr=terms.tsv", translation(), "", "cinq"),
        "--min-confidence": Effect("serve runs/sure", "--min-confidence 1", translation()),
        "--rate": Effect(SERVE, "--rate 1", answered(often), "", "429"),
        "--characters": Effect(SERVE, "--characters 1000000", status(q="one" + "\u3000" * 400_000), "", "200"),
        "--texts": Effect(SERVE, "--texts 1", status(q=["one", "two"])),
        "--file-bytes": Effect(SERVE, "--file-bytes 100", answered(file), "", "4"),
        "--seconds": Effect(SERVE, "--seconds 0.001", status(q="one two three four five six " * 50)),
        "--cache": Effect(SERVE, "--cache 0", answered(hits), "", " 0.0"),
        "--connections": Effect(SERVE, "--connections 7", arguments, "", "5000, 7)"),
        "--lines": Effect(SERVE, "--lines", translation("One two. Six one.")),
        "--engine": Effect(SERVE, "--engine int8", translation()),
        "--threads": computing(SERVE),
    },
    "corrections": {
        "--output": Effect("corrections kept.sqlite", "--output other.tsv", "files", "-o kept.tsv", "other.tsv"),
        "--source": Effect(WRITTEN, "--source de", "kept.tmx"),
        "--target": Effect(WRITTEN, "--target fr", "kept.tmx"),
        "--history": Effect(WRITTEN, "--history", "kept.tmx", "", "deux"),
        "--forget": Effect("corrections both.sqlite", "--forget one", entries, "-o kept.tmx"),
        "--forget-author": Effect("corrections both.sqlite", "--forget-author ben", entries, "-o kept.tmx"),
    },
}
