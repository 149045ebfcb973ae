"""Few choices of options in which every two values occur together, in the place of all that can be made of them."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from _pytest.mark import ParameterSet

Row = Mapping[str, Any]
Pair = frozenset[tuple[str, Any]]  # of (option, value)


def together(row: Row) -> set[Pair]:
    """The pairs of values in a row."""
    return {frozenset(pair) for pair in combinations(row.items(), 2)}


def covering(
    options: Mapping[str, Sequence[Any]], possible: Callable[[Row], bool] = lambda row: True
) -> list[dict[str, Any]]:
    """Rows with a value of every option, such that any two values that can occur together do so in one of them.

    `possible` says whether a choice of some options can be, those that are chosen so far; it must find a fault as soon
    as the two values are there that make it. Greedy: a row begins with the first pair that is missing still, and takes
    for each other option the value that brings most of what is missing. The same rows every time.
    """
    pairs = [
        {one: first, other: second}
        for one, other in combinations(options, 2)
        for first in options[one]
        for second in options[other]
    ]
    missing = {frozenset(pair.items()): pair for pair in pairs if possible(pair)}
    rows = []
    while missing:
        row = dict(next(iter(missing.values())))
        for name in options:
            if name not in row:
                row[name] = _best(row, name, options[name], missing.keys(), possible)
        for pair in together(row):
            missing.pop(pair, None)
        rows.append({name: row[name] for name in options})
    return rows


def _best(
    row: Row, name: str, values: Sequence[Any], missing: Collection[Pair], possible: Callable[[Row], bool]
) -> Any:
    """The value of an option that brings most missing pairs to a row, or else the first one that is possible."""
    fine = [value for value in values if possible({**row, name: value})]
    if not fine:
        raise ValueError(f"no value of {name} goes with {dict(row)}")
    return max(fine, key=lambda value: sum(frozenset([item, (name, value)]) in missing for item in row.items()))


def every_value(rows: Sequence[Row]) -> set[int]:
    """Numbers of a few rows in which every value of these rows occurs."""
    missing = {item for row in rows for item in row.items()}
    chosen = set()
    while missing:
        number = max(range(len(rows)), key=lambda number: len(missing & rows[number].items()))
        missing -= rows[number].items()
        chosen.add(number)
    return chosen


def cases(rows: Sequence[Row]) -> list[ParameterSet]:
    """Rows as cases of a test: `make quick` runs those in which every value occurs, `make test` all of them."""
    quick = every_value(rows)
    return [
        pytest.param(row, marks=[] if number in quick else pytest.mark.slow, id="-".join(map(str, row.values())))
        for number, row in enumerate(rows)
    ]


def mark_products(items: Iterable[pytest.Item]) -> None:
    """Mark cases of tests that are parametrized more than once slow, all but a few in which every case of each
    parametrization occurs.
    """
    by_test: dict[tuple[Path, str], list[pytest.Function]] = {}
    for item in items:
        if isinstance(item, pytest.Function) and hasattr(item, "callspec"):
            by_test.setdefault((item.path, item.originalname), []).append(item)
    for functions in by_test.values():
        quick = every_value([_parameters(function) for function in functions])
        for number, function in enumerate(functions):
            if number not in quick:
                function.add_marker(pytest.mark.slow)


def _parameters(function: pytest.Function) -> Row:
    """What a case has of each parametrization, and of each fixture with parameters, by identity."""
    values = dict(function.callspec.params)
    row: dict[str, Any] = {}
    for mark in function.iter_markers("parametrize"):
        names = mark.args[0]
        names = [name.strip() for name in names.split(",")] if isinstance(names, str) else names
        row[",".join(names)] = tuple(id(values.pop(name)) for name in names)
    return row | {name: id(value) for name, value in values.items()}
