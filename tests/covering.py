"""Few choices of options in which every two values occur together, in the place of all that can be made of them."""

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import combinations
from typing import Any

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
