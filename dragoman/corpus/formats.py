"""The formats of files that contain all languages, by the endings of their names; which files are a corpus, and its
two languages.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from dragoman.configuration.data import COLUMNS
from dragoman.corpus import catalogues, further_languages, objects, parquet, tables, xml
from dragoman.corpus.accelerators import remove_from_all
from dragoman.corpus.naming import Columns
from dragoman.corpus.translation_unit import TranslationState, TranslationUnit
from dragoman.errors import UserError
from dragoman.files.reading import existing, shown


class CorpusFormat(NamedTuple):
    """The reader of a format. `read` yields the units in the named languages, always in the same order;
    `find_languages` returns the two languages of the pairs, the wanted ones if given. Faults raise UserError with the
    file and the line, or the number of the unit. `packed`: may also be compressed (.gz); `strings`: of a program.
    """

    read: Callable[[str, Sequence[str]], Iterator[TranslationUnit]]
    languages: Callable[[str, Sequence[str]], Columns]
    packed: bool = True
    strings: bool = False


def read(place: str, names: Sequence[str]) -> Iterator[TranslationUnit]:
    """Yield the units of a file."""
    return _of(place).read(place, names)


def texts(place: str, names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield the texts to train on: fuzzy units count as untranslated, obsolete ones are left out, and strings of
    programs have no accelerators, without which they are translated, too.
    """
    strings = _of(place).strings
    for unit in read(place, names):
        plain = remove_from_all(unit.texts) if strings else unit.texts
        if unit.state is TranslationState.GOOD:
            yield plain
        elif unit.state is TranslationState.FUZZY:
            yield (*plain[:-1], "")


def find_languages(place: str, wanted: Sequence[str] = ()) -> Columns:
    """Return the two languages of the pairs. UserError if this is ambiguous."""
    return _of(place).languages(place, wanted)


def of_one_language(source: Path, target: Path) -> bool:
    """Whether both files are of a format that allows one file per language. UserError if one of them contains both
    languages.
    """
    own = [is_json(str(path)) for path in (source, target)]
    for path in (source, target):
        if str(path).endswith(ENDINGS) and not all(own):
            raise UserError(f"{path}: is a bilingual file; pass it alone")
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
        raise UserError(f"{prefix}: is a template without translations; use the .po of a language")


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
    ".json": CorpusFormat(objects.read, objects.languages, strings=True),
    ".po": CorpusFormat(further_languages.read, catalogues.languages, strings=True),
    ".mo": CorpusFormat(further_languages.read, catalogues.languages, strings=True),
    ".tmx": CorpusFormat(xml.read_tmx, xml.tmx_languages),
    ".xliff": CorpusFormat(xml.read_xliff, xml.xliff_languages, strings=True),
    ".xlf": CorpusFormat(xml.read_xliff, xml.xliff_languages, strings=True),
    ".parquet": CorpusFormat(parquet.read, parquet.languages, packed=False),
}
ENDINGS = (*FORMATS, *(ending + PACKED for ending, corpus_format in FORMATS.items() if corpus_format.packed))


class Corpora(NamedTuple):
    """The prefixes and files of both languages, as `read_pairs` takes them (none for two files of text that have no
    prefix in common); the names of the languages; and lines that say how these were found.
    """

    places: tuple[str, ...]
    names: tuple[str, str]
    notes: tuple[str, ...] = ()


def corpora(files: Sequence[str | Path], wanted: Sequence[str] = ()) -> Corpora:
    """Any number of prefixes and files of both languages, which are the `wanted` ones or those of the first; or two
    files of keys or of text, one for each language. UserError if it is not clear which languages are meant.
    """
    places = tuple(map(str, files))
    if len(places) == 2 and all(is_json(place) and objects.is_of_one_language(place) for place in places):
        place, pair = objects.pattern(Path(places[0]), Path(places[1]))
        return Corpora((place,), _two(wanted or pair), (f"{place}: {pair[0]}, {pair[1]}",))
    first = places[0]
    if len(places) == 2 and not wanted and not any(place.endswith(ENDINGS) for place in places):
        both = side_by_side(Path(first), Path(places[1]))
        if both.places and all(existing(place).is_file() for place in places):
            return both
    if not first.endswith(ENDINGS):
        if not wanted:
            check_template(first)
            endings = ", ".join(FORMATS)
            raise UserError(
                f"{first}: expected a second file with translations; a bilingual file ({endings}); "
                f"or --columns en,de for the text files {first}.en and .de"
            )
        return Corpora(places, _two(wanted))
    names, header = find_languages(first, wanted)
    note = f"columns {names[0]}, {names[1]}"
    if header:
        note = f"line {header} is a header and no pair, {note}"
    elif first.endswith(COLUMNS):
        note = f"no header, {note}"
    return Corpora(places, _two(names), (f"{shown(first)}: {note}",))


def side_by_side(source: Path, target: Path) -> Corpora:
    """Two files, which have a sentence or a key of each language. The names of texts are their endings, or else what
    they are called.
    """
    if of_one_language(source, target):
        return corpora([source, target])
    first, second = (path.with_suffix("") if path.suffix == ".gz" else path for path in (source, target))
    if first.suffix and second.suffix and first.suffix != second.suffix:
        prefix = first.with_suffix("")
        return Corpora((str(prefix),) * (prefix == second.with_suffix("")), (first.suffix[1:], second.suffix[1:]))
    if first.stem == second.stem:
        raise UserError(
            f"{source} and {target}: cannot tell the languages; name the files like corpus.en and corpus.de"
        )
    return Corpora((), (first.stem, second.stem))


def _two(names: Sequence[str]) -> tuple[str, str]:
    source, target = names
    return source, target
