"""A text as edit operations on another: what post-editing models say (Libovicky and Helcl 2017, section 4.2)."""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from dragoman.text.mark import Mark, Symbol

KEEP: Final = Mark("<keep>")
DELETE: Final = Mark("<delete>")
OPERATIONS: Final = (KEEP, DELETE)


def operations(before: Sequence[str], after: Sequence[str]) -> list[Symbol]:
    """The fewest operations that make `after` of `before`: keep its next symbol, delete it, or insert a symbol, which
    stands for itself. What they make of `before`, by `applied`, is `after`, whatever the symbols.

    Keeping costs nothing, the others 1 each. Of equally cheap ways it is the one that keeps as soon as it can, then
    inserts: a replacement is the new symbol inserted and the old one deleted.
    """
    costs = _costs(before, after)
    found: list[Symbol] = []
    i = j = 0
    while i < len(before) or j < len(after):
        if i < len(before) and j < len(after) and before[i] == after[j]:  # no way is cheaper
            found.append(KEEP)
            i, j = i + 1, j + 1
        elif j < len(after) and costs[i, j] == costs[i, j + 1] + 1:
            found.append(after[j])
            j += 1
        else:
            found.append(DELETE)
            i += 1
    return found


def _costs(before: Sequence[str], after: Sequence[str]) -> npt.NDArray[np.int32]:
    """What it costs at least to make the rest of `after` from each place on of the rest of `before` (I + 1, J + 1)."""
    numbers = {symbol: number for number, symbol in enumerate({*before, *after})}
    old, new = (np.array([numbers[symbol] for symbol in side], np.int64) for side in (before, after))
    places = np.arange(len(after), -1, -1, dtype=np.int32)  # insertions that are left
    costs = np.empty((len(before) + 1, len(after) + 1), np.int32)
    costs[-1] = places
    for i in range(len(before) - 1, -1, -1):
        costs[i] = costs[i + 1] + 1
        kept = np.flatnonzero(new == old[i])
        costs[i, kept] = np.minimum(costs[i, kept], costs[i + 1, kept + 1])
        # cost(j) = min over k >= j of cost(k) + (k - j): the insertions before k
        costs[i] = np.minimum.accumulate((costs[i] - places)[::-1])[::-1] + places
    return costs


def applied(before: Sequence[str], said: Sequence[Symbol]) -> Iterator[tuple[str, int | None]]:
    """What these operations make of some symbols: each with the number of the operation that put it there, None where
    nothing was said of it. Those that fewer operations leave are kept; operations beyond the last symbol do nothing.
    """
    rest = iter(before)
    for number, operation in enumerate(said):
        if operation == KEEP:
            yield from ((symbol, number) for symbol in _next(rest))
        elif operation == DELETE:
            next(rest, None)
        else:
            yield str(operation), number
    yield from ((symbol, None) for symbol in rest)


def _next(rest: Iterator[str]) -> Iterator[str]:
    """The next one, if there is one."""
    for symbol in rest:
        yield symbol
        return
