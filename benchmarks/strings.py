"""From how many strings on `init` is worth having: `make strings-table`.

The folder of `--data` has the strings of a program as `train.tsv`, `dev.tsv` and `test.tsv` (or `.tsv.gz`), with a
column for each of LANGUAGES. A model is trained as `init` configures it with the first strings of `train`, as many as
COUNTS says, and with protected spans (`text.protect`) as well. For each row the table has BLEU and chrF of the
development strings, beside those of the nearest neighbour among the strings that the model was trained on; in how many
of all strings the translation has the protected spans of the string, each exactly as often and letter by letter, and no
other; how many strings have spans; and the minutes of processor time that the training took. `--test` adds the test
strings. Started again, it continues where it stopped.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import dragoman
from benchmarks import provenance, trainings
from benchmarks.prepared import Row, write
from benchmarks.small import nearest
from benchmarks.trainings import Table, markdown, result, trained
from dragoman.configuration import document
from dragoman.configuration.config import Config, DeviceConfig
from dragoman.corpus.examples import Pair, read_pairs
from dragoman.corpus.sample import look
from dragoman.corpus.sizes import Corpus, choose
from dragoman.evaluation.metrics.sacre import Bleu, Chrf
from dragoman.text.protection import KINDS, Protection
from dragoman.training import checks

LANGUAGES = ("en", "de")
COUNTS = (1_000, 2_000, 3_000, 4_500, 0)  # strings; 0 stands for all
SPANS = ("placeholders", "tags", "urls", "emails", "numbers")
PROTECTED, FREE = ({"text.protect": json.dumps(kinds)} for kinds in (SPANS, ()))
PROTECTION = Protection([KINDS[kind]() for kind in SPANS])
PARTS = ("dev", "test")


class Score(NamedTuple):
    """BLEU and chrF."""

    bleu: float
    chrf: float


class Result(NamedTuple):
    """Scores of the model and of the nearest neighbour, by part; how many strings were compared with their
    translations, and how many of these have the same spans; minutes of processor time; how many strings have spans.
    A result without the last one has compared those alone.
    """

    scores: Mapping[str, Score]
    floors: Mapping[str, Score]
    spans: int
    kept: int
    minutes: float
    with_spans: int | None = None


def rows(options: argparse.Namespace) -> list[Row]:
    """Return two rows for each number of strings. Both have the configuration that `config` writes."""
    found = []
    for count in COUNTS:
        name, path = f"{count or 'all'} strings", options.folder / "configurations" / f"{count}.yaml"
        found += [Row(name, path, FREE), Row(f"{name}, spans protected", path, PROTECTED)]
    return found


TABLE = Table(
    "benchmarks.strings",
    str(__doc__),
    rows,
    folder="runs/strings-table",
    data="data/strings",
    epochs=None,
    flags={"--test": "also show the scores of the test strings"},
)


def config(row: Row, options: argparse.Namespace) -> Config:
    """Write what `init` would for the strings of a row, and read it with the row's options."""
    train, run = _train(row, options), str(options.folder / row.slug)
    corpus = Corpus(str(train), str(options.data / "dev.tsv"), *LANGUAGES)
    write(row.config, [document.commented(choose(corpus, look(str(train), *LANGUAGES), run))])
    return checks.load_config(row.config, {"run": run, "device.threads": "1", **row.overrides})


def _train(row: Row, options: argparse.Namespace) -> Path:
    """Return the file with the strings of a row, which is written when it is first asked for."""
    path: Path = options.folder / "texts" / f"train-{row.config.stem}.tsv"
    if not path.is_file():
        pairs = _read(options.data / "train.tsv")[: int(row.config.stem) or None]
        write(path, map("\t".join, [LANGUAGES, *pairs]))
    return path


def _read(path: Path) -> list[Pair]:
    return list(read_pairs(str(path), *LANGUAGES))


def work(row: Row, options: argparse.Namespace) -> None:
    """Train a row, translate all strings with it, and write its result beside its run."""
    made = config(row, options)
    made_with = provenance.of(made)
    run, minutes = trained(row, made, options)
    model = dragoman.load(run, device=DeviceConfig(threads=1))
    known = _read(_train(row, options))
    scores, floors = dict[str, Score](), dict[str, Score]()
    same, spanned = list[bool](), 0
    for part in ("train", *PARTS):
        pairs = _read(options.data / f"{part}.tsv")
        sources = [pair.source for pair in pairs]
        texts = [each.text for each in model.translate(sources)]
        same += [spans(source) == spans(text) for source, text in zip(sources, texts, strict=True)]
        spanned += sum(1 for source in sources if spans(source))
        if part in PARTS:
            right = [[pair.target for pair in pairs]]
            scores[part] = Score(Bleu().corpus(texts, right).value, Chrf().corpus(texts, right).value)
            floors[part] = Score(*nearest(pairs, known)[:2])
    found = Result(scores, floors, len(same), sum(same), minutes, spanned)
    provenance.write(result(row, options), found._asdict(), made_with)


def spans(text: str) -> Counter[str]:
    """Return how often each span that is protected is in a text."""
    return Counter(text[begin:end] for begin, end in PROTECTION.find(text))


def show(every: list[Row], options: argparse.Namespace) -> None:
    parts = PARTS if options.test else PARTS[:1]
    lines = []
    for row in every:
        each = Result(**provenance.read(result(row, options)))
        figures = [value for part in parts for value in (*each.floors[part], *each.scores[part])]
        kept = f"{each.kept:,} of {each.spans:,}"
        spanned = f"{each.spans if each.with_spans is None else each.with_spans:,}"
        lines.append((row.name, *(f"{value:.1f}" for value in figures), kept, spanned, f"{each.minutes:.1f}"))
    heads = [f"{part} {who} {figure}" for part in parts for who in ("nearest", "model") for figure in ("BLEU", "chrF")]
    markdown(("", *heads, "kept", "with spans", "minutes"), *lines)


def main(arguments: list[str] | None = None) -> int:
    return trainings.main(TABLE, work, show, arguments)


if __name__ == "__main__":
    sys.exit(main())
