"""The formats of files that contain all languages, by the endings of their names."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from dragoman.corpus import catalogues, objects, parquet, tables, xml
from dragoman.corpus.naming import Columns
from dragoman.corpus.translation_unit import State, TranslationUnit
from dragoman.errors import UserError
from dragoman.files.reading import existing


class CorpusFormat(NamedTuple):
    """The reader of a format. `read` yields the units in the named languages, always in the same order; `languages`
    returns the two languages of the pairs, the wanted ones if given. Faults raise UserError with the file and the line,
    or the number of the unit. `packed`: may also be compressed (.gz).
    """

    read: Callable[[str, Sequence[str]], Iterator[TranslationUnit]]
    languages: Callable[[str, Sequence[str]], Columns]
    packed: bool = True


def read(place: str, names: Sequence[str]) -> Iterator[TranslationUnit]:
    """Yield the units of a file."""
    return _of(place).read(place, names)


def texts(place: str, names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield the texts to train on: fuzzy units count as untranslated, obsolete ones are left out."""
    for unit in read(place, names):
        if unit.state is State.GOOD:
            yield unit.texts
        elif unit.state is State.FUZZY:
            yield (*unit.texts[:-1], "")


def languages(place: str, wanted: Sequence[str] = ()) -> Columns:
    """Return the two languages of the pairs. UserError if this is ambiguous."""
    return _of(place).languages(place, wanted)


def of_one_language(source: Path, target: Path) -> bool:
    """Whether both files are of a format that allows one file per language. UserError if one of them contains both
    languages.
    """
    own = [is_json(str(path)) for path in (source, target)]
    for path in (source, target):
        if str(path).endswith(ENDINGS) and not all(own):
            raise UserError(f"{path}: is a file of both languages; name it alone")
    return all(own)


def is_json(place: str) -> bool:
    """Whether the format allows one file per language."""
    return place.removesuffix(PACKED).endswith(".json")


def files(place: str, names: Sequence[str]) -> list[Path]:
    """Return the files that this name stands for. UserError if one is missing."""
    paths = [place.replace(objects.EACH, name) for name in names] if objects.EACH in place else [place]
    for path in paths:
        if not existing(path).exists():
            raise UserError(f"{path}: no such file")
    return list(map(existing, paths))


def check_template(prefix: str) -> None:
    """UserError if what should be a prefix is a `.pot`, as which catalogues begin."""
    if prefix.endswith((".pot", ".pot.gz")) and Path(prefix).is_file():
        raise UserError(f"{prefix}: is a template, which has no translations; name the .po of a language")


def stem(place: str) -> str:
    """Return the name without its ending."""
    return place.removesuffix(PACKED).removesuffix(_ending(place))


def _of(place: str) -> CorpusFormat:
    return FORMATS[_ending(place)]


def _ending(place: str) -> str:
    return next(ending for ending in FORMATS if place.removesuffix(PACKED).endswith(ending))


PACKED = ".gz"
FORMATS = {
    ".tsv": CorpusFormat(tables.read_units, tables.languages),
    ".csv": CorpusFormat(tables.read_units, tables.languages),
    ".jsonl": CorpusFormat(tables.read_units, tables.languages),
    ".json": CorpusFormat(objects.read, objects.languages),
    ".po": CorpusFormat(catalogues.read, catalogues.languages),
    ".mo": CorpusFormat(catalogues.read, catalogues.languages),
    ".tmx": CorpusFormat(xml.read_tmx, xml.tmx_languages),
    ".xliff": CorpusFormat(xml.read_xliff, xml.xliff_languages),
    ".xlf": CorpusFormat(xml.read_xliff, xml.xliff_languages),
    ".parquet": CorpusFormat(parquet.read, parquet.languages, packed=False),
}
ENDINGS = (*FORMATS, *(ending + PACKED for ending, corpus_format in FORMATS.items() if corpus_format.packed))
