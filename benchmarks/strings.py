"""From how many strings on `init` is worth having: `make strings-table`.

The folder of `--data` has the strings of a program as `train.tsv`, `dev.tsv` and `test.tsv` (or `.tsv.gz`), with a
column for each of LANGUAGES. A model is trained as `init` configures it with the first strings of `train`, as many as
COUNTS says, and with all SPANS protected; one with WITHOUT strings is trained without protected spans, too. For each
row the table has BLEU and chrF of the development strings, beside those of the nearest neighbor among the strings that
the model was trained on; in how many of all strings the translation has the protected spans of the string, each exactly
as often and letter by letter, and no other; how many strings have spans; and the minutes of processor time that the
training took. `--test` adds the test strings.

A second table has the ways to keep spans, on the first SPANNED development strings that have some: marks that the model
has learned, where it has, and for other models nothing and `translate --protect`. Started again, it continues where it
stopped.
"""

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import dragoman
from benchmarks import provenance, trainings
from benchmarks.prepared import Row, write
from benchmarks.small import nearest
from benchmarks.trainings import Table, markdown, result, trained
from dragoman.configuration import config_file
from dragoman.configuration.config import Config, DeviceConfig
from dragoman.corpus.examples import Pair, read_pairs
from dragoman.corpus.sample import measure_sample
from dragoman.corpus.sizes import CorpusFiles, choose
from dragoman.evaluation.metrics.sacre import Bleu, Chrf
from dragoman.text.protection import KINDS, Protection
from dragoman.training import checks
from dragoman.translation.transforms.terms import UNCONSTRAINED, LexicalConstraints
from dragoman.translation.translator import Translator

LANGUAGES = ("en", "de")
COUNTS = (1_000, 2_000, 3_000, 4_500, 0)  # strings; 0 stands for all
WITHOUT = 3_000
SPANS = ("placeholders", "tags", "urls", "emails", "numbers")
PROTECTED, FREE = ({"text.protect": json.dumps(kinds)} for kinds in (SPANS, ()))
PROTECTION = Protection([KINDS[kind]() for kind in SPANS])
PARTS = ("dev", "test")
SPANNED = 100


class Score(NamedTuple):
    """BLEU and chrF."""

    bleu: float
    chrf: float


class Result(NamedTuple):
    """Scores of the model and of the nearest neighbor, by part; how many strings there are, how many of them have
    spans, and how many translations have the same spans as their strings, or none as they do; minutes of processor
    time; and each way to keep spans.
    """

    scores: Mapping[str, Score]
    baselines: Mapping[str, Score]
    strings: int
    spanned: int
    kept: int
    minutes: float
    ways: Mapping[str, "Kept"]


class Kept(NamedTuple):
    """How many translations of strings with spans have the same spans, BLEU, chrF and processor seconds."""

    kept: int
    bleu: float
    chrf: float
    seconds: float


def rows(options: argparse.Namespace) -> list[Row]:
    """Return a row for each number of strings, and one without protected spans."""
    counts = {f"{count or 'all'} strings": (count, PROTECTED) for count in COUNTS}
    counts[f"{WITHOUT} strings, spans not protected"] = (WITHOUT, FREE)
    folder = options.folder / "configurations"
    return [Row(name, folder / f"{count}.yaml", overrides) for name, (count, overrides) in counts.items()]


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
    corpus = CorpusFiles(str(train), str(options.data / "dev.tsv"), *LANGUAGES)
    write(row.config, [config_file.commented(choose(corpus, measure_sample(str(train), *LANGUAGES), run))])
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
    run_config = config(row, options)
    made_with = provenance.of(run_config)
    run, minutes = trained(row, run_config, options)
    model = dragoman.load(run, device=DeviceConfig(threads=1))
    train_lines = _read(_train(row, options))
    scores: dict[str, Score] = {}
    baselines: dict[str, Score] = {}
    same, spanned = list[bool](), 0
    for part in ("train", *PARTS):
        pairs = _read(options.data / f"{part}.tsv")
        sources = [pair.source for pair in pairs]
        texts = [translation.text for translation in model.translate(sources)]
        same += [spans(source) == spans(text) for source, text in zip(sources, texts, strict=True)]
        spanned += sum(1 for source in sources if spans(source))
        if part in PARTS:
            right = [[pair.target for pair in pairs]]
            scores[part] = Score(Bleu().corpus(texts, right).value, Chrf().corpus(texts, right).value)
            baselines[part] = Score(*nearest(pairs, train_lines)[:2])
    ways = compared(model, [pair for pair in _read(options.data / "dev.tsv") if spans(pair.source)][:SPANNED])
    row_result = Result(scores, baselines, len(same), spanned, sum(same), minutes, ways)
    provenance.write(result(row, options), row_result._asdict(), made_with)


def compared(model: Translator, pairs: Sequence[Pair]) -> dict[str, Kept]:
    """Translate strings with spans in each way that keeps them."""
    protected = LexicalConstraints(protection=PROTECTION)
    ways = {"nothing": UNCONSTRAINED, "`--protect`": protected}
    if model.processor.model_inputs.protection:
        ways = {"marks": UNCONSTRAINED}
    kept_by_kind, sources, right = dict[str, Kept](), [pair.source for pair in pairs], [[pair.target for pair in pairs]]
    for name, constraints in ways.items():
        began = time.process_time()
        texts = [translation.text for translation in model.translate(sources, constraints=constraints)]
        seconds = time.process_time() - began
        kept = sum(spans(source) == spans(text) for source, text in zip(sources, texts, strict=True))
        bleu, chrf = (metric.corpus(texts, right).value for metric in (Bleu(), Chrf()))
        kept_by_kind[name] = Kept(kept, bleu, chrf, seconds)
    return kept_by_kind


def spans(text: str) -> Counter[str]:
    """Return how often each span that is protected is in a text."""
    return Counter(text[begin:end] for begin, end in PROTECTION.find(text))


def show(table_rows: list[Row], options: argparse.Namespace) -> None:
    parts = PARTS if options.test else PARTS[:1]
    lines: list[tuple[str, ...]] = []
    ways: list[tuple[str, ...]] = []
    for row in table_rows:
        row_result = Result(**provenance.read(result(row, options)))
        figures = [value for part in parts for value in (*row_result.baselines[part], *row_result.scores[part])]
        kept, spanned = f"{row_result.kept:,} of {row_result.strings:,}", f"{row_result.spanned:,}"
        lines.append((row.name, *(f"{value:.1f}" for value in figures), kept, spanned, f"{row_result.minutes:.1f}"))
        for way, values in row_result.ways.items():
            kept_counts = Kept(*values)
            scores = (f"{value:.1f}" for value in kept_counts[1:])
            ways.append((row.name, way, str(kept_counts.kept), *scores))
    heads = [f"{part} {who} {figure}" for part in parts for who in ("nearest", "model") for figure in ("BLEU", "chrF")]
    markdown(("", *heads, "kept", "with spans", "minutes"), *lines)
    markdown(("", "spans by", f"kept, of {SPANNED} at most", "BLEU", "chrF", "seconds"), *ways)


def main(arguments: list[str] | None = None) -> int:
    return trainings.main(TABLE, work, show, arguments)


if __name__ == "__main__":
    sys.exit(main())
