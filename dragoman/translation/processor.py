"""Texts to the input of a model, and what it says back to texts: all that a translator does beside the search."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import NamedTuple, TypeVar

import numpy as np

from dragoman.corpus.features import Given
from dragoman.data.batch import Batch
from dragoman.data.language import Language
from dragoman.data.surfaces import NOTHING, Surfaces
from dragoman.data.vocabulary import UNK
from dragoman.errors import UserError
from dragoman.model.predictor import ScoredBatch
from dragoman.search.hypothesis import Hypothesis
from dragoman.search.tempered import NORMALIZER, calibrated, tempered
from dragoman.text.mark import Mark, Symbol
from dragoman.text.protection import Protection
from dragoman.translation import source_inputs
from dragoman.translation.output_text import ModelOutputs
from dragoman.translation.reranking.minimum_bayes_risk import MinimumBayesRisk
from dragoman.translation.sentence import Sentence
from dragoman.translation.source_inputs import CombinedInputs, Encoded, ModelInputs, Text
from dragoman.translation.transforms import placeholders
from dragoman.translation.transforms.placeholders import Marked
from dragoman.translation.transforms.tag_projection import detach
from dragoman.translation.transforms.terms import (
    UNCONSTRAINED,
    AsGiven,
    Forms,
    LexicalConstraints,
    Pieces,
    Sayable,
    SentenceConstraints,
)
from dragoman.translation.transforms.unknown_words import UnknownWords, replaces, substituted
from dragoman.translation.translation import Scored, Translation, steps

Item = TypeVar("Item")

BATCH = 4096  # source symbols times beam size in a batch
ROWS = 320  # maximal sentences times beam size: a CPU is not faster with more, and each row has log P of all symbols
SCORE = "score([source], [target])"


class Pair(NamedTuple):
    """What is given for each source, the same with marks, its symbols, and those of the target."""

    given: tuple[Given, ...]
    marked: Marked
    encoded: list[Encoded]
    target: list[Symbol]


@dataclass
class Codec:
    """How a model reads its sources, and what its symbols mean.

    `edited` is the number of the source that the model edits. `marks` has the mark before a source for each target
    language of a multilingual model, `foreign` the symbol ids that are forbidden for each. `surfaces`: what the model
    needs of words outside its vocabularies. `attends`: whether it has attention. `unknown`: what becomes of `<unk>`;
    None: it is written so. `temperature`: that at which its probabilities are calibrated, if they are.
    """

    reading: ModelInputs | CombinedInputs
    target: Language
    edited: int | None = None
    marks: Mapping[str, Mark] = field(default_factory=dict)
    foreign: Mapping[Mark, list[int]] = field(default_factory=dict)
    surfaces: Surfaces = NOTHING
    attends: bool = True
    unknown: UnknownWords | None = None
    temperature: float | None = None

    @cached_property
    def writing(self) -> ModelOutputs:
        return ModelOutputs(self.target, self.edited, self.surfaces.extended)

    @property
    def targets(self) -> tuple[str, ...]:
        """The target languages."""
        return tuple(self.marks) or (self.target.name,)

    def mark(self, to: str | None) -> list[Mark]:
        """The mark before a source that is translated to this language. UserError if the run does not have it."""
        known = ", ".join(self.targets)
        if to is None and len(self.targets) > 1:
            raise UserError(f"to which language? This run translates to {known} (--to LANGUAGE)")
        if to is not None and to not in self.targets:
            raise UserError(f"this run does not translate to {to}, but to {known}")
        return [self.marks[to or self.targets[0]]] if self.marks else []

    def marked(self, given: tuple[Given, ...], target: str | None = None) -> Marked:
        """Texts with marks for what comes through, if the model was taught any."""
        return placeholders.marked(self.reading.protection, self.reading.sources, given, target)

    def sentence(
        self,
        number: int,
        given: tuple[Given, ...],
        mark: Sequence[Mark] = (),
        prefix: str | None = None,
        constraints: LexicalConstraints = UNCONSTRAINED,
    ) -> Sentence:
        """The text of this number. UserError if the model cannot produce the prefix or meet what is asked."""
        found, protection = Sentence(number, given, Marked(given), []), constraints.protection
        if protection:
            detached = detach(protection, self.reading.protection, self.reading.sources, given, self.edited)
            found = found._replace(detached=detached)
            if detached and prefix is not None and not found.stays:
                found = found._replace(detached=detached.begun(prefix))
        marked = self.marked(found.read)
        found = found._replace(marked=marked, encoded=self.reading.encoded(marked.given, mark))
        if prefix is not None:
            found = found._replace(prefix=self._prefix(found, prefix, mark))
        if constraints.glossary.terms:
            found = found._replace(constraints=self._constraints(found, constraints, mark))
        return found

    def _prefix(self, sentence: Sentence, prefix: str, mark: Sequence[Mark]) -> list[int]:
        """The ids that the translation begins with."""
        protection, detached = self.reading.protection, sentence.detached
        text = detached.beginning.text if detached and detached.beginning else prefix
        text = sentence.marked.prefix(text, protection) if protection else text
        if isinstance(text, str) and text != text.rstrip():
            symbols = self.writing.begun(sentence.encoded, text)
            if UNK in self.writing.numbering(sentence.encoded).ids(symbols):
                text = text.rstrip()  # units of words have no symbol for a space at the end, which is where a word ends
        return self.writing.prefix(sentence.encoded, text, self._forbidden(mark))

    @cached_property
    def _of_marks(self) -> dict[tuple[Mark, ...], frozenset[int]]:
        return {}

    @cached_property
    def _pieces(self) -> Pieces:
        return Pieces(self.target)

    def _forbidden(self, mark: Sequence[Mark]) -> frozenset[int]:
        """The numbers that no prefix and no term may have."""
        key = tuple(mark)
        if key not in self._of_marks:
            self._of_marks[key] = frozenset({UNK, *(number for each in mark for number in self.foreign[each])})
        return self._of_marks[key]

    def _constraints(
        self, sentence: Sentence, constraints: LexicalConstraints, mark: Sequence[Mark]
    ) -> SentenceConstraints:
        """The lexical constraints of a sentence's translation."""
        if self.edited is not None:
            raise UserError("terms are of a text that is written, and this run writes edits of one")
        source, text = placeholders.first_text(self.reading.sources, sentence.marked.given)
        known, protection = self.writing.numbering(sentence.encoded), self.protection(sentence)
        sayable = Sayable(self._pieces, known, self._forbidden(mark), protection)
        searched = frozenset[Forms]() if self.attends else None
        return SentenceConstraints(constraints, self._as_given(sentence, text), source, text, sayable, searched)

    @staticmethod
    def _as_given(sentence: Sentence, text: str) -> AsGiven:
        """The text that is read, as the user gave it."""
        marked, detached = sentence.marked, sentence.detached
        known = [(each.begin, each.end) for each in marked.spans]
        if detached is None or sentence.stays:
            return AsGiven(marked.text(text), known, marked.place)
        source = detached.source
        every = sorted([*detached.spans, *map(source.place, known)])
        return AsGiven(str(detached.given[detached.number]), every, lambda span: source.place(marked.place(span)))

    def protection(self, sentence: Sentence) -> Protection | None:
        """All that is protected in a sentence."""
        every = [self.reading.protection, sentence.detached and sentence.detached.protection]
        found = [pattern for each in every if each for pattern in each.patterns]
        return Protection(found) if found else None

    def has_word(self, sentence: Sentence) -> bool:
        """Whether a source has a word that can take the place of `<unk>`."""
        if not source_inputs.has_text(sentence.encoded):
            return False
        protection = self.protection(sentence)
        if not protection:
            return True
        read = zip(self.reading.read, source_inputs.cut(sentence.encoded, source_inputs.LONGEST), strict=True)
        texts = ((source, source_inputs.spelled(each)) for source, each in read if isinstance(source, Language))
        return any(replaces(word, protection) for source, text in texts for word in source.text.words(text).words)

    def faithful(self, sentence: Sentence, ids: Sequence[int]) -> bool:
        """Whether a translation, or the beginning of one, has no other spans than the source, and terms that are whole
        words. Edits, which say words of a source, are.
        """
        if self.edited is not None:
            return True
        said, protection = self.writing.named(sentence.encoded, ids), self.reading.protection
        if protection and not placeholders.faithful(protection, self.target, sentence.marked, ids, said):
            return False
        if sentence.detached and sentence.detached.found("".join(placeholders.spelled(self.target, ids, said))):
            return False
        return not sentence.constraints or sentence.constraints.met(ids, list(map(str, said)))

    def batches(
        self, sources: Sequence[Text], targets: Sequence[str], to: str | None, longest: int | None = None
    ) -> Iterator[tuple[list[Pair], Batch]]:
        """Batches of pairs of similar length, each as texts with their symbols (at most `longest` on each side), and as
        a `Batch`, whose `rows` are their numbers. `to` is the language of the targets, if there are several.
        """
        return self.batched(self.pairs(sources, targets, to, longest))

    def pairs(
        self, sources: Sequence[Text], targets: Sequence[str], to: str | None, longest: int | None = None
    ) -> list[Pair]:
        """Texts and their targets as symbols."""
        mark = self.mark(to)
        sources, targets = listed(sources, SCORE), listed(targets, SCORE)
        if len(sources) != len(targets):
            raise ValueError(f"{len(sources)} sources and {len(targets)} targets: every source needs its target")
        for each in targets:
            if not isinstance(each, str):
                raise TypeError(f"{self.target.name}: expected a text, found {type(each).__name__}")
        given = [self.reading.given(text) for text in sources]
        read = [self.marked(each, target) for each, target in zip(given, targets, strict=True)]
        cut = [source_inputs.cut(self.reading.encoded(each.given, mark), longest) for each in read]
        return [
            Pair(texts, marked, symbols, self.writing.symbols(symbols, marked.target, longest))
            for texts, marked, symbols in zip(given, read, cut, strict=True)
        ]

    def batched(self, found: Sequence[Pair], symbols: int = BATCH) -> Iterator[tuple[list[Pair], Batch]]:
        """These pairs in batches of similar length, each of at most so many symbols; `rows` are their numbers."""
        lengths = [max(source_inputs.length(pair.encoded), len(pair.target)) + 1 for pair in found]
        most = BATCH if all(isinstance(source, Language) for source in self.reading.sources) else ROWS  # regions: room
        for numbers in by_length(range(len(found)), lengths, symbols, most):
            pairs = [found[number] for number in numbers]
            texts, said = [pair.encoded for pair in pairs], [[pair.target] for pair in pairs]
            words = self.writing.vocabularies(texts)
            target = source_inputs.sequence(said, self.target, words, self.surfaces.target)
            yield pairs, Batch(self.reading.batch(texts, words), target, np.array(numbers))

    def nothing(self, sentence: Sentence) -> Translation:
        """The translation of a blank text, and what a model says of one without words beside its protected spans."""
        left_out = source_inputs.left_out(sentence.given, [])
        return Translation(self.reading.nothing(sentence.given), "", [], 0.0, 0.0, (), left_out=left_out)

    def attached(self, sentence: Sentence, found: Translation) -> Translation:
        """A translation with the spans that were taken out of its text."""
        if sentence.detached is None:
            return found
        said = self.writing.named(sentence.encoded, sentence.prefix)
        begun = sentence.marked.text("".join(self.target.text.unit.surfaces(list(map(str, said)))))
        terms = sentence.constraints.places(found) if sentence.constraints else []
        return sentence.detached.attached(found, len(begun), terms)

    def translation(
        self, sentence: Sentence, hypotheses: Sequence[Hypothesis], n_best: int, risk: MinimumBayesRisk | None = None
    ) -> Translation:
        """The best of these hypotheses, with the next best that are faithful as alternatives: `n_best` different texts
        in all. With `risk`, it tells which are best.
        """
        every = self._all_told(sentence, hypotheses)
        found = dict[str, Translation]()
        for translation in risk.ranked(list(every)) if risk else every:
            found.setdefault(translation.text, translation)
            if len(found) == n_best:
                break
        best, *others = found.values()
        return replace(best, alternatives=tuple(others))

    def _all_told(self, sentence: Sentence, hypotheses: Sequence[Hypothesis]) -> Iterator[Translation]:
        """Yield the first hypothesis, and those that are faithful, as texts; samples may be the same."""
        known = dict[tuple[tuple[int, ...], tuple[str | None, ...]], Translation]()
        for number, hypothesis in enumerate(hypotheses):
            if not number or self.faithful(sentence, hypothesis.symbols):
                key = hypothesis.symbols, hypothesis.surfaces
                if key not in known:
                    known[key] = self._told(sentence, hypothesis)
                yield known[key]

    def _told(self, sentence: Sentence, hypothesis: Hypothesis) -> Translation:
        """A hypothesis as text, with the attention to the sources. Spans take the place of their marks last."""
        if sentence.constraints:
            hypothesis = sentence.constraints.without_bonus(hypothesis)
        marked, encoded = sentence.marked, sentence.encoded
        said = self.writing.symbols_of(encoded, hypothesis)
        single_spaced = None if sentence.has_spaces_in_a_row else len(sentence.prefix)
        written, words = self.writing.written(encoded, said, single_spaced)
        weights = tuple(part[:-1] for part in hypothesis.attention)
        figures = {name: each.tolist() for name, each in hypothesis.figures.items() if name != NORMALIZER}
        sure = None if self.temperature is None else calibrated(hypothesis, self.temperature)
        surfaces = self.target.text.unit.surfaces(written)
        kept = sum(map(len, surfaces[: len(sentence.prefix)]))
        text = "".join(surfaces)
        seen, sentinel = self.reading.seen(
            sentence.given, source_inputs.cut(encoded, source_inputs.LONGEST), words, weights
        )
        forms = sentence.constraints.placed(text, words, seen, kept) if sentence.constraints else {}
        unknown = [word for word in self.writing.unknown(hypothesis, words) if word not in forms]
        texts = {source.name: str(each) for source, each in zip(self.reading.sources, marked.given, strict=True)}
        protection = self.protection(sentence)
        for letters, apart in product((False, True), repeat=2):
            found = self.unknown.replaced(unknown, seen, protection, texts, letters=letters) if self.unknown else {}
            replaced = {**{word: copied for word, (copied, _) in found.items()}, **forms}
            replacing, other = substituted(text, words.spans, replaced, kept, apart=apart)
            # What is copied may be read as a part of the span beside it, or make one with what is around it.
            if not (found and protection) or marked.keeps(replacing, protection):
                break
        return Translation(
            marked.seen(seen),
            marked.text(replacing),
            marked.words([other.get(number, word) for number, word in enumerate(words.words)]),
            hypothesis.score,
            hypothesis.log_prob,
            steps(list(map(source_inputs.symbol_name, said)), words.word_of, hypothesis.log_probs, figures, sure),
            sentinel,
            left_out=source_inputs.left_out(sentence.given, zip(self.reading.read, encoded, strict=True)),
            replaced=tuple(replacement for _, replacement in found.values()),
            spans=marked.kept(replacing),
            proved=hypothesis.proved,
            said=tuple(said),
        )

    def scored(self, pair: Pair, scored: ScoredBatch, row: int) -> Scored:
        """A pair with the scores of its row in a batch."""
        steps_said = len(pair.target) + 1
        written, words = self.writing.written(pair.encoded, pair.target)
        weights = tuple(part[row, : len(pair.target)].float().cpu().numpy() for part in scored.attention)
        log_probs = scored.log_probs[row, :steps_said].double()
        figures = {name: each[row, :steps_said].tolist() for name, each in scored.figures.items()}
        sure = None
        if self.temperature is not None and NORMALIZER in figures:
            sure = tempered(log_probs.tolist(), figures.pop(NORMALIZER), self.temperature)
        seen, sentinel = self.reading.seen(pair.given, pair.encoded, words, weights)
        return Scored(
            log_probs.sum().item(),
            pair.marked.seen(seen),
            pair.marked.text(self.target.text.decode(written)),
            pair.marked.words(words.words),
            steps(list(map(source_inputs.symbol_name, pair.target)), words.word_of, log_probs.tolist(), figures, sure),
            sentinel,
            tuple(pair.target),
        )


def listed(given: Iterable[Item], example: str) -> list[Item]:
    """The texts as a list. TypeError if it is a single text, or no texts at all."""
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise TypeError(f"expected a list of texts, as in {example}, found {type(given).__name__}")
    return list(given)


def by_length(numbers: Sequence[int], lengths: Sequence[int], symbols: int, most: int) -> Iterator[list[int]]:
    """Groups of sentences of similar length, longest first: each has at most `symbols` symbols including padding, and
    at most `most` sentences.
    """
    group: list[int] = []
    for number in sorted(numbers, key=lambda each: (-lengths[each], each)):
        if group and (len(group) == most or (len(group) + 1) * lengths[group[0]] > symbols):
            yield group
            group = []
        group.append(number)
    if group:
        yield group
