"""What is to be translated, from files: lines, or those of several sources side by side."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from dragoman.commands.lines import one_stream
from dragoman.data.corpus import side_by_side
from dragoman.errors import UserError
from dragoman.files import read_lines
from dragoman.translator import Text, Translator


def named(given: Sequence[str], translator: Translator) -> dict[str, Path]:
    """The files of `NAME=FILE`. UserError where that is not so, or not a source of the run."""
    known = [language.name for language in translator.sources]
    found: dict[str, Path] = {}
    for text in given:
        name, equals, path = text.partition("=")
        if not equals or name not in known or name in found:
            raise UserError(f"--source {text}: expected NAME=FILE once for each of {', '.join(known)}")
        found[name] = Path(path)
    one_stream(*found.values())
    return found


def texts_by_name(files: Mapping[str, Path], translator: Translator) -> Iterator[Text]:
    """The lines of some files, by the names of sources. A source that is not named is missing."""
    names = [language.name for language in translator.sources]
    paths = [files[name] for name in names if name in files]
    for lines in side_by_side(paths):
        found = iter(lines)
        texts = tuple(next(found) if name in files else "" for name in names)
        yield texts if len(names) > 1 else texts[0]


def texts(path: Path, translator: Translator) -> Iterator[Text]:
    """The lines of a file. Those of several sources are its columns, separated by tabs."""
    return (text_of(line, f"{path}:{number}", translator) for number, line in enumerate(read_lines(path), start=1))


def text_of(line: str, where: str, translator: Translator) -> Text:
    """A line as what a translator takes. UserError where it has not a column for each of several sources."""
    names = [language.name for language in translator.sources]
    columns = tuple(line.split("\t"))
    if len(names) == 1:
        return line
    if len(columns) != len(names):
        wanted = f"{len(names)} columns separated by tabs ({', '.join(names)})"
        raise UserError(
            f"{where.replace('-:', '<stdin>:', where.startswith('-:'))}: expected {wanted}, found {len(columns)}"
        )
    return columns
