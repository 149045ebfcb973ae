"""Which corpora the files of a command are, and which two languages they have."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from dragoman.configuration.data import COLUMNS
from dragoman.corpus import formats, objects
from dragoman.errors import UserError
from dragoman.files.reading import existing, shown


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
    if len(places) == 2 and all(formats.is_json(place) and objects.is_of_one_language(place) for place in places):
        place, languages = objects.pattern(Path(places[0]), Path(places[1]))
        return Corpora((place,), _two(wanted or languages), (f"{place}: {languages[0]}, {languages[1]}",))
    first = places[0]
    if len(places) == 2 and not wanted and not any(place.endswith(formats.ENDINGS) for place in places):
        both = side_by_side(Path(first), Path(places[1]))
        if both.places and all(existing(place).is_file() for place in places):
            return both
    if not first.endswith(formats.ENDINGS):
        if not wanted:
            formats.check_template(first)
            endings = ", ".join(formats.FORMATS)
            raise UserError(
                f"{first}: which two languages? Expected a second file, its translation; a file with both ({endings}); "
                f"or --columns en,de for the texts {first}.en and .de"
            )
        return Corpora(places, _two(wanted))
    names, header = formats.languages(first, wanted)
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
    if formats.of_one_language(source, target):
        return corpora([source, target])
    first, second = (path.with_suffix("") if path.suffix == ".gz" else path for path in (source, target))
    if first.suffix and second.suffix and first.suffix != second.suffix:
        prefix = first.with_suffix("")
        return Corpora((str(prefix),) * (prefix == second.with_suffix("")), (first.suffix[1:], second.suffix[1:]))
    if first.stem == second.stem:
        raise UserError(f"{source} and {target}: which languages? Name the files like corpus.en and corpus.de")
    return Corpora((), (first.stem, second.stem))


def _two(names: Sequence[str]) -> tuple[str, str]:
    source, target = names
    return source, target
