"""Files of columns: TSV, CSV and JSON Lines (one object per line). Each row is an example, each cell a text."""

import csv
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

from dragoman.configuration.data import COLUMNS, CSV
from dragoman.corpus.naming import PLAIN, SHOWN, Columns, match, missing, names_columns, two_of
from dragoman.corpus.translation_unit import TranslationUnit, cell
from dragoman.errors import UserError
from dragoman.files.reading import LONGEST_TEXT, read_lines, shown

OBJECTS = (".jsonl", ".jsonl.gz")  # JSON Lines, with the names as keys
LONGEST_ROW = 10 * LONGEST_TEXT  # characters of a line with all its columns
_SEPARATOR = re.compile(r"""("?)sep=([^"\w\r\n ])\1\s*""", re.IGNORECASE)  # of Excel


class Row(NamedTuple):
    """The cells of a row, and the line (from 1) that it begins on."""

    line: int
    cells: list[str]


def read_units(path: str, names: Sequence[str]) -> Iterator[TranslationUnit]:
    """The rows of `read_table`."""
    return map(TranslationUnit, read_table(path, names))


def read_table(path: str, names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield the texts in the columns with these names, row by row.

    In JSON Lines the names are keys. In a TSV (without quoting) or CSV (with quoting if a cell needs it) they are in
    the header, which may have others; it names languages as `naming.match` compares them. A first row is a header if it
    has all of the names, or if its cells look like names of columns. Without a header, the file must have exactly these
    columns, in that order. A line end inside a cell becomes a space. A cell with more than LONGEST_TEXT characters is
    cut after LONGEST_TEXT + 1. Raises a UserError with file and line if a row lacks a column or is malformed, or if a
    header names other languages.
    """
    if path.endswith(OBJECTS):
        objects = ((f"{shown(path)}:{entry.line}", entry.values) for entry in _objects(path))
        yield from values(objects, names, shown(path))
        return
    table_rows = rows(path)
    first = next(table_rows, None)
    if first is None:
        return
    places = _places(first, names, path)
    width = len(first.cells) if places else len(names)
    for row in table_rows if places else chain([first], table_rows):
        if len(row.cells) != width:
            raise UserError(_ragged(path, row, width, () if places else names))
        yield tuple(cell(row.cells[place]) for place in places or range(width))


def header(path: str, names: Sequence[str]) -> Row | None:
    """The header of a file, if `read_table` takes its first row for one."""
    first = next(rows(path), None) if path.endswith(COLUMNS) else None
    return first if first and _places(first, names, path) else None


def row_lines(path: str, names: Sequence[str]) -> Iterator[int]:
    """The line that each row of `read_table` begins on."""
    if path.endswith(OBJECTS):
        return (row.line for row in _objects(path))
    named = header(path, names)
    return (row.line for row in rows(path) if named is None or row.line > named.line)


def about_header(path: str, names: Sequence[str]) -> str | None:
    """A note for the user if the first row is taken for a header."""
    row = header(path, names)
    return f"line {row.line} is a header and no pair, columns {', '.join(row.cells)}" if row else None


def languages(path: str, wanted: Sequence[str] = ()) -> Columns:
    """The two columns that hold the pairs: the `wanted` ones, or those that the first row names as a language, source
    or target.

    Without a header (`read_table`), two columns are called source and target, or by the `wanted` names. UserError if it
    is not clear which two columns to use.
    """
    where, named = f"{shown(path)}:1", "as named in line 1"
    if path.endswith(OBJECTS):
        return keyed((row.values for row in _objects(path)), wanted, shown(path) if wanted else where, named)
    first = next(rows(path), None)
    cells = [cell_text.strip() for cell_text in first.cells] if first else []
    if first and wanted and _places(first, wanted, path):
        return Columns(tuple(wanted), first.line)
    names = cells if names_columns(cells) else []
    if not names and len(cells) <= 2:
        return Columns(tuple(wanted) or PLAIN)
    if not names:
        named = "if line 1 is a header; otherwise add a header"
    return Columns(two_of(names, wanted, where, named, cells), first.line if first else None)


def names(path: str) -> list[str]:
    """Return the names of the columns; none if the first row is no header."""
    if path.endswith(OBJECTS):
        return keys(row.values for row in _objects(path)) or []
    first = next(rows(path), None)
    return [cell_text.strip() for cell_text in first.cells] if first and names_columns(first.cells) else []


def keyed(rows: Iterable[dict[str, Any]], wanted: Sequence[str], where: str, named: str) -> Columns:
    """The two keys that hold the pairs, as `two_of` chooses them from `keys`; any two if there is no row."""
    there = keys(rows, wanted)
    return Columns(tuple(wanted) or PLAIN if there is None else two_of(there, wanted, where, named))


def keys(rows: Iterable[dict[str, Any]], wanted: Sequence[str] = ()) -> list[str] | None:
    """The keys that have texts, or null in the place of one, in the first row, and in further ones until the `wanted`
    keys are among them; None if there is no row.
    """
    text_keys: dict[str, None] | None = None
    for values in rows:
        text_keys = (text_keys or {}) | {key: None for key, value in values.items() if isinstance(value, str | None)}
        if set(wanted) <= set(text_keys):
            break
    return None if text_keys is None else list(text_keys)


def _places(first: Row, names: Sequence[str], path: str) -> tuple[int, ...] | None:
    """Where the columns of these names are, if the first row is a header: if it contains all of the names, or names
    columns as `names_columns` says. UserError if these are not the wanted ones, or a name occurs more than once.
    """
    cells = [cell_text.strip() for cell_text in first.cells]
    where = f"{shown(path)}:{first.line}"
    if len(set(names)) < len(names):
        return None
    if set(names) <= set(cells):
        for name in names:
            if cells.count(name) > 1:
                raise UserError(f"{where}: more than one column is called {name}")
        return tuple(map(cells.index, names))
    if not names_columns(cells):
        return None
    places = match(names, cells)
    if None in places:
        there = ", ".join(cell_text[:SHOWN] for cell_text in cells[:SHOWN])
        absent = " or ".join(name for name, place in zip(names, places, strict=True) if place is None)
        above = ", ".join(names)
        raise UserError(
            f"{where}: seems to name the columns {there}, and has no {absent}; if it is a pair, add the header {above}"
        )
    return tuple(place for place in places if place is not None)


def _ragged(path: str, row: Row, width: int, wanted: Sequence[str]) -> str:
    """What is wrong with a row, and which names a header would have (`wanted`) if there is none."""
    if is_csv(path) and len(row.cells) == 1 and row.cells[0].count(";") >= width - 1:
        return f"{shown(path)}:{row.line}: seems to be separated by semicolons, expected commas"
    mark = "comma" if is_csv(path) else "tab"
    marks = f"one {mark}" if width == 2 else f"{mark}s"
    hint = f" (otherwise line 1 must be a header: {', '.join(wanted)})" if wanted and row.line == 1 else ""
    return f"{shown(path)}:{row.line}: expected {width} columns separated by {marks}, found {len(row.cells)}{hint}"


def is_csv(path: str) -> bool:
    """Whether commas separate the cells of a file of columns."""
    return path.lower().endswith(CSV)


def rows(path: str) -> Iterator[Row]:
    """All rows of a TSV or CSV, including a header."""
    if is_csv(path):
        return _csv(path)
    return (Row(number, line.split("\t")) for number, line in _lines(path))


def _csv(path: str) -> Iterator[Row]:
    """The rows of a CSV, without blank lines. A first line `sep=;`, as Excel reads it, names another separator and is
    no row.
    """
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_ROW))  # `_lines` has its own limit, of lines
    lines = (f"{line}\n" for _, line in _lines(path))
    first = next(lines, "")
    declared = _SEPARATOR.fullmatch(first)
    separator, skipped = (declared[2], 1) if declared else (",", 0)
    reader = csv.reader(lines if declared else chain([first], lines), delimiter=separator, strict=True)
    line = 1 + skipped
    try:
        for cells in reader:
            if cells:
                yield Row(line, cells)
            line = reader.line_num + 1 + skipped
    except csv.Error as error:
        raise UserError(f"{shown(path)}:{line}: not a row of CSV ({error})") from None


class Object(NamedTuple):
    """The values of a row by key, and its line number."""

    line: int
    values: dict[str, Any]


def _objects(path: str) -> Iterator[Object]:
    """The rows of a JSON Lines file, without blank lines."""
    for number, line in _lines(path):
        if not line.strip():
            continue
        try:
            content = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise UserError(f"{shown(path)}:{number}: not JSON ({error})") from None
        if not isinstance(content, dict):
            raise UserError(f"{shown(path)}:{number}: expected a JSON object, with a text under each key")
        yield Object(number, content)


def values(rows: Iterable[tuple[str, dict[str, Any]]], names: Sequence[str], path: str) -> Iterator[tuple[str, ...]]:
    """Yield the texts under these keys in each object, which comes with its place; where there is no key, or null, a
    text is not translated. UserError for anything else, or if no object at all has one of the keys.
    """
    never, there = dict.fromkeys(names), dict[str, None]()
    for where, row in rows:
        for name in names:
            if not isinstance(row.get(name), str | None):
                raise UserError(f"{where}: {name}: expected a text, found {json.dumps(row[name])[:SHOWN]}")
        if never:
            never = {name: None for name in never if name not in row}
            there |= dict.fromkeys(keys([row]) or ())
        yield tuple(cell(row.get(name) or "") for name in names)
    if never and there:
        raise missing(list(never), list(there), path)


def _lines(path: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(read_lines(path, LONGEST_ROW), start=1):
        if len(line) > LONGEST_ROW:
            raise UserError(f"{shown(path)}:{number}: more than {LONGEST_ROW:,} characters, the maximum for a row")
        yield number, line
