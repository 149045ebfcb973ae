"""Split a corpus into training and development pairs."""

import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from dragoman.corpus.examples import Pair
from dragoman.errors import UserError
from dragoman.files import write_atomically

SHARE = 0.05  # the fraction of the pairs that is set aside,
MOST = 1_000  # but at most about this many pairs
PARTS = "train", "dev"


def copy(
    pairs: Callable[[], Iterator[Pair]], folder: Path, languages: tuple[str, str], *, aside: bool
) -> tuple[int, int]:
    """Write the pairs to train.* in a folder and, with `aside`, some of them to dev.*; return the number in each.

    The split depends only on the source text, so no source sentence is in both parts. UserError if no pair would be
    left to train on.
    """
    last = _last_aside(pairs()) if aside else -1
    parts = PARTS if aside else PARTS[:1]
    counts = [0, 0]
    with ExitStack() as stack:
        files = [
            [stack.enter_context(write_atomically(folder / f"{part}.{language}")) for language in languages]
            for part in parts
        ]
        for pair in pairs():
            part = int(_lot(pair) <= last)
            for file, text in zip(files[part], pair, strict=True):
                file.write(text + "\n")
            counts[part] += 1
        if not counts[0]:
            raise UserError("too few pairs to set some aside for development; give others with --dev")
    return counts[0], counts[1]


def _lot(pair: Pair) -> int:
    return zlib.crc32(pair.source.encode())


def _last_aside(pairs: Iterator[Pair]) -> int:
    """The largest hash among the pairs that are set aside."""
    lots = np.unique(np.fromiter(map(_lot, pairs), np.uint32))
    return int(lots[max(1, min(MOST, int(SHARE * len(lots)))) - 1]) if len(lots) else -1
