"""What the outputs for large vocabularies learn: `make outputs-table`.

English messages are translated to German with 50,000 words, and to five languages with 200,000, of all languages
together (SIZES), by the network of configs/rare/messages.yaml. A row is a training with one of the outputs; all see the
same sentences in as many steps.
For each the table has perplexity and BLEU of the development pairs, by the softmax over the whole vocabulary and greedy
search, and minutes of processor time; `make vocabulary-table` measures rates and memory. The folder of `--data` has
train.en-XX.tsv and dev.en-XX.tsv (or `.tsv.gz`) for each language, with a header that names en and XX. Started again,
it continues where it stopped.
"""

import argparse
import json
import sys
from itertools import islice
from math import exp
from pathlib import Path
from typing import NamedTuple

import dragoman
from benchmarks import provenance, trainings
from benchmarks.prepared import Row, write
from benchmarks.trainings import Table, markdown, result, trained
from dragoman.configuration.config import Config, DeviceConfig
from dragoman.corpus.examples import read_pairs
from dragoman.evaluation.metrics.sacre import Bleu
from dragoman.files.reading import existing, read_lines
from dragoman.training import checks

MESSAGES = Path(__file__).resolve().parent.parent / "configs" / "rare" / "messages.yaml"
DEV = 1500  # development pairs, of all languages together
OUTPUTS = {
    "softmax": "softmax",
    "nce": "{kind: nce, samples: 500}",
    "partitioned": "{kind: partitioned, portion: 15000}",
    "classes": "classes",
    "huffman": "huffman",
    "adaptive": "adaptive",
}


class Size(NamedTuple):
    """Words, and the target languages that have so many with English."""

    words: int
    languages: tuple[str, ...]


SIZES = (Size(50_000, ("de",)), Size(200_000, ("de", "fi", "cs", "fr", "es")))


class Result(NamedTuple):
    """Figures of the development pairs, and minutes of processor time."""

    perplexity: float
    bleu: float
    minutes: float


def rows() -> list[Row]:
    """Return a row for each size and output."""
    return [
        Row(
            f"{size.words:,} words, {name}",
            MESSAGES,
            {"model.output": output, **_units(size)},
        )
        for size in SIZES
        for name, output in OUTPUTS.items()
    ]


TABLE = Table("benchmarks.outputs", str(__doc__), lambda _: rows(), "runs/outputs-table", "data", epochs=None)


def _units(size: Size) -> dict[str, str]:
    return {f"text.{side}.tokenizer.vocab_size": str(size.words) for side in ("source", "target")}


def _size(row: Row) -> Size:
    return next(size for size in SIZES if row.name.startswith(f"{size.words:,} "))


def config(row: Row, options: argparse.Namespace) -> Config:
    """Return a row's configuration with its data and run folder."""
    languages = _size(row).languages
    pairs = [
        {
            "source": "en",
            "target": language,
            "train": str(options.data / f"train.en-{language}.tsv"),
            "dev": str(_dev(language, DEV // len(languages), options)),
        }
        for language in languages
    ]
    places = {"run": str(options.folder / row.slug), "data.pairs": json.dumps(pairs)}
    return checks.load_config(row.config, {**places, "device.threads": "1", **row.overrides})


def _dev(language: str, count: int, options: argparse.Namespace) -> Path:
    """Return the first development pairs of a language as a file."""
    path: Path = options.folder / "texts" / f"dev-{count}.en-{language}.tsv"
    if not path.is_file():
        write(path, islice(read_lines(existing(options.data / f"dev.en-{language}.tsv")), 1 + count))
    return path


def work(row: Row, options: argparse.Namespace) -> None:
    """Train a row, translate with it, and write its result beside its run."""
    run_config = config(row, options)
    made_with = provenance.of(run_config)
    run, minutes = trained(row, run_config, options)
    provenance.write(result(row, options), Result(*scored(run, run_config), minutes)._asdict(), made_with)


def scored(run: Path, run_config: Config) -> tuple[float, float]:
    """Return perplexity and BLEU of the development pairs of all languages."""
    model = dragoman.load(run, device=DeviceConfig(threads=1))
    loss, symbols = 0.0, 0
    texts: list[str] = []
    right: list[str] = []
    for pair in run_config.data.pairs:
        sources, targets = (list(side) for side in zip(*read_pairs(pair.dev, pair.source, pair.target), strict=True))
        to = pair.target if model.marks else None
        for scored_pair in model.score(sources, targets, to=to):
            loss, symbols = loss - scored_pair.log_prob, symbols + scored_pair.symbols
        texts += [translation.text for translation in model.translate(sources, to=to)]
        right += targets
    return exp(loss / symbols), Bleu().corpus(texts, [right]).value


def show(table_rows: list[Row], options: argparse.Namespace) -> None:
    lines = []
    for row in table_rows:
        row_result = Result(**provenance.read(result(row, options)))
        lines.append((row.name, f"{row_result.perplexity:.1f}", f"{row_result.bleu:.1f}", f"{row_result.minutes:.1f}"))
    markdown(("", "perplexity", "BLEU", "minutes"), *lines)


def main(arguments: list[str] | None = None) -> int:
    return trainings.main(TABLE, work, show, arguments)


if __name__ == "__main__":
    sys.exit(main())
