"""Glossaries: terms whose translation is given, and terms that stay as they are."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from dragoman.text.normalizer import Normalizer
from dragoman.text.pretokenizer import COMBINING, SPACELESS, Span

_WITHIN = rf"(?![\u200c\u200d](?!\w)){COMBINING}"  # a (non-)joiner that joins nothing ends no word
_ACCELERATOR = r"(?<!\w)_(?=[^\W_])"  # before the word of a label: _File
_WORD = rf"(?![{SPACELESS}])\w(?:(?![{SPACELESS}])(?:\w|{_WITHIN}))*"
# In scripts without spaces between words, a term may begin and end anywhere.
_PIECE = re.compile(rf"[{SPACELESS}]|{_ACCELERATOR}|{_WORD}|[^\w\s]")
# Between letters, and with them a part of one word: add-on, e-mail.
_HYPHEN = re.compile(rf"(?<=[^\W_])(?<![{SPACELESS}])[-\u2010\u2011](?=[^\W_])(?![{SPACELESS}])")

_normalize = Normalizer(lowercase=False)


class Term(NamedTuple):
    """A term and the forms of its translation, of which one is used; none: it stays as it is."""

    source: str
    forms: tuple[str, ...] = ()

    @property
    def exact(self) -> bool:
        """Whether only this letter case of the term is meant: a capital stands after a letter (`US`, `iPhone`)."""
        return any(before.isalpha() and letter.isupper() for before, letter in pairwise(self.source))

    @property
    def key(self) -> str:
        """The source of the term, in lower case unless it is exact. Terms with the same one are the same term."""
        return self.source if self.exact else self.source.lower()

    @property
    def findable(self) -> bool:
        """Whether there is anything in it that a text might have."""
        return _PIECE.match(self.source) is not None


class FoundTerm(NamedTuple):
    """A term in a text, where it stands, and the forms of its translation in its letter case."""

    text: str
    begin: int
    end: int
    forms: tuple[str, ...]


class Glossary:
    """Terms by the pieces that they begin with. They are found in any letter case, unless they are exact. Two are equal
    if their terms are.
    """

    def __init__(self, terms: Iterable[Term] = ()) -> None:
        self.terms = tuple(map(_normalize_term, terms))
        self._hash = hash(self.terms)  # once, since options with a glossary are keys
        self._by_first: dict[str, list[Term]] = {}
        for term in sorted(self.terms, key=lambda term: (-len(term.source), not term.exact)):
            first = _PIECE.match(term.source)
            if first:
                self._by_first.setdefault(first[0].lower(), []).append(term)

    def __len__(self) -> int:
        return len(self.terms)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Glossary) and self._hash == other._hash and self.terms == other.terms

    def __hash__(self) -> int:
        return self._hash

    @property
    def untranslated(self) -> "Glossary":
        """The same terms, each translated as itself."""
        return Glossary(Term(term.source) for term in self.terms)

    def within(self, texts: Iterable[str]) -> "Glossary":
        """The terms that these texts have."""
        sources = {_normalize(occurrence.text).lower() for text in texts for occurrence in self.find(text)}
        return Glossary(term for term in self.terms if term.source.lower() in sources)

    def find(self, text: str) -> list[FoundTerm]:
        """The terms of a text from left to right, whole words alone (a hyphen parts none); of those that begin first,
        the longest. Characters may be composed or not.
        """
        composed = unicodedata.normalize("NFC", text) if self.terms else text
        if composed != text:
            places = _places(text)
            occurrences = (
                (occurrence, places.get(occurrence.begin), places.get(occurrence.end))
                for occurrence in self.find(composed)
            )
            return [
                occurrence._replace(text=text[begin:end], begin=begin, end=end)
                for occurrence, begin, end in occurrences
                if begin is not None and end is not None
            ]
        pieces = [match.span() for match in _PIECE.finditer(text)] if self.terms else []
        within = {place for match in _HYPHEN.finditer(text) for place in match.span()} if pieces else set()
        terms: list[FoundTerm] = []
        ends, position = {end for _, end in pieces} - within, 0
        for begin, end in (piece for piece in pieces if piece[0] not in within):
            for term in self._by_first.get(text[begin:end].lower(), ()) if begin >= position else ():
                position = begin + len(term.source)
                written = text[begin:position]
                if position in ends and (written if term.exact else written.lower()) == term.key:
                    terms.append(
                        FoundTerm(written, begin, position, _forms(term, written, first=not text[:begin].strip()))
                    )
                    break
                position = begin
        return terms


def _normalize_term(term: Term) -> Term:
    """The same as texts are read, without white space around it and forms that are blank."""
    source, *forms = (_normalize(form).strip() for form in (term.source, *term.forms))
    normalized = Term(source, tuple(filter(None, forms)))
    return term if normalized == term else normalized


def _places(text: str) -> dict[int, int]:
    """Places in the composed form of a text (NFC) that are between the same characters in the text, by the former."""
    places, composed, begin = {0: 0}, 0, 0
    for end in range(1, len(text) + 1):
        if end == len(text) or _apart(text[begin:end], text[end]):
            composed += len(unicodedata.normalize("NFC", text[begin:end]))
            places[composed], begin = end, end
    return places


def _apart(text: str, following: str) -> bool:
    """Whether what follows a text does not compose with it, as accents, vowel signs and the letters of Hangul do."""
    if unicodedata.combining(following):
        return False
    alone, both = (unicodedata.normalize("NFC", string) for string in (following, text + following))
    return both == unicodedata.normalize("NFC", text) + alone


class Wholes:
    """Where whole words begin and end in a text."""

    def __init__(self, text: str) -> None:
        self.text = text
        pieces = [match.span() for match in _PIECE.finditer(text)]
        self._begins, self._ends = {begin for begin, _ in pieces}, {end for _, end in pieces}

    def __contains__(self, span: Span) -> bool:
        """Whether what stands there are whole words."""
        return span[0] in self._begins and span[1] in self._ends

    def occurrences(self, forms: Iterable[str]) -> Iterator[Span]:
        """Yield the places of these forms as whole words."""
        for form in forms:
            begin = self.text.find(form)
            while begin >= 0:
                if (begin, begin + len(form)) in self:
                    yield begin, begin + len(form)
                begin = self.text.find(form, begin + 1)


def _forms(term: Term, written: str, *, first: bool) -> tuple[str, ...]:
    """The forms for a term that is written so. One with a capital letter may owe it to being the first word."""
    if not term.forms:
        return (written,)
    if written == term.source:
        return term.forms
    if written.isupper() and len(written) > 1:
        return tuple(form.upper() for form in term.forms)
    if written[0].isupper() and term.source[0].islower():
        capitals = [form[:1].upper() + form[1:] for form in term.forms]
        return tuple(dict.fromkeys([*capitals, *(term.forms if first else ())]))
    return term.forms


def together(glossaries: Sequence[Glossary]) -> Glossary:
    """All terms; where several have the same one, the last decides."""
    return Glossary({term.key: term for glossary in glossaries for term in glossary.terms}.values())
