"""The report on one or several runs: a single self-contained HTML page.

The page's structure, style and behavior are the files in `page/`; this module fills in what is known of the runs.
"""

import base64
import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from itertools import takewhile
from pathlib import PurePath
from typing import Any

from dragoman.visualization import curves, report_tables, sentences
from dragoman.visualization.markup import breakable, escape
from dragoman.visualization.report_tables import Groups, Scores
from dragoman.visualization.sentences import ReportSentence, SentenceMetric

SCRIPTS = ("parts.js", "attention.js", "sentence.js", "list.js")  # in the order in which they build on each other
MOST_NAMED = 3  # runs whose names are the title


@dataclass(frozen=True)
class RunView:
    """What the report shows of a run; every part except the name may be missing.

    `facts` are (label, value), `metrics` the rows of metrics.jsonl. `sentences` is their number, if not all of them are
    among the examples.
    """

    name: str
    config_yaml: str = ""
    facts: Sequence[tuple[str, object]] = ()
    metrics: Sequence[Mapping[str, Any]] = ()
    examples: Sequence[ReportSentence] = ()
    sentences: int = 0


@dataclass(frozen=True)
class Report:
    """Runs, and what compares them; cells of scores and groups name runs by their number. `measures` are what the
    `values` of sentences are.
    """

    runs: Sequence[RunView]
    scores: Sequence[Scores] = ()
    further: Sequence[Scores] = ()
    groups: Sequence[Groups] = ()
    measures: Sequence[SentenceMetric] = ()


def page(report: Report) -> str:
    """Return the report as the text of an HTML file. Text of the runs is shown as it is, never taken for markup."""
    runs = _distinct(report.runs)
    names = [run.name for run in runs]
    drawn = curves.charts([curves.ChartedRun(run.name, run.metrics) for run in runs])
    parts = {
        "scores": "".join(report_tables.scores(names, table) for table in report.scores)
        + report_tables.further(names, report.further),
        "sentences": "present" if any(run.examples for run in runs) else "",
        "groups": "".join(report_tables.groups(names, table) for table in report.groups),
        "curves": "".join(f"<figure>{chart}</figure>" for chart in drawn),
        "facts": report_tables.facts([(run.name, run.facts) for run in runs]),
        "configuration": report_tables.configurations([(run.name, run.config_yaml) for run in runs]),
    }
    hidden = {f"no_{name}": "" if part else " hidden" for name, part in parts.items()}
    title = ", ".join(names) if len(names) <= MOST_NAMED else f"{len(names)} runs"
    texts = {
        "nothing": "" if any(parts.values()) else "<p>There is nothing to show yet.</p>",
        "title": escape(title or "No runs"),
        "heading": breakable(title or "No runs"),
        "only": _only(runs),
        "scores_told": report_tables.legend(names, (pair for table in report.scores for pair in table.runs)),
        "groups_told": report_tables.legend(
            names, (pair for table in report.groups for group in table.groups for pair in group.runs)
        ),
        "data": sentences.data([(run.name, run.examples) for run in runs], report.measures),
    }
    return _filled({**parts, **hidden, **texts, **_own()})


def _only(runs: Sequence[RunView]) -> str:
    """State how many sentences are shown if there are more."""
    left_out = [run for run in runs if run.sentences > len(run.examples)]
    if not left_out:
        return ""
    return f"<p>The first {len(left_out[0].examples):,} of {left_out[0].sentences:,} sentences; all are scored.</p>"


def _own() -> dict[str, str]:
    """The style and the script of the page, and the policy that allows them and nothing else."""
    keys = "".join(f".run-{number}{{--key:{color}}}\n" for number, color in enumerate(curves.COLORS))
    style = _file("report.css") + keys
    script = '"use strict";\n{\n' + "\n".join(map(_file, SCRIPTS)) + "}\n"
    policy = {
        "default-src": "'none'",
        "script-src": _hashes([script]),
        "style-src": _hashes([style, curves.STYLE]),
        "base-uri": "'none'",
        "form-action": "'none'",
        "require-trusted-types-for": "'script'",
        "trusted-types": "'none'",
    }
    return {"style": style, "script": script, "policy": "; ".join(map(" ".join, policy.items()))}


def _hashes(texts: Iterable[str]) -> str:
    digests = (base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii") for text in texts)
    return " ".join(f"'sha256-{digest}'" for digest in digests)


def _file(name: str) -> str:
    return resources.files("dragoman.visualization").joinpath("page", name).read_text("utf-8")


def _filled(parts: Mapping[str, str]) -> str:
    """Replace the {{names}} of the template in one pass, so that texts with braces stay as they are."""
    text = re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], _file("report.html"))
    return text.encode("utf-8", "replace").decode("utf-8")  # a lone surrogate cannot be written to a file


def _distinct(runs: Sequence[RunView]) -> list[RunView]:
    """Return the runs with distinct names, as short as tells them apart: without the folder that all are in."""
    names = [run.name or f"run {number}" for number, run in enumerate(runs, start=1)]
    if len(set(names)) > 1:
        folders = [PurePath(name).parent.parts for name in names]
        shared = sum(1 for _ in takewhile(lambda parts: len(set(parts)) == 1, zip(*folders, strict=False)))
        names = [str(PurePath(*PurePath(name).parts[shared:])) for name in names]
    named: list[RunView] = []
    for number, (run, name) in enumerate(zip(runs, names, strict=True), start=1):
        taken = {other.name for other in named}
        named.append(replace(run, name=name if name not in taken else f"{name} ({number})"))
    return named
