"""Scoring of given sentence pairs by a model, in portions."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from dragoman.cli.sources import arrays, text_of
from dragoman.cli.streams import PORTION, Portion, one_stream, portions
from dragoman.corpus.examples import Pair, parallel
from dragoman.corpus.features import FeatureFile, beside
from dragoman.errors import UserError
from dragoman.files.reading import shown
from dragoman.translation.result import Result
from dragoman.translation.translation import Scored
from dragoman.translation.translator import Translator

LONGEST = 5_000  # the most characters of a line that is scored or aligned: time and memory grow with their square


def scored(
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
        for first, pairs in _portions(source, target, files.values())
    )


def line(scored: Scored) -> str:
    """Return a pair as a line of JSON."""
    return Result(scored.translation).line()


def _portions(source: Path, target: Path, arrays: Iterable[FeatureFile]) -> Iterator[Portion[Pair]]:
    """Yield the lines of two files side by side. Raises UserError if one is longer or has a line too long to score, or
    if the number of `arrays` differs.
    """
    one_stream(source, target)
    for portion in portions(beside(parallel(source, target), source, list(arrays)), PORTION):
        for number, pair in enumerate(portion.lines, start=portion.first):
            for path, line in zip((source, target), pair, strict=True):
                if len(line) > LONGEST:
                    raise UserError(
                        f"{shown(path)}:{number}: has more than {LONGEST:,} characters, the most to be scored"
                    )
        yield portion
