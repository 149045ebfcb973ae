"""Reading of the lines to translate, from one file or several sources side by side, and of the pairs to score."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from pathlib import Path
from typing import NamedTuple

from dragoman.cli import evaluate_scores
from dragoman.cli.streams import PORTION, Portion, one_stream, portions
from dragoman.configuration import components, config_file
from dragoman.configuration.components import Spec
from dragoman.configuration.data import DataConfig
from dragoman.corpus.examples import Pair, corpus_files, parallel, side_by_side
from dragoman.corpus.features import FeatureFile, FeatureSource, Given, beside
from dragoman.data.language import Language
from dragoman.errors import UserError
from dragoman.files.reading import LONGEST_TEXT, check_sentences, read_lines, shown
from dragoman.run.folder import RunFolder
from dragoman.search.table import SEARCHES, has_beam
from dragoman.translation.translation import Scored
from dragoman.translation.translator import Translator

TABLES = (".tsv", ".tsv.gz")
LONGEST = 5_000  # the most characters of a line that is scored or aligned: time and memory grow with their square


def read(
    path: Path, assignments: Sequence[str], prefix: Path | None, translator: Translator
) -> tuple[Path, Iterator[tuple[Given, ...]]]:
    """Return the file to name in messages about a line, and the lines of `path` or of the given `NAME=FILE`. A line has
    the text or array of every source and, if there is a file of prefixes, the prefix of its translation.
    """
    files = named(assignments, translator)
    if files and str(path) != "-":
        raise UserError(f"{path}: cannot be combined with --source")
    lines = texts_by_name(files, translator) if files else texts(path, translator)
    where = first(files, translator) if files else path
    if prefix:
        one_stream(where, prefix)
        lines = _with_prefixes(lines, prefix)
    return where, lines


class Sources(NamedTuple):
    """All lines to translate, and the file that the first of them come from."""

    path: Path
    lines: list[tuple[Given, ...]]


def whole(assignments: Sequence[str], translator: Translator, beside: Sequence[Path]) -> Sources:
    """Return the lines of a file, or of the given `NAME=FILE`. Raises UserError if standard input is both a source and
    one of the files `beside` it.
    """
    names = {source.name for source in translator.sources}
    if len(assignments) == 1 and assignments[0].partition("=")[0] not in names:
        one_stream(Path(assignments[0]), *beside)
        return Sources(Path(assignments[0]), list(texts(Path(assignments[0]), translator)))
    files = named(assignments, translator)
    one_stream(*files.values(), *beside)
    return Sources(first(files, translator), list(texts_by_name(files, translator)))


def with_references(
    assignments: Sequence[str], translator: Translator, paths: Sequence[Path]
) -> tuple[Sources, list[evaluate_scores.ScoredFile]]:
    """Return the lines of a file or of `NAME=FILE`, and their references. UserError if their numbers differ."""
    sources = whole(assignments, translator, paths)
    references = [evaluate_scores.read(path) for path in paths]
    evaluate_scores.check(len(sources.lines), sources.path, references)
    return sources, references


def _with_prefixes(lines: Iterator[tuple[Given, ...]], path: Path) -> Iterator[tuple[Given, ...]]:
    """Yield the lines, each with the prefix of its translation as the last text. Raises UserError if the number of
    prefixes differs.
    """
    prefixes = read_lines(path)
    for number, line in enumerate(lines, start=1):
        prefix = next(prefixes, None)
        if prefix is None:
            raise UserError(f"{path}: has {number - 1:,} lines, fewer than the file to translate")
        yield (*line, prefix)
    if next(prefixes, None) is not None:
        raise UserError(f"{path}: has more lines than the file to translate")


def named(assignments: Sequence[str], translator: Translator) -> dict[str, Path]:
    """Return the files of `NAME=FILE`. Raises UserError if the form is wrong or NAME is not a source of the run."""
    if assignments and translator.marks:
        raise UserError(
            f"--source {assignments[0]}: this run has one source; pass the file directly, and --to LANGUAGE"
        )
    names = [source.name for source in translator.sources]
    files: dict[str, Path] = {}
    for text in assignments:
        name, equals, path = text.partition("=")
        if not equals or name not in names or name in files:
            raise UserError(f"--source {text}: expected NAME=FILE once for each of {', '.join(names)}")
        files[name] = Path(path)
    one_stream(*files.values())
    return files


def memory_files(memory: str | None, runs: Sequence[Path]) -> list[Path]:
    """Return the files that runs read as their translation memory. UserError if one is missing."""
    readers = [data for data in _data(runs if memory else ()) if data.recalled]
    return [path for data in readers for path in corpus_files(str(memory), data.queried_source, data.target)]


def languages(runs: Sequence[Path]) -> tuple[str, ...]:
    """Return the names of all sources and targets of runs."""
    names = (name for data in _data(runs) for pair in data.language_pairs for name in (*pair.sources, pair.target))
    return tuple(dict.fromkeys(names))


def _data(runs: Sequence[Path]) -> Iterator[DataConfig]:
    """Yield what the configurations of runs say of their data."""
    return (config_file.load(path, of_run=True).data for run in runs if (path := RunFolder(run).config).is_file())


def search_of(translator: Translator, search: str | None, beam: int | None) -> Spec:
    """Return the search that a command asks for, with the run's own options if it is of the same kind. Raises UserError
    for a beam width with a search that has none.
    """
    if search is None:
        return translator.search
    spec = components.read(SEARCHES, search)
    if beam is not None and not has_beam(spec.kind):
        raise UserError(f"--beam: {spec.kind} search has no beam; omit --beam or --search {search}")
    return translator.search if spec == Spec(translator.search.kind) else spec


def texts_by_name(files: Mapping[str, Path], translator: Translator) -> Iterator[tuple[Given, ...]]:
    """Yield the lines or arrays of files by the names of sources. A source that is not named is missing, or filled by
    the memory.
    """
    sources = (
        translator.user_sources
        if files.keys() <= {source.name for source in translator.user_sources}
        else translator.sources
    )
    named = [source for source in sources if source.name in files]
    arrays = {source.name: source.opened(files[source.name]) for source in named if isinstance(source, FeatureSource)}
    paths = {source.name: files[source.name] for source in named if source.name not in arrays}
    where = next(iter(paths.values()), next(iter(files.values())))
    lines: Iterator[tuple[str, ...]] = side_by_side(
        list(paths.values()), "all sources must have the same number of lines"
    )
    if not paths:
        lines = repeat((), len(next(iter(arrays.values()))))
    for number, texts in enumerate(beside(lines, where, list(arrays.values()))):
        inputs: dict[str, Given] = dict(zip(paths, texts, strict=True))
        inputs |= {name: file[number] for name, file in arrays.items()}
        yield tuple(inputs.get(source.name, "") for source in sources)


def first(files: Mapping[str, Path], translator: Translator) -> Path:
    """Return the file to name in messages about a line: that of the first text."""
    texts = (
        files[source.name] for source in translator.sources if isinstance(source, Language) and source.name in files
    )
    return next(texts, next(iter(files.values())))


def arrays(assignments: Sequence[str], translator: Translator) -> dict[str, FeatureFile]:
    """Return the files of `NAME=FILE`, which must be arrays, for lines that have the other sources."""
    files = named(assignments, translator)
    numbers = {source.name: source for source in translator.user_sources if isinstance(source, FeatureSource)}
    for name in files:
        if name not in numbers:
            raise UserError(f"--source {name}={files[name]}: is a text source; put it in SOURCE (several in columns)")
    if len(files) == len(translator.user_sources):
        raise UserError("--source: the run has no text source; put the names of .npy files in SOURCE and omit --source")
    return {name: numbers[name].opened(path) for name, path in files.items()}


def texts(path: Path, translator: Translator) -> Iterator[tuple[Given, ...]]:
    """Yield the lines of a file. Several sources are columns, separated by tabs."""
    check_sentences(path)
    lines = read_lines(path, LONGEST_TEXT * len(translator.user_sources))
    return (text_of(line, path, number, translator) for number, line in enumerate(lines, start=1))


def text_of(
    line: str, path: Path, number: int, translator: Translator, beside: Mapping[str, FeatureFile] = {}
) -> tuple[Given, ...]:
    """Convert a line to the input of a translator. Raises UserError unless it has a column for each of several sources
    except those `beside` it; the column of an array holds the name of a .npy file.
    """
    names = [source.name for source in translator.user_sources if source.name not in beside]
    table = len(names) > 1 or str(path).endswith(TABLES)
    columns = tuple(line.split("\t")) if table else (line,)
    if len(columns) != len(names):
        counted = f"{len(names)} columns separated by tabs" if len(names) > 1 else "one column"
        wanted = f"{counted} ({', '.join(names)})"
        raise UserError(f"{shown(path)}:{number}: expected {wanted}, found {len(columns)}")
    inputs: dict[str, Given] = dict(zip(names, columns, strict=True))
    inputs |= {name: file[number - 1] for name, file in beside.items()}
    return tuple(inputs[source.name] for source in translator.user_sources)


def score_pairs(
    translator: Translator, source: Path, target: Path, *, assignments: Sequence[str], to: str | None
) -> Iterator[list[Scored]]:
    """Yield the scored pairs of two files. Several sources are columns; `assignments` names files of arrays."""
    files = arrays(assignments, translator)
    return (
        translator.score(
            [text_of(pair.source, source, number, translator, files) for number, pair in enumerate(pairs, start=first)],
            [pair.target for pair in pairs],
            to=to,
        )
        for first, pairs in _pair_portions(source, target, files.values())
    )


def _pair_portions(source: Path, target: Path, arrays: Iterable[FeatureFile]) -> Iterator[Portion[Pair]]:
    """Yield the lines of two files side by side. Raises UserError if one is longer or has a line too long to score, or
    if the number of `arrays` differs.
    """
    one_stream(source, target)
    for portion in portions(beside(parallel(source, target), source, list(arrays)), PORTION):
        for number, pair in enumerate(portion.lines, start=portion.first):
            for path, line in zip((source, target), pair, strict=True):
                if len(line) > LONGEST:
                    raise UserError(
                        f"{shown(path)}:{number}: has more than {LONGEST:,} characters, the maximum for scoring"
                    )
        yield portion
