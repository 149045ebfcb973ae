"""The tables of the report, as HTML: scores, quality by group, facts, and configurations."""

import difflib
import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from dragoman.configuration.messages import figure
from dragoman.visualization.curves import COLORS
from dragoman.visualization.markup import breakable, escape, shortest

MARKS = "* for p < 0.05, ** for p < 0.01, by paired bootstrap"


class ScoreCell(NamedTuple):
    """The value of a metric; if they are known, its 95 % interval, and for all but the first of several runs the
    probability of so large a difference from that one, if they were equal, with the mark of a significant one.
    """

    value: float
    low: float = math.nan
    high: float = math.nan
    p: float | None = None
    mark: str = ""
    difference: float | None = None

    @property
    def ends(self) -> list[float]:
        """What a scale has to reach."""
        return [bound for bound in (self.value, self.low, self.high) if math.isfinite(bound)]


class Scores(NamedTuple):
    """The values of a metric: for runs by their numbers, then by name for what needs no model. `notes` tell what they
    depend on.
    """

    title: str
    runs: Sequence[tuple[int, ScoreCell]]
    baselines: Sequence[tuple[str, float]] = ()
    notes: Sequence[str] = ()
    higher_is_better: bool | None = None


class GroupRow(NamedTuple):
    """Some sentences or words, how many, and the value of a metric for runs by their numbers."""

    name: str
    size: int
    runs: Sequence[tuple[int, ScoreCell]]


class Groups(NamedTuple):
    """The values of a metric in groups; `by` and `counted` are the headings of what they are."""

    title: str
    by: str
    counted: str
    groups: Sequence[GroupRow]
    higher_is_better: bool = True


def scores(names: Sequence[str], table: Scores) -> str:
    """Return a card: a row for each run with its interval and its difference from the first, and below what scores
    without a model.
    """
    compared = any(cell.difference is not None for _, cell in table.runs)
    ends = [end for _, cell in table.runs for end in cell.ends]
    drawn = any(math.isfinite(cell.low) for _, cell in table.runs)
    head = ["<th>System</th>", "<th>Score</th>"]
    head += ['<td class="plot"></td>'] * drawn + ["<th>Difference</th>"] * compared
    rows = []
    for number, cell in table.runs:
        cells = [_named(names, number), _score(cell)]
        cells += [f'<td class="plot">{_interval(cell, min(ends), max(ends))}</td>'] * drawn
        rows.append(f"<tr>{''.join([*cells, *([_difference(cell)] if compared else [])])}</tr>")
    baselines = ", ".join(f"{escape(name)} {_value(value)}" for name, value in table.baselines)
    below = f'<p class="note">Without a model: {baselines}</p>' if baselines else ""
    return _card(table.title, table.higher_is_better, _table(head, rows) + below + _depends(table.notes))


def further(names: Sequence[str], tables: Sequence[Scores]) -> str:
    """Return a card with scores that are not compared: a row for each run, a column for each score."""
    if not tables:
        return ""
    head = [
        "<th>System</th>",
        *(f"<th>{breakable(table.title)}{_lower(table.higher_is_better)}</th>" for table in tables),
    ]
    rows = []
    for number in dict.fromkeys(number for table in tables for number, _ in table.runs):
        cells = [dict(table.runs).get(number, ScoreCell(math.nan)) for table in tables]
        rows.append(f"<tr>{_named(names, number)}{''.join(map(_score, cells))}</tr>")
    notes = [f"{table.title}: {note}" for table in tables for note in table.notes]
    return _card("Further scores", None, _table(head, rows) + _depends(notes))


def _named(names: Sequence[str], number: int) -> str:
    return f'<th scope="row"><span{_key(number)}>{breakable(names[number])}</span></th>'


def _score(cell: ScoreCell) -> str:
    margin = f' <small class="muted">± {figure((cell.high - cell.low) / 2)}</small>'
    return f'<td><b class="value">{_value(cell.value)}</b>{margin if math.isfinite(cell.low) else ""}</td>'


def _difference(cell: ScoreCell) -> str:
    if cell.difference is None:
        return "<td></td>"
    p = "" if cell.p is None else f' <small class="muted">p {cell.p:.3f}</small>'
    return f'<td class="difference">{_signed(cell.difference)}{_mark(cell)}{p}</td>'


def _signed(value: float) -> str:
    return f"{value:+.2f}".replace("-", "−")


def _mark(cell: ScoreCell) -> str:
    return f'<b class="mark">{cell.mark}</b>' if cell.mark else ""


def legend(names: Sequence[str], runs: Iterable[tuple[int, ScoreCell]]) -> str:
    """Explain intervals, differences and marks, as far as there are any."""
    cells = list(runs)
    sentences = []
    if any(math.isfinite(cell.low) for _, cell in cells):
        sentences.append("± and lines: 95 % intervals, by bootstrap.")
    if any(cell.difference is not None for _, cell in cells):
        first = {names[number] for number, cell in cells if cell.difference is None}
        base = breakable(first.pop()) if len(first) == 1 else "the first run with the same references"
        sentences.append(f"Differences are those from {base}")
        sentences[-1] += f": {escape(MARKS)}." if any(cell.p is not None for _, cell in cells) else "."
    return f'<p class="note">{" ".join(sentences)}</p>' if sentences else ""


def _depends(notes: Sequence[str]) -> str:
    lines = "".join(f"<p><code>{breakable(note)}</code></p>" for note in notes)
    return f"<details><summary>What it depends on</summary>{lines}</details>" if lines else ""


def _interval(cell: ScoreCell, low: float, high: float) -> str:
    """Draw the value and its interval between the ends of a scale; their numbers stand beside."""
    if not math.isfinite(cell.low):
        return ""
    whole = (high - low) or 1.0
    left, at, right = (shortest(2 + 96 * (edge - low) / whole, 2) for edge in (cell.low, cell.value, cell.high))
    lines = f'<path class="range" d="M{left} 6H{right}"/><path class="at" d="M{at} 1V11"/>'
    return f'<svg viewBox="0 0 100 12" preserveAspectRatio="none" aria-hidden="true">{lines}</svg>'


def groups(names: Sequence[str], chart: Groups) -> str:
    """Return a card: a row for each group, with the bars of all runs below each other."""
    longest = max((end for group in chart.groups for _, cell in group.runs for end in cell.ends), default=0.0) or 1.0
    rows = []
    for group in chart.groups:
        bars = "".join(_bar(names, number, cell, longest) for number, cell in group.runs)
        count = f'<td class="count">{group.size:,}</td>'
        rows.append(f'<tr><th scope="row" class="bucket">{escape(group.name)}</th>{count}<td><ul>{bars}</ul></td></tr>')
    numbers = dict.fromkeys(number for group in chart.groups for number, _ in group.runs)
    legend = "".join(f"<span{_key(number)}>{breakable(names[number])}</span> " for number in numbers)
    heads = [f"<th>{escape(chart.by)}</th>", f'<th class="count">{escape(chart.counted)}</th>', "<th>Value</th>"]
    keys = f'<p class="keys">{legend}</p>' if len(names) > 1 else ""
    return _card(chart.title, chart.higher_is_better, keys + _table(heads, rows))


def _bar(names: Sequence[str], number: int, cell: ScoreCell, longest: float) -> str:
    """A bar from 0 with its interval, and its value; color and hidden words name the run."""
    end = shortest(100 * max(0.0, cell.value / longest), 2) if math.isfinite(cell.value) else "0"
    bar = f'<rect class="part" width="{end}" height="12"/>'
    if math.isfinite(cell.low):
        left, right = (shortest(100 * edge / longest, 2) for edge in (cell.low, cell.high))
        bar += f'<path class="range" d="M{left} 6H{right}"/>'
    svg = f'<svg viewBox="0 0 100 12" preserveAspectRatio="none" aria-hidden="true">{bar}</svg>'
    whose = f'<span class="unseen">{escape(names[number])} </span>' if len(names) > 1 else ""
    return f"<li{_key(number, 'bar')}>{svg}<span>{whose}{_value(cell.value)}{_mark(cell)}</span></li>"


def _card(title: str, higher_is_better: bool | None, body: str) -> str:
    return f'<article class="card"><h3>{breakable(title)}{_lower(higher_is_better)}</h3>{body}</article>'


def _lower(higher_is_better: bool | None) -> str:
    return ' <small class="muted">lower is better</small>' if higher_is_better is False else ""


def facts(runs: Sequence[tuple[str, Sequence[tuple[str, object]]]]) -> str:
    """Return a card for every run with its (label, value) pairs; empty if no run has any.

    A label that begins with a space belongs to a part of the fact before it.
    """
    if not any(pairs for _, pairs in runs):
        return ""
    return "".join(
        f'<article class="card"><h3{_key(number)}>{breakable(name)}</h3><dl>{"".join(map(_fact, pairs))}</dl></article>'
        for number, (name, pairs) in enumerate(runs)
    )


def _fact(pair: tuple[str, object]) -> str:
    label, value = pair
    part = ' class="part"' if label.startswith(" ") else ""
    return f"<div{part}><dt>{escape(label.strip())}</dt><dd>{breakable(str(value))}</dd></div>"


def configurations(runs: Sequence[tuple[str, str]]) -> str:
    """Return the configuration of every run, folded; lines that differ from the first run's are marked."""
    parts, first = [], None
    for number, (name, text) in enumerate(runs):
        if not text:
            continue
        lines = text.rstrip("\n").split("\n")
        first = first or lines
        shown = "\n".join(_marked(first, lines))
        parts.append(f"<details><summary{_key(number)}>{breakable(name)}</summary><pre>{shown}</pre></details>")
    return "".join(parts)


def _marked(first: Sequence[str], lines: Sequence[str]) -> list[str]:
    matcher = difflib.SequenceMatcher(None, first, lines, autojunk=False)
    shown = []
    for change, _, _, start, end in matcher.get_opcodes():
        part = [escape(line) for line in lines[start:end]]
        shown += part if change == "equal" else [f"<mark>{line}</mark>" for line in part]
    return shown


def _table(headings: Sequence[str], rows: Sequence[str]) -> str:
    head = "".join(headings).replace("<th", '<th scope="col"')
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _key(number: int, kind: str = "key") -> str:
    """Return the attribute that shows the color of a run's curves before its name."""
    return f' class="{kind} run-{number % len(COLORS)}"'


def _value(value: float) -> str:
    return figure(value) if math.isfinite(value) else "–"
