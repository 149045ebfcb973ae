"""The endpoints of our own: everything that is known of a translation, and translations as they are made."""

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import StreamingResponse

from dragoman.documents.translated import Translated
from dragoman.errors import UserError
from dragoman.serving.asking import Desk
from dragoman.serving.batching import BusyError
from dragoman.serving.parameters import Parameters
from dragoman.serving.refusal import Refusal
from dragoman.serving.service import Wish
from dragoman.text.glossary import Glossary, Term
from dragoman.translation.demands import Asked
from dragoman.translation.result import Result

MOST_TERMS = 1_000
MOST_TOGETHER = 16  # sentences of a stream that are translated at once
STRING = {"type": "string"}
SCHEMA = {
    "type": "object",
    "required": ["q", "source", "target"],
    "properties": {
        "q": STRING,
        "source": STRING,
        "target": STRING,
        "prefix": {**STRING, "description": "how the translation begins"},
        "alternatives": {"type": "integer", "description": "further translations"},
        "diverse": {"type": "boolean", "description": "which differ in their first word, behind the prefix"},
        "min_confidence": {"type": "number", "description": "sentences of which the run is less sure stay empty"},
        "glossary": {
            "type": "array",
            "items": {"type": "array", "items": STRING},
            "description": "terms, each with the forms of its translation; without any, it stays as it is",
        },
        "api_key": STRING,
    },
}


def router(desk: Desk) -> APIRouter:
    """The endpoints of a service."""
    api, ask = APIRouter(tags=["dragoman"], prefix="/v1"), Endpoints(desk)
    body = {"requestBody": {"required": True, "content": {"application/json": {"schema": SCHEMA}}}}
    api.add_api_route("/translate", ask.translate, methods=["POST"], openapi_extra=body)
    api.add_api_route("/stream", ask.stream, methods=["POST"], openapi_extra=body)
    return api


class Endpoints:
    """What answers at /v1/translate and /v1/stream."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk

    async def translate(self, request: Request) -> dict[str, Any]:
        """Translate a text. Each sentence has the form of `dragoman translate --json`: words, attention, scores."""
        text, pair, wish, least = await self._asked(request)
        (made,) = await self.desk.translated(request, [text], *pair, wish)
        found = _trusted(made, least)
        return {"text": found.text, "alternatives": found.others, "sentences": list(_sentences(found))}

    async def stream(self, request: Request) -> StreamingResponse:
        """Translate a text, and send its sentences in their order as they are done (server-sent events): `sentence` for
        each, then `end`, or `error`.
        """
        text, pair, wish, least = await self._asked(request)
        wish = wish._replace(seconds=self.desk.limits.seconds)
        return StreamingResponse(
            self._events(text, pair, wish, least), media_type="text/event-stream", headers={"Cache-Control": "no-store"}
        )

    async def _events(self, text: str, pair: tuple[str, str], wish: Wish, least: float | None) -> AsyncIterator[str]:
        passage, first, count = self.desk.service.passage(text, pair[0]), 0, 1
        try:
            while first < len(passage.sentences):
                part = passage.part(first, first + count)
                (found,) = await self.desk.service.translate_passages([part], *pair, wish)
                for each in _sentences(_trusted(found, least)):
                    yield _event("sentence", each)
                first, count, wish = first + count, min(2 * count, MOST_TOGETHER), wish._replace(prefix="")
        except (BusyError, UserError) as error:
            yield _event("error", {"error": str(error)})
        else:
            self.desk.measures.translated(*pair, len(text))
            yield _event("end", {})

    async def _asked(self, request: Request) -> tuple[str, tuple[str, str], Wish, float | None]:
        """The text, its languages, what is wished, and how sure the model has to be of a sentence."""
        parameters = await self.desk.admitted(request)
        text, source, target = (parameters.text(name) for name in ("q", "source", "target"))
        self.desk.check_size([text])
        if not self.desk.service.routes.way(source, target):
            raise Refusal(400, f"{source} to {target} is not supported")
        wish = Wish(
            parameters.number("alternatives", self.desk.limits.alternatives),
            parameters.flag("diverse"),
            Asked(_glossary(parameters)),
            prefix=parameters.text("prefix", ""),
        )
        least = parameters.share("min_confidence")
        if least is not None and not self._calibrated(source, target):
            raise Refusal(400, f"Invalid request: min_confidence needs a calibrated run from {source} to {target}")
        return text, (source, target), wish, least

    def _calibrated(self, source: str, target: str) -> bool:
        """Whether one model translates, and knows how sure it is."""
        way = self.desk.service.routes.way(source, target)
        return len(way) == 1 and way[0].model.translator.codec.temperature is not None


def _glossary(parameters: Parameters) -> Glossary:
    terms = parameters.lists("glossary", MOST_TERMS)
    return Glossary(Term(source, tuple(forms)) for source, *forms in terms)


def _trusted(found: Translated, least: float | None) -> Translated:
    """The same without the sentences of which the model is less sure: their text is empty."""
    if least is None:
        return found
    whole = [each.whole and each.whole.trusted(least) for each in found.sentences]
    kept = [
        each._replace(text="", others=(), whole=said) if said and said.withheld is not None else each
        for each, said in zip(found.sentences, whole, strict=True)
    ]
    return found._replace(sentences=tuple(kept))


def _sentences(found: Translated) -> Iterator[dict[str, Any]]:
    """Yield the sentences of a translation, with what stands before the first and behind each."""
    before, *behind = found.passage.between
    for given, done, space in zip(found.passage.sentences, found.sentences, behind, strict=True):
        sentence: dict[str, Any] = {"source": given, "text": done.text, "before": before, "behind": space}
        if done.whole is not None:
            sentence["translation"] = Result(done.whole).json()
        if done.match is not None:
            sentence["correction"] = {"source": done.match.source, "score": round(done.match.score, 4)}
        yield sentence
        before = ""


def _event(name: str, value: dict[str, Any]) -> str:
    return f"event: {name}\ndata: {json.dumps(value, ensure_ascii=False)}\n\n"
