"""Edit operations: a text as what is done to another."""

import tracemalloc
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.text.edits import DELETE, KEEP, apply_edits, operations
from dragoman.text.mark import Symbol

SYMBOLS = st.lists(st.sampled_from(["a", "b", "c", "<keep>", "<delete>", ""]), max_size=8)


def cheapest(before: Sequence[str], after: Sequence[str]) -> int:
    """The least number of insertions and deletions, by the recursion over prefixes."""
    costs = [[i + j for j in range(len(after) + 1)] for i in range(len(before) + 1)]
    for i, old in enumerate(before):
        for j, new in enumerate(after):
            ways = [costs[i][j + 1] + 1, costs[i + 1][j] + 1] + [costs[i][j]] * (old == new)
            costs[i + 1][j + 1] = min(ways)
    return costs[-1][-1]


def rebuild(before: Sequence[str], edits: Sequence[Symbol]) -> list[str]:
    return [symbol for symbol, _ in apply_edits(before, edits)]


@pytest.mark.spec("C13")
@given(SYMBOLS, SYMBOLS)
def test_every_text_comes_back_from_the_fewest_operations(before: list[str], after: list[str]) -> None:
    """A symbol that spells an operation is only a symbol."""
    edits = operations(before, after)
    assert rebuild(before, edits) == after
    assert sum(edit != KEEP for edit in edits) == cheapest(before, after)
    assert sum(isinstance(edit, type(KEEP)) for edit in edits) == len(before)


@pytest.mark.spec("C13")
def test_long_texts_take_a_number_for_each_pair_of_places_and_no_lists() -> None:
    """Lists of operations at every place would be some 2,000 times as much (neuralmonkey's edits)."""
    random = np.random.default_rng(0)
    before, after = (list(map(str, random.integers(0, 50, 2000))) for _ in range(2))
    tracemalloc.start()
    edits = operations(before, after)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert rebuild(before, edits) == after
    assert most < 8 * len(before) * len(after)


@pytest.mark.spec("C13")
def test_a_replacement_is_an_insertion_and_a_deletion() -> None:
    old, new = "good day to all of you".split(), "good evening to all you".split()
    assert operations(old, new) == [KEEP, "evening", DELETE, KEEP, KEEP, DELETE, KEEP]


@pytest.mark.spec("C13")
@pytest.mark.parametrize(
    ("edits", "expected"),
    [
        ([], "a b c"),
        ([DELETE], "b c"),
        (["x", KEEP], "x a b c"),
        ([KEEP] * 3 + ["x"], "a b c x"),
        ([KEEP] * 5, "a b c"),
        ([DELETE] * 5 + ["x"], "x"),
    ],
)
def test_what_is_not_spoken_of_is_kept(edits: list[Symbol], expected: str) -> None:
    assert " ".join(rebuild("a b c".split(), edits)) == expected


@pytest.mark.spec("C13")
@given(SYMBOLS, st.lists(st.sampled_from(["x", "y", KEEP, DELETE]), max_size=12))
def test_applying_tells_which_operation_put_each_symbol_there(before: list[str], edits: list[Symbol]) -> None:
    symbols = list(apply_edits(before, edits))
    spoken = [number for _, number in symbols if number is not None]
    assert spoken == sorted(set(spoken))
    for symbol, number in symbols:
        if number is not None and edits[number] != KEEP:
            assert symbol == edits[number]
    left = len(before) - sum(isinstance(edit, type(KEEP)) for edit in edits)
    assert sum(number is None for _, number in symbols) == max(0, left)
