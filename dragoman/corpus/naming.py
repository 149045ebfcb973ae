"""Match requested names of languages with those in a file, where en may be called en-US."""

from collections.abc import Sequence

from dragoman.corpus import tables
from dragoman.corpus.tables import CODES, LANGUAGES, ROLES, SHOWN, Columns
from dragoman.errors import UserError

UNSAID = ""  # a language that the file does not name
_LANGUAGES = frozenset([*CODES, *LANGUAGES]) - frozenset(ROLES)  # mt: machine translation, and not Maltese


def is_language(name: str) -> bool:
    """Whether it is the name or code of a language, such as de, pt_BR or German."""
    return _first(name) in _LANGUAGES


def match(names: Sequence[str], found: Sequence[str]) -> tuple[int | None, ...]:
    """Return the index in `found` of each name, or None if it is not there.

    A name means the language that is spelt like it (but for case, and `_` for `-`), or else the only one with the same
    first part: en and en-US. Of the rest, a name that is no language's (source, mt) means the language that is left
    in its place, and any name one that is UNSAID.
    """
    places: dict[int, int] = {}
    left = dict(enumerate(found))
    for same in (_code, _first):
        for number, name in enumerate(names):
            hits = [place for place, language in left.items() if language and same(language) == same(name)]
            if number not in places and len(hits) == 1:
                places[number] = hits[0]
                del left[hits[0]]
    rest = [number for number in range(len(names)) if number not in places]
    if len(rest) == len(left):
        fits = zip(rest, left, strict=True)
        places |= {number: place for number, place in fits if not (found[place] and is_language(names[number]))}
    return tuple(places.get(number) for number in range(len(names)))


def matched(names: Sequence[str], found: Sequence[str], where: str) -> tuple[int, ...]:
    """As `match`, but raises UserError if a name is not there."""
    places = match(names, found)
    for name, place in zip(names, places, strict=True):
        if place is None:
            raise missing(name, found, where)
    return tuple(place for place in places if place is not None)


def missing(name: str, found: Sequence[str], where: str) -> UserError:
    """The error for a name that no language has."""
    there = ", ".join((each or "one without a name")[:SHOWN] for each in found[:SHOWN])
    return UserError(f"{where}: has no {name} (it has: {there})")


def two(found: Sequence[str], wanted: Sequence[str], where: str) -> Columns:
    """Return the two languages of the pairs: the `wanted` ones, or the only two; unnamed ones are called `source` and
    `target`. UserError if this is ambiguous.
    """
    if wanted:
        matched(wanted, found, where)
        return Columns(tuple(wanted), None)
    if len(found) == 2:
        return Columns(tuple(name or plain for name, plain in zip(found, tables.PLAIN, strict=True)), None)
    return Columns(tables.two_of(found, wanted, where, "languages that it has"), None)


def _code(name: str) -> str:
    return name.strip().lower().replace("_", "-")


def _first(name: str) -> str:
    return _code(name).partition("-")[0].partition("@")[0].partition(".")[0]
