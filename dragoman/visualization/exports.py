"""A map between words as a file: SVG, JSON or CSV, by the extension of its name."""

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dragoman.errors import UserError
from dragoman.files.writing import write_atomically
from dragoman.visualization import heatmap
from dragoman.visualization.scale import Weights

PLACES = 6  # decimals of numbers in data


class WordMap(NamedTuple):
    """What is drawn: `values` (target words, source words), weights or, if they are `signed`, nats; and its words."""

    values: ArrayLike
    source: Sequence[str]
    target: Sequence[str]
    signed: bool = False

    @property
    def numbers(self) -> Weights:
        """The values as an array. ValueError if the words do not fit it."""
        return heatmap.checked(self.values, self.source, self.target)


def svg(shown: WordMap) -> str:
    """The picture of `heatmap.svg`."""
    return heatmap.svg(shown.values, shown.source, shown.target, signed=shown.signed) + "\n"


def to_json(shown: WordMap) -> str:
    """An object with `source` and `target`, the words, and `values`: (target words, source words)."""
    values = np.nan_to_num(shown.numbers).round(PLACES) + 0.0
    content = {"source": list(shown.source), "target": list(shown.target), "values": values.tolist()}
    return json.dumps(content, ensure_ascii=False) + "\n"


def to_csv(shown: WordMap) -> str:
    """A line of source words, and a line for each target word."""
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(["", *shown.source])
    for word, row in zip(shown.target, (shown.numbers.round(PLACES) + 0.0).tolist(), strict=True):
        lines.writerow([word, *row])
    return text.getvalue()


def write(path: Path, shown: WordMap) -> None:
    """Write a map. UserError if no format of FORMATS has the extension of the name, or the file cannot be written."""
    text = form(path)(shown)
    with write_atomically(path, "wb") as file:
        file.write(text.encode("utf-8", "replace"))


def form(path: Path) -> Callable[[WordMap], str]:
    """Return the function that writes files of this name. UserError if there is none."""
    if path.suffix not in FORMATS:
        raise UserError(f"{path}: expected a name that ends in {', '.join(FORMATS)}")
    return FORMATS[path.suffix]


FORMATS: Mapping[str, Callable[[WordMap], str]] = {".svg": svg, ".json": to_json, ".csv": to_csv}
