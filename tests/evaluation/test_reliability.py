"""The expected calibration error, beside worked numbers and a plain loop."""

import math
import random

import numpy as np
import pytest

from dragoman.evaluation.reliability import BINS, Bin, Reliability


def reliability(confidences: list[float], right: list[int], bins: int = BINS) -> Reliability:
    return Reliability.of(np.array(confidences, np.float64), np.array(right, np.float64), bins)


def test_by_hand() -> None:
    """Two bins: 0.2 and 0.4, one of them right, and 0.6, 0.8 and 1.0, all right: (2 |0.5 - 0.3| + 3 |1 - 0.8|) / 5."""
    result = reliability([0.2, 0.4, 0.6, 0.8, 1.0], [0, 1, 1, 1, 1], bins=2)
    assert result.error == pytest.approx((2 * 0.2 + 3 * 0.2) / 5)
    assert result.bins == [pytest.approx((2, 0.3, 0.5)), pytest.approx((3, 0.8, 1.0))]


def test_a_bin_has_its_upper_edge_and_not_its_lower_one() -> None:
    """Guo et al. 2017: ((m - 1) / M, m / M]; 0 is in the first."""
    result = reliability([0.0, 0.25, 0.2500001, 0.5, 1.0], [0] * 5, bins=4)
    assert result.counts.tolist() == [2, 2, 0, 1]


@pytest.mark.parametrize("bins", [1, 4, 15])
def test_a_plain_loop(bins: int) -> None:
    drawn = random.Random(bins)
    confidences = [drawn.random() for _ in range(200)]
    right = [int(drawn.random() < value**2) for value in confidences]
    expected = 0.0
    for number in range(bins):
        members = [place for place, value in enumerate(confidences) if number / bins < value <= (number + 1) / bins]
        if members:
            accuracy = sum(right[place] for place in members) / len(members)
            confidence = sum(confidences[place] for place in members) / len(members)
            expected += len(members) / 200 * abs(accuracy - confidence)
    assert reliability(confidences, right, bins).error == pytest.approx(expected)


def test_batches_add_up() -> None:
    first, second = reliability([0.1, 0.9], [0, 1]), reliability([0.95, 0.5], [0, 1])
    both = reliability([0.1, 0.9, 0.95, 0.5], [0, 1, 0, 1])
    assert first.plus(second).error == pytest.approx(both.error)
    assert first.plus(second).bins == [pytest.approx(bin_counts) for bin_counts in both.bins]


def test_without_predictions_there_is_no_error() -> None:
    assert reliability([], []).error == 0
    assert set(reliability([], []).bins) == {Bin(0, 0.0, 0.0)}
    assert not math.isnan(reliability([1.0], [1]).error)
