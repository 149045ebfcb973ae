"""The endpoints of ollama, for programs that ask its language models for translations."""

import hashlib
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from dragoman.serving.backend import Backend
from dragoman.serving.bodies import ChatBody, ModelBody, PromptBody, described
from dragoman.serving.chat import ChatAnswer, ChatTranslator, ServedName
from dragoman.serving.http_error import RESPONSES
from dragoman.version import __version__

DETAILS = {
    "parent_model": "",
    "format": "",
    "family": "dragoman",
    "families": ["dragoman"],
    "parameter_size": "",
    "quantization_level": "",
}


def router(backend: Backend) -> APIRouter:
    """The endpoints of a service."""
    api, ask = APIRouter(tags=["ollama"], prefix="/api", responses=RESPONSES), OllamaEndpoints(backend)
    kinds: dict[int | str, dict[str, Any]] = {200: {"content": {"application/json": {}, JsonLines.media_type: {}}}}
    for path, answer, body in (("/generate", ask.generate, PromptBody), ("/chat", ask.chat, ChatBody)):
        extra = described(body, "application/json")
        api.add_api_route(path, answer, methods=["POST"], openapi_extra=extra, responses=kinds)
    api.add_api_route("/show", ask.show, methods=["POST"], openapi_extra=described(ModelBody, "application/json"))
    api.add_api_route("/tags", ask.tags)
    api.add_api_route("/version", ask.version)
    return api


class JsonLines(StreamingResponse):
    """A JSON object on each line."""

    media_type = "application/x-ndjson"


class OllamaEndpoints:
    """What answers at /api/generate, /api/chat, /api/show, /api/tags and /api/version."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.translator = ChatTranslator(backend)

    async def generate(self, request: Request) -> Response:
        """Translate the texts in a prompt of a known client, as ollama answers: a JSON object on each line, or, with
        `stream: false`, one.
        """
        body, _, until = await self.backend.admitted(request, PromptBody)
        if not body.messages:  # by which clients load a model
            self.translator.named(body.model)
            return JSONResponse({**_head(body), "response": "", "done": True, "done_reason": "load"})
        answer = await self.translator.answer(request, body, body.messages, until)
        return _response(body, answer, lambda text: {"response": text}, stream=body.stream)

    async def chat(self, request: Request) -> Response:
        """Translate the texts in a conversation of a known client, as ollama answers: a JSON object on each line, or,
        with `stream: false`, one.
        """
        body, _, until = await self.backend.admitted(request, ChatBody)
        answer = await self.translator.answer(request, body, body.messages, until)
        return _response(
            body, answer, lambda text: {"message": {"role": "assistant", "content": text}}, stream=body.stream
        )

    async def tags(self) -> dict[str, Any]:
        """List the runs."""
        return {"models": [_model(run) for run in self.translator.names]}

    async def show(self, request: Request) -> dict[str, Any]:
        """Describe a run: the languages that it translates."""
        body, *_ = await self.backend.admitted(request, ModelBody)
        pairs = [
            f"{source}-{target}"
            for source, targets in self.translator.routes(body.model).targets.items()
            for target in targets
        ]
        information = {"general.architecture": "dragoman", "dragoman.language_pairs": pairs}
        return {
            "modelfile": "",
            "parameters": "",
            "template": "",
            "details": DETAILS,
            "model_info": information,
            "capabilities": ["completion"],
        }

    async def version(self) -> dict[str, str]:
        """The version of dragoman."""
        return {"version": __version__}


def _model(run: ServedName) -> dict[str, Any]:
    return {
        "name": run.name,
        "model": run.name,
        "modified_at": _time(run.modified),
        "size": run.size,
        "digest": hashlib.sha256(repr(run).encode()).hexdigest(),
        "details": DETAILS,
    }


def _head(body: ModelBody) -> dict[str, Any]:
    return {"model": body.model, "created_at": _time(datetime.now(UTC).timestamp())}


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")


def _response(body: ModelBody, answer: ChatAnswer, write: Callable[[str], dict[str, Any]], *, stream: bool) -> Response:
    nanoseconds = round(answer.seconds * 1e9)
    end = {
        "done": True,
        "done_reason": "stop",
        "total_duration": nanoseconds,
        "load_duration": 0,
        "prompt_eval_count": answer.read,
        "prompt_eval_duration": 0,
        "eval_count": answer.written,
        "eval_duration": nanoseconds,
    }
    if not stream:
        return JSONResponse({**_head(body), **write(answer.text), **end})

    def lines() -> Iterator[str]:
        for piece in answer.pieces:
            yield _line({**_head(body), **write(piece), "done": False})
        yield _line({**_head(body), **write(""), **end})

    return JsonLines(lines())


def _line(value: dict[str, Any]) -> str:
    return f"{json.dumps(value, ensure_ascii=False)}\n"
