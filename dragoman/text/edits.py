"""A text as edit operations on another, the output of post-editing models (Libovicky and Helcl 2017, section 4.2)."""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from dragoman.text.mark import Mark, Symbol

KEEP: Final = Mark("<keep>")
DELETE: Final = Mark("<delete>")
OPERATIONS: Final = (KEEP, DELETE)


def operations(before: Sequence[str], after: Sequence[str]) -> list[Symbol]:
    """The cheapest operations that turn `before` into `after`: keep the next symbol, delete it, or insert a symbol,
    which is written as itself. `applied` to `before`, they give `after` for any symbols.

    Keeping is free, inserting and deleting cost 1 each. Of equally cheap sequences, this is the one that keeps as early
    as possible, then inserts: a replacement is the insertion of the new symbol, then the deletion of the old one.
    """
    costs = _costs(before, after)
    edits: list[Symbol] = []
    i = j = 0
    while i < len(before) or j < len(after):
        if i < len(before) and j < len(after) and before[i] == after[j]:  # nothing is cheaper
            edits.append(KEEP)
            i, j = i + 1, j + 1
        elif j < len(after) and costs[i, j] == costs[i, j + 1] + 1:
            edits.append(after[j])
            j += 1
        else:
            edits.append(DELETE)
            i += 1
    return edits


def _costs(before: Sequence[str], after: Sequence[str]) -> npt.NDArray[np.int32]:
    """The least cost (I + 1, J + 1) of turning `before[i:]` into `after[j:]`, for each i and j."""
    numbers = {symbol: number for number, symbol in enumerate({*before, *after})}
    old, new = (np.array([numbers[symbol] for symbol in side], np.int64) for side in (before, after))
    places = np.arange(len(after), -1, -1, dtype=np.int32)  # the insertions that remain
    costs = np.empty((len(before) + 1, len(after) + 1), np.int32)
    costs[-1] = places
    for i in range(len(before) - 1, -1, -1):
        costs[i] = costs[i + 1] + 1
        kept = np.flatnonzero(new == old[i])
        costs[i, kept] = np.minimum(costs[i, kept], costs[i + 1, kept + 1])
        # cost(j) = min over k >= j of cost(k) + (k - j): the insertions before k
        costs[i] = np.minimum.accumulate((costs[i] - places)[::-1])[::-1] + places
    return costs


def apply_edits(before: Sequence[str], edits: Sequence[Symbol]) -> Iterator[tuple[str, int | None]]:
    """Apply the operations `edits` to `before` and yield each symbol with the number of the operation that kept or
    inserted it. If there are too few operations, the remaining symbols are kept, with None as their number. A keep or
    delete beyond the last symbol does nothing.
    """
    rest = iter(before)
    for number, operation in enumerate(edits):
        if operation == KEEP:
            yield from ((symbol, number) for symbol in _next(rest))
        elif operation == DELETE:
            next(rest, None)
        else:
            yield str(operation), number
    yield from ((symbol, None) for symbol in rest)


def _next(rest: Iterator[str]) -> Iterator[str]:
    """Yield the next symbol, if there is one."""
    for symbol in rest:
        yield symbol
        return
