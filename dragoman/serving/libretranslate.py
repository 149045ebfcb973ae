"""The endpoints of LibreTranslate, with its parameters, answers and error texts, so that its clients work unchanged."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from fastapi import APIRouter
from starlette.requests import Request

from dragoman.documents import table
from dragoman.errors import UserError
from dragoman.serving.backend import Backend
from dragoman.serving.bodies import KINDS, DetectBody, SuggestBody, TranslateBody, described
from dragoman.serving.corrections import Correction, NotKeptError
from dragoman.serving.document_worker import HtmlTexts
from dragoman.serving.http_error import RESPONSES, HTTPError
from dragoman.serving.request_languages import guess_form, languages_of, name_of
from dragoman.serving.request_options import RequestOptions
from dragoman.serving.service import DetectedLanguage

Answer: TypeAlias = tuple[list[str], list[list[str]]]  # translations, and further ones


def router(backend: Backend) -> APIRouter:
    """The endpoints of a service."""
    api, ask = APIRouter(tags=["LibreTranslate"], responses=RESPONSES), LibreTranslateEndpoints(backend)
    for path, answer, body in (
        ("/translate", ask.translate, TranslateBody),
        ("/detect", ask.detect, DetectBody),
        ("/suggest", ask.suggest, SuggestBody),
    ):
        api.add_api_route(path, answer, methods=["POST"], openapi_extra=described(body, *KINDS))
    api.add_api_route("/languages", ask.languages)
    api.add_api_route("/frontend/settings", ask.settings)
    return api


class LibreTranslateEndpoints:
    """What answers at /translate, /languages, /detect, /suggest and /frontend/settings."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend

    async def translate(self, request: Request) -> dict[str, Any]:
        """Translate a text, or a list of texts. Those in HTML have no alternatives."""
        body, _, until = await self.backend.admitted(request, TranslateBody)
        texts, several, alternatives = body.texts, isinstance(body.q, list), body.alternatives
        self.backend.check_alternatives(alternatives)
        self.backend.check_size(texts)
        if _is_settings_check(request, texts, body.source, body.target) and not self.backend.service.routes.find(
            "en", "de"
        ):
            return {"translatedText": texts}
        languages = await asyncio.to_thread(languages_of, self.backend, body.source, body.target, "\n".join(texts))
        if languages.same:
            answer: Answer = texts, [[] for _ in texts]
        else:
            work = self._pages if body.format == "html" else self._texts
            answer = await work(request, texts, languages[:2], RequestOptions(alternatives, details=False, until=until))
        return _answer(*answer, several=several, alternatives=alternatives, guess=languages.guess)

    async def _texts(
        self, request: Request, texts: Sequence[str], pair: tuple[str, str], options: RequestOptions
    ) -> Answer:
        passages = await self.backend.service.passages(texts, pair[0])
        translations = await self.backend.passages(request, passages, *pair, options)
        answers = [
            ("", list[str]()) if translation.withheld else (translation.text, translation.alternative_texts)
            for translation in translations
        ]
        return [text for text, _ in answers], [alternatives for _, alternatives in answers]

    async def _pages(
        self, request: Request, texts: Sequence[str], pair: tuple[str, str], options: RequestOptions
    ) -> Answer:
        pages, service, until = HtmlTexts(tuple(texts), pair), self.backend.service, options.until
        read = service.pages.read(pages, pair[0], sentences=service.sentences, until=until)
        reading = await self.backend.answer(request, read)
        options = replace(options, alternatives=0, details=reading.tagged, attention=reading.tagged)
        translated = await self.backend.passages(request, reading.passages, *pair, options)
        write = service.pages.write_pages(pages, translated, tagged=reading.tagged, until=until)
        written = await self.backend.answer(request, write)
        return written, [[] for _ in texts]

    async def languages(self) -> list[dict[str, Any]]:
        """List source languages with their target languages."""
        targets = self.backend.service.routes.targets
        return [
            {"code": code, "name": name_of(code), "targets": sorted({code, *targets.get(code, ())})}
            for code in self.backend.service.routes.languages
        ]

    async def detect(self, request: Request) -> list[dict[str, Any]]:
        """Detect the language of a text, most probable first."""
        body, *_ = await self.backend.admitted(request, DetectBody)
        self.backend.check_size(body.texts)
        guesses = await asyncio.to_thread(self.backend.service.detect, "\n".join(body.texts))
        return [guess_form(guess) for guess in guesses if guess.probability >= 0.01]

    async def suggest(self, request: Request) -> dict[str, bool]:
        """Store a corrected translation, s, of a text, q."""
        body, client, _ = await self.backend.admitted(request, SuggestBody)
        if self.backend.service.corrections is None:
            raise HTTPError(403, "Suggestions are disabled on this server.")
        self.backend.access.check_site(request.headers)
        source, target = map(self.backend.service.routes.code, (body.source, body.target))
        self.backend.check_size([body.q, body.s])
        for name, text in (("q", body.q), ("s", body.s)):
            if not text.strip():
                raise HTTPError(400, f"Invalid request: missing {name} parameter")
        if not self.backend.service.routes.find(source, target):
            raise HTTPError(400, f"{source} to {target} is not supported")
        try:
            await self.backend.service.correct(source, target, Correction(body.q, body.s, author=client))
        except UserError as error:
            raise HTTPError(400, f"Invalid request: {error}") from None
        except NotKeptError:
            raise HTTPError(503, "Service is busy: suggestions cannot be written", retry_after=60) from None
        return {"success": True}

    async def settings(self) -> dict[str, Any]:
        """Settings of the web page."""
        first = next(iter(self.backend.service.routes.models[0].directions))
        source = first.source if isinstance(first.source, str) else first.source[0]
        return {
            "charLimit": self.backend.limits.characters,
            "frontendTimeout": 500,
            "apiKeys": self.backend.access.keys is not None,
            "keyRequired": self.backend.access.keys is not None,
            "suggestions": self.backend.service.corrections is not None,
            "filesTranslation": self.backend.limits.file > 0,
            "supportedFilesFormat": list(table.FORMATS) if self.backend.limits.file else [],
            "language": {
                "source": {"code": source, "name": name_of(source)},
                "target": {"code": first.target, "name": name_of(first.target)},
            },
        }


def _is_settings_check(request: Request, texts: Sequence[str], source: str, target: str) -> bool:
    """Whether Weblate checks its settings: by a word from English to German, whatever languages a server has. Unless
    that is answered, they cannot be saved; afterwards Weblate only asks for what /languages has.
    """
    agent = request.headers.get("user-agent", "")
    return agent.startswith("Weblate/") and (texts, source, target) == (["test"], "en", "de")


def _answer(
    texts: Sequence[str],
    further: Sequence[list[str]],
    *,
    several: bool,
    alternatives: int,
    guess: DetectedLanguage | None,
) -> dict[str, Any]:
    """An answer has lists if the request had one."""
    answer: dict[str, Any] = {"translatedText": list(texts) if several else texts[0]}
    if guess:
        answer["detectedLanguage"] = [guess_form(guess)] * len(texts) if several else guess_form(guess)
    if alternatives:
        answer["alternatives"] = list(further) if several else further[0]
    return answer
