"""What explains a translation, as tables in a terminal."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from rich.table import Table
from rich.text import Text

from dragoman.visualization.markup import isolated, visible

Values: TypeAlias = NDArray[np.float64]

LEAST = 0.005  # smaller values are 0.00
BESIDE = 0.5  # a second word is named where it does at least this part of what the first does
APART = "≠"


class Shown(NamedTuple):
    """A map (target words, columns) with the names of its columns; `signed` values have a sign."""

    values: Values
    columns: Sequence[str]
    signed: bool = False

    def most(self, row: int) -> str:
        """The columns that did most for a target word."""
        values = self.values[row]
        return ", ".join(_describe(self.columns[place], values[place], self.signed) for place in _most(values))


def words(
    target: Sequence[str],
    log_probs: Values,
    maps: Mapping[str, Shown],
    sources: Shown | None = None,
    confidence: Values | None = None,
) -> Table:
    """A row for each target word: its confidence, or else its probability, and by each method the columns of its map
    (target words, columns) that did most. Words for which the methods name different ones are marked. `sources` are the
    shares of sources.
    """
    heading, sure = ("p", np.exp(log_probs)) if confidence is None else ("confidence", confidence)
    table = _table("word", heading, *(["sources"] if sources else []), *maps, "")
    table.columns[1].justify = "right"
    for row, word in enumerate(target):
        cells = [shown.most(row) for shown in ([sources] if sources else []) + [*maps.values()]]
        first = {places[0] for shown in maps.values() if (places := _most(shown.values[row]))}
        table.add_row(
            *map(Text, (isolated(visible(word)), f"{sure[row]:.2f}", *cells, APART if len(first) > 1 else ""))
        )
    return table


def contrast(rows: Sequence[Sequence[str]]) -> Table:
    """The rows of `differences` as a table."""
    head, *body = rows
    table = _table(*head)
    table.columns[1].justify = "right"
    for row in body:
        table.add_row(*map(Text, row))
    return table


def differences(changes: Iterable[tuple[str, float, Mapping[str, Values]]], names: Sequence[str]) -> list[list[str]]:
    """A row of texts for each place where two translations differ, behind a row of headings: what stands there, what
    log P has more, and by each method the columns (names,) that did most for it.
    """
    differing = list(changes)
    rows = [["instead", "log P", *dict.fromkeys(method for *_, maps in differing for method in maps)]]
    for label, difference, maps in differing:
        cells = (
            ", ".join(_describe(names[place], values[place], True) for place in _most(values))
            for values in maps.values()
        )
        rows.append([label, f"{difference:+.2f}", *cells])
    return rows


def nearest(matches: Iterable[tuple[str, float, str]]) -> Table:
    """A row for each similar training pair, given as translation, similarity and source."""
    table = _table("similar", "source", "translation")
    for translation, score, source in matches:
        table.add_row(*map(Text, (f"{score:.2f}", visible(source), visible(translation))))
    return table


def _table(*heads: str) -> Table:
    return Table(*heads, box=None, pad_edge=False, header_style="dim")


def _most(values: Values) -> list[int]:
    """The place of the largest value, if it is LEAST or more, and that of the second if it is not much smaller."""
    finite = np.nan_to_num(values, neginf=0.0)
    order = np.argsort(-finite, kind="stable")[:2].tolist()
    return [place for place in order if finite[place] >= max(LEAST, BESIDE * finite[order[0]])]


def _describe(name: str, value: float, signed: bool) -> str:
    return f"{isolated(visible(name))} {value:{'+' if signed else ''}.2f}"
