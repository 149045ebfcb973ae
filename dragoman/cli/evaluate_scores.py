"""Scores of texts against references, and their output."""

import json
import re
import unicodedata
from collections import ChainMap, Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

from dragoman.cli.counting import tell_if_from_1
from dragoman.cli.streams import tell
from dragoman.configuration import components, yaml_lines
from dragoman.configuration.components import Spec
from dragoman.configuration.messages import nearest
from dragoman.corpus.pharaoh import read_pharaoh
from dragoman.errors import UserError
from dragoman.evaluation.metrics.line_metrics import RECORDED, AlignmentErrorRate, StructuredLineMetric
from dragoman.evaluation.metrics.metric import Metric, Score
from dragoman.evaluation.metrics.table import METRICS
from dragoman.files.reading import LONGEST_TEXT, read_sentences, shown
from dragoman.text.pretokenizer import bleu_tokenization

# Metrics may be added at any time.
KINDS: Mapping[str, type[Metric]] = ChainMap({**RECORDED}, cast(dict[str, type[Metric]], METRICS))
LOOKED = 1_000  # lines of a file that tell its script
_JSON = re.compile(r'\{"version":\d+,"text":')  # how a translation begins
_BETWEEN = re.compile(r"(?<!\\)\|")  # the parts of a signature


class ScoredFile(NamedTuple):
    """The lines of a file."""

    path: Path
    lines: list[str]


def read(path: Path) -> ScoredFile:
    """Read a file whose lines are to be scored. Raises UserError if one is too long, or for translations as JSON."""
    lines = list(read_sentences(path))
    if lines and _JSON.match(lines[0]):
        raise UserError(f"{shown(path)}: contains JSON, expected plain text; convert it with `jq -r .text`")
    for number, line in enumerate(lines, start=1):
        if len(line) > LONGEST_TEXT:
            raise UserError(f"{shown(path)}:{number}: more than {LONGEST_TEXT:,} characters, the maximum for scoring")
    return ScoredFile(path, lines)


def check(count: int, where: Path, references: Sequence[ScoredFile]) -> None:
    """Raises UserError if a reference has a different number of lines."""
    for path, lines in references:
        if len(lines) != count:
            raise UserError(f"{path} has {len(lines):,} lines, but {shown(where)} has {count:,}")


def check_forms(systems: Sequence[ScoredFile], references: Sequence[ScoredFile], metrics: Sequence[Metric]) -> None:
    """Raises UserError if a line has not the form that a metric reads."""
    for metric in metrics:
        if isinstance(metric, StructuredLineMetric):
            metric.check_references([(shown(path), lines) for path, lines in references])
            for system in systems:
                for number, line in enumerate(system.lines, start=1):
                    metric.check(line, f"{shown(system.path)}:{number}")
            metric.check_systems([(shown(path), lines) for path, lines in systems])


def tell_forms(texts: Sequence[ScoredFile], references: Sequence[ScoredFile], metrics: Sequence[Metric]) -> None:
    """Tell which files have lines that are compared in another form than they are written in, and which gold links seem
    to count words from 1.
    """
    if not all(isinstance(metric, StructuredLineMetric) for metric in metrics):
        for path, lines in {text.path: text.lines for text in (*texts, *references)}.items():
            if count := sum(not unicodedata.is_normalized("NFC", line) for line in lines):
                tell(f"{shown(path)}: {count:,} of {len(lines):,} lines are not in NFC and were normalized for scoring")
    if any(isinstance(metric, AlignmentErrorRate) and not metric.one_based for metric in metrics):
        for path, lines in references:
            tell_if_from_1(path, list(map(read_pharaoh, lines)), "--metrics '{kind: aer, one_based: true}'")


def tell_unspaced(references: Sequence[ScoredFile], metrics: Sequence[Metric]) -> None:
    """Warn about references in a script without spaces, in which a metric would take a clause for a word."""
    kinds = {part for metric in metrics for part in _BETWEEN.split(metric.signature(1))}
    for path, lines in {text.path: text.lines for text in references}.items():
        tokenize = bleu_tokenization(Counter("".join(lines[:LOOKED])))
        if tokenize is None or any(" " in line.strip() for line in lines[:LOOKED]):
            continue
        options = [f"--tokenize {tokenize}"] if "tok:13a" in kinds else []
        options += ["--metrics '{kind: ter, asian_support: true}'"] if "asian:no" in kinds else []
        if options:
            advice = "; ".join(options)
            tell(f"{shown(path)}: has no spaces between words, so each clause is scored as a single word ({advice})")


def check_texts(metrics: Sequence[Metric]) -> None:
    """Raises UserError if a metric is not about texts, which are what a run writes."""
    for kind in (kind for kind, metric in RECORDED.items() if any(isinstance(chosen, metric) for chosen in metrics)):
        raise UserError(f"--metrics {kind}: scores the lines of a file (--input), not translations by --run")


def scores(translations: ScoredFile, references: Sequence[ScoredFile], metrics: Sequence[Metric]) -> list[Score]:
    """Return the scores by the metrics. Raises UserError if numbers of lines differ."""
    check(len(translations.lines), translations.path, references)
    return [metric.corpus(translations.lines, [lines for _, lines in references]) for metric in metrics]


def measures(text: str, settings: Mapping[str, Any]) -> list[Metric]:
    """Return the metrics of `--metrics`: names, and mappings with a kind and options, separated by commas.

    Each takes those of the given options that it has, if they are not None and it has none of its own.
    """
    document = yaml_lines.read(text if text.startswith("[") else f"[{text}]", "--metrics")
    if document.faults:
        raise UserError(f"--metrics: {document.faults[0].message}")
    try:
        specs = [Spec.parse(value) for value in document.value]
    except ValueError as error:
        raise UserError(f"--metrics: {error}") from error
    if not specs:
        raise UserError("--metrics: expected at least one metric")
    metrics = [_measure(spec, settings) for spec in specs]
    for option, value in settings.items():
        if value is not None and not any(option in components.options(KINDS[spec.kind]) for spec in specs):
            raise UserError(f"--{option}: no metric in --metrics has this option")
    return metrics


def _measure(spec: Spec, settings: Mapping[str, Any]) -> Metric:
    if not components.has_kind(KINDS, spec.kind):
        raise UserError(f"--metrics: unknown metric '{spec.kind}', {nearest(spec.kind, KINDS)}")
    has = components.options(KINDS[spec.kind])
    chosen = {option: value for option, value in settings.items() if option in has and value is not None}
    try:
        metric = components.build(KINDS, Spec(spec.kind, {**chosen, **spec.options}))
    except UserError as error:
        raise UserError(f"--metrics: {spec.kind}: {error}") from error
    if settings["lowercase"] and "case:lc" not in metric.signature(1):
        raise UserError(f"--lowercase: '{spec.kind}' does not ignore letter case")
    return metric


def distinct(metrics: Sequence[Metric]) -> None:
    """Raises UserError if two metrics have one name in the output."""
    for name, count in Counter(metric.name for metric in metrics).items():
        if count > 1:
            raise UserError(f"--metrics: {count} are called '{name}'; --json requires different names")


def format_scores(scores: Sequence[Score], *, as_json: bool) -> str:
    """Return a line for each score, or JSON in the form of sacreBLEU: an object, or a list if there are several."""
    if not as_json:
        return "\n".join(map(str, scores))
    listed = list(map(entry, scores))
    return json.dumps(listed if len(listed) > 1 else listed[0], indent=1, ensure_ascii=False)


def entry(score: Score) -> dict[str, Any]:
    """A score as sacreBLEU writes it in JSON, with the parts of its signature."""
    parts = (field.replace("\\|", "|").split(":", 1) for field in _BETWEEN.split(score.signature))
    return {"name": score.name, "score": round(score.value, 2), "signature": score.signature, **dict(parts)}


def part(name: str, value: object) -> str:
    """A further part of a signature; a `|` in its value has a backslash before it."""
    return f"|{name}:" + str(value).replace("|", "\\|")


def named(scores: Iterable[Score], more: str) -> list[Score]:
    """Return the scores with `more` added to their signatures."""
    return [score._replace(signature=score.signature + more) for score in scores]
