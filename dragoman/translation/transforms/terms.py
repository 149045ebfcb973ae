"""Lexical constraints of translations: the terms of a glossary, in all texts and in one."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import accumulate
from typing import Any, NamedTuple, TypeAlias

import torch

from dragoman.data.language import Language
from dragoman.data.surfaces import Numbering
from dragoman.data.vocabulary import UNK
from dragoman.errors import UserError
from dragoman.model.predictor import Predictor
from dragoman.search.constraints import Constraint
from dragoman.search.phrase_bonus import PhraseBonus, bonuses
from dragoman.search.phrases import CLASSES, Phrase, PhraseConstraint, SentencePhrases
from dragoman.text.glossary import FoundTerm, Glossary, Wholes
from dragoman.text.pipeline import WordsOf
from dragoman.text.pretokenizer import Span, of_word, spaceless
from dragoman.text.protection import Protection
from dragoman.translation.attention_matrix import SHORT, SourceAttention
from dragoman.translation.sentence import OriginalText, Sentence, TextTransform
from dragoman.translation.transforms import term_placement
from dragoman.translation.transforms.tag_placement import places
from dragoman.translation.transforms.unknown_words import substituted
from dragoman.translation.translation import AppliedTerm, Translation

Forms: TypeAlias = tuple[str, ...]

MOST_TERMS, MOST_FORMS = 50, 500  # of a text: the time of a search grows with them
OPEN, CLINGING = range(CLASSES)  # what may stand before a phrase


class LexicalConstraints(NamedTuple):
    """The terms and protected spans that hold for all texts. With a `weight`, terms are favored, not required. Spans
    for which the model knows marks (`text.protect`) are protected in any case.
    """

    glossary: Glossary = Glossary()
    weight: float | None = None
    protection: Protection | None = None

    def __bool__(self) -> bool:
        return bool(self.glossary.terms or self.protection)


UNCONSTRAINED = LexicalConstraints()


class Pieces:
    """The texts of the symbols of a language in the middle of others."""

    def __init__(self, target: Language) -> None:
        self.target = target
        self._pieces: dict[int, str] = {}

    def piece(self, number: int, numbering: Numbering) -> str:
        """The text of the symbol with this number."""
        if number not in self._pieces:
            (symbol,) = numbering.marked([number])
            piece = self.target.text.tokenizer.piece(str(symbol))
            if number >= len(self.target.vocabulary):  # of one sentence alone
                return piece
            self._pieces[number] = piece
        return self._pieces[number]


class AllowedForms(NamedTuple):
    """What a model can say in the translation of a sentence: symbols with these numbers, without those that are
    `forbidden`, and no spans of the `protection`, which come from the source alone.
    """

    pieces: Pieces
    numbering: Numbering
    forbidden: frozenset[int] = frozenset({UNK})
    protection: Protection | None = None

    def spellings(self, form: str) -> Iterator[Phrase]:
        """Yield the symbols of a form at the beginning of a translation and within it, after a space or not (in
        scripts without spaces); none that the model cannot say.
        """
        if self.protection and self.protection.find(form):
            return
        unit = self.pieces.target.text.tokenizer
        ways = [unit.encode(form), unit.segments(f" {form}"), unit.segments(form) if spaceless(form[0]) else []]
        for way in dict.fromkeys(map(tuple, ways)):
            ids = self.numbering.ids(way)
            if ids and self.forbidden.isdisjoint(ids):
                yield tuple(ids)

    def first(self, number: int) -> str:
        """The first character of a symbol; none if it has no text of its own."""
        return self.pieces.piece(number, self.numbering)[:1]

    def class_of(self, number: int) -> int:
        """The class of a symbol by its last character."""
        last = self.pieces.piece(number, self.numbering)[-1:]
        return CLINGING if _clings(last) or last in tuple("@/%:,") else OPEN


class SentenceConstraints:
    """The terms of a glossary in the translation of a text. The search sees to those with the forms `searched` (all of
    them if None); attention chooses a place for others.
    """

    def __init__(
        self,
        constraints: LexicalConstraints,
        original: OriginalText,
        source: Language | None,
        text: str,
        sayable: AllowedForms,
        searched: frozenset[Forms] | None = frozenset(),
    ) -> None:
        self._constraints, self._original, self._source, self._text = constraints, original, source, text
        self._sayable, self._target = sayable, sayable.pieces.target
        self._searched = searched
        self.terms = [
            term
            for term in self._find_terms(text)
            if not _over(original.to_original((term.begin, term.end)), original.spans)
        ]
        self._lost = (
            [term for term in self._find_terms(original.text) if _cut(term, original.spans)] if original.spans else []
        )
        term_forms = dict.fromkeys(term.forms for term in self.terms)
        _check_cost(original.text, list(term_forms))
        hard = [forms for forms in term_forms if not constraints.weight and (searched is None or forms in searched)]
        self.required = self._phrases(hard)
        self.favored = self._phrases(list(term_forms) if constraints.weight else [])

    def _phrases(self, forms: Sequence[Forms]) -> SentencePhrases:
        """Those of these forms that the model can say."""
        spellings = map(self._spelled, forms)
        return SentencePhrases([phrases for phrases in spellings if phrases], self._sayable.class_of, self._fits)

    def _find_terms(self, text: str) -> list[FoundTerm]:
        """The terms of a text, with forms as the model writes them."""
        normalize = self._target.text.normalize
        terms = self._constraints.glossary.find(text)
        return [term._replace(forms=tuple(dict.fromkeys(map(normalize, term.forms)))) for term in terms]

    def lacking(self, translation: Translation) -> frozenset[Forms]:
        """The forms of the terms that a translation does not have at all."""
        places = zip(self.terms, self._locate_terms(translation), strict=True)
        return frozenset(term.forms for term in self.terms) - {term.forms for term, place in places if place}

    def places(self, translation: Translation) -> list[Span]:
        """Where a translation has the terms."""
        return [place for place in self._locate_terms(translation) if place]

    def _locate_terms(self, translation: Translation) -> list[Span | None]:
        """Where a translation has each term: not in its protected spans, which are of the source."""
        return term_placement.locate_terms(
            translation.text, self.terms, [span.target for span in translation.spans if span.target]
        )

    def searching(self, translation: Translation) -> "SentenceConstraints | None":
        """The same for another search, which also sees to terms that this translation does not have; None if there are
        none that a search could see to.
        """
        if self._constraints.weight or self._searched is None:
            return None
        more = frozenset(forms for forms in self.lacking(translation) - self._searched if self._spelled(forms))
        if more and self._searched:  # a search for each term that is lost where another one is found would not end soon
            more = frozenset(term.forms for term in self.terms if self._spelled(term.forms))
        arguments = self._constraints, self._original, self._source, self._text, self._sayable
        return SentenceConstraints(*arguments, self._searched | more) if more else None

    def placed(self, text: str, words: WordsOf, seen: Sequence[SourceAttention], kept: int) -> dict[int, str]:
        """What becomes of words of a translation that terms take the place of; its first `kept` characters stay."""
        if not self.terms or self._constraints.weight or self._searched is None or self._source is None:
            return {}
        taken = {number for number, (begin, _) in enumerate(words.spans) if begin < kept}
        looked = next(source for source in seen if source.name == self._source.name)
        return term_placement.placed(text, words, looked, self.terms, self._read_as, taken)

    @cached_property
    def _read_as(self) -> list[range]:
        assert self._source is not None
        return term_placement.read(self._source, self._text, self.terms)

    def _fits(self, phrase: Phrase, before: int) -> bool:
        """Whether a phrase may begin there: if not after a space, then after nothing that it would become one with,
        and not directly after another one.
        """
        first = self._sayable.first(phrase[0])
        return before == OPEN or first == " " or (before == CLINGING and not _clings(first))

    def _spelled(self, forms: Forms) -> list[Phrase]:
        return [spelling for form in forms for spelling in self._sayable.spellings(form)]

    @property
    def weight(self) -> float:
        return self._constraints.weight or 0.0

    @property
    def symbols(self) -> list[int]:
        """All symbols of the phrases."""
        phrases_by_term = (*self.required.wanted, *self.favored.wanted)
        return sorted({number for wanted in phrases_by_term for phrase in wanted for number in phrase})

    def met(self, ids: Sequence[int], surfaces: Sequence[str]) -> bool:
        """Whether the terms in a translation, or in the beginning of one, are whole words."""
        places = self.required.places(tuple(ids))
        if not places:
            return True
        ends, text = [0, *accumulate(map(len, surfaces))], "".join(surfaces)
        wholes = Wholes(text)
        return all(_stripped(text, ends[place.begin], ends[place.end]) in wholes for place in places)

    def without_bonus(self, translation: Translation) -> Translation:
        """The translation with the model's own log-probabilities."""
        weight = self._constraints.weight
        if not weight or not self.favored.wanted or not translation.steps:
            return translation
        added = bonuses(self.favored, tuple(self._sayable.numbering.ids(translation.output_symbols)), weight)
        steps = tuple(
            step._replace(log_prob=step.log_prob - bonus) for step, bonus in zip(translation.steps, added, strict=True)
        )
        return replace(translation, steps=steps, log_prob=sum(step.log_prob for step in steps))

    def applied(self, translation: Translation) -> tuple[AppliedTerm, ...]:
        """The terms of the text, and where a form of their translation stands. Of a term that a protected span cuts, it
        stands there only if the span has it, or the model says it of itself.
        """
        own = self._locate_terms(translation)
        lost = term_placement.locate_terms(translation.text, self._lost, [target for target in own if target])
        there = [(self._original.to_original((term.begin, term.end)), term) for term in self.terms]
        there += [((term.begin, term.end), term) for term in self._lost]
        name = self._source.name if self._source else ""
        applied_terms = [
            AppliedTerm(term.text, name, place, target, term.forms)
            for (place, term), target in zip(there, [*own, *lost], strict=True)
        ]
        return tuple(sorted(applied_terms, key=lambda applied: applied.place))


class Terms(TextTransform):
    """Terms of a glossary in translations: required by constraints on the search, or favored by a bonus."""

    def __init__(self, constraints: LexicalConstraints, pieces: Pieces, *, attends: bool) -> None:
        self._constraints = constraints
        self._pieces = pieces
        self._attends = attends

    def prepare(self, sentence: Sentence) -> Sentence:
        if sentence.model_outputs.edited is not None:
            raise UserError("terms are not supported by runs with data.edits")
        numbering = sentence.model_outputs.numbering(sentence.encoded)
        sayable = AllowedForms(self._pieces, numbering, sentence.forbidden, sentence.protection)
        searched = frozenset[Forms]() if self._attends else None
        terms = SentenceConstraints(self._constraints, sentence.shown, *sentence.first_text, sayable, searched)
        return sentence.noted(self, terms)

    def of(self, sentence: Sentence) -> SentenceConstraints:
        """The terms of a sentence."""
        terms: SentenceConstraints = sentence.notes[self]
        return terms

    def constraints(self, batch: Sequence[Sentence], device: torch.device, *, strict: bool) -> list[Constraint]:
        required = [self.of(sentence).required for sentence in batch]
        return [PhraseConstraint(required, device)] if any(phrases.wanted for phrases in required) else []

    def symbols(self, sentence: Sentence) -> list[int]:
        return self.of(sentence).symbols

    def wrap(self, predictor: Predictor[Any], batch: Sequence[Sentence], device: torch.device) -> Predictor[Any]:
        favored = [self.of(sentence).favored for sentence in batch]
        if not any(phrases.wanted for phrases in favored):
            return predictor
        return PhraseBonus(predictor, PhraseConstraint(favored, device), self._constraints.weight or 0.0)

    def accepts(self, sentence: Sentence, ids: Sequence[int], surfaces: Sequence[str]) -> bool:
        return self.of(sentence).met(ids, surfaces)

    def finish(self, translation: Translation, sentence: Sentence) -> Translation:
        """The translation with terms in the place of words that attend to theirs, if the search did not see to them."""
        terms, kept = self.of(sentence), len(sentence.written_prefix)
        translation = terms.without_bonus(translation)
        spans = list(places(translation.words, translation.text))
        words = WordsOf(translation.words, [], spans)
        forms = terms.placed(translation.text, words, translation.sources, kept)
        if not forms:
            return translation
        text, changed = substituted(translation.text, spans, forms, kept)
        return replace(
            translation,
            text=text,
            words=[changed.get(number, word) for number, word in enumerate(translation.words)],
        )

    def retry(self, translation: Translation, sentence: Sentence) -> Sentence | None:
        """The sentence with more terms that the search sees to, if it could see to some that are missing."""
        more = self.of(sentence).searching(translation)
        return sentence.noted(self, more) if more else None

    def missing(self, translation: Translation, sentence: Sentence) -> int:
        return 0 if self._constraints.weight else len(self.of(sentence).lacking(translation))

    def closed(self, translation: Translation, sentence: Sentence) -> list[Span]:
        return self.of(sentence).places(translation)

    def complete(self, translation: Translation, sentence: Sentence) -> Translation:
        return replace(translation, terms=self.of(sentence).applied(translation))


def _check_cost(text: str, terms: Sequence[Forms]) -> None:
    """Raises UserError for a text with so many terms that its search would take minutes."""
    for count, most, what in (
        (len(terms), MOST_TERMS, "terms of the glossary"),
        (sum(map(len, terms)), MOST_FORMS, "translations of terms in the glossary"),
    ):
        if count > most:
            raise UserError(
                f"{SHORT.repr(text)}: has {count:,} {what}, and a sentence may have {most:,}; "
                "remove some, or split the sentence"
            )


def _over(place: Span, spans: Collection[Span]) -> bool:
    """Whether a part of a text has anything in common with spans."""
    return any(begin < place[1] and place[0] < end for begin, end in spans)


def _cut(term: FoundTerm, spans: Collection[Span]) -> bool:
    """Whether the same holds, and the term is no part of a longer span, in which nothing is a term."""
    place = term.begin, term.end
    within = any(span != place and span[0] <= term.begin and term.end <= span[1] for span in spans)
    return not within and _over(place, spans)


def _clings(character: str) -> bool:
    """Whether a character belongs to one of its kind before it."""
    return (of_word(character) and not spaceless(character)) or character in tuple("_+-.\u2212")


def _stripped(text: str, begin: int, end: int) -> Span:
    """The place without a space before it."""
    return begin + len(text[begin:end]) - len(text[begin:end].lstrip(" ")), end
