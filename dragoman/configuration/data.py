"""The configuration of a run's training and development data."""

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal, NamedTuple, TypeVar

from pydantic import Field

from dragoman.configuration.components import Spec
from dragoman.configuration.sections import Section
from dragoman.configuration.values import Count, Maybe, Positive, Several, Text

Item = TypeVar("Item")

MEMORY = "memory"  # the source that a translation memory fills
MOST_RECALLED = 10  # maximum number of such sources
CSV = (".csv", ".csv.gz")
COLUMNS = (".tsv", ".tsv.gz", *CSV)  # columns named by a header; without one, the sources and then the target


class LanguagePair(NamedTuple):
    """A translation direction and its corpora.

    A pair without `train` is zero-shot. A pair whose target is its source language copies texts, which helps zero-shot
    translation (Ha et al. 2016).
    """

    sources: tuple[str, ...]
    target: str
    train: tuple[str, ...]
    dev: str

    @property
    def name(self) -> str:
        return f"{'+'.join(self.sources)}-{self.target}"


class PairConfig(Section):
    """A translation direction of a multilingual model."""

    expected: ClassVar[str] = "with source, target, train and dev"

    source: Text = Field(description="source language")
    target: Text = Field(description="target language")
    train: Annotated[tuple[Text, ...], Several] = Field((), description="training files; none = zero-shot")
    dev: Text = Field(description="development files")


class DataConfig(Section):
    """Training and development data: of one translation direction, or of several in `pairs`."""

    source: Annotated[tuple[Text, ...], Several] = Field(
        (), description="source language = file suffix (PREFIX.en), or a list of several sources"
    )
    target: Maybe = Field("", description="target language = file suffix")
    train: Annotated[tuple[Text, ...], Several] = Field(
        (), description="prefix of the training files, or a .tsv, .csv or .jsonl file with one column per language"
    )
    dev: Maybe = Field(
        "",
        description="prefix of the development files, or a file with columns; used for validation and model selection",
    )
    pairs: tuple[PairConfig, ...] = Field(
        (), description="several directions for a multilingual model: a list of {source, target, train, dev}"
    )
    temperature: Annotated[float, Field(ge=1)] = Field(
        1.0,
        description="sampling temperature T: a corpus of n examples is sampled proportionally to n^(1/T); 1 = by size",
    )
    weights: tuple[Positive, ...] = Field(
        (), description="explicit sampling weights of the corpora or pairs, such as [1, 3], instead of a temperature"
    )
    features: Annotated[tuple[Text, ...], Several] = Field(
        (), description="numeric sources, such as image features, in PREFIX.NAME.npy, .npz or .safetensors"
    )
    concatenate_sources: bool = Field(
        False, description="concatenate all sources into one sequence for a single encoder"
    )
    filter_target_vocabulary: bool = Field(
        True,
        description="with `pairs`, exclude tokens seen only in training targets of other languages",
    )
    edits: Text | None = Field(
        None, description="post-editing: the source that is edited into the target; null = generate the target directly"
    )
    translation_memory: Spec = Field(
        Spec("none"),
        description="translation memory: targets of similar training pairs as sources (`memory`, `memory.2`, ...)",
    )
    noise: Spec = Field(
        Spec("none"), description="noise for denoising autoencoding, where target and source are the same text"
    )
    alignments: bool = Field(
        False,
        description="read word alignments of the training pairs, PREFIX.SOURCE-TARGET.align (`dragoman align`)",
    )
    max_length: Count = Field(
        100, description="maximum sentence length in tokens; longer pairs are excluded from training"
    )
    max_ratio: Annotated[float, Field(ge=1)] = Field(
        9.0, description="maximum length ratio of the two sides in tokens; other pairs are excluded from training"
    )

    @property
    def denoises(self) -> bool:
        """Whether part of a text that is its own translation is hidden."""
        return not self.noise.is_absent

    @property
    def language_pairs(self) -> tuple[LanguagePair, ...]:
        """The language pairs, from `pairs` or from the four keys of a single pair."""
        if not self.pairs:
            return (LanguagePair(self.source, self.target, self.train, self.dev),)
        return tuple(LanguagePair((pair.source,), pair.target, pair.train, pair.dev) for pair in self.pairs)

    @property
    def trained(self) -> tuple[LanguagePair, ...]:
        """The language pairs with training data."""
        return tuple(pair for pair in self.language_pairs if pair.train)

    @property
    def parts(self) -> tuple[str, ...]:
        """What `temperature` and `weights` mix: pairs with training data, or the training corpora of a single pair."""
        return tuple(pair.name for pair in self.trained) if self.pairs else self.train

    @property
    def copied(self) -> tuple[bool, ...]:
        """Whether the target of each of these parts is its source."""
        return tuple(
            pair.target in pair.sources for pair in self.trained for _ in (pair.train[:1] if self.pairs else pair.train)
        )

    @property
    def deciding(self) -> tuple[LanguagePair, ...]:
        """The language pairs used for model selection: trained pairs, without copying pairs unless all copy."""
        return tuple(pair for pair in self.trained if pair.target not in pair.sources) or self.trained

    @property
    def recalled(self) -> tuple[str, ...]:
        """The sources filled from the translation memory, best match first: memory, memory.2, ..."""
        count = 0 if self.translation_memory.is_absent else self.translation_memory.options.get("count", 1)
        numbers = range(1, 1 + min(count, MOST_RECALLED) if isinstance(count, int) else 2)
        return tuple(MEMORY if number == 1 else f"{MEMORY}.{number}" for number in numbers)

    @property
    def queried_source(self) -> str:
        """The source that the translation memory is queried with: the first text source."""
        return next((name for name in self.source if name not in self.features), "")

    @property
    def inputs(self) -> tuple[str, ...]:
        """All sources of a model: from files, then from the translation memory."""
        return (*self.source, *self.recalled)

    @property
    def sides(self) -> tuple[str, ...]:
        """The names of the sources in a run folder."""
        return tuple(f"source.{name}" for name in self.inputs) if len(self.inputs) > 1 else ("source",)

    @property
    def names(self) -> tuple[str, ...]:
        """The language of each side, the target last; with several pairs, all languages of the side."""
        if not self.pairs:
            return (*self.inputs, self.target)
        sides = zip(*((pair.source, pair.target) for pair in self.pairs), strict=True)
        return tuple(", ".join(dict.fromkeys(side)) for side in sides)

    def places(self, key: Literal["train", "dev"]) -> str:
        """Return the corpora of a key as text; with several pairs, each preceded by the name of its pair."""
        corpora = {pair.name: pair.dev if key == "dev" else ", ".join(pair.train) for pair in self.language_pairs}
        named = self.pairs and [f"{name} {place}" for name, place in corpora.items() if place]
        return "; ".join(named or corpora.values())

    @property
    def several(self) -> bool:
        """Whether the model reads more than one sequence."""
        return len(self.inputs) > 1 and not self.concatenate_sources

    def sequences(self, of_sources: Sequence[Item]) -> tuple[Item, ...]:
        """Return the items of all sources that the model encodes; of concatenated sources, only the first."""
        return tuple(of_sources) if self.several else tuple(of_sources[:1])

    @property
    def plain(self) -> bool:
        """Whether there is a single text source and the target is not generated by post-editing."""
        return len(self.inputs) == 1 and not self.features and self.edits is None

    @property
    def edited(self) -> int | None:
        """The index of the source edited by post-editing, or None."""
        return None if self.edits is None else self.inputs.index(self.edits)

    @property
    def languages(self) -> str:
        if not self.pairs:
            return f"{' and '.join(self.source)} to {self.target}"
        untrained = [pair.name for pair in self.language_pairs if not pair.train]
        directions = ", ".join(pair.name for pair in self.trained)
        return f"{directions}; zero-shot {', '.join(untrained)}" if untrained else directions
