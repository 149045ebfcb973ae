"""Every two values that can occur together do."""

from collections.abc import Callable
from itertools import combinations, product

import pytest

from tests.covering import Row, covering, together

OPTIONS = {"size": ["s", "m", "l"], "colour": ["red", "green", "blue", "grey"], "shape": ["o", "x"], "edge": ["-", "="]}


def any_row(row: Row) -> bool:
    return True


def no_large_grey(row: Row) -> bool:
    return (row.get("size"), row.get("colour")) != ("l", "grey")


@pytest.mark.parametrize("possible", [any_row, no_large_grey])
def test_every_pair_that_is_possible_is_in_a_row(possible: Callable[[Row], bool]) -> None:
    rows = covering(OPTIONS, possible)
    covered = {pair for row in rows for pair in together(row)}
    for (one, first), (other, second) in combinations(OPTIONS.items(), 2):
        for pair in product(first, second):
            row = dict(zip((one, other), pair, strict=True))
            assert (frozenset(row.items()) in covered) == possible(row)


def test_rows_are_whole_few_and_the_same_every_time() -> None:
    rows = covering(OPTIONS)
    assert all(list(row) == list(OPTIONS) for row in rows)
    assert 12 <= len(rows) <= 14  # sizes times colours at least, of 48
    assert rows == covering(OPTIONS)


def test_a_row_that_cannot_be_completed_is_told() -> None:
    def no_shape(row: Row) -> bool:
        return "shape" not in row or "size" not in row

    with pytest.raises(ValueError, match="no value of shape goes with"):
        covering({"size": ["s"], "colour": ["red"], "shape": ["o"]}, no_shape)
