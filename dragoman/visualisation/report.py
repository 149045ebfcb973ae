"""The report on one or several runs: a single self-contained HTML page.

The page's structure, style and behaviour are in `report.html`; this module fills in what is known of the
runs.
"""

import json
import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dragoman.visualisation import curves, tables
from dragoman.visualisation.markup import breakable, escape
from dragoman.visualisation.tables import Bucket

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


@dataclass(frozen=True)
class Example:
    """A translated sentence: its words, the attention (target words, source words) between them, and its texts.

    `source_text` and `target_text` are the texts before tokenisation. `reference` is None if it is not known, `score`
    is that of the translation, `gold` are links (source word, target word), `n_best` further translations with their
    scores. With several sources, `source` has the name of each before its words; `shares` are the columns that are no
    words: the total weight of each source, and further figures of the model. `pair` is the language pair of the
    sentence, if there are several.
    """

    source: Sequence[str]
    target: Sequence[str]
    reference: str | None
    attention: ArrayLike
    score: float
    gold: Collection[tuple[int, int]] | None = None
    n_best: Sequence[tuple[str, float]] = ()
    shares: Sequence[int] = ()
    pair: str = ""
    source_text: str = field(kw_only=True)
    target_text: str = field(kw_only=True)

    @property
    def length(self) -> int:
        """Number of words of the longest source."""
        ends = (-1, *self.shares, len(self.source))
        return max(end - begin - 1 for begin, end in pairwise(ends))


@dataclass(frozen=True)
class RunView:
    """What the report shows of a run; every part except the name may be missing.

    `facts` are (label, value), `metrics` the rows of metrics.jsonl, `scores` (name, value, signature), `lengths` has
    BLEU by sentence length.
    """

    name: str
    config_yaml: str = ""
    facts: Sequence[tuple[str, object]] = ()
    metrics: Sequence[Mapping[str, Any]] = ()
    scores: Sequence[tuple[str, float, str]] = ()
    lengths: Sequence[Bucket] = ()
    examples: Sequence[Example] = ()


def page(runs: Sequence[RunView]) -> str:
    """Return the report as the text of an HTML file. Text of the runs is shown as it is, never taken for markup."""
    runs = _distinct(runs)
    names = [run.name for run in runs]
    parts = {
        "facts": tables.facts([(run.name, run.facts) for run in runs]),
        "scores": tables.scores(names, [run.scores for run in runs]),
        "curves": "".join(f"<figure>{chart}</figure>" for chart in _charts(runs)),
        "lengths": tables.lengths(names, [run.lengths for run in runs]),
        "examples": "present" if any(run.examples for run in runs) else "",
        "configuration": tables.configurations([(run.name, run.config_yaml) for run in runs]),
    }
    hidden = {f"no_{name}": "" if part else " hidden" for name, part in parts.items()}
    nothing = "" if any(parts.values()) else "<p>There is nothing to show yet.</p>"
    title = ", ".join(names) or "No runs"
    named = {"title": escape(title), "heading": breakable(title)}
    return _filled({**parts, **hidden, **named, "nothing": nothing, "data": _data(runs)})


def _filled(parts: Mapping[str, str]) -> str:
    """Replace the {{names}} of the template in one pass, so that texts with braces stay as they are."""
    template = resources.files("dragoman.visualisation").joinpath("report.html").read_text("utf-8")
    text = re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], template)
    return text.encode("utf-8", "replace").decode("utf-8")  # a lone surrogate cannot be written to a file


def _distinct(runs: Sequence[RunView]) -> list[RunView]:
    """Return the runs with distinct names."""
    named: list[RunView] = []
    for number, run in enumerate(runs, start=1):
        name = run.name or f"run {number}"
        taken = {other.name for other in named}
        named.append(replace(run, name=name if name not in taken else f"{name} ({number})"))
    return named


def _charts(runs: Sequence[RunView]) -> Iterator[str]:
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
            found = {_phase(key): _points(runs[0], key, units[0]) for key in phases}
            yield _chart(found, title, x, value)
        else:
            for key in phases:
                heading = f"{title}, {_phase(key)}" if len(phases) > 1 else title
                found = {run.name: _points(run, key, unit) for run, unit in zip(runs, units, strict=True)}
                yield _chart(found, heading, x, value)


def _chart(found: Mapping[str, curves.Points], title: str, x: str, value: str) -> str:
    return curves.svg(found, title=title, x=x, logarithmic=value == "perplexity")


def _rank(value: str) -> tuple[int, str]:
    names = list(CHARTS)
    return (names.index(value) if value in names else len(names), value)


def _phase(key: str) -> str:
    phase, *pair, _ = key.split("/")
    return " ".join([PHASES.get(phase, phase), *pair])


def _points(run: RunView, key: str, unit: float) -> list[tuple[float, float]]:
    return [(round(step / unit, 3), float(value)) for step, value in _columns(run, key)]


def _epoch_length(run: RunView) -> float:
    """Return the number of steps in an epoch; 0 while the first one may be incomplete.

    Rows have the current or just completed epoch, from 1, so that none has more steps per epoch than there are.
    """
    lengths = {epoch: step / epoch for step, epoch in _columns(run, "epoch") if epoch > 0}
    return max(lengths.values()) if len(lengths) > 1 else 0.0


def _columns(run: RunView, key: str) -> Iterator[tuple[float, float]]:
    """Yield step and value of the rows that have both."""
    for row in run.metrics:
        step, value = row.get("step"), row.get(key)
        if isinstance(step, int | float) and isinstance(value, int | float):
            yield step, value


def _data(runs: Sequence[RunView]) -> str:
    """Return the examples as JSON that is safe in a script element. Weights are in thousandths, to be short."""
    found = [
        {
            "name": run.name,
            "colour": curves.COLOURS[number % len(curves.COLOURS)],
            "examples": [_example(example) for example in run.examples],
        }
        for number, run in enumerate(runs)
    ]
    text = json.dumps(found, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c")  # the only character that could end a script element


def _example(example: Example) -> dict[str, Any]:
    weights = np.asarray(example.attention, dtype=np.float64)
    return {
        "source": list(example.source),
        "target": list(example.target),
        "source_text": example.source_text,
        "target_text": example.target_text,
        "reference": example.reference,
        "attention": np.rint(1000 * np.nan_to_num(weights, posinf=0.0)).astype(int).tolist(),
        "score": _number(example.score),
        "gold": None if example.gold is None else sorted([int(s), int(t)] for s, t in example.gold),
        "n_best": [[text, _number(score)] for text, score in example.n_best],
        "shares": list(example.shares),
        "pair": example.pair,
    }


def _number(value: float) -> float | None:
    return round(float(value), 4) if math.isfinite(value) else None
