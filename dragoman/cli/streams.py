"""Lines in, lines out: streams of any length in portions, each written as soon as it is done."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, Generic, NamedTuple, TypeVar

import typer

from dragoman.errors import UserError
from dragoman.files import shown, write_atomically, write_in_parts
from dragoman.text.normalise import Normaliser
from dragoman.text.printable import printable

Item = TypeVar("Item")

PORTION = 256  # lines that are worked on together, at most
FIRST = 8  # lines in the first portion, so that the first result comes soon; each further one is twice as large

# What can end a line somewhere becomes a space, in whatever way a model came to say it.
one_line = Normaliser(lowercase=False)


class Portion(NamedTuple, Generic[Item]):
    """Consecutive lines, or what was made of them, and the number of the first of them, from 1."""

    first: int
    lines: list[Item]


def portions(lines: Iterator[Item], size: int, *, typed: bool = False, done: int = 0) -> Iterator[Portion[Item]]:
    """At most `size` lines at a time; those that are `typed` one by one. `done` lines (`whole_portions`) have been read
    before.
    """
    first = 1
    for count in _sizes(1 if typed else size):
        if first > done:
            portion = list(islice(lines, count))
            if not portion:
                return
            yield Portion(first, portion)
        first += count


def whole_portions(lines: int, size: int) -> int:
    """How many of the first `lines` lines make whole portions: those that a command which did not end has worked on
    together. Behind these it is continued, so that every sentence is in the same batch as without the interruption.
    """
    whole = 0
    for count in _sizes(size):
        if whole + count > lines:
            break
        whole += count
    return whole


def _sizes(most: int) -> Iterator[int]:
    """The sizes of portions, one after the other."""
    size = min(FIRST, most)
    while True:
        yield size
        size = min(2 * size, most)


def is_typed(path: Path) -> bool:
    """Whether somebody writes the lines at this moment."""
    return str(path) == "-" and sys.stdin.isatty()


def one_stream(*paths: Path | None) -> None:
    """UserError where more than one file is standard input, of which each would get some lines."""
    if [str(path) for path in paths].count("-") > 1:
        raise UserError("-: standard input can be one of the files only; name the others")


class Output(NamedTuple):
    """Where result lines go."""

    file: IO[str]

    def write(self, lines: Iterable[str]) -> None:
        """The lines, at once."""
        self.file.writelines(line + "\n" for line in lines)
        self.file.flush()

    def say(self, text: str) -> None:
        """A part of a line, at once."""
        self.file.write(text)
        self.file.flush()


def tell(text: str) -> None:
    """A message on standard error, whatever the names and lines in it are."""
    typer.echo(printable(text), err=True)


def warn(source: Path, first: int, left_out: Iterable[int]) -> None:
    """Tell of lines from number `first` on, of which so many symbols each were not read."""
    from dragoman.translation import inputs  # takes torch, which scoring a file does without

    for number, symbols in enumerate(left_out, start=first):
        if symbols:
            tell(f"{shown(source)}:{number}: too long, only the first {inputs.LONGEST:,} symbols were read")


@contextmanager
def output(path: Path | None, keep: int | None = None) -> Iterator[Output]:
    """Standard output (also as `-`), or a file that appears when all is written. Until then its lines are in a partial
    one, after the first `keep` of those that are there, unless that is None.
    """
    if path is None or str(path) == "-":
        yield Output(sys.stdout)
    else:
        with write_atomically(path) if keep is None else write_in_parts(path, keep) as file:
            yield Output(file)
