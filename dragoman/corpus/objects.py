"""JSON in whole files: a list of objects, or a file for each language with a text under each key."""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from dragoman.corpus.naming import SHOWN, Columns
from dragoman.corpus.tables import keyed, values
from dragoman.corpus.translation_unit import TranslationUnit, cell
from dragoman.errors import UserError
from dragoman.files.reading import read_chunks, shown

EACH = "{}"  # stands in a path for the language, where each has a file of its own: locales/{}.json


def read(path: str, names: Sequence[str]) -> Iterator[TranslationUnit]:
    """The objects of a list, each with a text under the names. Of a path with EACH, the texts of the first language,
    and what the other files have under the same key; those of nested objects and lists are parts of these, and numbers,
    true, false and null are no texts.
    """
    if EACH in path:
        yield from _side_by_side([path.replace(EACH, name) for name in names])
        return
    yield from map(TranslationUnit, values(_items(path), names, shown(path)))


def languages(path: str, wanted: Sequence[str]) -> Columns:
    """Which keys hold the pairs, by the first object; or which files."""
    if EACH in path:
        if len(wanted) != 2:
            raise UserError(f"{path}: choose two with --columns NAME,NAME, the file names in place of {EACH}")
        return Columns(tuple(wanted))
    rows = (item for item in _list(path) if isinstance(item, dict))
    return keyed(rows, wanted, shown(path) if wanted else f"{shown(path)}: item 1", "keys that it has")


def pattern(source: Path, target: Path) -> tuple[str, tuple[str, str]]:
    """The path with EACH that stands for the files of two languages, and the names of these: en.json beside de.json, or
    en/x.json beside de/x.json. UserError where they are called otherwise.
    """
    parts = [re.split(r"([/.])", path.as_posix()) for path in (source, target)]
    differ = [number for number, (one, other) in enumerate(zip(*parts, strict=False)) if one != other]
    if len(differ) != 1 or len(parts[0]) != len(parts[1]):
        raise UserError(f"{source} and {target}: expected en.json and de.json in a folder, or x.json in en and in de")
    (place,) = differ
    return "".join([*parts[0][:place], EACH, *parts[0][place + 1 :]]), (parts[0][place], parts[1][place])


def is_of_one_language(path: str) -> bool:
    """Whether it has texts under keys, and no list of objects."""
    return EACH not in path and isinstance(_loaded(path), dict)


def _side_by_side(paths: Sequence[str]) -> Iterator[TranslationUnit]:
    first, *rest = [dict(_flat(_object(path))) for path in paths]
    for key, text in first.items():
        yield TranslationUnit((cell(text), *(cell(texts.get(key, "")) for texts in rest)))
    for key in dict.fromkeys(key for texts in rest for key in texts if key not in first):
        yield TranslationUnit(("", *(cell(texts.get(key, "")) for texts in rest)))


def _flat(content: Any) -> Iterator[tuple[tuple[str, ...], str]]:
    """The texts with the keys on the way to each. Not by recursion, since files may be nested however deep."""
    rest: list[tuple[tuple[str, ...], Any]] = [((), content)]
    while rest:
        way, content = rest.pop()
        if isinstance(content, str):
            yield way, content
        elif isinstance(content, (dict, list)):
            inner = content.items() if isinstance(content, dict) else enumerate(content)
            rest += reversed([((*way, str(key)), value) for key, value in inner])


def _items(path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of a list, each with its place."""
    for number, content in enumerate(_list(path), start=1):
        where = f"{shown(path)}: item {number:,}"
        if not isinstance(content, dict):
            raise UserError(f"{where}: expected a JSON object, with a text under each key")
        yield where, content


def _object(path: str) -> dict[str, Any]:
    content = _loaded(path)
    if not isinstance(content, dict):
        raise UserError(f"{shown(path)}: expected a JSON object, with a text under each key")
    return content


def _list(path: str) -> list[Any]:
    content = _loaded(path)
    if isinstance(content, list):
        return content
    other = "a list of objects; the file of one language goes with that of another, as locales/{}.json says"
    raise UserError(f"{shown(path)}: expected {other}, found {json.dumps(content)[:SHOWN]}")


def _loaded(path: str) -> Any:
    data = b"".join(read_chunks(path))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UserError(f"{shown(path)}:{line}: not UTF-8") from None
    return parse_json(text, shown(path))


def parse_json(text: str, name: str) -> Any:
    """Return what is in a file of JSON. UserError with the line where it is malformed."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        line, problem = error.lineno, f"{error.msg}, column {error.colno}"
    except RecursionError:
        line, problem = 1, "too deep"
    except ValueError:  # Python reads no integers of more than 4,300 digits
        line, problem = 1, "a number has too many digits"
    raise UserError(f"{name}:{line}: not JSON ({problem})")
