"""Texts to the input of a model, and what it says back to texts: all that a translator does beside the search."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple, TypeVar

import numpy as np

from dragoman.corpus.features import Given
from dragoman.data.batch import Batch
from dragoman.data.language import Language
from dragoman.data.surfaces import NOTHING, Surfaces
from dragoman.errors import UserError
from dragoman.model.predictor import ScoredBatch
from dragoman.search.hypothesis import Hypothesis
from dragoman.search.spans import Accepts, Only
from dragoman.text.mark import Mark, Symbol
from dragoman.translation import inputs, spans
from dragoman.translation.demands import Asked, Demands, Edges
from dragoman.translation.inputs import CombinedInputs, Encoded, ModelInputs, Text
from dragoman.translation.outputs import ModelOutputs
from dragoman.translation.spans import Marked
from dragoman.translation.translation import Scored, Translation, steps
from dragoman.translation.unknown import UnknownWords, substituted

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


class Checks(NamedTuple):
    """What `Accepted` asks of beginnings of translations, by the number of their sentence."""

    faithful: Accepts
    only: Only

    def of(self, numbers: Sequence[int]) -> "Checks":
        """The same of a batch of sentences with these numbers."""
        return Checks(
            lambda place, ids: self.faithful(numbers[place], ids), lambda place, ids: self.only(numbers[place], ids)
        )


@dataclass
class Codec:
    """How a model reads its sources, and what its symbols mean.

    `edited` is the number of the source that the model edits. `marks` has the mark before a source for each target
    language of a multilingual model, `foreign` the symbol ids that are forbidden for each. `surfaces`: what the model
    needs of words outside its vocabularies. `attends`: whether it has attention. `unknown`: what becomes of `<unk>`;
    None: it is written so.
    """

    reading: ModelInputs | CombinedInputs
    target: Language
    edited: int | None = None
    marks: Mapping[str, Mark] = field(default_factory=dict)
    foreign: Mapping[Mark, list[int]] = field(default_factory=dict)
    surfaces: Surfaces = NOTHING
    attends: bool = True
    unknown: UnknownWords | None = None

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
        return spans.marked(self.reading.protection, self.reading.sources, given, target)

    def demands(self, asked: Asked, given: Sequence[Marked], encoded: Sequence[list[Encoded]]) -> Sequence[Demands]:
        """What is demanded of the translation of each text. UserError if the run cannot meet it."""
        if not asked:
            return ()
        if self.edited is not None:
            raise UserError("terms and protected spans are of a text that is written, and this run writes edits of one")
        if asked.protection and self.reading.protection:
            raise UserError(
                "protect: this run was trained with marks for what it protects (text.protect); leave it out"
            )
        found, edges = [], Edges(self.target)
        for each, symbols in zip(given, encoded, strict=True):
            name, text = spans.first_text(self.reading.sources, each.given)
            found.append(Demands(asked, each, name, text, edges, self.writing.numbering(symbols)))
        return found

    def checks(self, given: Sequence[Marked], encoded: Sequence[list[Encoded]], demands: Sequence[Demands]) -> Checks:
        """For the sentence of a number and the symbols of its translation, or of the beginning of one: whether it has
        no other spans than the source and terms that are whole words; and which symbols have to follow.
        """
        protection = self.reading.protection

        def faithful(number: int, ids: Sequence[int]) -> bool:
            said = self.writing.named(encoded[number], ids)
            if protection and not spans.faithful(protection, self.target, given[number], ids, said):
                return False
            return not demands or demands[number].met(ids, list(map(str, said)))

        def only(number: int, ids: Sequence[int]) -> list[int] | None:
            said = map(str, self.writing.named(encoded[number], ids))
            return demands[number].only(ids, list(said)) if demands else None

        return Checks(faithful, only)

    def batches(
        self, sources: Sequence[Text], targets: Sequence[str], to: str | None, longest: int | None = None
    ) -> Iterator[tuple[list[Pair], Batch]]:
        """Batches of pairs of similar length, each as texts with their symbols (at most `longest` on each side), and as
        a `Batch`, whose `rows` are their numbers. `to` is the language of the targets, if there are several.
        """
        mark = self.mark(to)
        sources, targets = listed(sources, SCORE), listed(targets, SCORE)
        if len(sources) != len(targets):
            raise ValueError(f"{len(sources)} sources and {len(targets)} targets: every source needs its target")
        for each in targets:
            if not isinstance(each, str):
                raise TypeError(f"{self.target.name}: expected a text, found {type(each).__name__}")
        given = [self.reading.given(text) for text in sources]
        read = [self.marked(each, target) for each, target in zip(given, targets, strict=True)]
        cut = [inputs.cut(self.reading.encoded(each.given, mark), longest) for each in read]
        found = [
            Pair(texts, marked, symbols, self.writing.symbols(symbols, marked.target, longest))
            for texts, marked, symbols in zip(given, read, cut, strict=True)
        ]
        lengths = [max(inputs.length(pair.encoded), len(pair.target)) + 1 for pair in found]
        most = BATCH if all(isinstance(source, Language) for source in self.reading.sources) else ROWS  # regions: room
        for numbers in by_length(range(len(found)), lengths, BATCH, most):
            pairs = [found[number] for number in numbers]
            texts, said = [pair.encoded for pair in pairs], [[pair.target] for pair in pairs]
            words = self.writing.vocabularies(texts)
            target = inputs.sequence(said, self.target, words, self.surfaces.target)
            yield pairs, Batch(self.reading.batch(texts, words), target, np.array(numbers))

    def nothing(self, given: tuple[Given, ...]) -> Translation:
        """The translation of a blank text."""
        left_out = inputs.left_out(given, [])
        return Translation(self.reading.nothing(given), "", [], 0.0, 0.0, (), left_out=left_out)

    def translation(
        self,
        given: tuple[Given, ...],
        marked: Marked,
        encoded: list[Encoded],
        hypotheses: list[Hypothesis],
        n_best: int,
        begun: int,
    ) -> Translation:
        """The best of these hypotheses, with the next best as alternatives: `n_best` different texts in all. Their
        first `begun` symbols are a prefix that was asked for.
        """
        found = dict[str, Translation]()
        for hypothesis in hypotheses:
            if len(found) == n_best:
                break
            translation = self._told(given, marked, encoded, hypothesis, begun)
            found.setdefault(translation.text, translation)
        best, *others = found.values()
        return replace(best, alternatives=tuple(others))

    def _told(
        self, given: tuple[Given, ...], marked: Marked, encoded: list[Encoded], hypothesis: Hypothesis, begun: int
    ) -> Translation:
        """A hypothesis as text, with the attention to the sources. Spans take the place of their marks last."""
        said = self.writing.symbols_of(encoded, hypothesis)
        written, words = self.writing.written(encoded, said)
        weights = tuple(part[:-1] for part in hypothesis.attention)
        figures = {name: each.tolist() for name, each in hypothesis.figures.items()}
        seen, sentinel = self.reading.seen(given, inputs.cut(encoded, inputs.LONGEST), words, weights)
        unknown = self.writing.unknown(hypothesis, words)
        found = self.unknown.replaced(unknown, seen) if self.unknown else {}
        surfaces = self.target.text.unit.surfaces(written)
        kept = sum(map(len, surfaces[:begun]))
        text, other = substituted(
            "".join(surfaces), words.spans, {word: text for word, (text, _) in found.items()}, kept
        )
        return Translation(
            marked.seen(seen),
            marked.text(text),
            marked.words([other.get(number, word) for number, word in enumerate(words.words)]),
            hypothesis.score,
            hypothesis.log_prob,
            steps(list(map(spans.name, said)), words.word_of, hypothesis.log_probs, figures),
            sentinel,
            left_out=inputs.left_out(given, encoded),
            replaced=tuple(replacement for _, replacement in found.values()),
            spans=marked.kept(text),
        )

    def scored(self, pair: Pair, scored: ScoredBatch, row: int) -> Scored:
        """A pair with the scores of its row in a batch."""
        steps_said = len(pair.target) + 1
        written, words = self.writing.written(pair.encoded, pair.target)
        weights = tuple(part[row, : len(pair.target)].float().cpu().numpy() for part in scored.attention)
        log_probs = scored.log_probs[row, :steps_said].double()
        figures = {name: each[row, :steps_said].tolist() for name, each in scored.figures.items()}
        seen, sentinel = self.reading.seen(pair.given, pair.encoded, words, weights)
        return Scored(
            log_probs.sum().item(),
            pair.marked.seen(seen),
            pair.marked.text(self.target.text.decode(written)),
            pair.marked.words(words.words),
            steps(list(map(spans.name, pair.target)), words.word_of, log_probs.tolist(), figures),
            sentinel,
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
