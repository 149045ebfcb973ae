"""Reads the tables of the lexicon: UTF-8, tabs between cells, the first line names the columns, "-" is nothing."""

from __future__ import annotations

from collections.abc import Callable, Collection
from importlib import resources
from inspect import signature
from pathlib import Path
from typing import TypeVar

from dragoman.errors import UserError
from dragoman.files import read_lines

PERSONS = 5  # I, you, he, we, they
Entry = TypeVar("Entry")


def table(name: str, make: Callable[..., Entry]) -> list[Entry]:
    """The entries of a table that comes with the phrasebook."""
    file = resources.files("dragoman.phrasebook") / "lexicon" / f"{name}.tsv"
    with resources.as_file(file) as path:
        return read(path, make)


def read(path: Path, make: Callable[..., Entry]) -> list[Entry]:
    """What `make` makes of the cells of each row; the columns are its parameters.

    UserError with file and line where the columns are others, a row has more or fewer cells or an empty one, two rows
    begin with the same two cells, or `make` raises ValueError.
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
    """The cells of a row, "" for nothing."""
    cells = row.split("\t")
    if len(cells) != len(columns):
        raise ValueError(f"expected {len(columns)} cells ({', '.join(columns)}), found {len(cells)}")
    for name, cell in zip(columns, cells, strict=True):
        if not cell or cell != cell.strip():
            raise ValueError(f"{name}: {cell!r}, expected a text without spaces around it, or - for nothing")
    return ["" if cell == "-" else cell for cell in cells]


def one_of(cell: str, options: Collection[str]) -> str:
    """The cell, or ValueError where it is none of the options."""
    if cell not in options:
        raise ValueError(f"{cell!r}, expected one of {', '.join(options)}")
    return cell


def by_person(cell: str) -> tuple[str, ...]:
    """The forms of a verb for I, you, he, we and they. ValueError where they are more or fewer."""
    forms = tuple(cell.split())
    if len(forms) != PERSONS:
        raise ValueError(f"{cell!r}, expected {PERSONS} forms")
    return forms
