"""Whether the sizes that `init` chooses are good ones: `make sizes-table`.

The folder of `--data` has a folder for each corpus, with `train.tsv` and `dev.tsv`, whose headers name the two
languages. For each corpus a model is trained with the configuration that `init` writes for it, with another seed, and
with one thing changed at a time (SETTINGS). A setting that is better on most corpora is a reason to change the table of
`dragoman/corpus/sizes.py`.

Every row trains until its own stopping (epochs and patience) ends it, as it would for a user, and its minutes stand
beside: a limit of time that is equal for all would favor what learns fast over what ends better.

Not varied is what a first run, of software strings, spoke against: more dropout (the loss of the development pairs fell
to the end) and fewer subwords (a third of 1,000 are bytes and characters). Neither are batches: half of one acts like a
higher rate, twice one like a lower.

The first table has the scores of all rows, on the development pairs with the search of the configuration; the second
the differences to `init`, bold where they are larger than chance between two seeds. Started again, it continues where
it stopped.
"""

import argparse
import sys
from collections.abc import Callable, Iterable, Mapping
from math import sqrt
from pathlib import Path
from statistics import mean
from types import MappingProxyType
from typing import NamedTuple

import dragoman
from benchmarks import provenance, trainings
from benchmarks.prepared import Row, write
from benchmarks.trainings import Table, markdown, result, trained
from dragoman.configuration import config_file
from dragoman.configuration.config import Config, DeviceConfig
from dragoman.corpus import formats
from dragoman.corpus.examples import read_pairs
from dragoman.corpus.sample import measure_sample
from dragoman.corpus.sizes import SIZES, CorpusFiles, Size, choose, sizes
from dragoman.errors import UserError
from dragoman.evaluation.metrics.sacre import Bleu, Chrf
from dragoman.training import checks

INIT, AGAIN = "init", "init with seed 2"
WIDTHS = ("embedding", "encoder", "decoder")
CERTAIN = 2  # times the spread between two seeds: 1 in 20 differences of that spread alone is larger


class Result(NamedTuple):
    """Scores of the development pairs, nats per character of their references, and minutes of processor time.

    The loss is per character since the number of symbols depends on their inventory.
    """

    bleu: float
    chrf: float
    loss: float
    minutes: float


MEASURES: dict[str, Callable[[Result], float]] = {
    "chrF": lambda outcome: outcome.chrf,
    "loss": lambda outcome: outcome.loss,
}
DIGITS = {"chrF": 1, "loss": 3}


def wider(size: Size) -> Size:
    """Return the size with the widths of the next wider line of the table; beyond the last, twice its own."""
    return _with_widths(size, (line for line in SIZES if line.encoder > size.encoder), 2.0)


def narrower(size: Size) -> Size:
    """Return the size with the widths of the next narrower line of the table; below the first, half its own."""
    return _with_widths(size, (line for line in reversed(SIZES) if line.encoder < size.encoder), 0.5)


def _with_widths(size: Size, lines: Iterable[Size], factor: float) -> Size:
    beyond = {name: round(factor * getattr(size, name)) for name in WIDTHS}
    line = next(iter(lines), size._replace(**beyond))
    return size._replace(**{name: getattr(line, name) for name in WIDTHS})


class Setting(NamedTuple):
    """What differs from what `init` chooses: its line of the table, or options."""

    size: Callable[[Size], Size] = lambda size: size
    options: Mapping[str, str] = MappingProxyType({})


# What says most comes first, so that a table that is not finished says something.
SETTINGS = {
    INIT: Setting(),
    AGAIN: Setting(options={"seed": "2"}),
    "half the rate": Setting(lambda size: size._replace(rate=size.rate / 2)),
    "twice the rate": Setting(lambda size: size._replace(rate=2 * size.rate)),
    "wider": Setting(wider),
    "narrower": Setting(narrower),
    "half the dropout": Setting(lambda size: size._replace(dropout=size.dropout / 2)),
    "cosine in a third of the epochs": Setting(
        lambda size: size._replace(epochs=max(1, round(0.3 * size.epochs))),
        {"training.schedule": "{kind: cosine, warmup: 300}", "training.patience": "null"},
    ),
    "twice the subwords": Setting(lambda size: size._replace(symbols=2 * size.symbols)),
}


def rows(options: argparse.Namespace) -> list[Row]:
    """Return a row for each setting and corpus. Its configuration is CORPUS/SETTING.yaml, which `config` writes."""
    corpora = sorted(path.parent.name for path in options.data.glob("*/train.tsv"))
    if not corpora:
        raise UserError(f"{options.data}: expected a folder for each corpus, with train.tsv and dev.tsv")
    return [
        Row(f"{corpus}, {name}", options.folder / "configurations" / corpus / f"{name}.yaml", setting.options)
        for name, setting in SETTINGS.items()
        for corpus in corpora
    ]


def _corpus(row: Row) -> str:
    return row.config.parent.name


def _setting(row: Row) -> str:
    return row.config.stem


TABLE = Table("benchmarks.sizes", str(__doc__), rows, folder="runs/sizes-table", data="data/sizes", epochs=None)


def config(row: Row, options: argparse.Namespace) -> Config:
    """Write what `init` would if the line of its table were that of the setting, and read it with the row's options."""
    train, dev = (str(options.data / _corpus(row) / f"{part}.tsv") for part in ("train", "dev"))
    source, target = formats.find_languages(train).names
    corpus = CorpusFiles(train, dev, source, target)
    sample = measure_sample(corpus.train, corpus.source, corpus.target)
    size = SETTINGS[_setting(row)].size(sizes(sample.pairs))
    write(row.config, [config_file.commented(choose(corpus, sample, str(options.folder / row.slug), size=size))])
    return checks.load_config(row.config, {"device.threads": "1", **row.overrides})


def work(row: Row, options: argparse.Namespace) -> None:
    """Train a row, translate with it, and write its result beside its run."""
    run_config = config(row, options)
    made_with = provenance.of(run_config)
    row_result = scored(*trained(row, run_config, options), run_config)
    provenance.write(result(row, options), row_result._asdict(), made_with)


def scored(run: Path, minutes: float, run_config: Config) -> Result:
    """Return the scores of a run on its development pairs."""
    model = dragoman.load(run, device=DeviceConfig(threads=1))
    sources, right = (list(side) for side in zip(*read_pairs(run_config.data.dev, *run_config.data.names), strict=True))
    texts = [translation.text for translation in model.translate(sources)]
    bleu, chrf = (metric.corpus(texts, [right]).value for metric in (Bleu(), Chrf()))
    loss = -sum(score.log_prob for score in model.score(sources, right)) / sum(map(len, right))
    return Result(bleu, chrf, loss, minutes)


Results = Mapping[str, Mapping[str, Result]]  # by corpus and setting


def differences(results: Results, setting: str, measure: str) -> dict[str, float]:
    """Return by corpus how much a setting differs from `init`."""
    value = MEASURES[measure]
    both = {corpus: results_of for corpus, results_of in results.items() if results_of.keys() >= {setting, INIT}}
    return {corpus: value(results_of[setting]) - value(results_of[INIT]) for corpus, results_of in both.items()}


def spread(results: Results, measure: str) -> float:
    """Return the root mean square, over the corpora, of the difference between two seeds of `init`; infinite if there
    is none yet.
    """
    between = differences(results, AGAIN, measure).values()
    return sqrt(mean(value**2 for value in between)) if between else float("inf")


def compared(results: Results, setting: str) -> list[str]:
    """Return the cells of a setting: its time as a multiple of that of `init`, then for the mean of the corpora and for
    each the differences in chrF and loss, bold where they are larger than CERTAIN spreads (of a mean).
    """
    cells: dict[str, list[str]] = {corpus: [] for corpus in ("", *results)}
    for measure in MEASURES:
        results_of = differences(results, setting, measure)
        for corpus, value in results_of.items():
            cells[corpus].append(_difference(value, measure, spread(results, measure)))
        if results_of:
            cells[""].append(
                _difference(mean(results_of.values()), measure, spread(results, measure) / sqrt(len(results_of)))
            )
    both = [results_of for results_of in results.values() if results_of.keys() >= {setting, INIT}]
    setting_time, init_time = (sum(results_of[name].minutes for results_of in both) for name in (setting, INIT))
    return [f"× {setting_time / init_time:.1f}", *map(", ".join, cells.values())]


def _difference(value: float, measure: str, between_seeds: float) -> str:
    shown = f"{value:+.{DIGITS[measure]}f}"
    return f"**{shown}**" if abs(value) > CERTAIN * between_seeds else shown


def show(table_rows: list[Row], options: argparse.Namespace) -> None:
    results: dict[str, dict[str, Result]] = {}
    lines = []
    for row in table_rows:
        results_of = Result(**provenance.read(result(row, options)))
        results.setdefault(_corpus(row), {})[_setting(row)] = results_of
        lines.append(
            (
                row.name,
                f"{results_of.bleu:.1f}",
                f"{results_of.chrf:.1f}",
                f"{results_of.loss:.3f}",
                f"{results_of.minutes:.1f}",
            )
        )
    markdown(("", "dev BLEU", "dev chrF", "loss", "minutes"), *lines)
    done = [
        name
        for name in SETTINGS
        if name != INIT and any({name, INIT} <= results_of.keys() for results_of in results.values())
    ]
    if done:
        heads = ("minus init: chrF, loss", "time", "mean", *results)
        markdown(heads, *((name, *compared(results, name)) for name in done))


def main(arguments: list[str] | None = None) -> int:
    return trainings.main(TABLE, work, show, arguments)


if __name__ == "__main__":
    sys.exit(main())
