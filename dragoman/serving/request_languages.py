"""Which languages a request is about."""

from typing import Any, NamedTuple

import langcodes

from dragoman.serving.backend import Backend
from dragoman.serving.http_error import HTTPError
from dragoman.serving.service import DetectedLanguage

AUTO = "auto"


class RequestLanguages(NamedTuple):
    """The languages of a request; `guess` is the source if that was to be found out."""

    source: str
    target: str
    guess: DetectedLanguage | None = None

    @property
    def same(self) -> bool:
        return self.source == self.target


def languages_of(backend: Backend, source: str, target: str, text: str) -> RequestLanguages:
    """Return the languages of a request. HTTPError if no model goes from one to the other. From a language to itself
    there is always a way: nothing is translated.
    """
    routes = backend.service.routes
    source, target = AUTO if source.lower() == AUTO else routes.code(source), routes.code(target)
    guess = next(iter(backend.service.detect(text)), None) if source == AUTO else None
    source = guess.language if guess else source
    for language in (source, target):
        if language not in routes.languages:
            raise HTTPError(400, f"{language} is not supported")
    if source != target and not routes.find(source, target):
        raise HTTPError(
            400, f"{name_of(target)} ({target}) is not available as a target language from {name_of(source)} ({source})"
        )
    return RequestLanguages(source, target, guess)


def guess_form(guess: DetectedLanguage) -> dict[str, Any]:
    """A detected language as LibreTranslate's clients read it: with a confidence from 0 to 100."""
    return {"confidence": round(100 * guess.probability), "language": guess.language}


def name_of(code: str) -> str:
    """The English name of a language, or the code where it is no language's."""
    try:
        language = langcodes.Language.get(code)
    except langcodes.tag_parser.LanguageTagError:
        return code
    return language.display_name() if language.is_valid() else code
