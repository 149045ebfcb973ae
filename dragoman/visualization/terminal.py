"""Attention between words in the cells of a terminal, within its width."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions
from rich.style import Style
from rich.text import Text

from dragoman.visualization.markup import is_right_to_left
from dragoman.visualization.scale import WEIGHTS, Scale, Weights

LABEL = 16  # the most columns for target words
HEADER = 10  # the most lines for source words that are written vertically
LEFT_TO_RIGHT = "\N{LEFT-TO-RIGHT MARK}"
NARROW = 2  # columns of a cell under a vertical word: room for a full-width character
FAINT = 0.05  # smaller weights are dots

# The ends of the ramps of values above and below 0, on a dark background.
MORE = ((22, 38, 66), (94, 169, 255))
LESS = ((66, 26, 22), (255, 138, 128))


@dataclass(frozen=True, eq=False)
class Grid:
    """A heat map for rich: blocks of lines, each with as many source words as fit into the width."""

    weights: Weights
    source: tuple[str, ...]
    target: tuple[str, ...]
    scale: Scale = WEIGHTS

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        if not self.weights.size:
            yield Text("no words, no attention")
            return
        label = min(LABEL, max(map(cell_len, self.target)), max(1, options.max_width // 3))
        room = max(options.max_width - label - 1, 5)
        for number, (first, widths) in enumerate(_blocks(self.source, room)):
            if number:
                yield Text("")
            yield from self._block(first, widths, label)
        if self.scale.signed:
            yield Text(f"9 is {0.9 * self.scale.top:.2f} {self.scale.unit} or more, 9- as much below 0", style="dim")

    def _block(self, first: int, widths: Sequence[int], label: int) -> Iterator[Text]:
        for heading in _header(self.source[first : first + len(widths)], widths):
            yield Text(" " * (label + 1) + heading, no_wrap=True, overflow="crop")
        for t, word in enumerate(self.target):
            short = shortened(word, label)
            line = Text(" " * (label - cell_len(short)) + short + " ", no_wrap=True, overflow="crop")
            for s, columns in enumerate(widths, start=first):
                line.append(*self._cell(t, s, columns))
            yield line

    def _cell(self, t: int, s: int, columns: int) -> tuple[str, Style]:
        """Return a cell's digit, centered in its columns, and its colors."""
        part = self.scale.part(float(self.weights[t, s]))
        digit = str(min(9, int(abs(part) * 10 + 1e-9))) if abs(part) >= FAINT else "·"
        mark = "-" if part <= -FAINT else " "
        return f"{digit}{mark}".center(columns), _style(part)


def _style(part: float) -> Style:
    if abs(part) < FAINT:
        return Style(dim=True)
    weakest, strongest = LESS if part < 0 else MORE
    mixed = [round(a + (b - a) * abs(part)) for a, b in zip(weakest, strongest, strict=True)]
    luminance = 0.299 * mixed[0] + 0.587 * mixed[1] + 0.114 * mixed[2]
    ink = "rgb(12,16,24)" if luminance > 125 else "rgb(240,244,250)"
    return Style.parse(f"{ink} on rgb({','.join(map(str, mixed))})")


def shortened(word: str, columns: int) -> str:
    """Shorten a word to at most `columns` columns; an ellipsis replaces what was cut off."""
    if cell_len(word) <= columns:
        return word
    return set_cell_size(word, columns - 1).rstrip() + "…"


def _blocks(source: Sequence[str], room: int) -> Iterator[tuple[int, list[int]]]:
    """Yield the first word of each block and the width of each of its columns."""
    widths = [max(3, cell_len(word) + 1) for word in source]
    if sum(widths) <= room:  # then the words fit horizontally, in full
        yield 0, widths
        return
    blocks = math.ceil(len(source) / max(1, room // NARROW))
    width = math.ceil(len(source) / blocks)
    for first in range(0, len(source), width):
        yield first, [NARROW] * min(width, len(source) - first)


def _header(words: Sequence[str], widths: Sequence[int]) -> list[str]:
    """Return the lines of the source words over their columns: horizontal, or one character below the other."""
    if any(width > NARROW for width in widths):
        pairs = zip(words, widths, strict=True)
        return ["".join(_centered(_in_place(word), width) for word, width in pairs)]
    letters = [_letters(word) for word in words]
    height = max(map(len, letters))
    columns = [[" "] * (height - len(word)) + word for word in letters]
    return ["".join(_centered(column[line], NARROW) for column in columns) for line in range(height)]


def _in_place(word: str) -> str:
    """Add a zero-width mark to a word, without which adjacent right-to-left words would swap places."""
    return word + LEFT_TO_RIGHT if is_right_to_left(word) else word


def _letters(word: str) -> list[str]:
    """Return at most HEADER characters of a word, each with the combining marks that follow it."""
    letters: list[str] = []
    for character in word:
        if letters and cell_len(character) == 0:
            letters[-1] += character
        else:
            letters.append(character)
    return letters if len(letters) <= HEADER else [*letters[: HEADER - 1], "⋮"]


def _centered(text: str, columns: int) -> str:
    spare = columns - cell_len(text)
    return " " * (spare // 2) + text + " " * (spare - spare // 2)
