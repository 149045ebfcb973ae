"""Every two values that can occur together do."""

from collections.abc import Callable
from itertools import combinations, product
from pathlib import Path
from typing import cast

import pytest

from tests.covering import Row, cases, covering, every_value, mark_products, together

OPTIONS = {"size": ["s", "m", "l"], "color": ["red", "green", "blue", "gray"], "shape": ["o", "x"], "edge": ["-", "="]}


def any_row(row: Row) -> bool:
    return True


def no_large_gray(row: Row) -> bool:
    return (row.get("size"), row.get("color")) != ("l", "gray")


@pytest.mark.parametrize("possible", [any_row, no_large_gray])
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
    assert 12 <= len(rows) <= 14  # sizes times colors at least, of 48
    assert rows == covering(OPTIONS)


def test_a_row_that_cannot_be_completed_is_told() -> None:
    def no_shape(row: Row) -> bool:
        return "shape" not in row or "size" not in row

    with pytest.raises(ValueError, match="no value of shape goes with"):
        covering({"size": ["s"], "color": ["red"], "shape": ["o"]}, no_shape)


def test_cases_in_which_every_value_occurs_are_quick() -> None:
    rows = covering(OPTIONS)
    quick = [cast(Row, case.values[0]) for case in cases(rows) if not case.marks]
    assert {item for row in quick for item in row.items()} == {item for row in rows for item in row.items()}
    assert len(quick) == 4  # as many as there are colors
    assert [case.values[0] for case in cases(rows)] == rows
    assert every_value([]) == set()


PARAMETRIZED = """
import pytest

@pytest.mark.parametrize("size", range(2))
@pytest.mark.parametrize(("color", "shape"), [("red", "o"), ("blue", "o"), ("red", "x")])
def test_twice(size, color, shape): ...

@pytest.mark.parametrize(("size", "color"), [(0, "red"), (0, "blue"), (1, "red"), (1, "blue")])
def test_once(size, color): ...

def test_never(): ...
"""


@pytest.mark.slow
def test_a_test_that_is_parametrized_twice_is_quick_in_every_case_of_either(tmp_path: Path) -> None:
    quick: list[str] = []

    class Collector:
        def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
            mark_products(items)
            quick.extend(item.name for item in items if not item.get_closest_marker("slow"))

    (tmp_path / "test_it.py").write_text(PARAMETRIZED)
    words = ["--collect-only", "-q", "-p", "no:cacheprovider", f"--rootdir={tmp_path}", "-c", "/dev/null"]
    assert pytest.main([*words, str(tmp_path)], [Collector()]) == 0
    assert [name for name in quick if not name.startswith("test_twice")] == [
        *(f"test_once[{size}-{color}]" for size in (0, 1) for color in ("red", "blue")),
        "test_never",
    ]
    twice = [name.removeprefix("test_twice[").split("-", 2) for name in quick if name.startswith("test_twice")]
    assert len(twice) == 3
    assert {(color, shape) for color, shape, _ in twice} == {("red", "o"), ("blue", "o"), ("red", "x")}
    assert {size for *_, size in twice} == {"0]", "1]"}
