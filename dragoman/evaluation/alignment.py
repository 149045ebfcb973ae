"""Word alignments: derived from attention, and compared with a gold standard."""

from collections.abc import Collection, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike, NDArray

from dragoman.corpus.pharaoh import Gold, Link, Links
from dragoman.errors import UserError

Weights: TypeAlias = NDArray[np.float64]


class AlignmentQuality(NamedTuple):
    """Scores of the alignments of a corpus against the gold standard (Och and Ney 2003), from 0 to 1.

    With A the predicted links, S the sure and P the possible gold links: `error_rate` (AER) = 1 - (|A & S| + |A & P|) /
    (|A| + |S|), `precision` = |A & P| / |A|, `recall` = |A & S| / |S|. If a denominator is 0, precision and recall are
    1 and the error rate is 0.
    """

    error_rate: float
    precision: float
    recall: float

    @classmethod
    def of(cls, sums: Sequence[float]) -> "AlignmentQuality":
        """The scores for sums of what `agreement` counts."""
        claimed, certain, sure, possible = sums
        total = claimed + certain
        return cls(
            error_rate=1 - (sure + possible) / total if total else 0.0,
            precision=possible / claimed if claimed else 1.0,
            recall=sure / certain if certain else 1.0,
        )

    def __str__(self) -> str:
        return self.summarize()

    def summarize(self, margin: float | None = None) -> str:
        """The scores, the error rate with half of its interval if that is known."""
        interval = "" if margin is None else f" ± {margin:.4f}"
        return f"AER = {self.error_rate:.4f}{interval} (precision {self.precision:.4f}, recall {self.recall:.4f})"


def links(attention: ArrayLike, threshold: float | None = None, end: ArrayLike | None = None) -> Links:
    """The links that attention between words (target words, source words) implies.

    Without a threshold, every target word is linked to the source word with the largest weight (the first if there are
    several), or to none if its weight for the end symbol, in `end` (target words,), is larger. With a threshold, it is
    linked to all source words whose weights reach it. A target word whose weights are all zero has no link.
    """
    weights = np.nan_to_num(np.atleast_2d(np.asarray(attention, dtype=np.float64)))
    if not weights.size:
        return frozenset()
    if threshold is None:
        chosen = weights.argmax(axis=1)
        most = weights.max(axis=1)
        least = np.zeros_like(most) if end is None else np.asarray(end, dtype=np.float64)
        return frozenset((int(s), t) for t, s in enumerate(chosen) if most[t] > 0 and most[t] >= least[t])
    pairs = np.argwhere((weights >= threshold) & (weights > 0))
    return frozenset((int(s), int(t)) for t, s in pairs)


def agreement(predicted: Collection[Link], gold: Gold) -> tuple[int, int, int, int]:
    """Count `|A|, |S|, |A & S|, |A & P|` of one sentence pair."""
    unique = frozenset(predicted)
    return len(unique), len(gold.sure), len(unique & gold.sure), len(unique & (gold.possible | gold.sure))


def agreements(predicted: Sequence[Collection[Link]], gold: Sequence[Gold]) -> Float[np.ndarray, "N 4"]:
    """Count what `agreement` does for each sentence pair.

    Raises UserError if the numbers of alignments and of gold alignments differ, or there are none.
    """
    if len(predicted) != len(gold):
        raise UserError(f"{len(predicted)} alignments, but {len(gold)} gold alignments")
    if not gold:
        raise UserError("no alignments to score")
    return np.array([agreement(*pair) for pair in zip(predicted, gold, strict=True)], dtype=np.float64)


def error_rate(predicted: Sequence[Collection[Link]], gold: Sequence[Gold]) -> AlignmentQuality:
    """Score the links found for each sentence pair against the gold links, over the whole corpus. Raises UserError as
    `agreements` does.
    """
    return AlignmentQuality.of(agreements(predicted, gold).sum(axis=0).tolist())
