"""The tables of the report, as HTML: facts, scores, quality by length, and configurations."""

import difflib
import math
from collections.abc import Sequence
from typing import NamedTuple

from dragoman.configuration.messages import figure
from dragoman.visualisation.curves import COLOURS
from dragoman.visualisation.markup import breakable, escape


class Bucket(NamedTuple):
    """The number of sentences with `first` to `last` words (None: or more), and the value of a metric for them."""

    first: int
    last: int | None
    sentences: int
    value: float

    def __str__(self) -> str:
        return f"over {self.first - 1}" if self.last is None else f"{self.first}–{self.last}"


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


def scores(names: Sequence[str], runs: Sequence[Sequence[tuple[str, float, str]]]) -> str:
    """Return a row for every metric, a column for every run; the signatures show whether values are comparable."""
    metrics = list(dict.fromkeys(name for found in runs for name, _, _ in found))
    if not metrics:
        return ""
    rows = []
    for metric in metrics:
        found = [next(((value, sign) for name, value, sign in run if name == metric), None) for run in runs]
        values = "".join(f'<td class="value">{_value(pair[0]) if pair else "–"}</td>' for pair in found)
        signatures = list(dict.fromkeys(pair[1] for pair in found if pair))
        told = "<br>".join(f"<code>{breakable(sign)}</code>" for sign in signatures)
        if len(signatures) > 1:
            told += "<br>Not comparable: the signatures differ."
        rows.append(f'<tr class="with-note"><th scope="row" class="narrow">{escape(metric)}</th>{values}</tr>')
        rows.append(f'<tr class="note"><td></td><td colspan="{len(names)}">{told}</td></tr>')
    return _table(["<th>Metric</th>", *(f"<th>{name}</th>" for name in _headings(names))], rows)


def lengths(names: Sequence[str], runs: Sequence[Sequence[Bucket]]) -> str:
    """Return a row for every bucket of sentence lengths, with the bars of all runs below each other.

    If runs have different sentences, each shows its own number of them beside its bar.
    """
    rows: dict[str, list[Bucket | None]] = {}
    for bucket in sorted((bucket for found in runs for bucket in found), key=lambda bucket: bucket.first):
        rows[str(bucket)] = [next((each for each in run if str(each) == str(bucket)), None) for run in runs]
    if not rows:
        return ""
    values = [bucket.value for found in runs for bucket in found if math.isfinite(bucket.value)]
    longest = max(values, default=0.0) or 1.0
    shown = []
    for name, buckets in rows.items():
        counts = [f"{bucket.sentences:,}" if bucket else "–" for bucket in buckets]
        if len(set(counts)) == 1:
            counts = counts[:1]
        bars = "".join(_bar(number, each.value if each else math.nan, longest) for number, each in enumerate(buckets))
        heading = f'<th scope="row" class="narrow">{name}</th>'
        shown.append(f'<tr>{heading}<td class="count narrow">{"<br>".join(counts)}</td><td>{bars}</td></tr>')
    keys = f"<th>{' &ensp; '.join(_headings(names))}</th>"
    return _table(["<th>Words</th>", '<th class="count">Sentences</th>', keys], shown)


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
    for kind, _, _, start, end in matcher.get_opcodes():
        part = [escape(line) for line in lines[start:end]]
        shown += part if kind == "equal" else [f"<mark>{line}</mark>" for line in part]
    return shown


def _table(headings: Sequence[str], rows: Sequence[str]) -> str:
    head = "".join(headings).replace("<th", '<th scope="col"')
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _headings(names: Sequence[str]) -> list[str]:
    return [f"<span{_key(number)}>{breakable(name)}</span>" for number, name in enumerate(names)]


def _key(number: int) -> str:
    """Return the attributes that show the colour of a run's curves before its name."""
    return f' class="key" style="--key:{COLOURS[number % len(COLOURS)]}"'


def _bar(number: int, value: float, longest: float) -> str:
    colour = COLOURS[number % len(COLOURS)]
    part = max(0.0, value / longest) if math.isfinite(value) else 0.0
    return f'<div class="bar" style="--key:{colour};--part:{part:.1%}">{_value(value)}</div>'


def _value(value: float) -> str:
    return figure(value) if math.isfinite(value) else "–"
