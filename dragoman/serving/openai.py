"""The endpoints of OpenAI's API, for programs that ask its language models for translations."""

import json
import time
from collections.abc import Callable, Coroutine, Iterator
from typing import Any
from uuid import uuid4

from fastapi import APIRouter
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from dragoman.serving.backend import Backend
from dragoman.serving.bodies import CompletionBody, described, fault
from dragoman.serving.chat import ChatAnswer, ChatTranslator, ServedName
from dragoman.serving.http_error import HTTPError, UnknownKeyError, UnknownModelError
from dragoman.serving.v1 import Events

_ERROR = {
    "application/json": {
        "schema": {
            "type": "object",
            "required": ["error"],
            "properties": {
                "error": {
                    "type": "object",
                    "required": ["message", "type", "param", "code"],
                    "properties": {"message": {"type": "string"}, "type": {"type": "string"}},
                }
            },
        }
    }
}
RESPONSES: dict[int | str, dict[str, Any]] = {
    "4XX": {"description": "The request is rejected; `error.message` has the reason", "content": _ERROR},
    503: {"description": "The service is busy; retry after the seconds in Retry-After", "content": _ERROR},
}


def router(backend: Backend) -> APIRouter:
    """The endpoints of a service."""
    api = APIRouter(tags=["OpenAI"], prefix="/v1", responses=RESPONSES, route_class=OpenAIRoute)
    ask = OpenAIEndpoints(backend)
    body = described(CompletionBody, "application/json")
    kinds: dict[int | str, dict[str, Any]] = {200: {"content": {"application/json": {}, "text/event-stream": {}}}}
    api.add_api_route("/chat/completions", ask.complete, methods=["POST"], openapi_extra=body, responses=kinds)
    api.add_api_route("/models", ask.models)
    api.add_api_route("/models/{name:path}", ask.model)
    return api


class OpenAIRoute(APIRoute):
    """An endpoint whose errors have the form of OpenAI's."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def answer(request: Request) -> Response:
            try:
                return await handle(request)
            except RequestValidationError as error:
                return _error(HTTPError(400, fault(error)))
            except HTTPException as error:
                return _error(error)

        return answer


class OpenAIEndpoints:
    """What answers at /v1/chat/completions and /v1/models."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.translator = ChatTranslator(backend)

    async def complete(self, request: Request) -> Response:
        """Translate the texts in a conversation of a known client, as OpenAI answers; with `stream: true`, as
        server-sent events.
        """
        body, _, until = await self.backend.admitted(request, CompletionBody)
        answer = await self.translator.answer(request, body, body.messages, until)
        if body.stream:
            headers = {"Cache-Control": "no-store"}
            return Events(_events(body, answer), headers=headers)
        message = {"role": "assistant", "content": answer.text}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
        return JSONResponse({**_head(body, "chat.completion"), "choices": [choice], "usage": _usage(answer)})

    async def models(self) -> dict[str, Any]:
        """List the runs."""
        return {"object": "list", "data": [_model(run) for run in self.translator.names]}

    async def model(self, name: str) -> dict[str, Any]:
        """Describe a run."""
        return _model(self.translator.named(name))


def _model(run: ServedName) -> dict[str, Any]:
    return {"id": run.name, "object": "model", "created": int(run.modified), "owned_by": "dragoman"}


def _head(body: CompletionBody, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{uuid4().hex}", "object": kind, "created": int(time.time()), "model": body.model}


def _usage(answer: ChatAnswer) -> dict[str, int]:
    """Words, where a language model has tokens."""
    return {
        "prompt_tokens": answer.read,
        "completion_tokens": answer.written,
        "total_tokens": answer.read + answer.written,
    }


def _events(body: CompletionBody, answer: ChatAnswer) -> Iterator[str]:
    head = _head(body, "chat.completion.chunk")
    deltas: list[dict[str, str]] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": piece} for piece in answer.pieces]
    for delta in deltas:
        yield _event({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    yield _event({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    if body.stream_options.get("include_usage"):
        yield _event({**head, "choices": [], "usage": _usage(answer)})
    yield "data: [DONE]\n\n"


def _event(value: dict[str, Any]) -> str:
    return f"data: {json.dumps(value, ensure_ascii=False)}\n\n"


def _error(error: HTTPException) -> Response:
    status, param, code = error.status_code, None, None
    if isinstance(error, UnknownKeyError):
        status, code = 401, "invalid_api_key"
    if isinstance(error, UnknownModelError):
        param, code = "model", "model_not_found"
    if status == 429:
        code = "rate_limit_exceeded"
    kind = "server_error" if status >= 500 else "invalid_request_error"
    content = {"error": {"message": str(error.detail), "type": kind, "param": param, "code": code}}
    return JSONResponse(content, status, error.headers)
