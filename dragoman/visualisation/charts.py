"""The learning curves of runs: a chart for every value that training writes down."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from dragoman.visualisation import curves

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


class Training(NamedTuple):
    """The name of a run and the rows of its metrics.jsonl."""

    name: str
    metrics: Sequence[Mapping[str, Any]]


def charts(runs: Sequence[Training]) -> Iterator[str]:
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
            yield _chart(curves_by_name, title, x, value)
        else:
            for key in phases:
                heading = f"{title}, {_phase(key)}" if len(phases) > 1 else title
                curves_by_name = {run.name: _points(run, key, unit) for run, unit in zip(runs, units, strict=True)}
                yield _chart(curves_by_name, heading, x, value)


def _chart(points_by_name: Mapping[str, curves.Points], title: str, x: str, value: str) -> str:
    return curves.svg(points_by_name, title=title, x=x, logarithmic=value == "perplexity")


def _rank(value: str) -> tuple[int, str]:
    names = list(CHARTS)
    return (names.index(value) if value in names else len(names), value)


def _phase(key: str) -> str:
    phase, *pair, _ = key.split("/")
    return " ".join([PHASES.get(phase, phase), *pair])


def _points(run: Training, key: str, unit: float) -> list[tuple[float, float]]:
    return [(round(step / unit, 3), float(value)) for step, value in _columns(run, key)]


def _epoch_length(run: Training) -> float:
    """Return the number of steps in an epoch; 0 while the first one may be incomplete.

    Rows have the current or just completed epoch, from 1, so that none has more steps per epoch than there are.
    """
    lengths = {epoch: step / epoch for step, epoch in _columns(run, "epoch") if epoch > 0}
    return max(lengths.values()) if len(lengths) > 1 else 0.0


def _columns(run: Training, key: str) -> Iterator[tuple[float, float]]:
    """Yield step and value of the rows that have both."""
    for row in run.metrics:
        step, value = row.get("step"), row.get(key)
        if isinstance(step, int | float) and isinstance(value, int | float):
            yield step, value
