"""The endpoints of ollama."""

import json
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from dragoman.serving.client_limits import Keys
from dragoman.version import __version__
from tests.serving.conftest import LIMITS, Open

PROMPT = "Translate into French:\none two\nsix one\n"
BODY = {"model": "run", "prompt": PROMPT}
CHAT = {"model": "run", "messages": [{"role": "user", "content": PROMPT}]}
COUNTS = {"load_duration": 0, "prompt_eval_count": 7, "eval_count": 4}


def lines(answer: Any) -> list[dict[str, Any]]:
    assert answer.headers["content-type"] == "application/x-ndjson"
    assert answer.text.endswith("\n")
    return [json.loads(line) for line in answer.text.splitlines()]


def test_a_stream_is_the_default(client: TestClient) -> None:
    """The last object has no text, and says that the answer has ended."""
    *pieces, end = lines(client.post("/api/generate", json=BODY))
    assert [(piece["response"], piece["done"]) for piece in pieces] == [("deux un\n", False), ("un six\n", False)]
    assert {piece["model"] for piece in pieces} == {"run"}
    assert (end["response"], end["done"], end["done_reason"]) == ("", True, "stop")
    assert {**end, **COUNTS} == end
    assert end["total_duration"] > 0
    *pieces, end = lines(client.post("/api/chat", json=CHAT))
    assert [piece["message"] for piece in pieces] == [
        {"role": "assistant", "content": "deux un\n"},
        {"role": "assistant", "content": "un six\n"},
    ]
    assert (end["message"]["content"], end["done"]) == ("", True)


def test_without_a_stream_there_is_one_object(client: TestClient) -> None:
    answer = client.post("/api/generate", json={**BODY, "stream": False})
    assert answer.headers["content-type"] == "application/json"
    assert {**answer.json(), "response": "deux un\nun six\n", "done": True, **COUNTS} == answer.json()
    answer = client.post("/api/chat", json={**CHAT, "stream": False})
    assert answer.json()["message"] == {"role": "assistant", "content": "deux un\nun six\n"}
    assert answer.json()["created_at"].endswith("Z")


def test_a_body_is_json_whatever_it_is_called(client: TestClient) -> None:
    """curl calls it a form."""
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    body = json.dumps({**BODY, "stream": False})
    for sent in (body, f"\n {body}"):
        answer = client.post("/api/generate", content=sent, headers=headers)
        assert answer.json()["response"] == "deux un\nun six\n"
    assert client.post("/translate", content="q=one&source=en&target=fr", headers=headers).status_code == 200


def test_an_instruction_may_stand_in_system(client: TestClient) -> None:
    system = "Adept at translating text\nfrom language 'en'\nto language 'fr'\nwith precision."
    body = {"model": "run", "system": system, "prompt": "one two\n==WEBLATE_PART==\nsix", "stream": False}
    assert client.post("/api/generate", json=body).json()["response"] == "deux un\n==WEBLATE_PART==\nsix"


def test_without_a_prompt_a_model_is_loaded(client: TestClient) -> None:
    answer = client.post("/api/generate", json={"model": "run", "prompt": "", "keep_alive": 300}).json()
    assert (answer["response"], answer["done"], answer["done_reason"]) == ("", True, "load")
    assert client.post("/api/generate", json={"model": "other"}).status_code == 404


def test_an_answer_without_text_is_a_stream_without_pieces(client: TestClient) -> None:
    (end,) = lines(client.post("/api/generate", json={"model": "run", "prompt": "Translate into French:\n"}))
    assert (end["response"], end["done"]) == ("", True)


def test_runs_are_listed(client: TestClient, run: Path) -> None:
    models = client.get("/api/tags").json()["models"]
    assert [model["name"] for model in models] == [model["model"] for model in models] == ["dragoman", "run"]
    assert all(model["modified_at"].startswith("20") and model["size"] > 10_000 for model in models)
    assert (
        models[0]["size"] == models[1]["size"] < sum(path.stat().st_size for path in run.rglob("*") if path.is_file())
    )
    assert len({model["digest"] for model in models}) == 2
    assert {len(model["digest"]) for model in models} == {64}


def test_a_run_is_described(client: TestClient) -> None:
    description = client.post("/api/show", json={"model": "run"}).json()
    assert description["model_info"]["dragoman.language_pairs"] == ["en-fr"]
    assert description["capabilities"] == ["completion"]
    assert client.post("/api/show", json={"model": "other"}).status_code == 404
    assert client.get("/api/version").json() == {"version": __version__}


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"stream": "yes"}, "Invalid request: stream: expected true or false"),
        ({"prompt": 1}, "Invalid request: prompt is no string"),
        ({"model": ["run"]}, "Invalid request: model is no string"),
    ],
)
def test_damaged_requests_are_refused_with_a_line(client: TestClient, changes: dict[str, Any], line: str) -> None:
    answer = client.post("/api/generate", json={**BODY, **changes})
    assert (answer.status_code, answer.json()) == (400, {"error": line})


@pytest.mark.parametrize(
    "messages",
    [
        [],
        {},
        "one",
        1,
        None,
        ["one"],
        [{}],
        [{"role": 1, "content": "one"}],
        [{"role": "user", "content": 1}],
        [{"role": "user", "content": [1]}],
        [{"role": "user", "content": [{"type": "text"}]}],
        [{"role": "user", "content": [{"type": "text", "text": 1}]}],
    ],
)
def test_damaged_conversations_are_refused_with_a_line(client: TestClient, messages: object) -> None:
    answer = client.post("/api/chat", json={"model": "run", "messages": messages})
    line = "Invalid request: messages: expected a list of messages with role and content"
    assert (answer.status_code, answer.json()) == (400, {"error": line})


def test_keys_are_needed_where_there_are_some(opened: Open, tmp_path: Path) -> None:
    key = Keys.make("ann", tmp_path / "keys")
    with opened(keys=Keys(tmp_path / "keys")) as client:

        def status(**headers: str) -> int:
            return client.post("/api/generate", json=BODY, headers=headers).status_code

        assert [status(), status(Authorization="Bearer x"), status(Authorization=f"Bearer {key}")] == [400, 403, 200]
        assert client.get("/api/tags").status_code == 200
    with opened(LIMITS._replace(rate=1)) as client:
        assert [client.post("/api/chat", json=CHAT).status_code for _ in range(2)] == [200, 429]
