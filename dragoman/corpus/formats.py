"""Files with all languages in one: which reader has which ending."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from dragoman.corpus import catalogues, objects, parquet, tables, xml
from dragoman.corpus.tables import Columns
from dragoman.corpus.unit import State, Unit
from dragoman.errors import UserError
from dragoman.files import existing


class Format(NamedTuple):
    """How files of an ending are read: their units in the languages of these names, one after another, in an order that
    is always the same; and which two languages they have, the wanted ones if there are any. A fault is a UserError with
    file and line, or number of the unit. `packed`: also as .gz.
    """

    read: Callable[[str, Sequence[str]], Iterator[Unit]]
    languages: Callable[[str, Sequence[str]], Columns]
    packed: bool = True


def read(place: str, names: Sequence[str]) -> Iterator[Unit]:
    """All units of a file."""
    return _of(place).read(place, names)


def texts(place: str, names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """The same to train on: what is fuzzy is not translated, and what is obsolete is not there."""
    for unit in read(place, names):
        if unit.state is State.GOOD:
            yield unit.texts
        elif unit.state is State.FUZZY:
            yield (*unit.texts[:-1], "")


def languages(place: str, wanted: Sequence[str] = ()) -> Columns:
    """Which two languages hold the pairs. UserError where that is not clear."""
    return _of(place).languages(place, wanted)


def of_one_language(source: Path, target: Path) -> bool:
    """Whether two files are of a format that may have each language in a file of its own. UserError where they have
    both languages and there is nothing to put side by side.
    """
    own = [is_json(str(path)) for path in (source, target)]
    for path in (source, target):
        if str(path).endswith(ENDINGS) and not all(own):
            raise UserError(f"{path}: is a file of both languages; name it alone")
    return all(own)


def is_json(place: str) -> bool:
    """Whether it is of the format that may have each language in a file of its own."""
    return place.removesuffix(PACKED).endswith(".json")


def files(place: str, names: Sequence[str]) -> list[Path]:
    """The files that are read under this name. UserError where one is missing."""
    each = [place.replace(objects.EACH, name) for name in names] if objects.EACH in place else [place]
    for path in each:
        if not existing(path).exists():
            raise UserError(f"{path}: no such file")
    return list(map(existing, each))


def stem(place: str) -> str:
    """The name without its ending."""
    return place.removesuffix(PACKED).removesuffix(_ending(place))


def _of(place: str) -> Format:
    return FORMATS[_ending(place)]


def _ending(place: str) -> str:
    return next(ending for ending in FORMATS if place.removesuffix(PACKED).endswith(ending))


PACKED = ".gz"
FORMATS = {
    ".tsv": Format(tables.read_units, tables.languages),
    ".csv": Format(tables.read_units, tables.languages),
    ".jsonl": Format(tables.read_units, tables.languages),
    ".json": Format(objects.read, objects.languages),
    ".po": Format(catalogues.read_po, catalogues.po_languages),
    ".mo": Format(catalogues.read_mo, catalogues.mo_languages),
    ".tmx": Format(xml.read_tmx, xml.tmx_languages),
    ".xliff": Format(xml.read_xliff, xml.xliff_languages),
    ".xlf": Format(xml.read_xliff, xml.xliff_languages),
    ".parquet": Format(parquet.read, parquet.languages, packed=False),
}
ENDINGS = (*FORMATS, *(ending + PACKED for ending, each in FORMATS.items() if each.packed))
