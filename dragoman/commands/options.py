"""What several commands take."""

import errno
import os
import re
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from dragoman import threads
from dragoman.errors import UserError


class Searches(StrEnum):
    """What `--search` takes."""

    greedy = "greedy"
    beam = "beam"


class Engines(StrEnum):
    """What `--engine` takes."""

    torch = "torch"
    int8 = "int8"
    onnx = "onnx"


class Layers(StrEnum):
    """What `--layer` takes."""

    regions = "regions"
    whole = "global"  # which is a word of Python's


class Tokenisers(StrEnum):
    """How BLEU separates words."""

    v13a = "13a"
    intl = "intl"
    zh = "zh"
    char = "char"
    none = "none"


class ErrorUnits(StrEnum):
    """What an error rate counts."""

    token = "token"
    character = "character"


RunPath = Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a trained run.")]
Configuration = Annotated[
    list[str],
    typer.Argument(metavar="CONFIG", help="YAML file; any of its keys as --section.key VALUE beside it."),
]
SourceFile = Annotated[Path, typer.Argument(metavar="SOURCE", help="Sentences, one a line.")]
TargetFile = Annotated[Path, typer.Argument(metavar="TARGET", help="Their translations, line by line.")]
ArrayFiles = Annotated[
    list[str] | None,
    typer.Option("--source", metavar="NAME=FILE", help="The arrays of a source that is numbers; SOURCE has the rest."),
]
Weights = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="model, model-best, model-last, or another file of the run."),
]


def _compute_with(context: Any, count: int | None) -> int | None:
    if count:
        context.with_resource(threads.asked(count))
    return count


# Of every command that computes. It has its effect while the command is read, so that nothing is left to do with it.
Threads = Annotated[
    int | None,
    typer.Option(
        "--threads",
        min=1,
        max=threads.MOST_THREADS,
        metavar="N",
        callback=_compute_with,
        help="Processor threads; if not given, the configuration's, OMP_NUM_THREADS, or one for each core.",
    ),
]
Search = Annotated[Searches | None, typer.Option(help="How to search; the run's own way if not given.")]
Beam = Annotated[int | None, typer.Option(min=1, metavar="N", help="Width of the beam.")]
Engine = Annotated[
    Engines, typer.Option(help="What computes: torch, int8 (8-bit integers), or onnx after `export --onnx`.")
]
Resume = Annotated[
    bool,
    typer.Option(
        "--resume", help="Continue after the lines that an unfinished run of this command left in FILE.partial."
    ),
]
Json = Annotated[
    bool, typer.Option("--json", help="Write a JSON object for each line: text, words, attention, log-probabilities.")
]
To = Annotated[str | None, typer.Option(metavar="LANGUAGE", help="To which language, where the run has several.")]

OneBased = Annotated[
    bool, typer.Option("--one-based", help="The links of --gold count words from 1, such as 1-1, not from 0.")
]
Candidates = Annotated[
    str | None,
    typer.Option(
        metavar="K,L",
        help="Search among the K most frequent symbols and the L likeliest translations of each source symbol, such "
        "as 300,20; `lexicon` finds these.",
    ),
]


def two(candidates: str | None) -> tuple[int, int] | None:
    """The two numbers of `--candidates`."""
    if candidates is None:
        return None
    found = re.fullmatch(r"(\d{1,9}),(\d{1,9})", candidates)
    if not found:
        raise typer.BadParameter(f"--candidates {candidates}: expected two numbers, such as 300,20")
    return int(found[1]), int(found[2])


def pair(columns: str | None) -> tuple[str, ...]:
    """The two names of `--columns`."""
    names = tuple(name.strip() for name in columns.split(",")) if columns is not None else ()
    if columns is not None and (len(names) != 2 or not all(names) or names[0] == names[1]):
        raise typer.BadParameter(f"--columns {columns}: expected two names, such as en,de")
    return names


def overrides(words: Sequence[str]) -> tuple[Path, dict[str, str]]:
    """The configuration file and the `--section.key VALUE` or `--section.key=VALUE` among the words of a command."""
    files: list[str] = []
    found: dict[str, str] = {}
    rest = iter(words)
    for word in rest:
        if not word.startswith("--") or word == "--":
            files.append(word)
            continue
        key, equals, value = word.removeprefix("--").partition("=")
        if not equals:
            value = next(rest, "--")
        if value.startswith("--") and not equals:
            raise typer.BadParameter(f"--{key} needs a value: --{key} VALUE")
        found[key] = value
    if len(files) != 1:
        taken = "".join(f"; {value} is taken for the value of --{key}" for key, value in found.items() if not files)
        raise typer.BadParameter(f"expected one configuration file, found {' and '.join(files) or 'none'}{taken}")
    return Path(files[0]), found


def prefix(path: Path) -> Path:
    """What files to write begin with, which cannot be standard output. Their folder is made if missing."""
    if str(path) == "-":
        raise typer.BadParameter("expected the name of a file")
    return path


def named(path: Path) -> Path:
    """A file to write that cannot be standard output: its name is needed, or it is no text."""
    return prefix(writable(path) or path)


def writable(path: Path | None) -> Path | None:
    """A file to write. UserError before any work is done where its folder is not there, or where it is a folder, a loop
    of links or protected.
    """
    if path is not None and str(path) != "-":
        if path.is_dir():
            raise UserError(f"{path}: is a folder, expected the name of a file to write")
        folder = Path(os.path.realpath(path)).parent
        if not folder.is_dir():
            raise UserError(f"{path}: cannot write ({folder} is no folder)")
        if os.path.islink(os.path.realpath(path)):
            raise UserError(f"{path}: cannot write ({os.strerror(errno.ELOOP)})")
        if path.exists() and not os.access(path, os.W_OK):
            raise UserError(f"{path}: cannot write ({os.strerror(errno.EACCES)})")
    return path
