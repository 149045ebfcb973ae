"""Lexical constraints of translations: terms of a glossary, and spans that come through though the model knows no marks
for them.
"""

from collections import deque
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple, TypeAlias

from dragoman.data.language import Language
from dragoman.data.surfaces import Numbering
from dragoman.data.vocabulary import UNK
from dragoman.search.hypothesis import Hypothesis
from dragoman.search.phrases import CLASSES, Phrase, SentencePhrases, bonuses
from dragoman.text.glossary import FoundTerm, Glossary, Wholes, spaceless
from dragoman.text.pipeline import WordsOf
from dragoman.text.protection import Protection
from dragoman.text.tokenise import Span
from dragoman.translation import terms
from dragoman.translation.attended import SourceAttention
from dragoman.translation.spans import WORD, Marked
from dragoman.translation.translation import AppliedTerm, KeptSpan, Translation

Forms: TypeAlias = tuple[str, ...]

OPEN, CLINGING, MERGING = range(CLASSES)  # what may stand before a phrase


class LexicalConstraints(NamedTuple):
    """The terms and protected spans that hold for all texts. With a `weight`, terms are favoured, not required."""

    glossary: Glossary = Glossary()
    weight: float | None = None
    protection: Protection | None = None

    def __bool__(self) -> bool:
        return bool(self.glossary.terms or self.protection)


UNCONSTRAINED = LexicalConstraints()


class Edges:
    """The characters at which the symbols of a language begin and end in the middle of others."""

    def __init__(self, target: Language) -> None:
        self.target = target
        self._classes: dict[int, int] = {}
        self._firsts: dict[int, str] = {}

    def first(self, number: int) -> str:
        """The first character of a symbol; none if it has no text of its own."""
        if number not in self._firsts:
            self._firsts[number] = self._piece(number)[:1]
        return self._firsts[number]

    def class_of(self, number: int) -> int:
        """The class of a symbol by its last character."""
        if number not in self._classes:
            last = self._piece(number)[-1:]
            clings = _clings(last) or last in tuple("@/%:,")
            self._classes[number] = CLINGING if clings else MERGING if last in tuple("$#{<&\\[") else OPEN
        return self._classes[number]

    def _piece(self, number: int) -> str:
        (symbol,) = self.target.vocabulary.symbols([min(number, len(self.target.vocabulary) - 1)])
        return self.target.text.unit.piece(symbol)


class Reading(NamedTuple):
    """A translation as its symbols spell it, where a phrase has begun in it, and the places of spans and terms."""

    text: str
    begun: int
    verbatim: list[Span]
    terms: list[Span]


class SentenceConstraints:
    """What is demanded of the translation of a text: the protected spans of the text, and its terms. The search sees to
    the spans and to the terms with the forms `searched` (all of them if None); attention chooses a place for others.
    """

    def __init__(
        self,
        constraints: LexicalConstraints,
        given: Marked,
        source: Language | None,
        text: str,
        edges: "Edges",
        known: Numbering,
        searched: frozenset[Forms] | None = frozenset(),
    ) -> None:
        self._constraints, self._given, self._source, self._text = constraints, given, source, text
        self._edges, self._target, self._known = edges, edges.target, known
        self._searched = searched
        self.protection = constraints.protection
        self._spans = constraints.protection.find(text) if constraints.protection else []
        self.terms = [each for each in self._found(text) if not _over(each, self._spans)]
        spans = [*self._spans, *((each.begin, each.end) for each in given.spans)]
        self._lost = [each for each in self._found(given.text(text)) if _cut(each, spans)] if spans else []
        every = dict.fromkeys(term.forms for term in self.terms)
        hard = [each for each in every if not constraints.weight and (searched is None or each in searched)]
        verbatim = [list(_spellings(self._target, text[slice(*span)], known)) for span in self._spans]
        required = [*zip(self._spans, verbatim, strict=True), *(((-1, -1), self._spelled(each)) for each in hard)]
        self._places = [span for span, spellings in required if spellings]
        self._verbatim = sum(map(bool, verbatim))
        self.required = SentencePhrases([each for _, each in required if each], edges.class_of, self._fits)
        soft = [self._spelled(forms) for forms in every] if constraints.weight else []
        self.favoured = SentencePhrases([each for each in soft if each], edges.class_of, self._fits)

    def _found(self, text: str) -> list[FoundTerm]:
        """The terms of a text, with forms as the model writes them."""
        normalise = self._target.text.normalise
        found = self._constraints.glossary.find(text)
        return [each._replace(forms=tuple(dict.fromkeys(map(normalise, each.forms)))) for each in found]

    def lacking(self, text: str) -> frozenset[Forms]:
        """The forms of the terms that a translation does not have at all."""
        places = zip(self.terms, terms.said(text, self.terms), strict=True)
        return frozenset(term.forms for term in self.terms) - {term.forms for term, place in places if place}

    def searching(self, text: str) -> "SentenceConstraints | None":
        """The same for another search, which also sees to terms that this translation does not have; None if there are
        none that a search could see to.
        """
        if self._constraints.weight or self._searched is None:
            return None
        more = frozenset(forms for forms in self.lacking(text) - self._searched if self._spelled(forms))
        given = self._constraints, self._given, self._source, self._text, self._edges, self._known
        return SentenceConstraints(*given, self._searched | more) if more else None

    def placed(self, text: str, words: WordsOf, seen: Sequence[SourceAttention], kept: int) -> dict[int, str]:
        """What becomes of words of a translation that terms take the place of; its first `kept` characters stay."""
        if not self.terms or self._constraints.weight or self._searched is None or self._source is None:
            return {}
        spans = [(0, kept), *(self.protection.find(text) if self.protection else ())]
        taken = {
            number
            for number, (begin, end) in enumerate(words.spans)
            if any(begin < last and first < end for first, last in spans)
        }
        looked = next(each for each in seen if each.name == self._source.name)
        return terms.placed(text, words, looked, self.terms, self._read_as, taken)

    @cached_property
    def _read_as(self) -> list[range]:
        assert self._source is not None
        return terms.read(self._source, self._text, self.terms)

    def _fits(self, number: int, phrase: Phrase, before: int) -> bool:
        """Whether a phrase may begin there: if not behind a space, then behind nothing that it would become one with,
        and directly behind a span only if it is there in the text.
        """
        first = self._edges.first(phrase[0])
        if before == OPEN or first == " ":
            return True
        if before >= CLASSES:
            here, there = self._places[before - CLASSES], self._places[number]
            return here[1] == there[0] >= 0
        return before != (CLINGING if _clings(first) else MERGING)

    def _spelled(self, forms: Forms) -> list[Phrase]:
        return [
            spelling
            for form in forms
            for spelling in _spellings(self._target, form, self._known, glued=spaceless(form[0]))
        ]

    @property
    def weight(self) -> float:
        return self._constraints.weight or 0.0

    @property
    def symbols(self) -> list[int]:
        """All symbols of the phrases."""
        every = (*self.required.wanted, *self.favoured.wanted)
        return sorted({number for wanted in every for phrase in wanted for number in phrase})

    def met(self, ids: Sequence[int], symbols: Sequence[str]) -> bool:
        """Whether a translation, or the beginning of one, has no span but those of the text, and its terms are whole
        words. A span may have begun at its end.
        """
        read = self._read(ids, symbols)
        if self.protection and self.protection.find(read.text[: read.begun]) != read.verbatim:
            return False
        wholes = Wholes(read.text) if read.terms else ()
        return all(place in wholes for place in read.terms)

    def only(self, ids: Sequence[int], symbols: Sequence[str]) -> list[int] | None:
        """The symbols that may follow the beginning of a translation; None if any may. If a span of the text is said in
        part, and would be another span if a space followed, only its own next symbols may.
        """
        following = self.required.following(tuple(ids)) if self.protection else []
        if not following or not self.protection:
            return None
        read = self._read(ids, symbols)
        return None if self.protection.find(f"{read.text} ") == read.verbatim else following

    def _read(self, ids: Sequence[int], symbols: Sequence[str]) -> "Reading":
        places, begun = self.required.places(tuple(ids))
        written = [WORD if number == UNK else symbol for number, symbol in zip(ids, symbols, strict=True)]
        surfaces = self._target.text.unit.surfaces(written)
        ends, text = [0, *accumulate(map(len, surfaces))], "".join(surfaces)
        found = [(each.number, _stripped(text, ends[each.begin], ends[each.end])) for each in places]
        verbatim = [place for number, place in found if number < self._verbatim]
        terms = [place for number, place in found if number >= self._verbatim]
        return Reading(text, ends[begun], verbatim, terms)

    def without_bonus(self, hypothesis: Hypothesis) -> Hypothesis:
        """The hypothesis with the model's own log-probabilities."""
        weight = self._constraints.weight
        if not weight or not self.favoured.wanted:
            return hypothesis
        added = bonuses(self.favoured, hypothesis.symbols, weight)
        own = tuple(log_prob - bonus for log_prob, bonus in zip(hypothesis.log_probs, added, strict=True))
        return replace(hypothesis, log_probs=own)

    def kept(self, text: str) -> tuple[KeptSpan, ...]:
        """Where the spans stand in a translation."""
        left: dict[str, deque[Span]] = {}
        for begin, end in self.protection.find(text) if self.protection else ():
            left.setdefault(text[begin:end], deque()).append((begin, end))
        there = ((self._text[slice(*span)], span) for span in self._spans)
        return tuple(
            KeptSpan(said, self._name, span, left[said].popleft() if left.get(said) else None) for said, span in there
        )

    def applied(self, text: str) -> tuple[AppliedTerm, ...]:
        """The terms of the text, and where a form of their translation stands. Of a term that a protected span cuts, it
        stands there only if the model says it of itself.
        """
        place = self._given.place
        there = [each._replace(begin=place(each.begin), end=place(each.end)) for each in self.terms]
        every = sorted([*there, *self._lost], key=lambda each: each.begin)
        return tuple(
            AppliedTerm(each.text, self._name, (each.begin, each.end), target, each.forms)
            for each, target in zip(every, terms.said(text, every), strict=True)
        )

    @property
    def _name(self) -> str:
        return self._source.name if self._source else ""


def _over(term: FoundTerm, spans: Collection[Span]) -> bool:
    """Whether a term has anything in common with spans."""
    return any(begin < term.end and term.begin < end for begin, end in spans)


def _cut(term: FoundTerm, spans: Collection[Span]) -> bool:
    """Whether the same holds, and the term is no part of a longer span, in which nothing is a term."""
    place = term.begin, term.end
    within = any(span != place and span[0] <= term.begin and term.end <= span[1] for span in spans)
    return not within and _over(term, spans)


def _clings(character: str) -> bool:
    """Whether a character belongs to one of its kind before it."""
    return (character.isalnum() and not spaceless(character)) or character in tuple("_+-.\u2212")


def _spellings(target: Language, text: str, known: Numbering, *, glued: bool = True) -> Iterator[Phrase]:
    """Yield the symbols of a text at the beginning of a translation and within it, behind a space or not (`glued`);
    none that have unknown symbols.
    """
    unit = target.text.unit
    ways = [unit.encode(text), unit.segments(f" {text}"), unit.segments(text) if glued else []]
    for way in dict.fromkeys(map(tuple, ways)):
        ids = known.ids(way)
        if ids and UNK not in ids:
            yield tuple(ids)


def _stripped(text: str, begin: int, end: int) -> Span:
    """The place without a space before it."""
    return begin + len(text[begin:end]) - len(text[begin:end].lstrip(" ")), end


def told(found: Translation, constraints: SentenceConstraints | None) -> Translation:
    """The translation, and the next best ones, with what came of what was demanded."""
    if constraints is None:
        return found
    others = tuple(told(each, constraints) for each in found.alternatives)
    spans = constraints.kept(found.text) or found.spans
    return replace(found, alternatives=others, spans=spans, terms=constraints.applied(found.text))
