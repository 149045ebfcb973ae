"""N-best lists in the format of Moses, to which users add figures of their own."""

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from dragoman.errors import UserError
from dragoman.files.reading import read_lines, shown
from dragoman.text.normalizer import Normalizer

FIELD = " ||| "
NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
NAMED = re.compile(rf"(\S+)= ({NUMBER})(?= |$)")
OTHERS = re.compile(rf"{NUMBER}|(\d+-\d+( \d+-\d+)*)?")  # a score or links
LOG_PROB = "F0"  # the name of log P, as Marian has it

one_line = Normalizer(lowercase=False)  # as translations are written


class NbestEntry(NamedTuple):
    """A line of an n-best list: its number in the file, and the figures of its translation by name."""

    line: int
    figures: Mapping[str, float]


class Lists:
    """N-best lists in the format of Moses, `number ||| text ||| name= figure ... ||| score`, with figures of a user's
    own beside those that `translate --n-best` writes. UserError names file and line of anything else.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._entries: dict[tuple[int, str], NbestEntry] = {}
        for line, text in enumerate(read_lines(path), start=1):
            number, field, rest = text.partition(FIELD)
            fields, figures = rest.split(FIELD), dict[str, float]()
            while len(fields) > 1 and (NAMED.search(fields[-1]) or OTHERS.fullmatch(fields[-1])):
                figures = {name: float(value) for name, value in NAMED.findall(fields.pop())} | figures
            finite = all(map(math.isfinite, figures.values()))
            if not (field and number.isascii() and number.isdigit() and figures and finite):
                raise UserError(f"{shown(path)}:{line}: expected NUMBER ||| TEXT ||| NAME= FIGURE")
            self._entries.setdefault((int(number), FIELD.join(fields)), NbestEntry(line, figures))

    @property
    def names(self) -> list[str]:
        """The names of all figures, in order."""
        return list(dict.fromkeys(name for entry in self._entries.values() for name in entry.figures))

    def of(self, number: int, text: str, name: str) -> float:
        """A figure of a translation of this sentence. UserError if the file has none."""
        entry = self._entries.get((number, one_line(text)))
        if entry is None:
            raise UserError(f"{shown(self._path)}: has no translation {number} ||| {one_line(text)}")
        if name not in entry.figures:
            raise UserError(f"{shown(self._path)}:{entry.line}: has no figure {name}=")
        return entry.figures[name]
