"""What each source word did for each target word, and for one translation rather than another."""

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dragoman.translation.attention_matrix import SHORT

Map: TypeAlias = NDArray[np.float64]


class SourceMaps(NamedTuple):
    """What the words of a source did for each target word, in nats: (target words, source words).

    `gradient` is gradient times input of log P(target word), `erasure` what log P(target word) loses when the source
    word is erased; of a word, the sum over its symbols. The shares (target words,) are those of the source as a whole:
    the sum of the gradients over all of its positions, its end symbol too; and what is lost when the sentence lacks
    this source, None if that cannot be. The third method, attention, is `SourceAttention`.
    """

    name: str
    gradient: Map
    erasure: Map
    gradient_share: Map
    erasure_share: Map | None = None

    def __repr__(self) -> str:
        target, source = self.gradient.shape
        return f"SourceMaps({SHORT.repr(self.name)}, {source:,} words for {target:,})"


class SourceContrast(NamedTuple):
    """By each method the map of one translation less that of another, both summed over target words: (source words,).
    Nats, but for attention.
    """

    name: str
    attention: Map
    gradient: Map
    erasure: Map

    def __repr__(self) -> str:
        return f"SourceContrast({SHORT.repr(self.name)}, {len(self.gradient):,} words)"


class Place(NamedTuple):
    """Where two translations differ: these words of the one, from begin to end, and those of the other; log P of the
    former less log P of the latter; and the maps of that difference.
    """

    words: tuple[int, int]
    other: tuple[int, int]
    difference: float
    sources: tuple[SourceContrast, ...]


class Contrast(NamedTuple):
    """Why this translation and not another one, `text`, with these `words` (Yin and Neubig 2022).

    `log_prob` is that of the other one, `difference` what log P of this one has more. `sources` are the maps of the
    difference over all words, by gradient and erasure over the end symbol too; `places` are where the words differ.
    """

    text: str
    words: list[str]
    log_prob: float
    difference: float
    sources: tuple[SourceContrast, ...]
    places: tuple[Place, ...]
