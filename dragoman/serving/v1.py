"""The endpoints of our own: everything that is known of a translation, and translations as they are made."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import StreamingResponse

from dragoman.documents.passages import Passage
from dragoman.documents.translated import TranslatedSentence, TranslatedText
from dragoman.errors import UserError
from dragoman.serving.backend import Backend
from dragoman.serving.bodies import ExplainBody, PassageBody, SentencesBody, described
from dragoman.serving.http_error import RESPONSES, HTTPError
from dragoman.serving.models import Read
from dragoman.serving.request_languages import AUTO, guess_form, languages_of
from dragoman.serving.request_options import DEFAULTS, RequestOptions, TranslationItem
from dragoman.serving.request_queue import BusyError
from dragoman.serving.service import DetectedLanguage, named
from dragoman.translation.result import Result
from dragoman.translation.transforms.terms import LexicalConstraints

LONGEST = 500  # characters of a text that is explained
MOST_TOGETHER = 16  # sentences of a stream that are translated at once


def router(backend: Backend) -> APIRouter:
    """The endpoints of a service."""
    api, ask = APIRouter(tags=["dragoman"], prefix="/v1", responses=RESPONSES), V1Endpoints(backend)
    body = described(PassageBody, "application/json")
    api.add_api_route("/translate", ask.translate, methods=["POST"], openapi_extra=body)
    api.add_api_route("/stream", ask.stream, methods=["POST"], openapi_extra=body, response_class=Events)
    explained = described(ExplainBody, "application/json")
    api.add_api_route("/explain", ask.explain, methods=["POST"], openapi_extra=explained)
    api.add_api_route("/sources", ask.sources)
    return api


class Events(StreamingResponse):
    """Server-sent events."""

    media_type = "text/event-stream"


class TranslateRequest(NamedTuple):
    """A text in sentences, or several that are read together; their languages; how it is translated; how sure the model
    has to be of a sentence; and the source language if it was to be detected.
    """

    passage: Passage
    source: Read
    target: str
    options: RequestOptions = DEFAULTS
    least: float | None = None
    guess: DetectedLanguage | None = None


class V1Endpoints:
    """What answers at /v1/translate, /v1/stream, /v1/explain and /v1/sources."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend

    async def translate(self, request: Request) -> dict[str, Any]:
        """Translate a text. Sentences have the format of `dragoman translate --json`: words, attention, scores."""
        question = await self._read_request(request)
        (translated,) = await self.backend.passages(
            request, [question.passage], question.source, question.target, question.options
        )
        trusted = _trusted(translated, question.least)
        answer = {
            "text": trusted.text,
            "alternatives": trusted.alternative_texts,
            "sentences": list(_sentences(trusted, trusted.passage, 0)),
        }
        return {**answer, **({"detectedLanguage": guess_form(question.guess)} if question.guess else {})}

    async def stream(self, request: Request) -> StreamingResponse:
        """Translate a text, and send its sentences in their order as they are done (server-sent events): `sentence` for
        each, then `end`, or `error`; before them `language`, if it was to be detected.
        """
        question = await self._read_request(request)
        return Events(self._events(question), headers={"Cache-Control": "no-store"})

    async def explain(self, request: Request) -> dict[str, Any]:
        """Explain the translation of a sentence, and why it is not another one. The answer has the form of `dragoman
        explain --json`.
        """
        body, _, until = await self.backend.admitted(request, ExplainBody)
        passage, source, target, *_ = await self._texts(body)
        if len(passage.read) != 1:
            raise HTTPError(400, f"Invalid request: expected one sentence, found {len(passage.read)}")
        item = TranslationItem(passage.read[0], translation=body.translation, contrast=body.contrast)
        if max(map(len, (*item.sources, *item.targets))) > LONGEST:  # the work grows with the square of the length
            raise HTTPError(400, f"Invalid request: texts of more than {LONGEST} characters cannot be explained")
        work = self.backend.service.explain(item, source, target, until)
        return Result(await self.backend.answer(request, work)).json()

    async def sources(self) -> list[dict[str, Any]]:
        """List runs with several sources and their target languages."""
        return [{"sources": list(names), "target": target} for names, target in self.backend.service.routes.several]

    async def _events(self, question: TranslateRequest) -> AsyncIterator[str]:
        if question.guess:
            yield _event("language", guess_form(question.guess))
        try:
            async for sentence in self._translated(question):
                yield _event("sentence", sentence)
        except (BusyError, UserError) as error:
            yield _event("error", {"error": str(error)})
        except asyncio.CancelledError:  # the server stops, or the client has left
            yield _event("error", {"error": "the service is stopping"})
            raise
        else:
            size = sum(map(len, question.passage.sentences))
            self.backend.metrics.translated(named(question.source), question.target, size)
            yield _event("end", {})

    async def _translated(self, question: TranslateRequest) -> AsyncIterator[dict[str, Any]]:
        """Yield the sentences of a translation as they are done."""
        passage, source, target, options, least, _ = question
        service = self.backend.service
        if source == target and not service.routes.find(source, target):
            for sentence in _sentences(
                TranslatedText(passage, tuple(map(TranslatedSentence, passage.sentences))), passage, 0
            ):
                yield sentence
            return
        first, count = 0, 1
        passage = await service.recalled(passage, source, target, options)
        with service.route(source, target) as route:
            while first < len(passage.sentences):
                part = passage.part(first, first + count)
                (translated,) = await service.translate_by(route, [part], (source, target), options)
                for sentence in _sentences(_trusted(translated, least), passage, first):
                    yield sentence
                first, count, options = first + count, min(2 * count, MOST_TOGETHER), replace(options, prefix="")

    async def _read_request(self, request: Request) -> TranslateRequest:
        body, _, until = await self.backend.admitted(request, PassageBody)
        self.backend.check_alternatives(body.alternatives)
        question = await self._texts(body)
        constraints = LexicalConstraints(body.terms)
        options = RequestOptions(body.alternatives, body.diverse, constraints, prefix=body.prefix, until=until)
        least, route = body.min_confidence, self.backend.service.routes.find(question.source, question.target)
        if least is not None and (len(route) != 1 or not route[0].model.translator.is_calibrated):
            pair = f"{question.source} to {question.target}"
            raise HTTPError(400, f"Invalid request: min_confidence needs a calibrated run from {pair}")
        return question._replace(options=options, least=least)

    async def _texts(self, body: SentencesBody) -> TranslateRequest:
        """The texts of a request. A list of one name is that name where a model reads it alone. HTTPError if there is
        no such model.
        """
        names, texts, target = body.sources, body.texts, body.target
        self.backend.check_size(texts, body.characters)
        if len(texts) != len(names) or len({*names}) != len(names):
            raise HTTPError(400, f"Invalid request: expected one text per source, found {len(texts)} for {len(names)}")
        guess, routes = None, self.backend.service.routes
        names, target = [routes.code(name) for name in names], routes.code(target)
        if [name.lower() for name in names] == [AUTO]:
            source, _, guess = await asyncio.to_thread(languages_of, self.backend, AUTO, target, texts[0])
            names = [source]
        if guess or (len(names) == 1 and routes.find(names[0], target)):
            (passage,) = await self.backend.service.passages(texts, names[0])
            return TranslateRequest(passage, names[0], target, guess=guess)
        sources = routes.reading(names, target) if isinstance(body.source, list) else ()
        if not sources:
            raise HTTPError(400, f"{named(tuple(names))} to {target} is not supported")
        by_name = dict(zip(names, texts, strict=True))
        try:
            passage = await self.backend.service.beside([by_name.get(name, "") for name in sources], sources)
        except UserError as error:
            raise HTTPError(400, f"Invalid request: {error}") from None
        return TranslateRequest(passage, sources, target)


def _trusted(translated: TranslatedText, least: float | None) -> TranslatedText:
    """The same without the sentences of which the model is less sure: their text is empty."""
    if least is None:
        return translated
    return translated._replace(sentences=tuple(sentence.trusted(least) for sentence in translated.sentences))


def _sentences(translated: TranslatedText, passage: Passage, first: int) -> Iterator[dict[str, Any]]:
    """Yield the sentences of a translation, from the one of this number in the whole passage on, with what stands in it
    before the first and after each.
    """
    before, after = (
        translated.passage.between[0],
        passage.after([sentence.text for sentence in translated.sentences], first),
    )
    for read, done, space in zip(translated.passage.read, translated.sentences, after, strict=True):
        sentence: dict[str, Any] = {"source": read, "text": done.text, "before": before, "after": space}
        if done.read is not None:
            sentence["read"] = done.read.text
        if done.whole is not None:
            sentence["translation"] = Result(done.whole).json()
        if done.match is not None:
            sentence["correction"] = {"source": done.match.source, "score": round(done.match.score, 4)}
        if done.rejected is not None:
            sentence["rejected_correction"] = {
                "source": done.rejected.match.source,
                "score": round(done.rejected.match.score, 4),
                "text": done.rejected.match.translation,
                "missing": [{"term": term.text, "forms": list(term.forms)} for term in done.rejected.missing],
            }
        yield sentence
        before = ""


def _event(name: str, value: dict[str, Any]) -> str:
    return f"event: {name}\ndata: {json.dumps(value, ensure_ascii=False)}\n\n"
