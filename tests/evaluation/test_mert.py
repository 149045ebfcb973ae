"""Minimum error rate training finds what trying everything finds."""

import math
import random
from collections.abc import Iterator

import numpy as np
import pytest

from dragoman.evaluation.mert import NBest, along, chosen, envelope, optimum, scaled, score
from dragoman.evaluation.metrics.metric import Metric
from dragoman.evaluation.metrics.table import METRICS

WORDS = "der alte Mann geht nicht nach Hause".split()


def lists(metric: Metric, criteria: int, seed: int, sentences: int = 6) -> list[NBest]:
    """Up to five drawn translations for each of some sentences."""
    drawn, n_bests = random.Random(seed), list[NBest]()
    for _ in range(sentences):
        count = drawn.randint(1, 5)
        texts = [" ".join(drawn.choices(WORDS, k=drawn.randint(3, 6))) for _ in range(count)]
        reference = " ".join(drawn.choices(WORDS, k=5))
        rows = [[round(drawn.gauss(0, 1), 4) for _ in range(criteria)] for _ in texts]
        n_bests.append(NBest(np.array(rows), metric.counts(texts, [[reference] * count])))
    return n_bests


def plain(metric: Metric, n_bests: list[NBest], weights: list[float]) -> float:
    """The score of the best of each list, in plain loops."""
    sums = [0.0] * n_bests[0].counts.shape[1]
    for n_best in n_bests:
        totals = [sum(w * h for w, h in zip(weights, row, strict=True)) for row in n_best.criteria.tolist()]
        best = totals.index(max(totals))
        sums = [one + more for one, more in zip(sums, n_best.counts[best].tolist(), strict=True)]
    return metric.value(sums)


def better(metric: Metric, values: Iterator[float]) -> float:
    return max(values) if metric.higher_is_better else min(values)


METRIC = pytest.mark.parametrize("name", ["bleu", "wer"])


@METRIC
@pytest.mark.parametrize("seed", range(5))
def test_what_is_chosen_scores_as_in_a_plain_loop(name: str, seed: int) -> None:
    metric = METRICS[name]()
    n_bests, weights = lists(metric, 3, seed), np.random.default_rng(seed).normal(size=3)
    assert score(metric, n_bests, weights) == pytest.approx(plain(metric, n_bests, weights.tolist()))


@pytest.mark.parametrize("seed", range(20))
def test_an_envelope_has_the_highest_line_everywhere(seed: int) -> None:
    """And of equal lines the first; some are parallel, some meet in one point."""
    drawn = random.Random(seed)
    heights, slopes = (np.array([drawn.randint(-3, 3) for _ in range(8)], np.float64) for _ in range(2))
    segments = envelope(heights, slopes)
    begins = [begin for begin, _ in segments]
    assert begins[0] == -math.inf
    assert begins == sorted(set(begins))
    for place, (begin, line) in enumerate(segments):
        end = begins[place + 1] if place + 1 < len(begins) else begin + 10
        middle = end - 1 if begin == -math.inf else (begin + end) / 2
        totals = heights + middle * slopes
        assert line == int(np.flatnonzero(totals > totals.max() - 1e-9)[0])


@pytest.mark.slow
@METRIC
@pytest.mark.parametrize("seed", range(6))
def test_along_a_line_nothing_is_better(name: str, seed: int) -> None:
    metric, drawn = METRICS[name](), np.random.default_rng(seed)
    n_bests = lists(metric, 3, seed)
    weights, direction = drawn.normal(size=3), drawn.normal(size=3)
    best_score = score(metric, n_bests, weights + along(metric, n_bests, weights, direction) * direction)
    tried = (score(metric, n_bests, weights + gamma * direction) for gamma in np.linspace(-20, 20, 4001))
    assert best_score == pytest.approx(better(metric, tried))


@pytest.mark.slow
@METRIC
@pytest.mark.parametrize("seed", range(6))
def test_two_criteria_are_weighted_as_brute_force_weights_them(name: str, seed: int) -> None:
    """All directions in the plane, in steps of a tenth of a degree."""
    metric = METRICS[name]()
    n_bests = lists(metric, 2, seed)
    angles = np.linspace(0, 2 * math.pi, 3600, endpoint=False)
    expected = better(metric, (plain(metric, n_bests, [math.cos(angle), math.sin(angle)]) for angle in angles))
    result = optimum(metric, n_bests, np.array([1.0, 0.0]))
    assert result.score == pytest.approx(expected)
    assert score(metric, n_bests, result.weights) == result.score
    assert np.abs(result.weights).sum() == pytest.approx(1)


@pytest.mark.parametrize("seed", range(3))
def test_of_four_criteria_no_drawn_weights_are_better(seed: int) -> None:
    metric, drawn = METRICS["bleu"](), np.random.default_rng(100 + seed)
    n_bests = lists(metric, 4, seed)
    result = optimum(metric, n_bests, np.array([1.0, 0.0, 0.0, 0.0]))
    assert result.score >= max(score(metric, n_bests, drawn.normal(size=4)) for _ in range(1000)) - 1e-9
    assert optimum(metric, n_bests, np.array([1.0, 0.0, 0.0, 0.0])).weights.tolist() == result.weights.tolist()


def test_where_nothing_is_gained_the_weights_stay() -> None:
    """Lists of one translation, and lists with one criterion."""
    metric = METRICS["bleu"]()
    alone = [n_best._replace(criteria=n_best.criteria[:1], counts=n_best.counts[:1]) for n_best in lists(metric, 2, 1)]
    result = optimum(metric, alone, np.array([0.5, -1.5]), restarts=0)
    assert result.weights.tolist() == [0.25, -0.75]
    assert chosen(alone, result.weights) == [0] * len(alone)
    for seed in range(5):
        n_bests = lists(metric, 1, seed)
        result = optimum(metric, n_bests, np.array([0.5]))
        assert result.weights.tolist() == [1.0]
        assert result.score == score(metric, n_bests, np.ones(1))
    assert scaled(np.zeros(2)).tolist() == [0.0, 0.0]
