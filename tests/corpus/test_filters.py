"""Pairs left out, each for one reason."""

import numpy as np

from dragoman.corpus.filters import FilterReport, Filters


def test_pairs_are_left_out_for_the_first_reason_that_holds() -> None:
    filters = Filters(max_length=10, max_ratio=3.0)
    pairs = np.array([(0, 20), (11, 1), (10, 10), (3, 9), (3, 10), (1, 3), (4, 1)])
    assert [tuple(pair) for pair in pairs[filters.keep(*pairs.T)].tolist()] == [(10, 10), (3, 9), (1, 3)]
    assert filters.report == FilterReport(pairs=7, kept=3, empty=1, too_long=1, ratio=2)
    assert filters.keep(pairs[:1, 0], pairs[:1, 1]).tolist() == [False]
    assert filters.report == FilterReport(pairs=8, kept=3, empty=2, too_long=1, ratio=2)


def test_the_shortest_and_the_longest_of_several_sides_decide() -> None:
    filters = Filters(max_length=10, max_ratio=3.0)
    kept = filters.keep(np.array([3, 3, 3, 3]), np.array([6, 0, 1, 6]), np.array([9, 6, 6, 11]))
    assert kept.tolist() == [True, False, False, False]
    assert filters.report == FilterReport(pairs=4, kept=1, empty=1, too_long=1, ratio=1)


def test_a_report_is_one_line() -> None:
    assert str(FilterReport(1234, 1234, 0, 0, 0)) == "1,234 of 1,234 pairs"
    line = "4 of 10 pairs (left out: 1 with an empty side, 2 too long, 3 of unlike lengths)"
    assert str(FilterReport(10, 4, 1, 2, 3)) == line
