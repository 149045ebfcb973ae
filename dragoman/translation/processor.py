"""Texts to the input of a model, and its hypotheses to translations."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import TypeVar

import numpy as np

from dragoman.corpus.features import Given
from dragoman.data.batch import Batch
from dragoman.data.language import Language
from dragoman.data.surfaces import NOTHING, UnknownWordNeeds
from dragoman.data.vocabulary import UNK
from dragoman.errors import UserError
from dragoman.model.predictor import ScoredBatch
from dragoman.search.hypothesis import Hypothesis
from dragoman.text.mark import Mark
from dragoman.text.protection import Protection
from dragoman.translation import source_inputs
from dragoman.translation.combined_inputs import CombinedInputs
from dragoman.translation.output_text import ModelOutputs
from dragoman.translation.sentence import EncodedPair, Sentence, TextTransform
from dragoman.translation.source_inputs import ModelInputs, Text
from dragoman.translation.translation import Scored, Translation, steps

Kind = TypeVar("Kind", bound=TextTransform)
Item = TypeVar("Item")

BATCH = 4096  # source symbols times beam size in a batch
ROWS = 320  # maximal sentences times beam size: a CPU is not faster with more, and each row has log P of all symbols
SCORE = "score([source], [target])"


@dataclass
class Processor:
    """Texts to the input of a model, and its hypotheses to translations.

    `edited` is the number of the source that the model edits. `marks` has the mark before a source for each target
    language of a multilingual model, `foreign` the symbol ids that are forbidden for each. `surfaces`: what the model
    needs of words outside its vocabularies. `attends`: whether it has attention. `transforms` are those of the run.
    """

    model_inputs: ModelInputs | CombinedInputs
    target: Language
    edited: int | None = None
    marks: Mapping[str, Mark] = field(default_factory=dict)
    foreign: Mapping[Mark, list[int]] = field(default_factory=dict)
    surfaces: UnknownWordNeeds = NOTHING
    attends: bool = True
    transforms: tuple[TextTransform, ...] = ()

    @cached_property
    def model_outputs(self) -> ModelOutputs:
        return ModelOutputs(self.target, self.edited, self.surfaces.extended)

    @property
    def targets(self) -> tuple[str, ...]:
        """The target languages."""
        return tuple(self.marks) or (self.target.name,)

    def transform(self, kind: type[Kind]) -> Kind | None:
        """Return the transform of this kind, if the run has it."""
        return next((transform for transform in self.transforms if isinstance(transform, kind)), None)

    def mark(self, to: str | None) -> list[Mark]:
        """Return the mark before a source that is translated to this language. UserError if the run does not
        have it.
        """
        names = ", ".join(self.targets)
        if to is None and len(self.targets) > 1:
            raise UserError(f"expected a target language: this run translates to {names} (--to LANGUAGE)")
        if to is not None and to not in self.targets:
            raise UserError(f"this run does not translate to {to}, but to {names}")
        return [self.marks[to or self.targets[0]]] if self.marks else []

    def sentence(
        self,
        number: int,
        inputs: tuple[Given, ...],
        to: str | None = None,
        *,
        transforms: Sequence[TextTransform] | None = None,
        beginning: str | None = None,
        protection: Protection | None = None,
        target: str | None = None,
    ) -> Sentence:
        """Return the text of this number, prepared by these transforms (None: those of the run). UserError if the model
        cannot produce the beginning, or meet what is required.
        """
        mark = self.mark(to)
        sentence = Sentence(
            number,
            inputs,
            inputs,
            self.model_inputs,
            self.model_outputs,
            to or self.target.name,
            mark,
            self._forbidden(tuple(mark)),
            beginning,
            protection or self.model_inputs.protection,
            self.transforms if transforms is None else tuple(transforms),
            self.attends,
            target,
        ).prepared()
        _ = sentence.prefix  # UserError before any search
        return sentence

    @cached_property
    def _forbidden_by_mark(self) -> dict[tuple[Mark, ...], frozenset[int]]:
        return {}

    def _forbidden(self, mark: tuple[Mark, ...]) -> frozenset[int]:
        """Return the ids that no prefix and no term may have."""
        # Once for each target language: of many languages, most of the vocabulary is forbidden.
        if mark not in self._forbidden_by_mark:
            foreign = chain.from_iterable(self.foreign[part] for part in mark)
            self._forbidden_by_mark[mark] = frozenset({UNK, *foreign})
        return self._forbidden_by_mark[mark]

    def batches(
        self, sources: Sequence[Text], targets: Sequence[str], to: str | None, longest: int | None = None
    ) -> Iterator[tuple[list[EncodedPair], Batch]]:
        """Yield batches of pairs of similar length, each as texts with their symbols (at most `longest` on each side),
        and as a `Batch`, whose `rows` are their numbers. `to` is the language of the targets, if there are several.
        """
        return self.batched(self.pairs(sources, targets, to, longest))

    def pairs(
        self, sources: Sequence[Text], targets: Sequence[str], to: str | None, longest: int | None = None
    ) -> list[EncodedPair]:
        """Return texts and their targets as symbols."""
        # UserError before any text is encoded, even if there is none.
        self.mark(to)
        sources, targets = listed(sources, SCORE), listed(targets, SCORE)
        if len(sources) != len(targets):
            raise ValueError(f"{len(sources)} sources and {len(targets)} targets: expected one target per source")
        for target in targets:
            if not isinstance(target, str):
                raise TypeError(f"{self.target.name}: expected a text, found {type(target).__name__}")
        transforms = [transform for transform in self.transforms if transform.applies_to_given]
        sentences = [
            self.sentence(number, self.model_inputs.complete_inputs(text), to, transforms=transforms, target=target)
            for number, (text, target) in enumerate(zip(sources, targets, strict=True))
        ]
        return [self._pair(sentence, longest) for sentence in sentences]

    def _pair(self, sentence: Sentence, longest: int | None) -> EncodedPair:
        encoded = source_inputs.cut(sentence.encoded, longest)
        return EncodedPair(sentence, encoded, self.model_outputs.symbols(encoded, sentence.target or "", longest))

    def batched(self, pairs: Sequence[EncodedPair], symbols: int = BATCH) -> Iterator[tuple[list[EncodedPair], Batch]]:
        """Yield these pairs in batches of similar length, each of at most so many symbols; `rows` are their numbers."""
        # Both sides are padded, so the longer one decides; the end symbol counts.
        lengths = [max(source_inputs.length(pair.encoded), len(pair.target)) + 1 for pair in pairs]
        # Regions of images do not show in the number of symbols, and take memory for each sentence.
        most = BATCH if all(isinstance(source, Language) for source in self.model_inputs.sources) else ROWS
        for numbers in by_length(range(len(pairs)), lengths, symbols, most):
            batch = [pairs[number] for number in numbers]
            texts, targets = [pair.encoded for pair in batch], [[pair.target] for pair in batch]
            words = self.model_outputs.vocabularies(texts)
            target = source_inputs.sequence(targets, self.target, words, self.surfaces.target)
            yield batch, Batch(self.model_inputs.batch(texts, words), target, np.array(numbers))

    def blank(self, sentence: Sentence) -> Translation:
        """Return the translation of a blank text, and what a model says of one without words beside its protected
        spans.
        """
        left_out = source_inputs.left_out(sentence.inputs, [])
        return Translation(self.model_inputs.nothing(sentence.inputs), "", [], 0.0, 0.0, (), left_out=left_out)

    def draft(self, sentence: Sentence, hypothesis: Hypothesis) -> Translation:
        """Return a hypothesis as text, with the attention to the sources, before any transform has finished it. A
        hypothesis without attention has no words and steps either.
        """
        encoded = sentence.encoded
        symbols = self.model_outputs.symbols_of(encoded, hypothesis)
        # A model may write two spaces by chance; where the source has them, they may be meant.
        single_spaced = None if sentence.has_spaces_in_a_row else len(sentence.prefix)
        left_out = source_inputs.left_out(sentence.inputs, zip(self.model_inputs.encoded_sources, encoded, strict=True))
        if not hypothesis.attention:
            return Translation(
                self.model_inputs.nothing(sentence.inputs),
                self.target.text.decode(self.model_outputs.text_symbols(encoded, symbols, single_spaced)),
                [],
                hypothesis.score,
                hypothesis.log_prob,
                (),
                left_out=left_out,
                proved=hypothesis.proved,
                output_symbols=tuple(symbols),
            )
        written, words = self.model_outputs.written(encoded, symbols, single_spaced)
        # Without the row of the end symbol, which is part of no word.
        weights = tuple(part[:-1] for part in hypothesis.attention)
        sources, sentinel = self.model_inputs.seen(sentence.inputs, sentence.truncated, words, weights)
        statistics = {name: values.tolist() for name, values in hypothesis.statistics.items()}
        return Translation(
            sources,
            "".join(self.target.text.tokenizer.surfaces(written)),
            words.words,
            hypothesis.score,
            hypothesis.log_prob,
            steps(list(map(source_inputs.symbol_name, symbols)), words.word_of, hypothesis.log_probs, statistics),
            sentinel,
            left_out=left_out,
            proved=hypothesis.proved,
            output_symbols=tuple(symbols),
        )

    def scored(self, pair: EncodedPair, scored: ScoredBatch, row: int) -> Scored:
        """Return a pair with the scores of its row in a batch."""
        sentence, count = pair.sentence, len(pair.target)
        written, words = self.model_outputs.written(pair.encoded, pair.target)
        weights = tuple(part[row, :count].float().cpu().numpy() for part in scored.attention)
        # float64, as the sums of a search: equal pairs have equal scores.
        log_probs = scored.log_probs[row, : count + 1].double()
        statistics = {name: values[row, : count + 1].tolist() for name, values in scored.statistics.items()}
        sources, sentinel = self.model_inputs.seen(sentence.inputs, pair.encoded, words, weights)
        names = list(map(source_inputs.symbol_name, pair.target))
        translation = Translation(
            sources,
            self.target.text.decode(written),
            words.words,
            log_probs.sum().item(),
            log_probs.sum().item(),
            steps(names, words.word_of, log_probs.tolist(), statistics),
            sentinel,
            output_symbols=tuple(pair.target),
        )
        # In reverse order, as each expects the text that those after it were given.
        for transform in reversed(sentence.notes):
            if transform.applies_to_given:
                translation = transform.finish(translation, sentence)
        return Scored.of(translation)


def listed(items: Iterable[Item], example: str) -> list[Item]:
    """Return the texts as a list. TypeError if it is a single text, or no texts at all."""
    if isinstance(items, str | bytes) or not isinstance(items, Iterable):
        raise TypeError(f"expected a list of texts, as in {example}, found {type(items).__name__}")
    return list(items)


def by_length(numbers: Sequence[int], lengths: Sequence[int], symbols: int, most: int) -> Iterator[list[int]]:
    """Yield groups of sentences of similar length, longest first: each has at most `symbols` symbols including padding,
    and at most `most` sentences.
    """
    group: list[int] = []
    # Longest first: what runs out of memory does so at once, and the first of a group is its width.
    for number in sorted(numbers, key=lambda index: (-lengths[index], index)):
        if group and (len(group) == most or (len(group) + 1) * lengths[group[0]] > symbols):
            yield group
            group = []
        group.append(number)
    if group:
        yield group
