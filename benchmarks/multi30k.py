"""What 29,000 pairs are worth: `make multi30k-table`.

The folder of `--data` has the files of Multi30k in the form in which the literature scores them (`train`, `val`,
`test_2016_flickr` and `test_2017_flickr`, `.lc.norm.tok.en` and `.lc.norm.tok.de`, or `.gz`). A row is a training with
a configuration of configs/. The rows of DIVERSE learn from the pairs and from what forward and backward models make of
their texts (data diversification, Nguyen et al. 2020), the recurrent ones in fewer steps than the row whose
configuration they share, and some with R-Drop (Liang et al. 2021); the models that translate are the rows of FORWARD
and BACKWARD, which are trained for fewer epochs, or Transformers of both directions. Recurrent models and a small
student learn from the best model's translations (sequence-level distillation, Kim and Rush 2016), the student and one
recurrent model from nothing else. The rows of LITERATURE are models of papers and tutorials, from German to English, in
few epochs. The table has the scores of the development set; `--test` adds the test sets.
Started again, it continues where it stopped. Minutes are of training alone, or of tuning.
"""

import argparse
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import dragoman
from benchmarks import provenance, trainings
from benchmarks.prepared import Row, write
from benchmarks.reranking import tuned
from benchmarks.trainings import Table, markdown, result, trained
from dragoman.configuration.config import Config, DeviceConfig
from dragoman.errors import UserError
from dragoman.evaluation.metrics.metric import Metric
from dragoman.evaluation.metrics.sacre import Bleu, Chrf, Ter
from dragoman.files.reading import existing, read_lines
from dragoman.training import checks
from dragoman.translation.reranking.reranker import Reranker
from dragoman.translation.translator import Translator


class Diverse(NamedTuple):
    """A model that learns from the pairs, unless `pairs` is false, and from what its `teachers`, other rows, translate;
    `overrides` change its configuration.
    """

    model: str
    teachers: tuple[str, ...]
    overrides: dict[str, str]
    pairs: bool = True


class Reranked(NamedTuple):
    """A row whose translations are reranked, and the row that translates them back."""

    model: str
    reverse: str


CONFIGS = Path(__file__).resolve().parent.parent / "configs"
FORM = ".lc.norm.tok"
SETS = {"dev": "val", "test 2016": "test_2016_flickr", "test 2017": "test_2017_flickr"}
SIDES = ("en", "de")
SEEDS = (1, 2, 3)
MODELS = {
    "recurrent": CONFIGS / "multi30k-en-de.yaml",
    "Transformer-tiny": CONFIGS / "multi30k" / "transformer-tiny.yaml",
    "recurrent decoder": CONFIGS / "multi30k" / "recurrent-decoder.yaml",
    "student": CONFIGS / "student.yaml",
}
TEACHER = "recurrent"  # what translates, unless it is a Transformer
FORWARD = tuple(f"forward, 12 epochs, seed {seed}" for seed in (1, 2))
BACKWARD = tuple(f"backward, 12 epochs, seed {seed}" for seed in (1, 2))
BY_2, BY_4 = (FORWARD[0], BACKWARD[0]), (*FORWARD, *BACKWARD)
BEST = "Transformer-tiny, diversified by 2"  # what others are distilled from
TINY, TINY_BACKWARD = "Transformer-tiny, seed 1", tuple(f"Transformer-tiny, backward, seed {seed}" for seed in (1, 2))
R_DROP = {"training.consistency": "{kind: r_drop, weight: 5}"}  # Liang et al. 2021
DIVERSE = {
    "Transformer-tiny, R-Drop, diversified by 2": Diverse("Transformer-tiny", BY_2, R_DROP),
    "Transformer-tiny, R-Drop, diversified by 4": Diverse("Transformer-tiny", BY_4, R_DROP),
    "recurrent, diversified by 2": Diverse("recurrent", BY_2, {"training.epochs": "8"}),
    "recurrent, diversified by 4": Diverse("recurrent", BY_4, {"training.epochs": "5"}),
    BEST: Diverse("Transformer-tiny", BY_2, {}),
    "Transformer-tiny, diversified by 4": Diverse("Transformer-tiny", BY_4, {}),
    "Transformer-tiny, diversified by 2 Transformers": Diverse("Transformer-tiny", (TINY, TINY_BACKWARD[0]), {}),
    "Transformer-tiny, diversified by 4 Transformers": Diverse("Transformer-tiny", (TINY, BEST, *TINY_BACKWARD), {}),
    "recurrent, distilled": Diverse("recurrent", (BEST, *BY_2), {"training.epochs": "6"}),
    "recurrent, R-Drop, distilled": Diverse("recurrent", (BEST, *BY_2), {"training.epochs": "6", **R_DROP}),
    "recurrent, distilled, diversified by 4": Diverse("recurrent", (BEST, *BY_4), {"training.epochs": "4"}),
    "recurrent, distilled alone": Diverse("recurrent", (BEST,), {"training.epochs": "24"}, pairs=False),
    "student, distilled": Diverse("student", (BEST,), {}, pairs=False),
}
# Words that occur twice, as in tutorials; the models are those of the configurations.
WORDS = "{pretokenizer: whitespace, tokenizer: {kind: word, minimum_frequency: 2}}"
BRIEFLY = {
    "training.optimizer": "{kind: adam, learning_rate: 0.002}",
    "training.schedule": "{kind: cosine, warmup: 100}",
    "metrics": "[{kind: bleu, tokenize: none}]",
}
LITERATURE = {  # a configuration, and how many epochs it needs
    "Bahdanau 2015, de-en": (CONFIGS / "bahdanau2015.yaml", "2"),
    "Luong 2015, de-en": (CONFIGS / "luong2015.yaml", "10"),
}
TUNED_BY = "{kind: bleu, tokenize: none}"
RERANKED = {f"{BEST}, reranked": Reranked(BEST, BACKWARD[0])}
METRICS: dict[str, Metric] = {"BLEU": Bleu(tokenize="none"), "chrF": Chrf(), "TER": Ter()}


def rows() -> list[Row]:
    """Return each model with each seed, and what data diversification needs and makes."""
    backward = {"data.source": SIDES[1], "data.target": SIDES[0]}
    shorter = {"training.epochs": "12"}
    literature = {**backward, "text.source": WORDS, "text.target": WORDS, **BRIEFLY}
    teachers = [
        *(Row(name, MODELS[TEACHER], shorter) for name in FORWARD),
        *(Row(name, MODELS[TEACHER], {**shorter, **backward}) for name in BACKWARD),
        *(Row(name, MODELS["Transformer-tiny"], backward) for name in TINY_BACKWARD),
    ]
    return [
        *(Row(f"{name}, seed {seed}", MODELS[name], {"seed": str(seed)}) for name in MODELS for seed in SEEDS),
        *(row._replace(overrides={"seed": row.name[-1], **row.overrides}) for row in teachers),
        *(Row(name, path, {**literature, "training.epochs": count}) for name, (path, count) in LITERATURE.items()),
        *(Row(name, MODELS[variant.model], variant.overrides) for name, variant in DIVERSE.items()),
        *(Row(name, MODELS[DIVERSE[variant.model].model]) for name, variant in RERANKED.items()),
    ]


TABLE = Table(
    "benchmarks.multi30k",
    str(__doc__),
    lambda _: rows(),
    folder="runs/multi30k-table",
    data="data/multi30k",
    epochs=None,
    first=((*FORWARD, *BACKWARD, TINY, *TINY_BACKWARD), (BEST,)),
    flags={"--test": "also show the scores of the test sets"},
)


def config(row: Row, options: argparse.Namespace) -> Config:
    """Return a row's configuration with its data and run folder."""
    pairs = options.data / f"train{FORM}"
    corpora = [_translated(name, options) for name in _teachers(row)]
    train = [pairs, *corpora] if row.name not in DIVERSE or DIVERSE[row.name].pairs else corpora
    places = {"run": options.folder / row.slug, "data.dev": options.data / f"val{FORM}"}
    overrides = {key: str(place) for key, place in places.items()} | {
        "data.train": json.dumps([str(path) for path in train])
    }
    return checks.load_config(row.config, {**overrides, "device.threads": "1", **row.overrides})


def work(row: Row, options: argparse.Namespace) -> None:
    """Train a row, after what it learns from was made, or tune one; write its scores."""
    for name in _teachers(row):
        diversify(row, name, options)
    run_config = config(row, options)
    made_with = provenance.of(run_config)
    if row.name in RERANKED:
        model, rerank, minutes = reranked(row, options)
    else:
        run, minutes = trained(row, run_config, options)
        model, rerank = dragoman.load(run, device=DeviceConfig(threads=1)), None
    scores = {}
    for part in SETS:
        sources, references = (_read(SETS[part], side, options) for side in (model.source.name, model.target.name))
        texts = [translation.text for translation in model.translate(sources, rerank=rerank)]
        scores[part] = {name: metric.corpus(texts, [references]).value for name, metric in METRICS.items()}
    provenance.write(result(row, options), {"scores": scores, "minutes": minutes}, made_with)


def reranked(row: Row, options: argparse.Namespace) -> tuple[Translator, Reranker, float]:
    """Return the model of a row with what ranks its translations, and the minutes that it took to find the weights."""
    of = RERANKED[row.name]
    run, reverse = (_run(row, name, options) for name in of)
    source, reference = (existing(options.data / f"{SETS['dev']}{FORM}.{side}") for side in SIDES)
    began = sum(os.times()[:4])
    weights = tuned(options.folder / f"{row.slug}.yaml", run, reverse, source, reference, TUNED_BY)
    model = dragoman.load(run, device=DeviceConfig(threads=1))
    return model, weights.reranker(model), (sum(os.times()[:4]) - began) / 60


def _teachers(row: Row) -> tuple[str, ...]:
    return DIVERSE[row.name].teachers if row.name in DIVERSE else ()


def _row(name: str) -> Row:
    return next(row for row in rows() if row.name == name)


def _run(needing: Row, name: str, options: argparse.Namespace) -> Path:
    """Return the run of a row that another one needs. UserError if that has no result."""
    row = _row(name)
    if not result(row, options).is_file():
        raise UserError(f"{needing.name}: needs the row {name}; train it first")
    path: Path = options.folder / row.slug
    return path


def _translated(name: str, options: argparse.Namespace) -> Path:
    """Return the corpus of what a model makes of the training text."""
    path: Path = options.folder / "texts" / _row(name).slug
    return path


def diversify(learner: Row, name: str, options: argparse.Namespace) -> None:
    """Write what a model makes of the training text beside that text, unless it is there. UserError where the model
    that a row learns from was not trained.
    """
    corpus = _translated(name, options)
    translated_side, kept = SIDES if name in (*BACKWARD, *TINY_BACKWARD) else SIDES[::-1]
    files = {side: corpus.with_name(f"{corpus.name}.{side}") for side in SIDES}
    if files[translated_side].is_file():
        return
    model = dragoman.load(_run(learner, name, options), device=DeviceConfig(threads=1))
    texts = _read("train", kept, options)
    write(files[kept], texts)
    write(files[translated_side], (translation.text for translation in model.translate(texts)))


def _read(part: str, side: str, options: argparse.Namespace) -> list[str]:
    return list(read_lines(existing(options.data / f"{part}{FORM}.{side}")))


def show(table_rows: list[Row], options: argparse.Namespace) -> None:
    parts = list(SETS) if options.test else list(SETS)[:1]
    heads = [f"{part} {metric}" for part in parts for metric in METRICS]
    markdown(("", *heads, "minutes"), *_lines(table_rows, parts, options))


def _lines(table_rows: list[Row], parts: list[str], options: argparse.Namespace) -> Iterator[tuple[str, ...]]:
    for row in table_rows:
        stored = provenance.read(result(row, options))
        cells = (f"{stored['scores'][part][metric]:.2f}" for part in parts for metric in METRICS)
        yield row.name, *cells, f"{stored['minutes']:.0f}"


def main(arguments: list[str] | None = None) -> int:
    return trainings.main(TABLE, work, show, arguments)


if __name__ == "__main__":
    sys.exit(main())
