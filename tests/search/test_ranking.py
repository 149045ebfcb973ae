"""How lengths are normalised."""

import math

import pytest

from dragoman.search.ranking import NORMALISATIONS, NormalisationKind, Ranking


@pytest.mark.spec("F4")
@pytest.mark.parametrize(
    ("kind", "alpha", "length", "norm"),
    [
        ("none", 1.0, 9, 1.0),
        ("length", 1.0, 4, 4.0),
        ("length", 0.5, 9, 3.0),
        ("gnmt", 1.0, 7, 2.0),
        ("gnmt", 0.6, 13, 3.0**0.6),
        ("length", 0.0, 9, 1.0),
        ("gnmt", 0.0, 9, 1.0),
    ],
)
def test_a_rank_is_the_log_probability_over_the_norm(
    kind: NormalisationKind, alpha: float, length: int, norm: float
) -> None:
    """`gnmt`: ((5 + |y|) / 6)^alpha."""
    assert Ranking(kind, alpha).rank(-6.0, length) == pytest.approx(-6.0 / norm)


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0, 2.0])
@pytest.mark.parametrize("kind", sorted(NORMALISATIONS))
def test_nothing_that_follows_an_open_hypothesis_ranks_above_its_bound(kind: NormalisationKind, alpha: float) -> None:
    ranking = Ranking(kind, alpha)
    for length in range(3, 11):
        for more in (0.0, -0.5, -9.0):
            assert ranking.rank(-2.0 + more, length) <= ranking.bound(-2.0, 10) + 1e-12
    assert math.isclose(ranking.rank(-2.0, 10), ranking.bound(-2.0, 10))
