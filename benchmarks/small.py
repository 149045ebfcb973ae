"""What helps people with a few thousand strings: `make small-table`.

The strings of one product are translated by its memory (the nearest neighbor), by a model of its strings alone, with
the memory as another source in every combination, by a model of other programs' messages (the parent), by models that
start from the parent, with and without the memory, and by two of these together. The folder of `--data` has these files
(or `.tsv.gz`), each with a header that names the two languages:

    parent, parent-dev   messages of other programs
    memory               the product's own strings
    dev, test            new strings of the product

If the folder of `--folder` has an imported model as `imported` (`dragoman import MODEL -o FOLDER/imported`), it and the
runs that start from it are rows, too.

For each row the table has BLEU and chrF, the share of sentences with placeholders that kept them all, and the minutes
of processor time that the training took. `--test` adds the test strings. Two processes run at a time, with one thread
each. Started again, it continues where it stopped.
"""

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from statistics import mean, stdev
from typing import NamedTuple

import dragoman
from benchmarks import provenance, trainings
from benchmarks.prepared import Row, write
from benchmarks.trainings import Table, markdown, result, trained
from dragoman.configuration.config import Config, DeviceConfig
from dragoman.corpus import formats
from dragoman.corpus.examples import Pair, read_pairs
from dragoman.corpus.translation_memory import NearestMemory
from dragoman.evaluation.baselines import ANY
from dragoman.evaluation.metrics.sacre import Bleu, Chrf
from dragoman.files.reading import existing, read_lines
from dragoman.run.folder import RunFolder
from dragoman.text.normalizer import Normalizer
from dragoman.text.pretokenizer import punctuation
from dragoman.training import checks
from dragoman.training.starting import OPTIONS
from dragoman.visualization import curves

CONFIGS = Path(__file__).resolve().parent.parent / "configs" / "small"
OWN, PARENT = CONFIGS / "own.yaml", CONFIGS / "parent.yaml"
PLACEHOLDER = re.compile(
    r"%(?:\d+\$)?[-+#0]*\d*(?:\.\d+)?[a-zA-Z]|%\d|%\(\w+\)\w|\$\{?\w+\}?|\{\w*\}|</?\w[^<>]*>|&\w+;"
)
PARTS = ("dev", "test")
JOINED = {"data.concatenate_sources": "true"}
MEMORY = {"data.translation_memory": "{kind: nearest, threshold: 0.4}"}
PLAIN, READER, BEST, IMPORTED = "parent", "parent with a memory", "started with a memory", "imported"
SEEDS = (1, 2, 3)
STRINGS = (300, 1000, 3000)  # of the memory, for the learning curve
ENSEMBLES = {  # rows that translate together
    f"{BEST}, seeds 1 and 2 together": (f"{BEST}, seed 1", f"{BEST}, seed 2"),
    **{f"{BEST}, seed {seed}, together with started": (f"{BEST}, seed {seed}", "started") for seed in SEEDS},
}


class Score(NamedTuple):
    """BLEU, chrF, and the percentage of the sentences with placeholders whose translation has the same ones."""

    bleu: float
    chrf: float
    kept: float


class Result(NamedTuple):
    """Scores of the development and the test strings, and minutes of processor time."""

    dev: Score
    test: Score
    minutes: float


def rows() -> list[Row]:
    """Return the rows: the strings alone, with the memory in every way, the parents, and what starts from them. Corpora
    are named by their files in the folder of `--data`, `training.init_from` by a row.
    """
    kinds = ("concatenation", "sum", "flat", "hierarchical")
    rows_of_table = [Row("memory alone", OWN)]
    rows_of_table += [Row(f"memory as a source, {kind}", OWN, {**MEMORY, "model.combination": kind}) for kind in kinds]
    rows_of_table.append(Row("memory as a source, one sequence", OWN, {**MEMORY, **JOINED}))
    edits = {"data.edits": "memory", "model.cursor": "true", "model.combination": "hierarchical"}
    sure = {"model.output": "softmax", "search": "{kind: beam, size: 5, normalization: none}"}  # many `<keep>`
    rows_of_table.append(Row("edits of the memory", OWN, {**MEMORY, **edits, **sure}))
    reads = {**MEMORY, "model.combination": "hierarchical"}
    rows_of_table += [Row(PLAIN, PARENT), Row(READER, PARENT, reads)]
    rows_of_table.append(Row("started", PARENT, _started(PLAIN)))
    rows_of_table.append(Row("started, memory added as one sequence", PARENT, {**_started(PLAIN), **MEMORY, **JOINED}))
    best = {**_started(READER), **reads}
    rows_of_table += [Row(f"{BEST}, seed {seed}", PARENT, {**best, "seed": str(seed)}) for seed in SEEDS]
    return rows_of_table + [
        Row(f"{BEST}, {count} strings", PARENT, {**best, "data.train": str(count)}) for count in STRINGS
    ]


def imported_rows(folder: Path) -> list[Row]:
    """Return the rows of an imported model: itself, and what starts from it. There are none without such a run."""
    config_path = RunFolder(folder / IMPORTED).config
    if not config_path.is_file():
        return []
    options = _started(IMPORTED)
    return [
        Row(IMPORTED, config_path),
        Row(f"{IMPORTED}, started", config_path, options),
        Row(f"{IMPORTED}, started, memory added as one sequence", config_path, {**options, **MEMORY, **JOINED}),
    ]


def _started(parent: str) -> dict[str, str]:
    """Return the options of a training that starts from a row, those of `dragoman train --finetune`."""
    options = {key: json.dumps(value) for key, value in OPTIONS.items()}
    own = {"data.train": "memory", "data.dev": "dev", "training.metric": "chrf"}
    return {**options, **own, "training.init_from": parent, "text.vocabulary_from": parent}


TABLE = Table(
    "benchmarks.small",
    str(__doc__),
    lambda options: rows() + imported_rows(options.folder),
    folder="runs/small-table",
    data="data/small",
    epochs=None,
    first=((PLAIN, READER),),
    flags={"--test": "also show the scores of the test strings"},
)


def config(row: Row, options: argparse.Namespace) -> Config:
    """Return a row's configuration with its data and run folder."""
    overrides = dict(row.overrides)
    source, target = formats.find_languages(str(options.data / "memory.tsv")).names
    alone = row.config == OWN
    corpora = {"data.train": "memory" if alone else "parent", "data.dev": "dev" if alone else "parent-dev", **overrides}
    for key in ("data.train", "data.dev"):
        overrides[key] = str(_corpus(corpora[key], options))
    for key in ("training.init_from", "text.vocabulary_from"):
        if key in overrides:
            overrides[key] = str(options.folder / Row(overrides[key], row.config).slug)
    places = {"run": str(options.folder / row.slug), "data.source": source, "data.target": target}
    return checks.load_config(row.config, {**places, "device.threads": "1", **overrides})


def _corpus(name: str, options: argparse.Namespace) -> Path:
    """Return the path of a corpus; a number stands for that many strings of the memory."""
    whole: Path = options.data / f"{name}.tsv"
    if not name.isdigit():
        return whole
    cut: Path = options.folder / f"memory-{name}.tsv"
    lines = islice(read_lines(existing(options.data / "memory.tsv")), 1 + int(name))
    write(cut, lines)
    return cut


def scored(texts: Sequence[str], pairs: Sequence[Pair]) -> Score:
    """Score translations of these pairs."""
    right = [[pair.target for pair in pairs]]
    line_pairs = [(placeholders(pair.source), text) for pair, text in zip(pairs, texts, strict=True)]
    same = [marks == placeholders(text) for marks, text in line_pairs if marks]
    bleu, chrf = (metric.corpus(texts, right).value for metric in (Bleu(), Chrf()))
    return Score(bleu, chrf, 100 * mean(same) if same else 100.0)


def placeholders(text: str) -> Counter[str]:
    """Return how often each placeholder, tag and entity is in a text."""
    return Counter(PLACEHOLDER.findall(text))


def _read(part: str, options: argparse.Namespace) -> list[Pair]:
    names = formats.find_languages(str(options.data / "memory.tsv")).names
    return list(read_pairs(str(_corpus(part, options)), *names))


def work(row: Row, options: argparse.Namespace) -> None:
    """Train a row, translate with it, and write its result beside its run. What was trained to read a memory looks the
    product's strings up.
    """
    run_config = config(row, options)
    made_with = provenance.of(run_config)
    imported = row.name == IMPORTED  # was trained by another program
    run, minutes = (Path(run_config.run), 0.0) if imported else trained(row, run_config, options)
    memory = options.data / "memory.tsv" if row.name == READER else None
    row_scores = scores([run], minutes, options, memory)
    provenance.write(result(row, options), row_scores._asdict(), made_with)


def scores(runs: Sequence[Path], minutes: float, options: argparse.Namespace, memory: Path | None = None) -> Result:
    """Return the scores of runs that translate together."""
    model = dragoman.load([str(run) for run in runs], device=DeviceConfig(threads=1), translation_memory=memory)
    scores_by_part = {}
    for part in PARTS:
        pairs = _read(part, options)
        translations = model.translate([pair.source for pair in pairs])
        scores_by_part[part] = scored([translation.text for translation in translations], pairs)
    return Result(**scores_by_part, minutes=minutes)


def baselines(part: str, options: argparse.Namespace) -> dict[str, Score]:
    """Return the scores of copying the source, and of the translation of the most similar string of the memory."""
    pairs = _read(part, options)
    copied = [pair.source for pair in pairs]
    return {"copying": scored(copied, pairs), "nearest neighbor": nearest(pairs, _read("memory", options))}


def nearest(pairs: Sequence[Pair], memory: Sequence[Pair]) -> Score:
    """Return the score of the translation of the most similar source."""
    matcher = NearestMemory(memory, Normalizer(lowercase=False), punctuation, threshold=ANY)
    return scored([next((match.translation for match in matcher.matches(pair.source)), "") for pair in pairs], pairs)


def drawn(results: dict[str, Result], options: argparse.Namespace) -> str:
    """Draw chrF of the development strings by the strings of the memory as SVG: the nearest neighbor and the best."""
    pairs, memory = _read("dev", options), _read("memory", options)
    sizes = {f"{BEST}, {count} strings": count for count in STRINGS} | {f"{BEST}, seed {SEEDS[0]}": len(memory)}
    nearest_scores = {size: nearest(pairs, memory[:size]).chrf for size in sizes.values()}
    points = {
        "nearest neighbor": nearest_scores,
        BEST: {sizes[name]: row_result.dev.chrf for name, row_result in results.items() if name in sizes},
    }
    return curves.svg(
        {name: sorted(row_result.items()) for name, row_result in points.items()},
        title="chrF of the development strings",
        x="strings",
    )


def show(table_rows: list[Row], options: argparse.Namespace) -> None:
    results = {row.name: _result(row, options) for row in table_rows}
    runs = {row.name: options.folder / row.slug for row in table_rows}
    for name, members in ENSEMBLES.items():
        if runs.keys() >= set(members):
            minutes = sum(results[member].minutes for member in members)
            results[name] = scores([runs[member] for member in members], minutes, options)
    parts = PARTS if options.test else PARTS[:1]
    lowest = [baselines(part, options) for part in parts]
    lines = [(name, *_cells([row_result[name] for row_result in lowest]), "") for name in lowest[0]]
    for name, row_result in results.items():
        lines.append((name, *_cells([row_result.dev, row_result.test][: len(parts)]), f"{row_result.minutes:.1f}"))
    heads = [f"{part} {figure}" for part in parts for figure in ("BLEU", "chrF", "kept")]
    markdown(("", *heads, "minutes"), *lines)
    (options.folder / "learning.svg").write_text(drawn(results, options), encoding="utf-8")
    best = [results[name] for seed in SEEDS if (name := f"{BEST}, seed {seed}") in results]
    if len(best) > 1:
        values = [row_result.dev.bleu for row_result in best]
        markdown(
            (f"{BEST}: dev BLEU", "mean", "standard deviation"), ("", f"{mean(values):.1f}", f"{stdev(values):.1f}")
        )


def _cells(scores: Sequence[Score]) -> list[str]:
    return [f"{value:.1f}" for score in scores for value in score]


def _result(row: Row, options: argparse.Namespace) -> Result:
    read = provenance.read(result(row, options))
    return Result(Score(*read["dev"]), Score(*read["test"]), read["minutes"])


def main(arguments: list[str] | None = None) -> int:
    return trainings.main(TABLE, work, show, arguments)


if __name__ == "__main__":
    sys.exit(main())
