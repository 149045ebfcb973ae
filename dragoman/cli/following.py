"""Simultaneous translation: words are written while their lines arrive."""

from collections import deque
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import typer

from dragoman.cli.resuming import left_behind
from dragoman.cli.streams import numbered, one_line, output, warn
from dragoman.evaluation.latency import average_lagging
from dragoman.files.reading import read_words
from dragoman.translation.translator import Translator


def follow(
    translator: Translator, source: Path, target: Path | None, done: int | None, *, wait: int | None, to: str | None
) -> None:
    """Write each word as soon as it is decided, while the lines arrive, and report the lag of the words."""
    lagging = []
    with left_behind(target, resumable=False), output(target, done) as texts:
        pieces = read_words(source)
        for number, piece in enumerate(pieces, start=1):
            arrived: list[str] = []
            line = _line(chain([piece], pieces), arrived)
            read: list[int] = []
            for word in translator.simultaneous(line, to=to, wait=wait):
                texts.say(" " * bool(read) + one_line(word.text))
                read.append(word.read)
            texts.say("\n")
            deque(line, maxlen=0)  # a translation may end before its source
            warn(numbered(source, number), [translator.left_out(" ".join(arrived))])
            if read:
                lagging.append(
                    [average_lagging(read, len(arrived), corrected=correction) for correction in (True, False)]
                )
    if lagging:
        corrected, plain = (sum(lags) / len(lagging) for lags in zip(*lagging, strict=True))
        typer.echo(f"average lagging {corrected:.2f} words ({plain:.2f} without correction for lengths)", err=True)


def _line(pieces: Iterator[str], arrived: list[str]) -> Iterator[str]:
    """Yield the words of a line, and note them as they come."""
    for word in pieces:
        if word == "\n":
            return
        arrived.append(word)
        yield word
