"""Files of word vectors, as word2vec, fastText and GloVe write them."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from dragoman.errors import UserError
from dragoman.files.reading import LONGEST_TEXT, read_lines, shown

LONGEST_NUMBER = 32  # characters, with the space before it

Vector: TypeAlias = npt.NDArray[np.float64]


def read_vectors(path: str | Path, size: int, words: int) -> Iterator[tuple[str, Vector]]:
    """Yield the first words of a file, at most `words`, each with its vector of `size` numbers.

    A line is a word and its numbers with a space between each. The first line may tell the number of words and the size
    instead (word2vec, fastText). The file may be compressed (`.gz`), and one line at a time is in memory. UserError if
    it cannot be read, has vectors of another size, or a line is anything else, with the number of that line.
    """
    lines = enumerate(read_lines(path, LONGEST_TEXT + LONGEST_NUMBER * size), start=1)
    number, first = next(lines, (1, ""))
    _, *numbers = first.rstrip(" ").split(" ")
    has_header = len(numbers) == 1 and first.replace(" ", "").isdecimal()  # and the words follow
    if (found_size := int(numbers[0]) if has_header else len(numbers)) != size:
        raise UserError(f"{shown(path)}:1: vectors of {found_size:,} numbers, and model.embedding.size is {size:,}")
    if not has_header:
        yield _parsed(first, size, f"{shown(path)}:{number}")
    for number, line in islice(lines, words if has_header else words - 1):
        yield _parsed(line, size, f"{shown(path)}:{number}")


def _parsed(line: str, size: int, where: str) -> tuple[str, Vector]:
    """The word of a line, which may have spaces in it, and its vector."""
    word, *numbers = line.rstrip(" ").rsplit(" ", size)
    try:
        vector = np.fromiter(map(float, numbers), np.float64, size)
    except ValueError:
        vector = np.full(size, np.nan)
    if not word or not np.isfinite(vector).all():
        raise UserError(f"{where}: expected a word and {size:,} numbers, found {line[:40]!r}")
    return word, vector
