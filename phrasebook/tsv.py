"""Reading of the lexicon's tables: UTF-8, tabs between cells, column names in the first line, "-" for an empty cell."""

from __future__ import annotations

from collections.abc import Callable, Collection
from importlib import resources
from inspect import signature
from pathlib import Path
from typing import TypeVar

from dragoman.errors import UserError
from dragoman.files.reading import read_lines

PERSONS = 5  # I, you, he, we, they
Entry = TypeVar("Entry")


def table(name: str, make: Callable[..., Entry]) -> list[Entry]:
    """Return the entries of a table of the phrasebook."""
    file = resources.files("phrasebook") / "lexicon" / f"{name}.tsv"
    with resources.as_file(file) as path:
        return read(path, make)


def read(path: Path, make: Callable[..., Entry]) -> list[Entry]:
    """Return the result of `make` for the cells of each row; the columns are its parameters.

    Raises UserError with file and line if the columns differ, if a row has more or fewer cells or an empty one, if two
    rows begin with the same two cells, or if `make` raises ValueError.
    """
    columns = list(signature(make).parameters)
    header, *rows = [*read_lines(path)] or [""]
    if header.split("\t") != columns:
        raise UserError(f"{path}:1: expected the columns {', '.join(columns)}")
    entries: list[Entry] = []
    seen: set[tuple[str, ...]] = set()
    for number, row in enumerate(rows, start=2):
        try:
            cells = _cells(row, columns)
            if tuple(cells[:2]) in seen:
                raise ValueError(f"{' '.join(cells[:2])} stands further up, too")
            entries.append(make(*cells))
        except ValueError as error:
            raise UserError(f"{path}:{number}: {error}") from error
        seen.add(tuple(cells[:2]))
    return entries


def _cells(row: str, columns: list[str]) -> list[str]:
    """Return the cells of a row, "" for "-"."""
    cells = row.split("\t")
    if len(cells) != len(columns):
        raise ValueError(f"expected {len(columns)} cells ({', '.join(columns)}), found {len(cells)}")
    for name, cell in zip(columns, cells, strict=True):
        if not cell or cell != cell.strip():
            raise ValueError(f"{name}: {cell!r}, expected a text without spaces around it, or - for nothing")
    return ["" if cell == "-" else cell for cell in cells]


def one_of(cell: str, options: Collection[str]) -> str:
    """Return the cell. Raises ValueError if it is not one of the options."""
    if cell not in options:
        raise ValueError(f"{cell!r}, expected one of {', '.join(options)}")
    return cell


def by_person(cell: str) -> tuple[str, ...]:
    """Return the forms of a verb for I, you, he, we and they. Raises ValueError if their number differs."""
    forms = tuple(cell.split())
    if len(forms) != PERSONS:
        raise ValueError(f"{cell!r}, expected {PERSONS} forms")
    return forms
