"""Which languages a request is about."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple

import langcodes

from dragoman.serving.backend import Backend
from dragoman.serving.http_error import HTTPError
from dragoman.serving.models import Routes
from dragoman.serving.service import DetectedLanguage

AUTO = "auto"
REGION: Final = 5  # distance in langcodes of English in two countries
LOCAL_NAMES: Final = {"Austrian": "German", "Argentinian": "Spanish"}  # names by gettext


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


def languages_named(
    backend: Backend, routes: Routes, names: tuple[str, str], *, text: str, usual: str = ""
) -> tuple[str, str]:
    """Return source and target language by names or codes. A source without a name is the only language from which
    there is a route, or else the usual one, or that of the text. HTTPError if there is no route.
    """
    source, target = names
    code, is_named = find_code(target, routes.languages), bool(source) and not source.lower().startswith(AUTO)
    sources = [language for language, targets in routes.targets.items() if code in targets]
    if is_named:
        start = find_code(source, routes.languages)
        sources = [start] if start and (start in sources or start == code) else []
    if code is None or not sources:
        pairs = "; ".join(f"{start} to {', '.join(ends)}" for start, ends in routes.targets.items())
        wanted = f"{source} to {target}" if is_named else f"to {target}"
        raise HTTPError(400, f"Cannot translate {wanted}: the model translates {pairs or 'no single texts'}")
    if len(sources) > 1:
        guesses = [usual, *(guess.language for guess in backend.service.detect(text)), *sources]
        sources = [language for language in guesses if language in sources]
    return sources[0], code


def find_code(name: str, codes: Sequence[str]) -> str | None:
    """The one of these codes that is meant by the name of a language or by a code, which may be that of a region
    (`de_AT` for `de`).
    """
    name = name.strip()
    tag = _tag(name)
    same = {name.lower(), tag.lower()}
    distances = {
        code: -1 if {code.lower(), _hyphenated(code).lower()} & same else _distance(tag, code) for code in codes
    }
    nearest = min(distances, key=distances.__getitem__, default="")
    return nearest if nearest and distances[nearest] <= REGION else None


def _hyphenated(locale: str) -> str:
    """A locale with hyphens, as tags of languages are written."""
    return locale.replace("_", "-")


def _tag(name: str) -> str:
    """The tag of a language with this name or locale; an empty one if there is none."""
    with suppress(langcodes.tag_parser.LanguageTagError):
        language = langcodes.Language.get(_hyphenated(name.partition("@")[0]))
        if language.is_valid():
            return language.to_tag()
    with suppress(LookupError):
        return langcodes.find(LOCAL_NAMES.get(name, name)).to_tag()
    return ""


def _distance(tag: str, code: str) -> int:
    """How far a language is from another: at most REGION if they differ in their region alone."""
    if tag:
        with suppress(langcodes.tag_parser.LanguageTagError):
            return langcodes.tag_distance(tag, code)
    return 2 * REGION


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
