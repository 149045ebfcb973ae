"""Curves over training steps as one SVG: scores, losses, learning rates, speeds, of one run or several."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from dragoman.visualization.markup import Number, escape, shortest, width

Point: TypeAlias = tuple[Number, Number]
Points: TypeAlias = Sequence[Point]

WIDTH, HEIGHT = 400.0, 190.0  # of the figure; of the plotting area
FONT = 13.0
MOST_POINTS = 400  # the most points that are drawn of a curve
MOST_MARKS = 40  # the most marks on a curve; if it has more points, FEW are marked, so that they do not cover it
FEW = 10
SMALLEST = 1e-290  # a narrower range cannot be divided into steps

# Labels of the values of metrics.jsonl in the page, in the order of the charts. Others follow under their own name.
CHARTS: Mapping[str, str] = {
    "bleu": "BLEU",
    "chrf": "chrF",
    "ter": "TER",
    "exact_match": "Exact match",
    "token_error_rate": "Token error rate",
    "accuracy": "Accuracy",
    "perplexity": "Perplexity",
    "loss": "Loss",
    "learning_rate": "Learning rate",
    "symbols_per_second": "Symbols per second",
}
PHASES = {"valid": "validation", "train": "training"}

# Medium tones, which contrast with white and with near-black. In print and for the color-blind, dashes and marks
# tell them apart: as many of each as colors, so that none comes twice before every color has.
COLORS = ("#2f74e0", "#e8710a", "#159a5b", "#c2419a", "#1597ad", "#b58900", "#dc4747", "#7d838c")
DASHES = ("", "7 4", "1.5 4", "9 4 1.5 4", "16 5", "9 4 1.5 4 1.5 4", "1 9", "16 4 5 4")
MARKS = (  # a circle, a square, triangles, a diamond, crosses, an hourglass; drawn around a point
    "m-2.6 0a2.6 2.6 0 1 0 5.2 0a2.6 2.6 0 1 0-5.2 0",
    "m-2.6-2.6h5.2v5.2h-5.2z",
    "m0-3.6l3.6 6.2h-7.2z",
    "m0-4l4 4l-4 4l-4-4z",
    "m-4.2-2.9l2.9 2.9l-2.9 2.9l1.3 1.3l2.9-2.9l2.9 2.9l1.3-1.3l-2.9-2.9l2.9-2.9l-1.3-1.3l-2.9 2.9l-2.9-2.9z",
    "m0 3.6l3.6-6.2h-7.2z",
    "m-1-4.1h2v3.1h3.1v2h-3.1v3.1h-2v-3.1h-3.1v-2h3.1z",
    "m-3.6-3.6h7.2l-7.2 7.2h7.2z",
)
SAMPLE = 40.0  # length of a line beside its name

STYLE = """
.curves{font:13px system-ui,"Segoe UI","Noto Sans",sans-serif;max-width:100%;height:auto}
.curves:root{color:#1c1e21;background:#fff}
.curves text{fill:currentColor}
.curves .title{font-weight:600;font-size:15px}
.curves .small{font-size:12px;fill-opacity:.75}
.curves .grid{fill:none;stroke:currentColor;stroke-opacity:.14}
.curves .line{fill:none;stroke-width:2;stroke-linejoin:round;stroke-linecap:round}
@media(prefers-color-scheme:dark){.curves:root{color:#e6e7ea;background:#16181c}}
"""


@dataclass(frozen=True)
class _Axis:
    """A range of values and the range of pixels that it maps to."""

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool
    ticks: tuple[float, ...]

    def __call__(self, value: Number) -> float:
        low, high, value = (self._scaled(number) for number in (self.low, self.high, value))
        return self.start + (self.end - self.start) * (value - low) / (high - low)

    def _scaled(self, value: Number) -> float:
        return math.log10(value) if self.logarithmic else float(value)


def svg(curves: Mapping[str, Points], *, title: str, x: str, logarithmic: bool = False) -> str:
    """Draw the curves, each a list of (x, y), as one SVG element, for a file or as a part of a page.

    `x` is the label of the horizontal axis. Values that are not finite leave a gap; long curves are thinned but keep
    their peaks and gaps. `logarithmic` makes the y axis logarithmic if all values are positive. Pointing at a curve or
    at one of its points shows name and value.
    """
    drawn = {name: _thinned(sorted(points)) for name, points in curves.items()}
    finite_points = [point for points in drawn.values() for point in points if _finite(point)]
    legend, top = _legend(list(drawn), title)
    if not finite_points:
        legend.append(f'<text x="4" y="{shortest(top + 24)}" class="small">No values yet</text>')
        return _figure(title, legend, top + 40)
    logarithmic = logarithmic and min(value for _, value in finite_points) > 0
    ticks = _ticks([value for _, value in finite_points], logarithmic)
    left = 8 + FONT * max(width(_number(tick)) for tick in ticks)
    vertical = _Axis(ticks[0], ticks[-1], top + 12 + HEIGHT, top + 12, logarithmic, ticks)
    low, high = _range([step for step, _ in finite_points])
    marks = tuple(tick for tick in _ticks([low, high], False) if low <= tick <= high)
    horizontal = _Axis(low, high, left, WIDTH - 16, False, marks)
    parts = [*legend, *_axes(horizontal, vertical, x)]
    for number, (name, points) in enumerate(drawn.items()):
        parts += _curve(number, name, points, horizontal, vertical)
    return _figure(f"{title}: {_summary(drawn)}", parts, top + HEIGHT + 56)


def _legend(names: Sequence[str], title: str) -> tuple[list[str], float]:
    """Return the title and, unless there is only one curve, the names in as many lines as needed; and their end."""
    parts = [f'<text x="4" y="20" class="title">{escape(title)}</text>']
    if len(names) < 2:
        return parts, 26.0
    across, down = 4.0, 40.0
    for number, name in enumerate(names):
        short = name if width(name) < 26 else "…" + name[-30:]  # names of runs in one folder have the same beginning
        size = SAMPLE + 6 + FONT * width(short) + 14
        if across > 4 and across + size > WIDTH:
            across, down = 4.0, down + 18
        parts.append(f'<path d="M{shortest(across)} {shortest(down - 4)}h{SAMPLE:g}" {_stroke(number)}/>')
        place = f"M{shortest(across + SAMPLE / 2)} {shortest(down - 4)}"
        parts.append(f'<path fill="{_color(number)}" d="{place}{_mark(number)}"/>')
        parts.append(f'<text x="{shortest(across + SAMPLE + 6)}" y="{shortest(down)}">{escape(short)}</text>')
        across += size
    return parts, down + 6


def _axes(horizontal: _Axis, vertical: _Axis, x: str) -> Iterator[str]:
    across = f"M{shortest(horizontal.start)} {{}}H{shortest(horizontal.end)}"
    lines = "".join(across.format(shortest(vertical(tick))) for tick in vertical.ticks)
    yield f'<path class="grid" fill="none" d="{lines}"/>'
    for tick in vertical.ticks:
        place = f'x="{shortest(horizontal.start - 7)}" y="{shortest(vertical(tick) + 4)}" text-anchor="end"'
        yield f'<text class="small" {place}>{_number(tick)}</text>'
    for tick in horizontal.ticks:
        place = f'x="{shortest(horizontal(tick))}" y="{shortest(vertical.start + 17)}" text-anchor="middle"'
        yield f'<text class="small" {place}>{_number(tick)}</text>'
    place = f'x="{shortest((horizontal.start + horizontal.end) / 2)}" y="{shortest(vertical.start + 36)}"'
    yield f'<text class="small" {place} text-anchor="middle">{escape(x)}</text>'


def _curve(number: int, name: str, points: Points, horizontal: _Axis, vertical: _Axis) -> Iterator[str]:
    """Draw the line with its gaps, and marks on its points."""
    path: list[str] = []
    marks: list[str] = []
    pen = "M"
    for point in points:
        if not _finite(point):
            pen = "M"
            continue
        x, y = shortest(horizontal(point[0])), shortest(vertical(point[1]))
        path.append(f"{pen}{x} {y}")
        pen = "L"
        label = f"{name}: {_number(point[1], 4)} at {point[0]:,.12g}"
        marks.append(f'<path d="M{x} {y}{_mark(number)}"><title>{escape(label)}</title></path>')
    yield f'<path d="{"".join(path)}" {_stroke(number)}><title>{escape(name)}</title></path>'
    shown = marks if len(marks) <= MOST_MARKS else marks[:: len(marks) // FEW]
    yield f'<g fill="{_color(number)}">{"".join(shown)}</g>'


def _color(number: int) -> str:
    return COLORS[number % len(COLORS)]


def _mark(number: int) -> str:
    return MARKS[number % len(MARKS)]


def _stroke(number: int) -> str:
    """Return the style of a line; when the colors repeat, the dashes are shifted by one."""
    dash = DASHES[(number + number // len(COLORS)) % len(DASHES)]
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return f'class="line" fill="none" stroke="{_color(number)}"{dashes}'


def _thinned(points: Points) -> Points:
    """Return at most MOST_POINTS points: the lowest and the highest of each stretch, and all gaps."""
    if len(points) <= MOST_POINTS:
        return points
    stretch = math.ceil(len(points) / (MOST_POINTS // 2 - 1))
    kept = {0, len(points) - 1, *(n for n, point in enumerate(points) if not _finite(point))}
    for first in range(0, len(points), stretch):
        numbers = [n for n in range(first, min(first + stretch, len(points))) if _finite(points[n])]
        if numbers:
            kept |= {min(numbers, key=lambda n: points[n][1]), max(numbers, key=lambda n: points[n][1])}
    return [points[number] for number in sorted(kept)]


def _finite(point: Point) -> bool:
    return math.isfinite(point[0]) and math.isfinite(point[1])


def _range(values: Sequence[Number]) -> tuple[float, float]:
    low, high = float(min(values)), float(max(values))
    return (low, high) if low < high else (low - 1, high + 1)


def _ticks(values: Sequence[Number], logarithmic: bool) -> tuple[float, ...]:
    """Return about five round numbers, from below the smallest value to above the largest."""
    if logarithmic:
        first_power, last_power = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
        parts = (1, 2, 5) if last_power - first_power <= 3 else (1,)
        powers = range(first_power, max(last_power, first_power + 1) + 1)
        ticks = [part * 10.0**power for power in powers for part in parts]
        first = max((n for n, tick in enumerate(ticks) if tick <= min(values)), default=0)
        last = min((n for n, tick in enumerate(ticks) if tick >= max(values)), default=len(ticks) - 1)
        return tuple(ticks[first : max(last, first + 1) + 1])
    low, high = float(min(values)), float(max(values))
    margin = max(abs(low), abs(high)) / 10
    if margin < SMALLEST:
        low, high = 0.0, 1.0
    elif high - low < margin * 1e-9:
        low, high = low - margin, high + margin
    raw = (high - low) / 5
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * part for part in (1, 2, 2.5, 5, 10) if power * part >= raw * 0.999)
    return tuple(step * number for number in range(math.floor(low / step), math.ceil(high / step) + 1))


def _number(value: Number, digits: int = 3) -> str:
    for size, unit, letter in ((1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e5, 1e3, "k")):
        if abs(value) >= size:
            return f"{value / unit:.{digits}g}{letter}"
    return f"{value:.{digits}g}" if abs(value) < 1000 else f"{value:,.0f}"


def _summary(curves: Mapping[str, Points]) -> str:
    last = ((name, [value for step, value in points if _finite((step, value))]) for name, points in curves.items())
    return "; ".join(f"{name} ends at {_number(values[-1], 4)}" for name, values in last if values)


def _figure(label: str, parts: Sequence[str], down: Number) -> str:
    size = f'width="{WIDTH:g}" height="{down:g}" viewBox="0 0 {WIDTH:g} {down:g}"'
    names = f'class="curves" role="img" aria-label="{escape(label)}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {names} {size}>'
    return "\n".join([head, f"<style>{STYLE}</style>", *parts, "</svg>"])


class ChartedRun(NamedTuple):
    """The name of a run and the rows of its metrics.jsonl."""

    name: str
    metrics: Sequence[Mapping[str, Any]]


def charts(runs: Sequence[ChartedRun]) -> Iterator[str]:
    """Yield a chart for every value: for one run with its phases together, for several runs one for every phase.

    Runs whose epochs have different numbers of steps are compared by epochs (LH fig. 1).
    """
    keys = {key for run in runs for row in run.metrics for key in row if "/" in key}
    lengths = [_epoch_length(run) for run in runs]
    x, units = ("epochs", lengths) if len(runs) > 1 and all(lengths) else ("steps", [1.0] * len(runs))
    for value in sorted({key.rpartition("/")[2] for key in keys}, key=_rank):
        title = CHARTS.get(value, value.replace("_", " "))
        phases = [key for key in sorted(keys, reverse=True) if key.rpartition("/")[2] == value]
        if len(runs) == 1:
            curves_by_name = {_phase(key): _points(runs[0], key, units[0]) for key in phases}
            yield svg(curves_by_name, title=title, x=x, logarithmic=value == "perplexity")
        else:
            for key in phases:
                heading = f"{title}, {_phase(key)}" if len(phases) > 1 else title
                curves_by_name = {run.name: _points(run, key, unit) for run, unit in zip(runs, units, strict=True)}
                yield svg(curves_by_name, title=heading, x=x, logarithmic=value == "perplexity")


def _rank(value: str) -> tuple[int, str]:
    names = list(CHARTS)
    return (names.index(value) if value in names else len(names), value)


def _phase(key: str) -> str:
    phase, *pair, _ = key.split("/")
    return " ".join([PHASES.get(phase, phase), *pair])


def _points(run: ChartedRun, key: str, unit: float) -> list[tuple[float, float]]:
    return [(round(step / unit, 3), float(value)) for step, value in _columns(run, key)]


def _epoch_length(run: ChartedRun) -> float:
    """Return the number of steps in an epoch; 0 while the first one may be incomplete.

    Rows have the current or just completed epoch, from 1, so that none has more steps per epoch than there are.
    """
    lengths = {epoch: step / epoch for step, epoch in _columns(run, "epoch") if epoch > 0}
    return max(lengths.values()) if len(lengths) > 1 else 0.0


def _columns(run: ChartedRun, key: str) -> Iterator[tuple[float, float]]:
    """Yield step and value of the rows that have both."""
    for row in run.metrics:
        step, value = row.get("step"), row.get(key)
        if isinstance(step, int | float) and isinstance(value, int | float):
            yield step, value
