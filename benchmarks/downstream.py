"""How much of TREC's questions comes back from another language, by the labels that are found: `make downstream-table`.

The folder of `--data` has the pairs of PAIRS (`train`, `dev` with an ending for each language) and the labeled
questions of QUESTIONS (`train.txt`, `test.txt`; lines such as `NUM:dist How far is it from Denver to Aspen ?`), all of
them compressed (.gz) or not. Two models are trained, one for each direction, with configs/rare/words.yaml and subwords.
The test questions are translated and back again; a classifier that has learned from the training questions labels both
(extra `downstream`). The tables are printed as Markdown. Started again, it continues where it stopped.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import dragoman
from benchmarks import provenance, trainings
from benchmarks.prepared import Row, write
from benchmarks.trainings import Table, markdown, result, trained
from dragoman.configuration.config import Config, DeviceConfig
from dragoman.corpus.examples import read_pairs
from dragoman.errors import UserError
from dragoman.evaluation.metrics.sacre import Bleu
from dragoman.files.reading import existing, read_lines
from dragoman.training import checks

CONFIG = Path(__file__).resolve().parent.parent / "configs" / "rare" / "words.yaml"
PAIRS, QUESTIONS = "enja_small_tanaka", "trec_qc"  # folders
HOME, AWAY = "en", "ja"  # the language of the questions, and the one that they are translated to
SUBWORDS = {f"text.{side}.tokenizer": "{kind: bpe, vocab_size: 4000}" for side in ("source", "target")}
LOWERCASE = {"text.source.lowercase": "true"}  # as the pairs are, and the questions are not
TRIP = "round-trip"
BLEU = Bleu(tokenize="none", lowercase=True)


def rows() -> list[Row]:
    """Return a row for each direction."""
    directions = f"{HOME}-{AWAY}", f"{AWAY}-{HOME}"
    return [Row(name, CONFIG, {**SUBWORDS, **LOWERCASE}) for name in directions]


TABLE = Table(
    "benchmarks.downstream", str(__doc__), lambda _: rows(), folder="runs/downstream-table", data="data", epochs=2
)


def config(row: Row, options: argparse.Namespace) -> Config:
    """Return a row's configuration with its data and run folder."""
    source, target = row.name.split("-")
    files = {f"data.{part}": options.data / PAIRS / part for part in ("train", "dev")}
    places = {"run": options.folder / row.slug, **files}
    overrides = {
        **{key: str(place) for key, place in places.items()},
        "data.source": source,
        "data.target": target,
        "device.threads": "1",
        "training.epochs": str(options.epochs),
    }
    return checks.load_config(row.config, {**overrides, **row.overrides})


def work(row: Row, options: argparse.Namespace) -> None:
    """Train a row, and write its result beside its run."""
    run_config = config(row, options)
    made_with = provenance.of(run_config)
    run, minutes = trained(row, run_config, options)
    pairs = list(read_pairs(run_config.data.dev, *row.name.split("-")))
    sources, references = ([pair[side] for pair in pairs] for side in (0, 1))
    bleu = BLEU.corpus(_translated(run, sources), [references]).value
    provenance.write(result(row, options), {"bleu": bleu, "minutes": minutes}, made_with)


def _translated(run: Path, texts: Sequence[str]) -> list[str]:
    return [translation.text for translation in dragoman.load(run, device=DeviceConfig(threads=1)).translate(texts)]


def questions(path: Path) -> list[tuple[str, str]]:
    """Read questions, each with its coarse label."""
    fields = (line.split(" ", 1) for line in read_lines(existing(path)))
    return [(text, label.partition(":")[0]) for label, text in fields]


def round_trip(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Translate the test questions and back, and return what `evaluate --downstream --json` tells of both."""
    train, test = (questions(options.data / QUESTIONS / f"{part}.txt") for part in ("train", "test"))
    test_texts, labels = ([test_row[column] for test_row in test] for column in (0, 1))
    texts = test_texts
    for row in rows():
        texts = _translated(options.folder / row.slug, texts)
    files = {"questions": test_texts, "trip": texts, "labels": labels}
    files["labeled.tsv"] = list(map("\t".join, [("text", "label"), *train]))
    for name, lines in files.items():
        write(options.folder / name, lines)
    words = ["questions", "-i", "trip", "--downstream", "labeled.tsv", "--labels", "labels", "--json"]
    command = [sys.executable, "-m", "dragoman", "evaluate", *words]
    done = subprocess.run(command, cwd=options.folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise UserError(done.stderr.strip())
    answers: list[dict[str, Any]] = json.loads(done.stdout)
    answers[1]["BLEU"] = {"score": BLEU.corpus(texts, [test_texts]).value}
    return answers


def show(table_rows: list[Row], options: argparse.Namespace) -> None:
    results = {row.name: provenance.read(result(row, options)) for row in table_rows}
    figures = (
        (name, f"{row_result['bleu']:.1f}", f"{row_result['minutes']:.1f}") for name, row_result in results.items()
    )
    markdown(("", "dev BLEU", "minutes"), *figures)
    path = options.folder / f"{TRIP}.json"
    if not path.is_file() and len(results) == len(rows()):
        made_with = provenance.of(*(config(row, options) for row in rows()))
        provenance.write(path, round_trip(options), made_with)
    if path.is_file():
        names = ("BLEU", "Accuracy", "drop")
        lines = (
            [row_result["text"], *(_cell(row_result.get(name)) for name in names)]
            for row_result in provenance.read(path)
        )
        markdown(("text", *names), *lines)


def _cell(cell: dict[str, Any] | None) -> str:
    """A score with half of its interval, as far as they are known."""
    if cell is None:
        return ""
    return f"{cell['score']:.2f}" + (f" ± {cell['ci']:.2f}" if "ci" in cell else "")


def main(arguments: list[str] | None = None) -> int:
    return trainings.main(TABLE, work, show, arguments)


if __name__ == "__main__":
    sys.exit(main())
