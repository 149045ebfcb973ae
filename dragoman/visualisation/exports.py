"""A map between words as a file: SVG, PNG, JSON, CSV or LaTeX, by the ending of its name."""

import csv
import io
import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dragoman.errors import UserError
from dragoman.files.writing import write_atomically
from dragoman.visualisation import heatmap, pictures
from dragoman.visualisation.markup import shortest, visible
from dragoman.visualisation.scale import Scale, Weights

PLACES = 6  # decimals of numbers in data
COLUMN, ROW = 0.62, 0.5  # of a cell in LaTeX, in cm


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


def png(shown: WordMap) -> bytes:
    """The same as pixels, by matplotlib (extra `plot`)."""
    return pictures.png(shown.numbers, shown.source, shown.target, Scale.of(shown.numbers, signed=shown.signed))


def to_json(shown: WordMap) -> str:
    """An object with `source` and `target`, the words, and `values`: (target words, source words)."""
    values = np.nan_to_num(shown.numbers).round(PLACES) + 0.0
    found = {"source": list(shown.source), "target": list(shown.target), "values": values.tolist()}
    return json.dumps(found, ensure_ascii=False) + "\n"


def to_csv(shown: WordMap) -> str:
    """A line of source words, and a line for each target word."""
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(["", *shown.source])
    for word, row in zip(shown.target, (shown.numbers.round(PLACES) + 0.0).tolist(), strict=True):
        lines.writerow([word, *row])
    return text.getvalue()


def latex(shown: WordMap) -> str:
    """A `tikzpicture` of coloured cells, for documents with `\\usepackage{tikz}`."""
    values, scale = shown.numbers, Scale.of(shown.numbers, signed=shown.signed)
    lines = [
        f"% dragoman: the darkest cells are {shortest(scale.top, 2)} {scale.unit}",
        "\\definecolor{dragomanmore}{HTML}{2166D1}",
        "\\definecolor{dragomanless}{HTML}{B3261E}",
        f"\\begin{{tikzpicture}}[x={COLUMN}cm,y=-{ROW}cm,font=\\small]",
    ]
    for t, row in enumerate(values.tolist()):
        for s, value in enumerate(row):
            part = scale.part(value)
            colour = f"dragoman{'more' if part >= 0 else 'less'}!{round(100 * abs(part))}"
            lines.append(f"\\fill[{colour}] ({s},{t}) rectangle ({s + 1},{t + 1});")
    across, down = len(shown.source), len(shown.target)
    lines += [f"\\draw[black!20] (0,{t}) -- ({across},{t});" for t in range(down + 1)]
    lines += [f"\\draw[black!20] ({s},0) -- ({s},{down});" for s in range(across + 1)]
    for s, word in enumerate(shown.source):
        lines.append(f"\\node[rotate=45,anchor=west] at ({s + 0.5},-0.2) {{{_tex(word)}}};")
    for t, word in enumerate(shown.target):
        lines.append(f"\\node[anchor=mid east] at (-0.1,{t + 0.5}) {{{_tex(word)}}};")
    return "\n".join([*lines, "\\end{tikzpicture}", ""])


_COMMANDS = {
    "\\": "\\textbackslash{}",
    "~": "\\textasciitilde{}",
    "^": "\\textasciicircum{}",
    "<": "\\textless{}",
    ">": "\\textgreater{}",
    "|": "\\textbar{}",
}
_SPECIAL = re.compile(r"[\\{}$&#^_%~<>|]")


def _tex(word: str) -> str:
    """A word as LaTeX writes it. Letters outside of ASCII stay as they are."""
    return _SPECIAL.sub(lambda found: _COMMANDS.get(found[0], f"\\{found[0]}"), visible(word))


def write(path: Path, shown: WordMap) -> None:
    """Write a map. UserError if the ending of the name is none of FORMATS, or the file cannot be written."""
    data = form(path)(shown)
    with write_atomically(path, "wb") as file:
        file.write(data if isinstance(data, bytes) else data.encode("utf-8", "replace"))


def form(path: Path) -> Callable[[WordMap], str | bytes]:
    """What makes the contents of a file of this name. UserError as above, or if it needs a library that is missing."""
    if path.suffix not in FORMATS:
        raise UserError(f"{path}: expected a name that ends in {', '.join(FORMATS)}")
    if path.suffix == ".png":
        pictures.load()
    return FORMATS[path.suffix]


FORMATS: Mapping[str, Callable[[WordMap], str | bytes]] = {
    ".svg": svg,
    ".png": png,
    ".json": to_json,
    ".csv": to_csv,
    ".tex": latex,
}
