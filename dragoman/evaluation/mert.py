"""Minimum error rate training (Och 2003): the weights of criteria by which n-best lists, reranked, score best.

A translation ranks by the sum of its criteria, each times its weight. Along a line in the space of weights every
translation is a straight line, so the best of a list changes only where lines of its upper envelope meet; between the
meeting points of all lists the score is constant. The search along a line is therefore exact, by any metric whose
counts add up.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from dragoman.evaluation.metrics.metric import Metric

GAIN = 1e-9  # of a score; less is rounding
Vector = NDArray[np.float64]


class NBest(NamedTuple):
    """The translations of a sentence: their criteria, and the counts of the metric."""

    criteria: Float[np.ndarray, "H K"]
    counts: Float[np.ndarray, "H C"]


class Optimum(NamedTuple):
    """Weights, scaled so that their absolute values sum to 1, and the score of what they choose."""

    weights: Vector
    score: float


def optimum(
    metric: Metric, lists: Sequence[NBest], start: Vector, *, restarts: int = 5, directions: int = 4, seed: int = 1
) -> Optimum:
    """The best weights that are found from `start` and from `restarts` random ones: by searches along each axis, and
    then along some random directions, as long as any of these improves the score (Cer et al. 2008). A criterion that
    is alone keeps its sign: there is nothing to weight.
    """
    if len(start) == 1:
        return Optimum(scaled(start), score(metric, lists, start))
    drawn = np.random.default_rng(seed)
    starts = [start, *drawn.normal(size=(restarts, len(start)))]
    optima = [_ascended(metric, lists, begin, drawn, directions) for begin in starts]
    better = -1 if metric.higher_is_better else 1
    return min(optima, key=lambda candidate: better * candidate.score)  # the first of equal ones


def _ascended(
    metric: Metric, lists: Sequence[NBest], weights: Vector, drawn: np.random.Generator, directions: int
) -> Optimum:
    sign = 1 if metric.higher_is_better else -1
    best, improved = score(metric, lists, weights), True
    while improved:
        improved = False
        for direction in (*np.eye(len(weights)), *drawn.normal(size=(directions, len(weights)))):
            gamma = along(metric, lists, weights, direction)
            moved = scaled(weights + gamma * direction)
            value = score(metric, lists, moved)
            if sign * (value - best) > GAIN:
                weights, best, improved = moved, value, True
    return Optimum(scaled(weights), best)


def scaled(weights: Vector) -> Vector:
    """The same weights with 1 as sum of absolute values; zeros stay zeros."""
    total = np.abs(weights).sum()
    return weights / total if total else weights


def chosen(lists: Sequence[NBest], weights: Vector) -> list[int]:
    """The best of each list; of equal ones the first."""
    return [int((n_best.criteria @ weights).argmax()) for n_best in lists]


def score(metric: Metric, lists: Sequence[NBest], weights: Vector) -> float:
    """The score of the best of each list."""
    pairs = zip(lists, chosen(lists, weights), strict=True)
    return metric.value(np.sum([n_best.counts[best] for n_best, best in pairs], 0).tolist())


def along(metric: Metric, lists: Sequence[NBest], weights: Vector, direction: Vector) -> float:
    """The gamma for which `weights + gamma * direction` scores best: the middle of its interval, or 1 from the end of
    one without an end. Of equally good intervals it is the one whose middle is nearest to 0.
    """
    sums = 0.0
    changes: list[tuple[float, Vector]] = []
    for n_best in lists:
        (_, first), *following = envelope(n_best.criteria @ weights, n_best.criteria @ direction)
        sums, last = sums + n_best.counts[first], first
        for gamma, one in following:
            changes.append((gamma, n_best.counts[one] - n_best.counts[last]))
            last = one
    changes.sort(key=lambda change: change[0])
    sign = 1 if metric.higher_is_better else -1
    values_at = [
        (sign * metric.value(values.tolist()), middle) for values, middle in _intervals(np.asarray(sums), changes)
    ]
    best = max(value for value, _ in values_at)
    return min((middle for value, middle in values_at if value >= best - GAIN), key=abs)


def _intervals(sums: Vector, changes: Sequence[tuple[float, Vector]]) -> Iterator[tuple[Vector, float]]:
    """Yield the sums of the counts in each interval between changes, and its middle."""
    if not changes:
        yield sums, 0.0
        return
    yield sums, changes[0][0] - 1
    for number, (gamma, change) in enumerate(changes):
        sums = sums + change
        following = changes[number + 1][0] if number + 1 < len(changes) else gamma + 2
        if following > gamma:
            yield sums, (gamma + following) / 2


def envelope(heights: Vector, slopes: Vector) -> list[tuple[float, int]]:
    """The upper envelope of the lines `height + gamma * slope`: from which gamma on each line is the highest, from left
    to right, the first one from -inf on. Of equal lines it is the first.
    """
    segments: list[tuple[float, int]] = []
    for line in np.lexsort((np.arange(len(heights)), -heights, slopes)).tolist():
        begin = -np.inf
        while segments:
            before, top = segments[-1]
            if slopes[line] == slopes[top]:
                break
            begin = (heights[top] - heights[line]) / (slopes[line] - slopes[top])
            if begin > before:
                break
            segments.pop()
            begin = -np.inf
        if not segments or slopes[line] > slopes[segments[-1][1]]:
            segments.append((float(begin), line))
    return segments
