"""Streams of lines, of any length, processed in portions that are written as soon as they are done."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count, islice
from pathlib import Path
from typing import IO, Generic, NamedTuple, TypeVar

import typer

from dragoman.errors import UserError
from dragoman.files.reading import shown
from dragoman.files.writing import write_atomically, write_in_parts
from dragoman.text.normalizer import Normalizer, printable

Item = TypeVar("Item")

PORTION = 256  # the most lines in a portion
FIRST = 8  # lines in the first portion, so that the first result comes soon; each further portion is twice as large

# Whatever some program takes for the end of a line becomes a space, however a model came to write it.
one_line = Normalizer(lowercase=False)


class Portion(NamedTuple, Generic[Item]):
    """Consecutive lines or their results, and the number of the first, counted from 1."""

    first: int
    lines: list[Item]


def numbered(source: Path, first: int) -> Iterator[str]:
    """Yield the places of lines from `first` on, for messages about them."""
    return (f"{shown(source)}:{number}" for number in count(first))


def portions(lines: Iterator[Item], size: int, *, typed: bool = False, done: int = 0) -> Iterator[Portion[Item]]:
    """Yield at most `size` lines at a time, or one by one if they are `typed`. `done` lines (`whole_portions`) have
    been read before.
    """
    first = 1
    for step in _sizes(1 if typed else size):
        if first > done:
            portion = list(islice(lines, step))
            if not portion:
                return
            yield Portion(first, portion)
        first += step


def whole_portions(lines: int, size: int) -> int:
    """Return how many of the first `lines` lines make up whole portions of an unfinished command. It continues after
    these, so that every sentence is in the same batch as without the interruption.
    """
    whole = 0
    for step in _sizes(size):
        if whole + step > lines:
            break
        whole += step
    return whole


def _sizes(most: int) -> Iterator[int]:
    """Yield the sizes of portions."""
    size = min(FIRST, most)
    while True:
        yield size
        size = min(2 * size, most)


def is_typed(path: Path) -> bool:
    """Whether somebody is typing the lines."""
    return str(path) == "-" and sys.stdin.isatty()


def is_watched(source: Path, target: Path | None) -> bool:
    """Whether to show progress: standard error is a terminal, nobody types the lines, and none are written there."""
    written = (target is not None and str(target) != "-") or not sys.stdout.isatty()
    return sys.stderr.isatty() and written and not is_typed(source)


def one_stream(*paths: Path | None) -> None:
    """Raises UserError if more than one file is standard input: each would get only some of the lines."""
    if [str(path) for path in paths].count("-") > 1:
        raise UserError("-: only one file can be standard input")


class OutputStream(NamedTuple):
    """Where result lines go."""

    file: IO[str]

    def write(self, lines: Iterable[str]) -> None:
        """Write lines and flush."""
        self.file.writelines(line + "\n" for line in lines)
        self.file.flush()

    def say(self, text: str) -> None:
        """Write a part of a line and flush."""
        self.file.write(text)
        self.file.flush()


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Return rows in aligned columns; one that has figures below its heading is aligned at the right."""
    columns = [
        [cell.rjust(width) if number and _counts(cells[1:]) else cell.ljust(width) for cell in cells]
        for number, cells in enumerate(zip(*rows, strict=True))
        for width in [max(map(len, cells))]
    ]
    return "\n".join("  ".join(row).rstrip() for row in zip(*columns, strict=True))


def _counts(cells: Sequence[str]) -> bool:
    """Whether all cells are single figures, or `-` in the place of one."""
    return all(cell.replace(",", "").replace(".", "").lstrip("-").isdigit() or cell == "-" for cell in cells)


def tell(text: str) -> None:
    """Print a message on standard error, whatever characters its names and lines have."""
    typer.echo(printable(text), err=True)


def warn(places: Iterable[str], left_out: Iterable[int]) -> None:
    """Warn about lines that were not read whole: `left_out` counts the symbols cut from each."""
    from dragoman.translation import source_inputs  # imports torch, which scoring a file does without

    for place, symbols in zip(places, left_out, strict=False):
        if symbols:
            tell(f"{place}: too long, only the first {source_inputs.LONGEST:,} symbols were read")


@contextmanager
def output(path: Path | None, keep: int | None = None) -> Iterator[OutputStream]:
    """Open standard output (also as `-`), or a file that appears when all is written. Until then the lines are in a
    partial file, after its first `keep` lines unless `keep` is None. UserError for a name that says it is packed.
    """
    if path is not None and path.name.lower().endswith(".gz"):
        raise UserError(f"{shown(path)}: is written uncompressed; name it without .gz")
    if path is None or str(path) == "-":
        yield OutputStream(sys.stdout)
    else:
        with write_atomically(path) if keep is None else write_in_parts(path, keep) as file:
            yield OutputStream(file)
