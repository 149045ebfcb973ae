"""What the ways to search are worth: `make search-table`.

The folder of `--data` has the files of Multi30k as people write them (`train`, `val` and `test_2016_flickr`, `.en` and
`.de`, or `.gz`). Three models from English to German, which differ by their seed, and one from German to English are
trained with configs/multi30k-en-de-raw.yaml. A row of the table is a way to translate with them: searches, minimum
Bayes risk over samples, each model alone and all three together, and reranking, by the reverse model with a weight of 1
and by all criteria with weights that `dragoman tune` finds. It has BLEU, chrF and sentences per second of processor
time, on every second line of the development set; weights are found on the other lines. Another row tells of the first
of these sentences that have at most WORDS words how often exhaustive search proves its translation, how often a beam
finds it too, and how often it is empty. With `--test`, the rows that are made have the test set as well. Started again,
it continues where it stopped.
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import dragoman
from benchmarks import provenance, trainings
from benchmarks.prepared import Row, write
from benchmarks.reranking import CANDIDATES, tuned
from benchmarks.trainings import Table, markdown, result, trained
from dragoman.configuration.components import Spec
from dragoman.configuration.config import Config, DeviceConfig
from dragoman.errors import UserError
from dragoman.evaluation.metrics.sacre import Bleu, Chrf
from dragoman.evaluation.metrics.table import METRICS
from dragoman.files.reading import existing, read_lines
from dragoman.training import checks
from dragoman.translation.reranking import criteria
from dragoman.translation.reranking.criteria import MODEL
from dragoman.translation.reranking.minimum_bayes_risk import MinimumBayesRisk
from dragoman.translation.translator import Translator
from dragoman.translation.tuning import Weighted, own_alpha

CONFIG = Path(__file__).resolve().parent.parent / "configs" / "multi30k-en-de-raw.yaml"
TUNE = "tuned"
FORWARD, REVERSE = ("seed 1", "seed 2", "seed 3"), "reverse"
TRAINED = (*FORWARD, REVERSE)
SETS = {"dev": "val", "test": "test_2016_flickr"}
TUNED, SCORED = slice(0, None, 2), slice(1, None, 2)  # lines of the development set
EXHAUSTIVE, WORDS, SENTENCES = "exhaustive", 12, 100
LIKELY = Spec("sample", {"epsilon": 0.02})  # without symbols that are improbable


class Way(NamedTuple):
    """A way to translate: a search, the models, a metric and a number of samples for minimum Bayes risk, or the weights
    of reranking.
    """

    search: Spec | None = None
    runs: Sequence[str] = FORWARD[:1]
    risk: tuple[str, int] | None = None
    weights: str | None = None


BEAM = Spec("beam", {"size": 5})
WAYS = {
    "greedy": Way(Spec("greedy")),
    **{f"beam {size}": Way(Spec("beam", {"size": size})) for size in (1, 2, 5, 10, 20, 50, 100)},
    "sample": Way(Spec("sample")),
    "sample, epsilon 0.02": Way(LIKELY),
    **{
        f"minimum Bayes risk, {metric}, {count} samples": Way(LIKELY, risk=(metric, count))
        for metric in ("chrf", "bleu", "rougeL")
        for count in (20, 100)
    },
    **{f"beam 5, {name}": Way(BEAM, [name]) for name in FORWARD[1:]},
    "beam 5, three models": Way(BEAM, FORWARD),
    f"reranked, {REVERSE}": Way(weights=REVERSE),
    f"reranked, {TUNE}": Way(weights=TUNE),
}


class Scores(NamedTuple):
    """Scores of a set, and sentences per second of processor time."""

    bleu: float
    chrf: float
    rate: float


def rows() -> list[Row]:
    """Return the trainings, and a row for each way to translate."""
    seeds = [Row(name, CONFIG, {"seed": name.split()[1]}) for name in FORWARD]
    back = Row(REVERSE, CONFIG, {"data.source": "de", "data.target": "en"})
    return [*seeds, back, *(Row(name, CONFIG) for name in (*WAYS, EXHAUSTIVE))]


TABLE = Table(
    "benchmarks.searches",
    str(__doc__),
    lambda _: rows(),
    folder="runs/search-table",
    data="data/multi30k",
    epochs=8,
    first=(TRAINED,),
    flags={"--test": "also translate the test set, and show its scores"},
)


def config(row: Row, options: argparse.Namespace) -> Config:
    """Return a row's configuration with its data and run folder."""
    places = {"run": options.folder / row.slug, "data.train": options.data / "train", "data.dev": options.data / "val"}
    overrides = {key: str(place) for key, place in places.items()}
    return checks.load_config(
        row.config, {**overrides, "training.epochs": str(options.epochs), "device.threads": "1", **row.overrides}
    )


def work(row: Row, options: argparse.Namespace) -> None:
    """Train a row, or translate its way; write its result."""
    run_config = config(row, options)
    made_with = provenance.of(run_config)
    results: dict[str, Any]
    if row.name in TRAINED:
        results = {"minutes": trained(row, run_config, options)[1]}
    elif row.name == EXHAUSTIVE:
        results = proved(options)
    else:
        results = {part: translated(WAYS[row.name], part, options)._asdict() for part in _parts(options)}
    provenance.write(result(row, options), results, made_with)


def _parts(options: argparse.Namespace) -> list[str]:
    return list(SETS) if options.test else list(SETS)[:1]


def _runs(names: Sequence[str], options: argparse.Namespace) -> list[Path]:
    return [options.folder / Row(name, CONFIG).slug for name in names]


def _read(part: str, side: str, options: argparse.Namespace, lines: slice = SCORED) -> list[str]:
    sentence_lines = list(read_lines(existing(options.data / f"{SETS[part]}.{side}")))
    return sentence_lines[lines] if part == "dev" else sentence_lines


def translated(way: Way, part: str, options: argparse.Namespace) -> Scores:
    """Translate a set in one way, and score it."""
    model = dragoman.load(_runs(way.runs, options), device=DeviceConfig(threads=1))
    chosen: dict[str, Any] = {"search": way.search}
    if way.risk:
        chosen["risk"] = MinimumBayesRisk(METRICS[way.risk[0]](), way.risk[1])
    if way.weights:
        chosen["rerank"] = _weights(way.weights, model, options).reranker(model)
    sources, references = (_read(part, side, options) for side in ("en", "de"))
    began = time.process_time()
    texts = [translation.text for translation in model.translate(sources, **chosen)]
    seconds = time.process_time() - began
    bleu, chrf = (metric.corpus(texts, [references]).value for metric in (Bleu(), Chrf()))
    return Scores(bleu, chrf, len(texts) / seconds)


def _weights(name: str, model: Translator, options: argparse.Namespace) -> Weighted:
    """Return weights of reranking: 1 for the model and for its reverse, or those that `dragoman tune` finds when they
    are first asked for.
    """
    (run,), (back,) = _runs(FORWARD[:1], options), _runs([REVERSE], options)
    if name == REVERSE:
        weights = {MODEL: 1.0, criteria.REVERSE: 1.0}
        return Weighted(candidates=CANDIDATES, alpha=own_alpha(model), weights=weights, reverse=str(back))
    texts = {side: options.folder / f"tune.{side}" for side in ("en", "de")}
    for side, text in texts.items():
        write(text, _read("dev", side, options, TUNED))
    return tuned(options.folder / "rerank.yaml", run, back, texts["en"], texts["de"], "bleu")


def proved(options: argparse.Namespace) -> dict[str, int]:
    """Return of how many short sentences exhaustive search has proved the mode, how often that is what a beam finds
    that ranks by log P, and how often it is empty. What is known of a sentence is kept in a file, as one may take
    minutes.
    """
    model = dragoman.load(_runs(FORWARD[:1], options), device=DeviceConfig(threads=1))
    short = list(islice((text for text in _read("dev", "en", options) if len(text.split()) <= WORDS), SENTENCES))
    path: Path = options.folder / f"{EXHAUSTIVE}.jsonl"
    entries = list(map(json.loads, read_lines(path))) if path.is_file() else []
    if [entry.get("source") for entry in entries] != short[: len(entries)]:
        raise UserError(f"{path}: is of other sentences; remove it")
    entry_lines = list(map(json.dumps, entries))
    for text in short[len(entry_lines) :]:
        (mode,) = model.translate([text], search=Spec("exhaustive"))
        (beam,) = model.translate([text], search=Spec("beam", {"size": 5, "normalization": "none"}))
        entry_lines.append(json.dumps({"source": text, "proved": mode.proved, "mode": mode.text, "beam": beam.text}))
        write(path, entry_lines)
    sure = [entry for entry in map(json.loads, entry_lines) if entry["proved"]]
    return {
        "sentences": len(short),
        "proved": len(sure),
        "found": sum(entry["mode"] == entry["beam"] for entry in sure),
        "empty": sum(not entry["mode"] for entry in sure),
    }


def show(table_rows: list[Row], options: argparse.Namespace) -> None:
    results = {row.name: provenance.read(result(row, options)) for row in table_rows}
    parts = _parts(options)
    figures = [(part, figure) for part in parts for figure in Scores._fields]
    lines = [
        (name, *(f"{results[name][part][figure]:.1f}" if part in results[name] else "" for part, figure in figures))
        for name in WAYS
        if name in results
    ]
    heads = [f"{part} {figure}" for part in parts for figure in ("BLEU", "chrF", "sentences/s")]
    markdown(("", *heads), *lines)
    if EXHAUSTIVE in results:
        sentences, proofs, same, empty = (results[EXHAUSTIVE][key] for key in ("sentences", "proved", "found", "empty"))
        markdown(
            ("short sentences", "mode proved", "which beam 5 finds", "which is empty"),
            (str(sentences), str(proofs), str(same), str(empty)),
        )


def main(arguments: list[str] | None = None) -> int:
    return trainings.main(TABLE, work, show, arguments)


if __name__ == "__main__":
    sys.exit(main())
