"""The endpoints of OpenAI's API."""

import json
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from dragoman.serving.client_limits import Keys
from dragoman.serving.request_queue import BusyError
from dragoman.serving.service import Service
from tests.serving.conftest import LIMITS, Open

PROMPT = "Translate into French:\none two\nsix one\n"
BODY = {"model": "run", "messages": [{"role": "user", "content": PROMPT}], "temperature": 0.1}
USAGE = {"prompt_tokens": 7, "completion_tokens": 4, "total_tokens": 11}
PATH = "/v1/chat/completions"


def events(answer: Any) -> list[str]:
    assert answer.headers["content-type"].startswith("text/event-stream")
    *sent, rest = answer.text.split("\n\n")
    assert rest == ""
    assert all(event.startswith("data: ") and "\n" not in event for event in sent)
    return [event.removeprefix("data: ") for event in sent]


def test_an_answer_is_the_message_of_a_choice(client: TestClient) -> None:
    answer = client.post(PATH, json=BODY).json()
    message = {"role": "assistant", "content": "deux un\nun six\n"}
    assert answer["choices"] == [{"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}]
    assert (answer["object"], answer["model"], answer["usage"]) == ("chat.completion", "run", USAGE)
    assert answer["id"].startswith("chatcmpl-")
    assert client.post(PATH, json=BODY).json()["id"] != answer["id"]


def test_a_stream_has_an_event_for_each_line_and_ends_with_done(client: TestClient) -> None:
    answer = client.post(PATH, json={**BODY, "stream": True})
    assert answer.headers["cache-control"] == "no-store"
    *sent, done = events(answer)
    chunks = [json.loads(event) for event in sent]
    assert done == "[DONE]"
    choices = [chunk["choices"][0] for chunk in chunks]
    assert [choice["delta"] for choice in choices] == [
        {"role": "assistant", "content": ""},
        {"content": "deux un\n"},
        {"content": "un six\n"},
        {},
    ]
    assert [choice["finish_reason"] for choice in choices] == [None, None, None, "stop"]
    assert len({chunk["id"] for chunk in chunks}) == 1
    assert {chunk["object"] for chunk in chunks} == {"chat.completion.chunk"}


def test_a_stream_has_the_usage_if_it_is_asked_for(client: TestClient) -> None:
    body = {**BODY, "stream": True, "stream_options": {"include_usage": True}}
    usage = json.loads(events(client.post(PATH, json=body))[-2])
    assert (usage["choices"], usage["usage"]) == ([], USAGE)


def test_a_content_may_be_in_parts(client: TestClient) -> None:
    parts = [{"type": "text", "text": "Translate into French:\n"}, {"type": "text", "text": "one two"}]
    messages = [{"role": "assistant", "content": None}, {"role": "user", "content": parts}]
    answer = client.post(PATH, json={"model": "run", "messages": messages}).json()
    assert answer["choices"][0]["message"]["content"] == "deux un"


def test_a_model_need_not_be_named(client: TestClient) -> None:
    """Clients of servers with one model leave it out."""
    answer = client.post(PATH, json={"messages": BODY["messages"]}).json()
    assert (answer["model"], answer["choices"][0]["message"]["content"]) == ("dragoman", "deux un\nun six\n")


def test_runs_are_listed(client: TestClient) -> None:
    models = client.get("/v1/models").json()
    assert models["object"] == "list"
    assert [model["id"] for model in models["data"]] == ["dragoman", "run"]
    assert all(model["created"] > 1.7e9 for model in models["data"])
    assert client.get("/v1/models/run").json() == models["data"][1]
    assert client.get("/v1/models/a/run").json()["error"]["code"] == "model_not_found"


def error(answer: Any) -> tuple[int, str, str, str | None, str | None]:
    assert list(answer.json()) == ["error"]
    values = answer.json()["error"]
    assert list(values) == ["message", "type", "param", "code"]
    return (answer.status_code, *values.values())


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (
            {"model": "gpt-4o-mini"},
            (
                404,
                "model 'gpt-4o-mini' not found; the models are dragoman, run",
                "invalid_request_error",
                "model",
                "model_not_found",
            ),
        ),
        (
            {"messages": [{"role": "user", "content": "Translate into German:\none"}]},
            (
                400,
                "Cannot translate to German: the model translates en to fr",
                "invalid_request_error",
                None,
                None,
            ),
        ),
        (
            {"messages": []},
            (
                400,
                "Invalid request: messages: expected a list of messages with role and content",
                "invalid_request_error",
                None,
                None,
            ),
        ),
        (
            {"stream_options": 1},
            (400, "Invalid request: stream_options: expected an object", "invalid_request_error", None, None),
        ),
    ],
)
def test_errors_have_the_form_of_openai(client: TestClient, changes: dict[str, Any], expected: Any) -> None:
    assert error(client.post(PATH, json={**BODY, **changes})) == expected


def test_errors_of_the_body_have_it_too(client: TestClient) -> None:
    headers = {"Content-Type": "application/json"}
    status, line, *_ = error(client.post(PATH, content=b"x" * (LIMITS.body + 1), headers=headers))
    assert (status, line) == (413, "Invalid request: the body is larger than 10000 bytes")
    status, line, *_ = error(client.post(PATH, content=b"{", headers=headers))
    assert (status, line) == (400, "Invalid JSON format")


def test_other_errors_of_ours_keep_their_form(client: TestClient) -> None:
    answer = client.post("/v1/translate", json={"q": "one", "source": "en", "target": "zz"})
    assert answer.json() == {"error": "en to zz is not supported"}


def test_keys_are_needed_where_there_are_some(opened: Open, tmp_path: Path) -> None:
    """Clients know a missing or wrong one by status 401."""
    key = Keys.make("ann", tmp_path / "keys")
    with opened(keys=Keys(tmp_path / "keys")) as client:

        def status(**headers: str) -> int:
            return client.post(PATH, json=BODY, headers=headers).status_code

        assert [status(), status(Authorization="Bearer x"), status(Authorization=f"Bearer {key}")] == [401, 401, 200]
        refused = error(client.post(PATH, json=BODY, headers={"Authorization": "Bearer x"}))
        assert refused == (401, "Invalid API key", "invalid_request_error", None, "invalid_api_key")
        assert client.get("/v1/models").status_code == 200


def test_a_busy_service_says_when_to_ask_again(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    async def busy(*_: object) -> None:
        raise BusyError("too many texts", retry_after=7)

    monkeypatch.setattr(Service, "translate_passages", busy)
    answer = client.post(PATH, json=BODY)
    assert error(answer) == (503, "Service is busy: too many texts", "server_error", None, None)
    assert answer.headers["Retry-After"] == "7"


def test_too_many_requests_are_refused(opened: Open) -> None:
    with opened(LIMITS._replace(rate=1)) as client:
        assert client.post(PATH, json=BODY).status_code == 200
        status, line, *_, code = error(client.post(PATH, json=BODY))
    assert (status, line, code) == (429, "Slowdown: 1 per 1 minute", "rate_limit_exceeded")
