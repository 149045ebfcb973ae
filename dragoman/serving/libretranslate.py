"""The endpoints of LibreTranslate, with its parameters, answers and error texts, so that its clients work unchanged."""

from collections.abc import Sequence
from typing import Any

import langcodes
from fastapi import APIRouter
from starlette.requests import Request

from dragoman.serving.asking import Desk
from dragoman.serving.markup import Document
from dragoman.serving.refusal import Refusal
from dragoman.serving.service import Guess, Wish

AUTO = "auto"
FORMATS = ("text", "html")


def router(desk: Desk) -> APIRouter:
    """The endpoints: /translate, /languages, /detect, /frontend/settings."""
    api = APIRouter(tags=["LibreTranslate"])

    @api.post("/translate", openapi_extra=_body(q=TEXTS, source=STRING, target=STRING, **OPTIONAL))
    async def translate(request: Request) -> dict[str, Any]:
        """Translate a text, or a list of texts. Those in HTML have no alternatives."""
        parameters = await desk.admitted(request)
        texts, several = parameters.texts("q")
        source, target = parameters.text("source"), parameters.text("target")
        alternatives = parameters.number("alternatives", desk.limits.alternatives)
        marked = parameters.choice("format", FORMATS) == "html"
        desk.check_size(texts)
        known = desk.service.routes.targets
        guess = None
        if source == AUTO:
            guess = _detected(desk, texts)
            source = guess.language
        if source not in known:
            raise Refusal(400, f"{source} is not supported")
        if target not in {*known, *(each for targets in known.values() for each in targets)}:
            raise Refusal(400, f"{target} is not supported")
        if source == target:
            answer = texts, [list[str]() for _ in texts]
        elif target not in known[source]:
            raise Refusal(
                400,
                f"{name_of(target)} ({target}) is not available as a target language from {name_of(source)} ({source})",
            )
        else:
            pages = [Document(text) for text in texts] if marked else None
            lines = [line.text for page in pages for line in page.lines] if pages else texts
            found = await desk.translated(request, lines, source, target, Wish(alternatives))
            if pages:
                every = iter(found)
                answer = [page.written([next(every) for _ in page.lines]) for page in pages], [[] for _ in pages]
            else:
                answer = [each.text for each in found], [each.others for each in found]
        return _answer(*answer, several=several, alternatives=alternatives, guess=guess)

    @api.get("/languages")
    async def languages() -> list[dict[str, Any]]:
        """The source languages, and the target languages of each."""
        return [
            {"code": code, "name": name_of(code), "targets": sorted({code, *targets})}
            for code, targets in desk.service.routes.targets.items()
        ]

    @api.post("/detect", openapi_extra=_body(q=STRING, api_key=STRING))
    async def detect(request: Request) -> list[dict[str, Any]]:
        """The languages that a text may be in, the most probable first."""
        parameters = await desk.admitted(request)
        texts, _ = parameters.texts("q")
        desk.check_size(texts)
        return [_guess(each) for each in desk.service.detect("\n".join(texts)) if each.probability >= 0.01]

    @api.get("/frontend/settings")
    async def settings() -> dict[str, Any]:
        """What a page needs to know."""
        known = desk.service.routes.targets
        first = next(iter(known))
        return {
            "charLimit": desk.limits.characters,
            "frontendTimeout": 500,
            "apiKeys": desk.gate.keys is not None,
            "keyRequired": desk.gate.keys is not None,
            "suggestions": False,
            "filesTranslation": False,
            "supportedFilesFormat": [],
            "language": {
                "source": {"code": first, "name": name_of(first)},
                "target": {"code": known[first][0], "name": name_of(known[first][0])},
            },
        }

    return api


def name_of(code: str) -> str:
    """The English name of a language, or the code where it is no language's."""
    try:
        language = langcodes.Language.get(code)
    except langcodes.tag_parser.LanguageTagError:
        return code
    return language.display_name() if language.is_valid() else code


def _detected(desk: Desk, texts: Sequence[str]) -> Guess:
    return desk.service.detect("\n".join(texts))[0]


def _guess(guess: Guess) -> dict[str, Any]:
    return {"confidence": round(100 * guess.probability), "language": guess.language}


def _answer(
    texts: Sequence[str], others: Sequence[list[str]], *, several: bool, alternatives: int, guess: Guess | None
) -> dict[str, Any]:
    """An answer has lists if the request had one."""
    answer: dict[str, Any] = {"translatedText": list(texts) if several else texts[0]}
    if guess:
        answer["detectedLanguage"] = [_guess(guess)] * len(texts) if several else _guess(guess)
    if alternatives:
        answer["alternatives"] = list(others) if several else others[0]
    return answer


STRING = {"type": "string"}
TEXTS = {"oneOf": [STRING, {"type": "array", "items": STRING}]}
OPTIONAL: dict[str, Any] = {
    "format": {"type": "string", "enum": list(FORMATS)},
    "alternatives": {"type": "integer", "default": 0},
    "api_key": STRING,
}


def _body(**properties: Any) -> dict[str, Any]:
    """What OpenAPI says of a request that comes as JSON or as a form."""
    needed = [name for name in properties if name not in OPTIONAL]
    schema = {"type": "object", "properties": properties, "required": needed}
    kinds = ("application/json", "application/x-www-form-urlencoded", "multipart/form-data")
    return {"requestBody": {"required": True, "content": {kind: {"schema": schema} for kind in kinds}}}
