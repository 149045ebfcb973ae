"""Attention between words as a picture: SVG for papers and pages, HTML for notebooks, terminal cells.

Rows are target words, columns are source words; a larger weight is a stronger shade of one hue, and what is below 0 in
a `signed` map, in nats, of another. In SVG the hue is laid over the background and mixed with the color of the text
around it, so that one file suits light and dark pages; fonts are the reader's own.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from zlib import crc32

import numpy as np
from numpy.typing import ArrayLike

from dragoman.visualization.markup import escape, is_right_to_left, isolated, shortest, visible, width
from dragoman.visualization.scale import LESS, MORE, WEIGHTS, Scale, Weights
from dragoman.visualization.terminal import Grid

FONT = 13.0
LINE = 26.0  # height of a row, and width of a column unless the words over it are a little wider
WIDEST = 48.0  # columns grow up to this width; if words are wider, all are turned by 45 degrees
GAP = 8.0
SCALE = 140.0  # length of the legend's color scale
SLOPE = math.sqrt(0.5)

STYLE = """
.attention{font:13px system-ui,"Segoe UI","Noto Sans","Noto Sans CJK JP","PingFang SC",sans-serif}
.attention:root{color:#1c1e21;background:#fff}
.attention text{fill:currentColor}
.attention .small{font-size:11px;fill-opacity:.75}
.attention .cells rect{fill:#2166d1;fill:color-mix(in oklab,#2166d1 80%,currentColor);pointer-events:all}
.attention .cells .less{fill:#b3261e;fill:color-mix(in oklab,#b3261e 80%,currentColor)}
.attention .cells rect:hover{stroke:currentColor;stroke-width:1.5}
.attention stop{stop-color:#2166d1;stop-color:color-mix(in oklab,#2166d1 80%,currentColor)}
.attention stop.less{stop-color:#b3261e;stop-color:color-mix(in oklab,#b3261e 80%,currentColor)}
.attention .grid{fill:none;stroke:currentColor;stroke-opacity:.17}
@media(prefers-color-scheme:dark){.attention:root{color:#e6e7ea;background:#16181c}}
"""


@dataclass(frozen=True)
class _HeatmapLayout:
    """Positions in pixels. `left` and `top` are the corner of the first cell."""

    left: float
    top: float
    column: float
    turned: bool
    columns: int
    rows: int
    width: float

    @property
    def bottom(self) -> float:
        return self.top + LINE * self.rows

    @property
    def height(self) -> float:
        return self.bottom + 2 * GAP + 3.2 * FONT

    def cell(self, t: int, s: int) -> tuple[float, float]:
        return self.left + self.column * s, self.top + LINE * t


def svg(
    attention: ArrayLike,
    source: Sequence[str],
    target: Sequence[str],
    *,
    signed: bool = False,
) -> str:
    """Draw the attention (T, S) as one SVG element, for a file or as a part of a page.

    Pointing at a cell shows its words and its weight; screen readers get the strongest link of each target word. Raises
    ValueError if the words do not fit the array.
    """
    label = f"{'Nats' if signed else 'Attention'} of {len(target)} target words over {len(source)} source words"
    return _drawn(checked(attention, source, target), source, target, label, signed=signed)


def shares(weights: Mapping[str, ArrayLike], target: Sequence[str]) -> str:
    """Draw the weight (T,) of each source, and of a sentinel, for each target word, as one SVG element: a column for
    each word, a row for each source (LH fig. 2). Raises ValueError if the words do not fit the weights.
    """
    rows = np.array([np.asarray(row, dtype=np.float64) for row in weights.values()]).reshape(len(weights), -1)
    label = f"Attention of {len(target)} target words to {' and '.join(weights)}"
    return _drawn(checked(rows, target, list(weights)), target, list(weights), label)


def _drawn(
    weights: Weights,
    source: Sequence[str],
    target: Sequence[str],
    label: str,
    *,
    signed: bool = False,
) -> str:
    """Draw columns under the words of `source` and rows beside those of `target`."""
    source, target = [visible(word) for word in source], [visible(word) for word in target]
    if not weights.size:
        text = f'<text x="{GAP}" y="{GAP + FONT}">No words, no attention</text>'
        return _figure(24 * FONT, 2 * GAP + 1.5 * FONT, label, [text])
    layout, scale = _layout(source, target), Scale.of(weights, signed=signed)
    ramp = f"ramp-{crc32(repr((weights.tolist(), source, target)).encode('utf-8', 'replace')):08x}"
    parts = [
        f"<desc>{escape(_description(weights, source, target, scale))}</desc>",
        *_words(source, target, layout),
        *_cells(weights, source, target, layout, scale),
        _grid(layout),
        *_legend(layout, scale, ramp),
    ]
    return _figure(layout.width, layout.height, label, parts)


def html(attention: ArrayLike, source: Sequence[str], target: Sequence[str], *, signed: bool = False) -> str:
    """Return the SVG in a box that scrolls sideways if it is wider than the page, for a notebook cell."""
    figure = svg(attention, source, target, signed=signed)
    return f'<div style="overflow-x:auto;max-width:100%">{figure}</div>'


def terminal(
    attention: ArrayLike,
    source: Sequence[str],
    target: Sequence[str],
    *,
    signed: bool = False,
) -> Grid:
    """Draw the attention (T, S) for `rich.print`: colored cells with a digit (7 is 0.70 to 0.79) in each. In a
    `signed` map the digits are tenths of the largest value, and a line says what that is.

    It fits the width of the console. Without colors only the digits remain. Long words are shortened, and wide
    sentences continue in another block.
    """
    weights = checked(attention, source, target)
    scale = Scale(float(np.abs(np.nan_to_num(weights)).max(initial=0.0)) or 1.0, signed=True) if signed else WEIGHTS
    return Grid(weights, tuple(map(visible, source)), tuple(map(visible, target)), scale)


def checked(attention: ArrayLike, source: Sequence[str], target: Sequence[str]) -> Weights:
    weights: Weights = np.asarray(attention, dtype=np.float64)
    if not len(source) or not len(target):
        return np.zeros((len(target), len(source)))
    if weights.shape != (len(target), len(source)):
        raise ValueError(
            f"attention is {weights.shape}, but there are {len(target)} target and {len(source)} source words"
        )
    return weights


def _layout(source: Sequence[str], target: Sequence[str]) -> _HeatmapLayout:
    sizes = [FONT * width(word) for word in source]
    widest = max(sizes)
    turned = widest + GAP > WIDEST
    column = LINE if turned else max(LINE, float(math.ceil(widest + GAP)))
    left = max(FONT * width(word) for word in target) + 2 * GAP
    if turned:  # the last words extend beyond the right edge of the matrix
        reach = max(column * (number + 0.5) + (size + FONT) * SLOPE for number, size in enumerate(sizes))
    else:
        reach = column * len(source)
    return _HeatmapLayout(
        left=float(math.ceil(left)),
        top=float(math.ceil((widest * SLOPE if turned else 0.0) + FONT + 2 * GAP)),
        column=column,
        turned=turned,
        columns=len(source),
        rows=len(target),
        width=left + max(reach, column * len(source), 2 * SCALE) + 2 * GAP,
    )


def _words(source: Sequence[str], target: Sequence[str], layout: _HeatmapLayout) -> Iterator[str]:
    for number, word in enumerate(source):
        x, y = layout.left + layout.column * (number + 0.5), layout.top - GAP
        if layout.turned:
            yield _text(word, f'transform="translate({shortest(x + 4)} {shortest(y)}) rotate(-45)"', "start")
        else:
            yield _text(word, _at(x, y), "middle")
    for number, word in enumerate(target):
        y = layout.top + LINE * (number + 0.5) + 0.35 * FONT
        yield _text(word, _at(layout.left - GAP, y), "end")


def _text(word: str, place: str, anchor: str) -> str:
    if is_right_to_left(word):  # it starts on the right
        swapped = {"start": "end", "end": "start"}.get(anchor, anchor)
        place, anchor = f'{place} direction="rtl"', swapped
    return f'<text {place} text-anchor="{anchor}">{escape(word)}</text>'


def _cells(
    weights: Weights, source: Sequence[str], target: Sequence[str], layout: _HeatmapLayout, scale: Scale
) -> Iterator[str]:
    size = f'width="{shortest(layout.column)}" height="{shortest(LINE)}"'
    yield '<g class="cells">'
    for t, row in enumerate(weights.tolist()):
        for s, weight in enumerate(row):
            x, y = layout.cell(t, s)
            part = scale.part(weight)
            title = f"{isolated(source[s])} → {isolated(target[t])} {scale.format_value(weight)}"
            shade = f'fill="{MORE}"' if part >= 0 else f'class="less" fill="{LESS}"'
            shade += f' fill-opacity="{shortest(abs(part), 3)}"'
            yield f"<rect {_at(x, y)} {size} {shade}><title>{escape(title)}</title></rect>"
    yield "</g>"


def _grid(layout: _HeatmapLayout) -> str:
    """Draw thin lines between the cells."""
    across, down = layout.column * layout.columns, LINE * layout.rows
    lines = [
        f"M{shortest(layout.left)} {shortest(layout.cell(t, 0)[1])}h{shortest(across)}" for t in range(layout.rows + 1)
    ]
    lines += [
        f"M{shortest(layout.cell(0, s)[0])} {shortest(layout.top)}v{shortest(down)}" for s in range(layout.columns + 1)
    ]
    return f'<path class="grid" fill="none" d="{"".join(lines)}"/>'


def _legend(layout: _HeatmapLayout, scale: Scale, ramp: str) -> Iterator[str]:
    x, y = layout.left, layout.bottom + 2 * GAP
    yield f'<linearGradient id="{ramp}">'
    if scale.signed:
        yield f'<stop class="less" stop-color="{LESS}"/><stop class="less" offset=".5" stop-opacity="0"/>'
        yield f'<stop offset=".5" stop-opacity="0" stop-color="{MORE}"/>'
    else:
        yield f'<stop stop-opacity="0" stop-color="{MORE}"/>'
    yield f'<stop offset="1" stop-color="{MORE}"/></linearGradient>'
    box = f'{_at(x, y)} width="{shortest(SCALE)}" height="10"'
    yield f'<rect {box} fill="url(#{ramp})"/><rect {box} class="grid" fill="none"/>'
    for part, anchor in ((0.0, "start"), (0.5, "middle"), (1.0, "end")):
        value = scale.top * (2 * part - 1 if scale.signed else part)
        yield _text(
            f"{value:{'+' if value and scale.signed else ''}g}",
            f'class="small" {_at(x + SCALE * part, y + 23)}',
            anchor,
        )
    x += SCALE + GAP
    yield _text(scale.unit, f'class="small" {_at(x, y + 9)}', "start")


def _description(weights: Weights, source: Sequence[str], target: Sequence[str], scale: Scale) -> str:
    strongest = np.nan_to_num(weights).argmax(axis=1).tolist()
    phrases = (f"{target[t]} from {source[s]} {scale.format_value(weights[t, s])}" for t, s in enumerate(strongest))
    return "; ".join(phrases)


def _at(x: float, y: float) -> str:
    return f'x="{shortest(x)}" y="{shortest(y)}"'


def _figure(across: float, down: float, label: str, parts: Sequence[str]) -> str:
    right, bottom = math.ceil(across), math.ceil(down)
    size = f'width="{right}" height="{bottom}" viewBox="0 0 {right} {bottom}"'
    names = f'class="attention" role="img" aria-label="{escape(label)}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {names} {size}>'
    return "\n".join([head, f"<style>{STYLE}</style>", *parts, "</svg>"])
