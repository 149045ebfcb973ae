"""The sources of a translation, and how its words attend to theirs."""

from collections.abc import Mapping
from reprlib import Repr
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.corpus.pharaoh import Links
from dragoman.corpus.translation_memory import Match
from dragoman.evaluation import alignment

SENTINEL = "sentinel"  # its name beside the sources
SHORT = Repr()  # abbreviates texts in `__repr__`
SHORT.maxstring = 60


class SymbolWeights(NamedTuple):
    """The attention to a source by symbols, as the model computed it: `weights` (target symbols, source symbols), and
    the names of the source symbols, of which the last is the end symbol.
    """

    symbols: list[str]
    weights: NDArray[np.float64]

    def beside(self, other: "SymbolWeights | None") -> "SymbolWeights | None":
        """The sum with another model's weights; None if that read other symbols."""
        if other is None or other.symbols != self.symbols:
            return None
        return self._replace(weights=self.weights + other.weights)

    @property
    def bounded(self) -> "SymbolWeights":
        """The same with the weights of each target symbol divided by their sum where that is more than 1."""
        return self._replace(weights=self.weights / np.maximum(self.weights.sum(1, keepdims=True), 1))


class SourceAttention(NamedTuple):
    """A source of a target sentence: its language, text and words, and the attention to it.

    `attention` (target words, source words) holds the weights of each target word. They sum to 1 less the attention to
    other sources and to positions that are no words (the end symbol, and the mark that names the target language).
    `share` (target words,) is the attention to the whole source, `end_share` (target words,) the part of it that no
    word has. The words of a numeric source are its `regions`,
    numbered from 1, and its text is the name of its file, if it has one. A source that only initializes the decoder has
    no words. `end_attention` (target words,) is the attention to the end symbol, if the model was taught to attend to
    it from words without a counterpart (`unlinked: end`). `match` is there if the text is from a translation memory:
    the source that it translates there, and how similar that is. `by_symbol` has the weights before they are summed
    over the symbols of a source word and averaged over those of a target word; None of regions, where models of an
    ensemble read other symbols, and of a translation that was read from a file.
    """

    name: str
    text: str
    words: list[str]
    attention: NDArray[np.float64]
    share: NDArray[np.float64]
    end_attention: NDArray[np.float64] | None = None
    regions: bool = False
    match: Match | None = None
    by_symbol: SymbolWeights | None = None

    def __repr__(self) -> str:
        target, source = self.attention.shape
        return (
            f"SourceAttention({SHORT.repr(self.name)}, {SHORT.repr(self.text)}, {source:,} words seen from {target:,})"
        )

    def beside(self, other: "SourceAttention") -> "SourceAttention":
        """The same source with another model's attention added; a model that read less of it saw its first words."""
        ends = [end_weights for end_weights in (self.end_attention, other.end_attention) if end_weights is not None]
        end = np.sum(ends, 0) if ends else None
        fewer, more = sorted((self, other), key=lambda seen: len(seen.words))
        attention = more.attention.copy()
        attention[:, : len(fewer.words)] += fewer.attention
        by_symbol = self.by_symbol and self.by_symbol.beside(other.by_symbol)
        return more._replace(
            attention=attention, share=self.share + other.share, end_attention=end, by_symbol=by_symbol
        )

    @property
    def bounded(self) -> "SourceAttention":
        """The same with the weights of each target word divided by their sum where that is more than 1."""
        total = np.maximum(self.share, 1)
        end = None if self.end_attention is None else self.end_attention / total
        return self._replace(
            attention=self.attention / total[:, None],
            share=self.share / total,
            end_attention=end,
            by_symbol=self.by_symbol and self.by_symbol.bounded,
        )

    @property
    def end_share(self) -> NDArray[np.float64]:
        """The attention of each target word (target words,) to the end symbol, and to the mark that names the target
        language if there is one: with it, a row of `attention` sums to `share`.
        """
        rest: NDArray[np.float64] = self.share - self.attention.sum(1)
        return rest.clip(min=0.0)

    @property
    def label(self) -> str:
        """Its name where texts of several sources are shown, with the similarity of what a memory found."""
        return f"[{self.name} {self.match.score:.2f}]" if self.match else f"[{self.name}]"

    @property
    def alignment(self) -> Links:
        """The source word with the highest attention for each target word, as (source, target) pairs from 0; no link
        if `end_attention` is higher.
        """
        return alignment.links(self.attention, end=self.end_attention)


def shares(
    sources: tuple[SourceAttention, ...], sentinel: NDArray[np.float64] | None
) -> dict[str, NDArray[np.float64]]:
    """The attention of each target word to each source as a whole, and to a sentinel, by name."""
    by_source = {source.name: source.share for source in sources}
    return by_source if sentinel is None else {**by_source, SENTINEL: sentinel}


class AttentionMatrix(NamedTuple):
    """Attention to all sources (target words, columns), with the names of the columns.

    The columns are the words of the source. With several sources, each has a column for its share, with its label,
    then columns for its words; a sentinel comes after them, and a column for each statistic of the model last.
    Regions have no columns, as there are too many. `shares` are the numbers of the columns that are not words. `text`
    is the text of the sources, as written.
    """

    attention: NDArray[np.float64]
    columns: list[str]
    shares: list[int]
    text: str


def attention_matrix(
    sources: tuple[SourceAttention, ...],
    sentinel: NDArray[np.float64] | None = None,
    statistics: Mapping[str, NDArray[np.float64]] = {},
) -> AttentionMatrix:
    seen = _attention_matrix(sources, sentinel)
    columns = [seen.attention, *(values[:, None] for values in statistics.values())]
    named = [*seen.columns, *(f"[{name}]" for name in statistics)]
    numbers = [*seen.shares, *range(len(seen.columns), len(named))]
    return AttentionMatrix(np.concatenate(columns, 1), named, numbers, seen.text)


def _attention_matrix(sources: tuple[SourceAttention, ...], sentinel: NDArray[np.float64] | None) -> AttentionMatrix:
    if len(sources) == 1 and sentinel is None and not sources[0].regions:
        return AttentionMatrix(sources[0].attention, sources[0].words, [], sources[0].text)
    words = {source.name: (source.attention, source.words) for source in sources if not source.regions}
    labels = {source.name: source.label for source in sources}
    parts, columns, numbers = list[NDArray[np.float64]](), list[str](), list[int]()
    for name, share in shares(sources, sentinel).items():
        numbers.append(len(columns))
        attention, own = words.get(name, (share[:, None][:, :0], []))
        parts += [share[:, None], attention]
        columns += [labels.get(name, f"[{name}]"), *own]
    text = " ".join(f"{source.label} {source.text}" for source in sources) if len(sources) > 1 else sources[0].text
    return AttentionMatrix(np.concatenate(parts, 1), columns, numbers, text)
