"""Gains of post-editing, by the combination of its two sources: `make postediting-table`.

Edit operations with attention to source and translation by concatenation, sum, flat and hierarchical combination
(Libovicky and Helcl 2017, table 1), also without the cursor, which they do not have; the translation alone; and direct
rewriting. For each, the table has BLEU and TER of the development set as given (tokenized, case-sensitive) compared
with doing nothing, the p of a paired bootstrap of TER, and how many of the correct sentences stayed correct. The folder
of `--data` has {train,dev}.{src,mt,pe}, compressed or not, and may have a test set. Two processes run at a time, with
one thread each. Started again, it continues where it stopped.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from sacrebleu.metrics.ter import TER
from sacrebleu.significance import PairedTest

import dragoman
from benchmarks import provenance, trainings
from benchmarks.prepared import Row
from benchmarks.trainings import Table, markdown, result
from dragoman.configuration.config import Config, DeviceConfig
from dragoman.corpus.examples import read_examples
from dragoman.evaluation.metrics.sacre import Bleu, Ter
from dragoman.training import checks, session

CONFIG = Path(__file__).resolve().parent.parent / "configs" / "libovicky2017-postediting.yaml"
SAMPLES = 1000


class Result(NamedTuple):
    """Scores of post-edits, the p that their TER differs from doing nothing by chance, and the percentage of correct
    sentences that are still correct.
    """

    bleu: float
    ter: float
    p: float
    untouched: float


def rows() -> list[Row]:
    """Return the rows: the combinations, then the other ways."""
    rows_of_table = [
        Row(kind, CONFIG, {"model.combination": kind}) for kind in ("concatenation", "sum", "flat", "hierarchical")
    ]
    rows_of_table.append(
        Row("hierarchical, sentinel", CONFIG, {"model.combination": "{kind: hierarchical, sentinel: true}"})
    )
    rows_of_table.append(Row("hierarchical, no cursor", CONFIG, {"model.cursor": "false"}))
    rows_of_table.append(Row("translation alone", CONFIG, {"data.source": "mt", "model.combination": "concatenation"}))
    rewriting = {"data.edits": "null", "model.cursor": "false", "search": "{kind: beam, size: 5}"}
    return [*rows_of_table, Row("rewriting", CONFIG, rewriting)]


TABLE = Table(
    "benchmarks.postediting",
    str(__doc__),
    lambda _: rows(),
    folder="runs/postediting-table",
    data="data/postediting",
    epochs=10,
)


def config(row: Row, options: argparse.Namespace) -> Config:
    """Return a row's configuration with its data, run folder and length of training."""
    overrides = {
        "run": str(options.folder / row.slug),
        "data.train": str(options.data / "train"),
        "data.dev": str(options.data / "dev"),
        "device.threads": "1",
        "training.epochs": str(options.epochs),
    }
    return checks.load_config(row.config, {**overrides, **row.overrides})


def judged(before: list[str], after: list[str], right: list[str]) -> Result:
    """Score post-edits against the translations that they edit."""
    bleu, ter = (metric.corpus(after, [right]).value for metric in (Bleu(tokenize="none"), Ter()))
    kept = [new == line for old, new, line in zip(before, after, right, strict=True) if old == line]
    return Result(bleu, ter, _p(before, after, right), 100 * sum(kept) / max(1, len(kept)))


def _p(before: list[str], after: list[str], right: list[str]) -> float:
    """Return the p for the TER of both, by a paired bootstrap (Koehn 2004)."""
    if before == after:
        return 1.0
    systems: list[tuple[str, Sequence[str]]] = [("before", before), ("after", after)]
    test = PairedTest(systems, {"TER": TER(case_sensitive=True)}, [right], test_type="bs", n_samples=SAMPLES)
    p_value = test()[1]["TER"][1]
    assert not isinstance(p_value, str)
    assert p_value.p_value is not None
    return float(p_value.p_value)


def tests(options: argparse.Namespace) -> list[str]:
    """Return the names of the development set and of test sets, if any."""
    names = {path.name.split(".")[0] for path in options.data.glob("*.mt*")} - {"train", "dev"}
    return ["dev", *sorted(names)]


def work(row: Row, options: argparse.Namespace) -> None:
    """Train a row, post-edit with it, and write its results beside its run."""
    run_config = config(row, options)
    made_with = provenance.of(run_config)
    run = session.train(run_config, quiet=True)
    model = dragoman.load(run.path, device=DeviceConfig(threads=1))
    results = {}
    for part in tests(options):
        examples = list(read_examples(str(options.data / part), run_config.data.source, run_config.data.target))
        sources = [example.sources if len(example.sources) > 1 else example.sources[0] for example in examples]
        after = [translation.text for translation in model.translate(sources)]
        before, right = [str(example.sources[-1]) for example in examples], [example.target for example in examples]
        results[part] = judged(before, after, right)._asdict()
    provenance.write(result(row, options), results, made_with)


def nothing(options: argparse.Namespace, part: str) -> Result:
    """Score the unedited translations."""
    examples = list(read_examples(str(options.data / part), ("mt",), "pe"))
    before, right = [str(example.sources[0]) for example in examples], [example.target for example in examples]
    return judged(before, before, right)


def show(table_rows: list[Row], options: argparse.Namespace) -> None:
    for part in tests(options):
        idle = nothing(options, part)
        lines = [("doing nothing", f"{idle.bleu:.2f}", f"{idle.ter:.2f}", "", "100 %")]
        for row in table_rows:
            row_result = Result(**provenance.read(result(row, options))[part])
            lines.append(
                (
                    row.name,
                    f"{row_result.bleu:.2f}",
                    f"{row_result.ter:.2f}",
                    f"{row_result.p:.3f}",
                    f"{row_result.untouched:.0f} %",
                )
            )
        markdown((part, "BLEU", "TER", "p", "untouched"), *lines)


def main(arguments: list[str] | None = None) -> int:
    return trainings.main(TABLE, work, show, arguments)


if __name__ == "__main__":
    sys.exit(main())
