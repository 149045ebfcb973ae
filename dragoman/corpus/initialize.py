"""A first configuration for the user's files."""

import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path

from pydantic_core import from_json

from dragoman.configuration import config_file
from dragoman.configuration.config import Config
from dragoman.corpus.examples import corpus_files, parallel, read_texts
from dragoman.corpus.formats import Corpora, corpora, side_by_side
from dragoman.corpus.naming import with_further, without_texts
from dragoman.corpus.parts import PARTS, copy
from dragoman.corpus.sample import measure_sample
from dragoman.corpus.sizes import DEFAULTS, FEW, CorpusFiles, InitOptions, choose
from dragoman.errors import UserError
from dragoman.files.reading import read_lines, shown
from dragoman.files.writing import write_atomically

DEVELOPMENT = ("dev", "valid", "val", "validation", "tune")  # usual names of development files
SCHEMA = "dragoman.schema.json"  # beside the configuration; editors accept no name with a space


def initialize(
    source: Path,
    target: Path | None,
    config: Path,
    dev: str | None,
    columns: Sequence[str] = (),
    options: InitOptions = DEFAULTS,
    also: Sequence[str] = (),
) -> list[str]:
    """Write a commented configuration for the pairs in two files, or in two `columns` of one file, and beside it the
    JSON schema with which editors complete and check it. `also`: the languages of further sources. Returns the lines to
    print for the user.

    If no development pairs are given or found beside the files, some pairs are set aside: the files are copied into a
    folder beside the configuration, split into two parts. UserError if the configuration exists already.
    """
    _check(source, target, config)
    places, pair, named = _corpora(source, target, columns)
    names = with_further(pair[0], also, pair[1])
    prefix = places[0] if places else ""
    if also and not prefix:
        raise UserError(f"{source} and {target}: further sources require files named alike, such as train.en, train.fr")
    dev_prefix = dev or (_beside(prefix, names) if prefix else None)
    if dev_prefix:
        next(read_texts(dev_prefix, names), None)  # raises UserError if it cannot be read
    folder = config.with_name(f"{config.stem}-data")
    with ExitStack() as stack:
        if prefix and dev_prefix:
            corpus, note = (
                CorpusFiles(prefix, dev_prefix, *pair, tuple(also)),
                f"training pairs: {prefix}; development pairs: {dev_prefix}",
            )
        else:
            stack.enter_context(_new(folder, names))
            # the files themselves where they have no prefix in common
            rows = partial(read_texts, prefix, names) if prefix else partial(parallel, source, target or source)
            corpus, note = _copied(rows, str(source), names, folder, dev_prefix)
        for number, name in enumerate(also, start=1):
            if not any(row[number].strip() for row in read_texts(corpus.train, names)):
                raise without_texts(name, str(source))
        sample = measure_sample(corpus.train, corpus.source, corpus.target)
        about = [str(sample), note, *named]
        _write(config, choose(corpus, sample, f"runs/{corpus.source}-{corpus.target}", options), about)
    return [*about, *_advice(corpus, sample.pairs, str(source))]


def _advice(corpus: CorpusFiles, pairs: int, file: str) -> list[str]:
    """Return what to do with few pairs: start from a run that was trained on many others."""
    if pairs >= FEW:
        return []
    prepare = "a run trained on many other pairs"
    if corpus.source == "en":
        prepare += f", such as those of this machine's programs (dragoman corpus --installed {corpus.target})"
    few = f"{pairs:,} pairs are few: a model trained on them alone is often no better than a translation memory."
    return [f"{few} Start from {prepare}: dragoman train --finetune RUN {shlex.quote(file)}"]


def _check(source: Path, target: Path | None, config: Path) -> None:
    """UserError where `init` would replace a file, or cannot read one twice."""
    if config.exists():
        raise UserError(f"{config}: exists already; choose another name with -o, or remove it")
    schema = config.with_name(SCHEMA)
    if schema.exists() and not _is_schema(schema):
        raise UserError(f"{schema}: exists already and is not the schema; rename it")
    for path in filter(None, (source, target)):
        if str(path) == "-" or path.is_fifo():
            raise UserError(f"{path}: init reads its files more than once and cannot read a stream; write it to a file")


def _write(path: Path, values: Config, about: Sequence[str]) -> None:
    """Write the configuration, with comments `about` its choice, and the schema."""
    lines = [
        *about,
        "The sizes below were chosen for that; change whatever you like. What stands here are the options that",
        f"matter most: dragoman debug config {shlex.quote(str(path))} prints all of them.",
    ]
    with write_atomically(path.with_name(SCHEMA)) as file:
        file.write(config_file.schema())
    with write_atomically(path) as file:
        file.write(f"# yaml-language-server: $schema={SCHEMA}\n")
        file.writelines([*(f"# {line}\n" for line in lines), "\n", config_file.commented(values)])


def _is_schema(path: Path) -> bool:
    """Whether an earlier `init` wrote the file."""
    try:
        schema = from_json("\n".join(read_lines(path)))
    except (UserError, ValueError):
        return False
    return isinstance(schema, dict) and schema.get("title") == config_file.TITLE


@contextmanager
def _new(folder: Path, names: tuple[str, ...]) -> Iterator[None]:
    """A new folder for the texts in these languages, removed again if the block raises an exception."""
    if folder.exists():
        raise UserError(f"{folder}: exists already, but the pairs are to be copied there; remove it, or add --dev")
    try:
        yield
    except BaseException:
        with suppress(OSError):
            for path in (folder / f"{part}.{name}" for part in PARTS for name in names):
                path.unlink(missing_ok=True)
            folder.rmdir()
        raise


def _copied(
    rows: Callable[[], Iterator[tuple[str, ...]]],
    named: str,
    names: tuple[str, ...],
    folder: Path,
    dev: str | None,
) -> tuple[CorpusFiles, str]:
    """Copy the texts to files with a common prefix, setting some aside unless there are development pairs. Returns the
    corpus and a line to print for the user.
    """
    copied = copy(rows, named, folder, names, aside=not dev)
    source, *also, target = names
    corpus = CorpusFiles(str(folder / "train"), dev or str(folder / "dev"), source, target, tuple(also))
    if dev:
        note = f"{copied.train:,} pair{'s' * (copied.train != 1)} copied to {corpus.train}; development pairs: {dev}"
    else:
        aside = f"{copied.dev:,} pair{'s' * (copied.dev != 1)} set aside in {corpus.dev}"
        note = f"no development pairs given (--dev) or found: {aside}"
    return corpus, note + copied.left_out


def _corpora(source: Path, target: Path | None, columns: Sequence[str]) -> Corpora:
    """UserError also where a language could not be the end of a file's name: the pairs may have to be copied."""
    if target is not None and columns:
        raise UserError("--columns: requires a single file with columns, found two files")
    pairs = corpora([source], columns) if target is None else side_by_side(source, target)
    for name in pairs.names:
        if re.search(r"[/\\\x00-\x1f\x7f-\x9f]", name):
            raise UserError(f"{shown(source)}: '{name}' cannot be a file suffix; rename the column")
    return pairs


def _beside(prefix: str, names: tuple[str, ...]) -> str | None:
    """The prefix of development files with a usual name in the same folder: dev.en for train.en, x.dev.en for
    x.train.en.
    """
    folder, name = Path(prefix).parent, Path(prefix).name
    for usual in DEVELOPMENT:
        for candidate in (name.replace("train", usual), usual):
            dev_prefix = str(folder / candidate)
            try:
                corpus_files(dev_prefix, *names)
            except UserError:
                continue
            if dev_prefix != prefix:
                return dev_prefix
    return None
