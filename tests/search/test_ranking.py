"""How lengths are normalized."""

import math

import pytest
import torch

from dragoman.search.ranking import LEAST, NORMALIZATIONS, NormalizationKind, Ranking, coverage


@pytest.mark.spec("F4")
@pytest.mark.parametrize(
    ("kind", "alpha", "length", "norm"),
    [
        ("none", 1.0, 9, 1.0),
        ("length", 1.0, 4, 4.0),
        ("length", 0.5, 9, 3.0),
        ("prefixed", 0.5, 8, 3.0),
        ("gnmt", 1.0, 7, 2.0),
        ("gnmt", 0.6, 13, 3.0**0.6),
        ("length", 0.0, 9, 1.0),
        ("gnmt", 0.0, 9, 1.0),
    ],
)
def test_a_rank_is_the_log_probability_over_the_norm(
    kind: NormalizationKind, alpha: float, length: int, norm: float
) -> None:
    """`gnmt`: ((5 + |y|) / 6)^alpha."""
    assert Ranking(kind, alpha).rank(-6.0, length) == pytest.approx(-6.0 / norm)


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0, 2.0])
@pytest.mark.parametrize("kind", sorted(NORMALIZATIONS))
def test_nothing_that_follows_an_open_hypothesis_ranks_above_its_bound(kind: NormalizationKind, alpha: float) -> None:
    ranking = Ranking(kind, alpha)
    for length in range(3, 11):
        for more in (0.0, -0.5, -9.0):
            assert ranking.rank(-2.0 + more, length) <= ranking.bound(-2.0, 10) + 1e-12
    assert math.isclose(ranking.rank(-2.0, 10), ranking.bound(-2.0, 10))


@pytest.mark.spec("B16")
def test_coverage_is_the_logarithm_of_the_attention_that_each_position_got_at_most_one() -> None:
    """By hand: log 0.5 + log 1 + log 0.25 and, of a second source, log 0.1; the other row lacks one position."""
    first = torch.tensor([[0.5, 1.7, 0.25], [1.0, 1.0, 0.0]])
    second = torch.tensor([[0.1], [2.0]])
    expected = [math.log(0.5 * 0.25 * 0.1), math.log(LEAST)]
    assert coverage([first, second]).tolist() == pytest.approx(expected)


@pytest.mark.spec("B16")
def test_a_rank_is_the_normalized_log_probability_and_beta_times_the_coverage() -> None:
    """`log P / ((5 + |Y|) / 6)^alpha + beta sum_j log min(sum_t alpha_tj, 1)`, Wu et al. 2016 (14)."""
    assert Ranking("gnmt", 1.0, 0.2).rank(-6.0, 7, -5.0) == pytest.approx(-6.0 / 2 - 0.2 * 5.0)
    assert Ranking("gnmt", 1.0, 0.2).bound(-6.0, 7) == pytest.approx(-6.0 / 2)
