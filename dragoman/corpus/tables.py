"""Files of columns: TSV, CSV and JSON Lines (one object per line). Each row is an example, each cell a text."""

import csv
import json
import re
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Any, NamedTuple

from dragoman.configuration.config import COLUMNS, CSV
from dragoman.corpus.unit import Unit, cell
from dragoman.errors import UserError
from dragoman.files import LONGEST_TEXT, read_lines, shown

OBJECTS = (".jsonl", ".jsonl.gz")  # JSON Lines, with the names as keys
LONGEST_ROW = 10 * LONGEST_TEXT  # characters of a line with all its columns
PLAIN = ("source", "target")  # names of unnamed columns
SHOWN = 40  # characters (or columns) that an error message quotes

# Usual names of columns: their role or their language.
ROLES = "source target src tgt trg mt hyp hypothesis pe ref reference original translation input output".split()
CODES = (
    "aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el en "
    "eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu ja jv "
    "ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne "
    "ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st "
    "su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu "
    "ara bel ben bul cat ces cmn cze dan deu dut ell eng est eus fas fin fra fre ger gle glg gre grc hbs heb hin hrv "
    "hsb hun hye ice ind isl ita jpn kat kaz khm kor lat lav lit mal mar mkd mlt mon msa nld nno nob nor pan per pol "
    "por ron rum rus san slk slo slv som spa sqi srp swa swe tam tel tgl tha tur ukr urd uzb vie wel yor yue zho zul"
).split()
LANGUAGES = (
    "afrikaans albanian amharic arabic armenian azerbaijani basque belarusian bengali bosnian breton bulgarian "
    "catalan chinese croatian czech danish dutch english esperanto estonian finnish french galician georgian german "
    "greek gujarati hausa hebrew hindi hungarian icelandic igbo indonesian irish italian japanese kannada kazakh "
    "khmer korean kurdish lao latin latvian lithuanian luxembourgish macedonian malay malayalam maltese marathi "
    "mongolian nepali norwegian pashto persian polish portuguese punjabi romanian russian sanskrit serbian sinhala "
    "slovak slovenian somali sorbian spanish swahili swedish tamil telugu thai tibetan turkish ukrainian urdu uzbek "
    "vietnamese welsh wolof xhosa yiddish yoruba zulu"
).split()
NUMBERS = ("id", "no")  # beside two other languages, these are row numbers, not Indonesian and Norwegian
KNOWN = frozenset([*ROLES, *CODES, *LANGUAGES])

_DETAILED = re.compile(r"([a-z]+)[-_ ][a-z0-9]{2,8}")  # en-US, pt_BR, source_text


class Row(NamedTuple):
    """The cells of a row, and the line (from 1) that it begins on."""

    line: int
    cells: list[str]


class Columns(NamedTuple):
    """The names of the columns that hold a pair, and the header if there is one."""

    names: tuple[str, ...]
    header: Row | None


def read_units(path: str, names: Sequence[str]) -> Iterator[Unit]:
    """The rows of `read_table`."""
    return map(Unit, read_table(path, names))


def read_table(path: str, names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield the texts in the columns with these names, row by row.

    In JSON Lines the names are keys. In a TSV (without quoting) or CSV (with quoting if a cell needs it) they are in
    the header, a first row that contains all of the names; there may be other columns. Without a header, the file must
    have exactly these columns, in that order. A line end inside a cell becomes a space. A cell with more than
    LONGEST_TEXT characters is cut after LONGEST_TEXT + 1. Raises a UserError with file and line if a row lacks a column
    or is malformed.
    """
    if path.endswith(OBJECTS):
        for found in _objects(path):
            yield tuple(value(found.values, name, f"{shown(path)}:{found.line}") for name in names)
        return
    rows = _rows(path)
    first = next(rows, None)
    if first is None:
        return
    header = _header(first, names, path)
    places = [header.cells.index(name) for name in names] if header else range(len(names))
    width = len(first.cells) if header else len(names)
    for row in rows if header else chain([first], rows):
        if len(row.cells) != width:
            raise UserError(_ragged(path, row, width, names, header))
        yield tuple(cell(row.cells[place]) for place in places)


def header(path: str, names: Sequence[str]) -> Row | None:
    """The header of a file, if `read_table` takes its first row for one."""
    first = next(_rows(path), None) if path.endswith(COLUMNS) else None
    return _header(first, names, path) if first else None


def about_header(path: str, names: Sequence[str]) -> str | None:
    """A note for the user if the first row is taken for a header, or looks like one but is taken for a pair."""
    first = next(_rows(path), None) if path.endswith(COLUMNS) else None
    if first and _header(first, names, path):
        return f"line {first.line} is a header and no pair, columns {', '.join(first.cells)}"
    if first and _names_columns(first.cells):
        wanted = f"for a header it would have {', '.join(names)}"
        return f"line {first.line} is taken for a pair ({', '.join(first.cells)}); {wanted}"
    return None


def languages(path: str, wanted: Sequence[str] = ()) -> Columns:
    """The two columns that hold the pairs: the `wanted` ones, or those that the first row names as a language, source
    or target.

    The first row is a header if it contains the `wanted` names, or if all of its cells differ, at least two of them
    (both, if there are two) are such names, and none looks like a sentence. Without a header, two columns are called
    source and target, or by the `wanted` names. UserError if it is not clear which two columns to use.
    """
    cells, header, named = list[str](), None, False
    if path.endswith(OBJECTS):
        for row in islice(_objects(path), 1):
            cells, named = keys(row.values), True
    else:
        for header in islice(_rows(path), 1):
            cells = [each.strip() for each in header.cells]
            named = _names_columns(cells) or bool(wanted and set(wanted) <= set(cells))
    if not named and len(cells) <= 2:
        return Columns(tuple(wanted) or PLAIN, None)
    return Columns(two_of(cells if named else (), wanted, f"{shown(path)}:1", "as line 1 names them", cells), header)


def keys(values: dict[str, Any]) -> list[str]:
    """Those of texts."""
    return [key for key, value in values.items() if isinstance(value, str)]


def two_of(
    names: Sequence[str], wanted: Sequence[str], where: str, named: str, cells: Sequence[str] = ()
) -> tuple[str, ...]:
    """Which two of the columns of these names hold the pairs, as `languages` says. UserError that tells what is there
    (`cells`, if not the names) where it is not clear.
    """
    called = [name for name in names if is_name(name)]
    if len(called) > 2:
        called = [name for name in called if name.lower() not in NUMBERS]
    two = tuple(wanted or (called if len(called) == 2 else names))
    if len(two) == 2 and set(two) <= set(names):
        return two
    found = ", ".join(each[:SHOWN] for each in (cells or names)[:SHOWN])
    told = f"{len(cells or names)} columns; which two? Say --columns NAME,NAME, {named}"
    raise UserError(f"{where}: {told} (it has: {found})")


def _names_columns(cells: Sequence[str]) -> bool:
    named = sum(map(is_name, cells))
    other = all(len(each.split()) <= 3 and each[-1:] not in (".", "!", "?") for each in cells)
    return len(set(cells)) == len(cells) and named >= 2 and (named == len(cells) or len(cells) > 2) and other


def is_name(cell: str) -> bool:
    """Whether this is a usual name of a column of texts in one language."""
    name = cell.strip().lower()
    detailed = _DETAILED.fullmatch(name)
    return name in KNOWN or bool(detailed and detailed[1] in KNOWN)


def _header(first: Row, names: Sequence[str], path: str) -> Row | None:
    """The first row as a header if it contains all of the names. UserError if a name occurs more than once in it."""
    cells = [each.strip() for each in first.cells]
    if len(set(names)) < len(names) or not set(names) <= set(cells):
        return None
    for name in names:
        if cells.count(name) > 1:
            raise UserError(f"{shown(path)}:{first.line}: more than one column is called {name}")
    return Row(first.line, cells)


def _ragged(path: str, row: Row, width: int, names: Sequence[str], header: Row | None) -> str:
    mark = "comma" if path.endswith(CSV) else "tab"
    marks = f"one {mark}" if width == 2 else f"{mark}s"
    hint = "" if header or row.line > 1 else f" (with other columns, line 1 has to name them: {', '.join(names)})"
    return f"{shown(path)}:{row.line}: expected {width} columns separated by {marks}, found {len(row.cells)}{hint}"


def _rows(path: str) -> Iterator[Row]:
    """All rows of a TSV or CSV, including a header."""
    if path.endswith(CSV):
        return _csv(path)
    return (Row(number, line.split("\t")) for number, line in _lines(path))


def _csv(path: str) -> Iterator[Row]:
    """The rows of a CSV, without blank lines."""
    reader = csv.reader((f"{line}\n" for _, line in _lines(path)), strict=True)
    line = 1
    try:
        for cells in reader:
            if cells:
                yield Row(line, cells)
            line = reader.line_num + 1
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
            found = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise UserError(f"{shown(path)}:{number}: not JSON ({error})") from None
        if not isinstance(found, dict):
            raise UserError(f"{shown(path)}:{number}: expected a JSON object, with a text under each key")
        yield Object(number, found)


def value(values: dict[str, Any], name: str, where: str) -> str:
    """The text under a key. UserError where there is none."""
    if name not in values:
        raise UserError(f"{where}: has no key {name}")
    found = values[name]
    if not isinstance(found, str):
        raise UserError(f"{where}: {name}: expected a text, found {json.dumps(found)[:SHOWN]}")
    return cell(found)


def _lines(path: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(read_lines(path, LONGEST_ROW), start=1):
        if len(line) > LONGEST_ROW:
            raise UserError(
                f"{shown(path)}:{number}: more than {LONGEST_ROW:,} characters, the most that a row may have"
            )
        yield number, line
