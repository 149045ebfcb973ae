"""IBM model 1 over ids, against plain loops, and the lexicon that is made of it."""

from collections import defaultdict

import numpy as np
import pytest

from dragoman.data import lexicon
from dragoman.data.lexicon import Lexicon, PairValues, estimate_lexicon, train_ibm1
from dragoman.data.store import Column
from dragoman.data.vocabulary import EOS, PAD

SIZES = (12, 15)
PAIRS = [([4, 5], [9, 8]), ([5], [8]), ([4, 6, 4], [9, 10, 9]), ([7, 11], [14]), ([6, 5, 11, 7], [10, 8, 8, 13, 14])]


def column(rows: list[list[int]]) -> Column:
    ended = [[*row, EOS] for row in rows]
    offsets = np.cumsum([0, *map(len, ended)])
    return Column(np.array([number for row in ended for number in row], np.uint16), offsets)


def columns(pairs: list[tuple[list[int], list[int]]]) -> tuple[Column, Column]:
    return column([source for source, _ in pairs]), column([target for _, target in pairs])


def by_loops(pairs: list[tuple[list[int], list[int]]], iterations: int) -> dict[tuple[int, int], float]:
    """`t(y | x)`, the source's end symbol being the empty word."""
    t: dict[tuple[int, int], float] = defaultdict(lambda: 1.0)
    for _ in range(iterations):
        counts: dict[tuple[int, int], float] = defaultdict(float)
        totals: dict[int, float] = defaultdict(float)
        for source, target in pairs:
            for y in target:
                total = sum(t[x, y] for x in [*source, EOS])
                for x in [*source, EOS]:
                    counts[x, y] += t[x, y] / total
                    totals[x] += t[x, y] / total
        t = defaultdict(float, {(x, y): count / totals[x] for (x, y), count in counts.items()})
    return t


def as_dict(table: PairValues) -> dict[tuple[int, int], float]:
    keys = [divmod(int(key), SIZES[1]) for key in table.keys]
    return dict(zip(keys, table.values.tolist(), strict=True))


@pytest.mark.spec("D9")
@pytest.mark.parametrize("links", [1, 10, 1 << 19])
@pytest.mark.parametrize("iterations", [1, 5])
def test_translation_probabilities_are_those_of_the_loops(
    iterations: int, links: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many pairs of positions are looked at at a time."""
    monkeypatch.setattr(lexicon, "ITERATIONS", iterations)
    monkeypatch.setattr(lexicon, "LINKS", links)
    probabilities = as_dict(train_ibm1(*columns(PAIRS), SIZES[1]))
    expected = by_loops(PAIRS, iterations)
    assert probabilities.keys() == expected.keys()
    assert probabilities == pytest.approx(expected, rel=1e-12)


def test_a_lexicon_holds_the_likeliest_first_and_what_is_frequent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lexicon, "KEPT", 2)
    estimated = estimate_lexicon(*columns(PAIRS), SIZES)
    expected = by_loops(PAIRS, lexicon.ITERATIONS)
    for x in range(SIZES[0]):
        best = sorted(((p, y) for (source, y), p in expected.items() if source == x), reverse=True)[:2]
        assert estimated.probabilities[x].tolist() == pytest.approx([*(p for p, _ in best), 0.0, 0.0][:2])
        for y, p in zip(estimated.translations[x].tolist(), estimated.probabilities[x].tolist(), strict=True):
            assert p == pytest.approx(expected[x, y]) if p else y == PAD
    assert estimated.translations[5, 0] == 8
    assert estimated.translations[4, 0] == 9
    assert estimated.frequent.tolist() == [8, 9, 10, 14, 13, 4, 5, 6, 7, 11, 12]


def test_of_too_many_pairs_of_symbols_the_rarest_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """And those links are as if they were not there; a target symbol without links counts for nothing."""
    whole = as_dict(train_ibm1(*columns(PAIRS), SIZES[1]))
    monkeypatch.setattr(lexicon, "CELLS", 7)
    monkeypatch.setattr(lexicon, "LINKS", 4)
    few = train_ibm1(*columns(PAIRS), SIZES[1])
    assert 0 < len(few.keys) < len(whole)
    assert np.isfinite(few.values).all()
    sums = np.bincount(few.keys // SIZES[1], few.values)
    assert sums[sums > 0] == pytest.approx(1.0)
    assert (5, 8) in as_dict(few)


def test_a_rare_pair_behind_the_last_takes_nothing_from_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lexicon, "CELLS", 4)
    rare = ([9, 9, 9, 9, 5, 3], [9, 4, 3])
    few = train_ibm1(*columns([*[([9, 3], [8, 3])] * 20, rare, *[([5, 3], [5, 3])] * 5]), SIZES[1])
    assert max(as_dict(few)) == (9, 8)
    assert as_dict(few)[9, 8] == pytest.approx(0.607, abs=0.001)


def test_of_pairs_as_frequent_as_each_other_no_more_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lexicon, "CELLS", 3)
    assert len(train_ibm1(*columns([([symbol, 3], [symbol, 3]) for symbol in range(4, 10)]), SIZES[1]).keys) == 3


def test_nothing_is_known_of_a_symbol_that_never_occurs() -> None:
    estimated: Lexicon = estimate_lexicon(*columns(PAIRS), SIZES)
    assert estimated.translations.shape == estimated.probabilities.shape == (SIZES[0], lexicon.KEPT)
    assert (estimated.translations[8] == PAD).all()
    assert (estimated.probabilities[8] == 0).all()
