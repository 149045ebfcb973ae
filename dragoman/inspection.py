"""What a run shows: its files gathered into facts, scores, curves and sentences with their attention."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from dragoman import components
from dragoman import config as configuration
from dragoman.components import Spec
from dragoman.config import ModelConfig
from dragoman.data.corpus import Pair
from dragoman.errors import UserError
from dragoman.evaluation import alignment
from dragoman.evaluation.alignment import Gold
from dragoman.evaluation.metrics import METRICS, Metric, Score
from dragoman.files import read_lines, write_atomically
from dragoman.model import build
from dragoman.run import Run
from dragoman.translator import Translation, Translator
from dragoman.visualisation import report
from dragoman.visualisation.report import Example, RunView

MOST_EXAMPLES = 500  # sentences that a report shows: it stays a page that a telephone can hold
MOST_BUCKETS = 7
WIDTHS = (2, 5, 10, 20, 50, 100)  # words in a bucket of sentence lengths
ALTERNATIVES = 5  # translations of a sentence in a report

Row = dict[str, Any]


class Sentences(NamedTuple):
    """Translated sentences: the translations as texts, and what a report shows of each."""

    texts: list[str]
    examples: list[Example]

    @property
    def references(self) -> list[str]:
        return [example.reference for example in self.examples]


def view(run: Run, sentences: Sentences, scores: Iterable[Score] = ()) -> RunView:
    """What a report shows of a run. `scores` come behind those that the run's metrics give the sentences."""
    metrics = [components.build(METRICS, spec) for spec in run.config.metrics]
    compared = bool(sentences.texts) and all(sentences.references)
    found = [metric.corpus(sentences.texts, [sentences.references]) for metric in metrics] if compared else []
    rows = [{key: row[key] for key in row if not key.startswith("final/")} for row in metric_rows(run)]
    return RunView(
        name=str(run.folder.path),
        config_yaml=configuration.dump(run.config),
        facts=facts(run),
        metrics=rows,
        scores=[*found, *scores],
        lengths=by_length(sentences, _bleu(run)) if compared else (),
        examples=sentences.examples[:MOST_EXAMPLES],
    )


def development(run: Run) -> tuple[Sentences, list[Score]]:
    """The development sentences as the finished model translates them, and how well it predicts their references."""
    texts, examples = [], []
    for number, row in enumerate(_rows(run.folder.validation, "text"), start=1):
        try:
            source, target = list(row["source"]), list(row["target"])
            attention = np.asarray(row["attention"], np.float64).reshape(len(target), len(source))
            examples.append(Example(source, target, str(row["reference"]), attention, float(row["score"])))
        except (KeyError, TypeError, ValueError) as error:
            raise UserError(f"{run.folder.validation}:{number}: not a translated sentence") from error
        texts.append(str(row["text"]))
    final = next((row for row in reversed(metric_rows(run)) if "final/perplexity" in row), None)
    names = ("perplexity", "accuracy") if final else ()
    scores = [Score(name.capitalize(), final[f"final/{name}"], "development data") for name in names if final]
    return Sentences(texts, examples), scores


def translated(
    translator: Translator, pairs: Sequence[Pair], gold: Sequence[Gold] = ()
) -> tuple[Sentences, list[Score]]:
    """These sentences as a model translates them; with gold alignments of the references, its alignment error rate.

    Gold links are shown where the translation is the reference. A reference may be empty: not known.
    """
    options = translator.search.options
    n_best = min(ALTERNATIVES, int(options.get("size", ALTERNATIVES))) if translator.search.kind == "beam" else 1
    found = translator.translate([pair.source for pair in pairs], n_best=n_best)
    links = [each.possible for each in gold] if gold else [None] * len(pairs)
    examples = [
        example(translation, pair.target, each if translation.text == pair.target else None)
        for translation, pair, each in zip(found, pairs, links, strict=True)
    ]
    scores = []
    if gold:
        scored = translator.score(*map(list, zip(*pairs, strict=True)))
        agreement = alignment.error_rate([each.alignment for each in scored], gold)
        scores = [
            Score("AER", 100 * agreement.error_rate, f"percent|forced decoding|sentences:{len(pairs)}"),
        ]
    return Sentences([each.text for each in found], examples), scores


def example(translation: Translation, reference: str, gold: Iterable[tuple[int, int]] | None = None) -> Example:
    """A translation as a report shows it."""
    return Example(
        translation.source_tokens,
        translation.tokens,
        reference,
        translation.attention,
        translation.score,
        None if gold is None else sorted(gold),
        [(each.text, each.score) for each in translation.n_best],
    )


def write_page(path: Path, views: list[RunView]) -> None:
    """The report of these runs as one HTML page."""
    with write_atomically(path) as file:
        file.write(report.page(views))


def facts(run: Run) -> list[tuple[str, str]]:
    """What there is to know about a run, as labels and texts."""
    config = run.config
    sizes = len(run.source.vocabulary), len(run.target.vocabulary)
    parts = parameters(config.model, *sizes)
    shared = ", one inventory for both" if config.text.joint else ""
    units = " and ".join(dict.fromkeys((config.text.source.unit.kind, config.text.target.unit.kind)))
    return [
        ("languages", f"{config.data.source} to {config.data.target}"),
        ("training data", ", ".join(config.data.train)),
        ("development data", config.data.dev),
        ("symbols", f"{sizes[0]:,} and {sizes[1]:,} ({units}{shared})"),
        ("encoder", _told(config.model.encoder)),
        ("attention", str(config.model.attention.score)),
        ("decoder", _told(config.model.decoder)),
        ("parameters", f"{sum(parts.values()):,}"),
        *((f"  {part}", f"{count:,}") for part, count in parts.items()),
        *_progress(metric_rows(run)),
    ]


def _told(spec: Spec) -> str:
    """A part with the options that are on."""
    return ", ".join(f"{name} {value}" for name, value in spec.options.items() if value not in (None, False, True, 0))


def _progress(rows: Sequence[Row]) -> list[tuple[str, str]]:
    """How far training has come, how fast, and the best value of each measure of the development data."""
    if not rows:
        return [("training", "has not begun")]
    last = rows[-1]
    state = "ended" if any(key.startswith("final/") for key in last) else "under way"
    facts = [("training", f"{state}: {last['step']:,} steps, {last['time'] / 60:.1f} minutes")]
    speeds = [row["train/tokens_per_second"] for row in rows if "train/tokens_per_second" in row]
    if speeds:
        facts.append(("speed", f"{float(np.median(speeds)):,.0f} target symbols a second"))
    return facts


def parameters(model: ModelConfig, source_symbols: int, target_symbols: int) -> dict[str, int]:
    """How many numbers each part of a model learns; a shared table counts for the part that comes first."""
    with torch.device("meta"):  # sizes without memory
        built = build.build(model, source_symbols, target_symbols)
    counts: Counter[str] = Counter()
    for name, parameter in built.named_parameters():
        counts[name.partition(".")[0].replace("_", " ")] += parameter.numel()
    return dict(counts)


def by_length(sentences: Sentences, metric: Metric) -> list[tuple[str, int, float]]:
    """The metric for sentences of similar source length: (words, number of sentences, value) for each bucket.

    Buckets are of equal width, except for the last one, which takes all longer sentences.
    """
    lengths = [len(each.source) for each in sentences.examples]
    usual = float(np.percentile(lengths, 95))
    width = next((width for width in WIDTHS if usual <= width * MOST_BUCKETS), WIDTHS[-1])
    buckets: dict[int, list[int]] = {}
    for number, length in enumerate(lengths):
        buckets.setdefault(min(max(0, length - 1) // width, MOST_BUCKETS), []).append(number)
    found = []
    for bucket, numbers in sorted(buckets.items()):
        name = f"{bucket * width + 1}–{(bucket + 1) * width}" if bucket < MOST_BUCKETS else f"over {bucket * width}"
        texts, references = ([lines[number] for number in numbers] for lines in (sentences.texts, sentences.references))
        found.append((name, len(numbers), metric.corpus(texts, [references]).value))
    return found


def _bleu(run: Run) -> Metric:
    """BLEU as the run measures it."""
    return components.build(METRICS, next((spec for spec in run.config.metrics if spec.kind == "bleu"), Spec("bleu")))


def metric_rows(run: Run) -> list[Row]:
    """The rows of metrics.jsonl."""
    return _rows(run.folder.metrics, "step", "time")


def _rows(path: Path, *keys: str) -> list[Row]:
    """The mappings in a file of JSON lines, if there is one; a killed process may have left the last one unfinished."""
    rows: list[Row] = []
    lines = list(read_lines(path)) if path.is_file() else []
    for number, line in enumerate(lines, start=1):
        try:
            row = json.loads(line)
        except ValueError:
            row = None
            if number == len(lines):
                break
        if not isinstance(row, dict) or not all(key in row for key in keys):
            raise UserError(f"{path}:{number}: expected a JSON object with {' and '.join(keys)}")
        rows.append(row)
    return rows
