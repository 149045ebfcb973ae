"""The inputs of an ensemble: a user's sources for several models, and the attention of all of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, islice

from dragoman.corpus.features import Given
from dragoman.data.batch import SourceBatch
from dragoman.data.language import Source
from dragoman.data.recall import FuzzyMatcher
from dragoman.text.mark import Mark
from dragoman.text.pipeline import WordsOf
from dragoman.text.protection import Protection
from dragoman.translation.attention_matrix import SourceAttention
from dragoman.translation.source_inputs import Encoded, ModelInputs, Text, Weights, Words, one_column


@dataclass(frozen=True)
class CombinedInputs:
    """The sources of an ensemble. Each source is passed to every model that has a source of that name. The attention to
    a source is the sum over those models, each weighted by its vote.
    """

    members: tuple[ModelInputs, ...]

    @property
    def sources(self) -> tuple[Source, ...]:
        """The sources of the first model, then further ones of the others, each name once."""
        sources: dict[str, Source] = {}
        for source in chain.from_iterable(member.sources for member in self.members):
            sources.setdefault(source.name, source)
        return tuple(sources.values())

    @property
    def encoded_sources(self) -> tuple[Source, ...]:
        """The source of each part of what is `encoded`: those of the first model, then those of the second."""
        return tuple(chain.from_iterable(member.sources for member in self.members))

    @property
    def summed(self) -> "CombinedInputs":
        """The same for figures of symbols that are no weights, and always add up."""
        return CombinedInputs(tuple(member.summed for member in self.members))

    @property
    def translation_memory(self) -> FuzzyMatcher | None:
        """The memory of the first model that has the most answers of one."""
        matchers = [member.translation_memory for member in self.members if member.translation_memory]
        return max(matchers, key=lambda matcher: len(matcher.answers), default=None)

    @property
    def user_sources(self) -> tuple[Source, ...]:
        """The sources that a user gives: all that no memory fills."""
        return self._all.user_sources

    @property
    def protection(self) -> Protection | None:
        """What all models were taught marks for."""
        return self.members[0].protection

    @property
    def counts(self) -> tuple[int, ...]:
        """How many sequences each model reads."""
        return tuple(1 if member.joined else len(member.sources) for member in self.members)

    def complete_inputs(self, text: Text) -> tuple[Given, ...]:
        """Return what there is for each source, as `ModelInputs.complete_inputs`."""
        return self._all.complete_inputs(text)

    def remembered(self, inputs: tuple[Given, ...]) -> str | None:
        """Return what the memory has as the translation of this very text."""
        return self._all.remembered(inputs)

    def encoded(self, inputs: tuple[Given, ...], mark: Sequence[Mark] = ()) -> list[Encoded]:
        """Return the symbols or regions of all sources of the first model, then of the second, and so on."""
        return [encoded for member, part in self._inputs_by_member(inputs) for encoded in member.encoded(part, mark)]

    def batch(self, encoded: Sequence[Sequence[Encoded]], words: Words = None) -> tuple[SourceBatch, ...]:
        """Return the inputs of all models, one after another."""
        source_batches, first = list[SourceBatch](), 0
        for member in self.members:
            last = first + len(member.sources)
            source_batches += member.batch([row[first:last] for row in encoded], words)
            first = last
        return tuple(source_batches)

    def seen(
        self, inputs: tuple[Given, ...], encoded: list[Encoded], target: WordsOf, weights: tuple[Weights, ...]
    ) -> tuple[tuple[SourceAttention, ...], Weights | None]:
        """Return the sources with their attention summed over the models, and the attention to any model's sentinel."""
        read, looks, by_name = iter(encoded), iter(weights), dict[str, SourceAttention]()
        for (member, part), count in zip(self._inputs_by_member(inputs), self.counts, strict=True):
            symbols = list(islice(read, len(member.sources)))
            for seen in member.seen(part, symbols, target, tuple(islice(looks, count)))[0]:
                by_name[seen.name] = by_name[seen.name].beside(seen) if seen.name in by_name else seen
        sentinel = next(looks, None)
        ordered = tuple(by_name[source.name] for source in self.sources)
        if not all(member.competing for member in self.members):
            ordered = tuple(source.bounded for source in ordered)
        if sentinel is None:
            return ordered, None
        return ordered, one_column(sentinel, target)

    def nothing(self, inputs: tuple[Given, ...]) -> tuple[SourceAttention, ...]:
        """Return the sources of an empty translation."""
        return self._all.nothing(inputs)

    @property
    def _all(self) -> ModelInputs:
        """The sources as those of one model."""
        return ModelInputs(self.sources, translation_memory=self.translation_memory)

    def _inputs_by_member(self, inputs: tuple[Given, ...]) -> list[tuple[ModelInputs, tuple[Given, ...]]]:
        """Return each model with the part of the user's input that it reads."""
        named = {source.name: source_input for source, source_input in zip(self.sources, inputs, strict=True)}
        return [(member, tuple(named[source.name] for source in member.sources)) for member in self.members]
