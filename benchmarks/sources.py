"""Gains of several sources, by their combination: `make sources-table`.

Multi30k from German, French and Czech into English: each source alone, all three as one sequence, and all three by
concatenation, sum, flat and hierarchical combination, the last two with and without sentinel and shared projections
(Libovicky and Helcl 2017, table 1 and figure 1). Two processes run at a time, with one thread each. Started again, it
continues where it stopped. The table is printed as Markdown; learning curves and the weights of an example are drawn
beside the runs.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import NamedTuple

import dragoman
from benchmarks import provenance, trainings
from benchmarks.prepared import Row
from benchmarks.trainings import Table, markdown, result
from dragoman.configuration.config import Config, DeviceConfig
from dragoman.corpus.examples import read_examples
from dragoman.evaluation.metrics.sacre import Bleu
from dragoman.files.reading import read_lines
from dragoman.training import checks, session
from dragoman.visualization import curves, heatmap

CONFIG = Path(__file__).resolve().parent.parent / "configs" / "libovicky2017.yaml"
TRAIN, DEV, TEST = (f"{part}.lc.norm.tok" for part in ("train", "val", "test_2016_flickr"))
SINGLE = ("de", "fr", "cs")
EXAMPLE = 10  # the test sentence whose weights are drawn


class Result(NamedTuple):
    """Results of a trained row: BLEU of the development and the test set, parameters, and BLEU of the development set
    by training steps.
    """

    dev: float
    test: float
    parameters: int
    learning: list[tuple[int, float]]


def rows() -> list[Row]:
    """Return the rows: each source alone, then the combinations of all."""
    alone = {"model.combination": "concatenation"}  # with one source, it is that one
    rows_of_table = [Row(name, CONFIG, {"data.source": name, **alone}) for name in SINGLE]
    rows_of_table.append(Row("one sequence", CONFIG, {"data.concatenate_sources": "true", **alone}))
    rows_of_table += [Row(kind, CONFIG, {"model.combination": kind}) for kind in ("concatenation", "sum")]
    for kind in ("flat", "hierarchical"):
        for share in (False, True):
            for sentinel in (False, True):
                name = kind + ", shared" * share + ", sentinel" * sentinel
                options = f"share_projections: {str(share).lower()}, sentinel: {str(sentinel).lower()}"
                rows_of_table.append(Row(name, CONFIG, {"model.combination": f"{{kind: {kind}, {options}}}"}))
    return rows_of_table


TABLE = Table(
    "benchmarks.sources", str(__doc__), lambda _: rows(), folder="runs/sources-table", data="data/multi30k", epochs=3
)


def config(row: Row, options: argparse.Namespace) -> Config:
    """Return a row's configuration with its data, run folder and length of training."""
    overrides = {
        "run": str(options.folder / row.slug),
        "data.train": str(options.data / TRAIN),
        "data.dev": str(options.data / DEV),
        "device.threads": "1",
        "training.epochs": str(options.epochs),
    }
    return checks.load_config(row.config, {**overrides, **row.overrides})


def work(row: Row, options: argparse.Namespace) -> None:
    """Train a row, translate with it, and write its result beside its run, with the weights of an example's sources."""
    run_config = config(row, options)
    made_with = provenance.of(run_config)
    run = session.train(run_config, quiet=True)
    model = dragoman.load(run.path, device=DeviceConfig(threads=1))
    bleu = []
    for part in (DEV, TEST):
        examples = list(read_examples(str(options.data / part), run_config.data.source, run_config.data.target))
        translations = model.translate([dev_example.sources for dev_example in examples])
        texts = [translation.text for translation in translations]
        bleu.append(Bleu(tokenize="none").corpus(texts, [[dev_example.target for dev_example in examples]]).value)
    if row.name not in SINGLE:
        example = translations[EXAMPLE]  # of the test set
        drawing = heatmap.shares(example.shares, example.words)
        (options.folder / f"{row.slug}.svg").write_text(drawing, encoding="utf-8")
    parameters = sum(parameter.numel() for parameter in model.model.parameters())
    figures = Result(bleu[0], bleu[1], parameters, learning(run.path))
    provenance.write(result(row, options), figures._asdict(), made_with)


def learning(run: Path) -> list[tuple[int, float]]:
    """Return BLEU of the development set by training steps."""
    measured = map(json.loads, read_lines(run / "metrics.jsonl"))
    return [(entry["step"], entry["valid/bleu"]) for entry in measured if "valid/bleu" in entry]


def drawn(results: dict[str, Result]) -> str:
    """Draw learning curves as SVG: of the best single source, and of each combination in its plain form."""
    best = max(SINGLE, key=lambda name: results[name].test if name in results else 0.0)
    shown = [name for name in results if name == best or (name not in SINGLE and "," not in name)]
    points = {name: [(step, bleu) for step, bleu in results[name].learning] for name in shown}
    return curves.svg(points, title="BLEU of the development set", x="steps")


def show(table_rows: list[Row], options: argparse.Namespace) -> None:
    results = {row.name: Result(**provenance.read(result(row, options))) for row in table_rows}
    lines = (
        (name, f"{row_result.dev:.1f}", f"{row_result.test:.1f}", f"{row_result.parameters:,}")
        for name, row_result in results.items()
    )
    markdown(("sources", "BLEU val", "BLEU test_2016_flickr", "parameters"), *lines)
    (options.folder / "learning.svg").write_text(drawn(results), encoding="utf-8")


def main(arguments: list[str] | None = None) -> int:
    return trainings.main(TABLE, work, show, arguments)


if __name__ == "__main__":
    sys.exit(main())
