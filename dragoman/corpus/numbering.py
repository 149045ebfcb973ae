"""The examples of a corpus, and what users call each of them."""

from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from dragoman.configuration.data import COLUMNS
from dragoman.corpus import formats, tables
from dragoman.corpus.examples import Example, places, read_examples

ROWS = (*COLUMNS, *tables.OBJECTS)  # formats of which `tables` tells the lines


class NumberedCorpus:
    """The examples of a corpus, file after file. An example is called by the line that it begins on, after the name of
    its file if there are several. In formats where pairs are not lines it is called by its number among the pairs.
    """

    def __init__(self, where: str | Path | Sequence[str], sources: tuple[str, ...], target: str) -> None:
        self.places = places(where)
        self._sides = (sources, target)
        self._starts: list[int] = []
        self._lines: dict[str, Sequence[int]] = {}

    @property
    def unit(self) -> str:
        """What the numbers count."""
        return " or ".join(dict.fromkeys("line" if _has_lines(place) else "pair" for place in self.places))

    def __iter__(self) -> Iterator[Example]:
        self._starts = []
        count = 0
        for place in self.places:
            self._starts.append(count)
            for example in read_examples(place, *self._sides):
                yield example
                count += 1

    def name(self, number: int) -> str:
        """The name of an example that has been read, counted from 0 through all files."""
        index = int(np.searchsorted(self._starts, number, "right")) - 1
        place, within = self.places[index], number - self._starts[index]
        named = self._line(place, within) if place.endswith(ROWS) else within + 1
        return f"{named}" if len(self.places) == 1 else f"{place}:{named}"

    def _line(self, path: str, number: int) -> int:
        if path not in self._lines:
            sources, target = self._sides
            self._lines[path] = array("Q", tables.row_lines(path, (*sources, target)))
        return self._lines[path][number]


def _has_lines(place: str) -> bool:
    return place.endswith(ROWS) or not place.endswith(formats.ENDINGS)
