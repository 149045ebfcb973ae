"""What training on own predictions is worth: `make objectives-table`.

The folder of `--data` has `train.tsv` and `dev.tsv`, whose headers name the two languages. A model is trained as `init`
configures it. From its weights, training goes on with teacher forcing, scheduled sampling and minimum risk training,
with three seeds and STEPS steps each; BLEU of the development pairs decides which weights are kept. So a row has to be
compared with teacher forcing, which goes on as well, and not with the start alone.

The table has BLEU, chrF and nats per character of the development pairs, beam search, as means of the seeds with the
standard deviation of BLEU, and the minutes of processor time. Started again, it continues where it stopped.
"""

import argparse
import json
import sys
from statistics import mean, stdev

from benchmarks import provenance, trainings
from benchmarks.prepared import Row, write
from benchmarks.sizes import Result, scored
from benchmarks.trainings import Table, markdown, result, trained
from dragoman.configuration import config_file
from dragoman.configuration.config import Config
from dragoman.corpus import formats
from dragoman.corpus.sample import measure_sample
from dragoman.corpus.sizes import CorpusFiles, choose
from dragoman.training import checks

START = "start"
SEEDS = (1, 2, 3)
STEPS = 600
SCHEDULED = {"kind": "scheduled_sampling", "decay": "linear", "k": STEPS, "least": 0.5}
OBJECTIVES: dict[str, dict[str, object]] = {
    "teacher forcing": {},
    "scheduled sampling": {"training.objective": SCHEDULED},
    "minimum risk": {"training.objective": {"kind": "minimum_risk", "metric": "bleu", "samples": 10}},
}
GOING_ON = {  # small steps, from weights that are good
    "training.optimizer.learning_rate": 0.0002,
    "training.schedule": "constant",
    "training.epochs": None,
    "training.steps": STEPS,
    "training.validate_every": STEPS // 6,
    "training.patience": None,
    "training.average_checkpoints.count": 1,
    "training.metric": "bleu",
}


def rows(options: argparse.Namespace) -> list[Row]:
    """Return the start, and a row for each objective and seed that goes on from it."""
    config = options.folder / "config.yaml"
    start = Row(START, config)
    run = str(options.folder / start.slug)
    first = {"training.init_from": run, "text.vocabulary_from": run, **GOING_ON}
    return [
        start,
        *(
            Row(
                f"{name}, seed {seed}",
                config,
                {key: json.dumps(value) for key, value in {**first, **own, "seed": seed}.items()},
            )
            for name, own in OBJECTIVES.items()
            for seed in SEEDS
        ),
    ]


TABLE = Table(
    "benchmarks.objectives",
    str(__doc__),
    rows,
    folder="runs/objectives-table",
    data="data/objectives",
    epochs=None,
    first=((START,),),
)


def config(row: Row, options: argparse.Namespace) -> Config:
    """Write what `init` would if there is no configuration yet, and read it with the row's options and run folder."""
    train, dev = (str(options.data / f"{part}.tsv") for part in ("train", "dev"))
    source, target = formats.find_languages(train).names
    corpus = CorpusFiles(train, dev, source, target)
    if not row.config.is_file():
        base_config = choose(
            corpus, measure_sample(corpus.train, corpus.source, corpus.target), str(options.folder / START)
        )
        write(row.config, [config_file.commented(base_config)])
    return checks.load_config(
        row.config, {"run": str(options.folder / row.slug), "device.threads": "1", **row.overrides}
    )


def work(row: Row, options: argparse.Namespace) -> None:
    """Train a row, translate with it, and write its result beside its run."""
    run_config = config(row, options)
    made_with = provenance.of(run_config)
    row_result = scored(*trained(row, run_config, options), run_config)
    provenance.write(result(row, options), row_result._asdict(), made_with)


def show(table_rows: list[Row], options: argparse.Namespace) -> None:
    results = {row.name: Result(**provenance.read(result(row, options))) for row in table_rows}
    lines = []
    for name in (START, *OBJECTIVES):
        runs = [row_result for row, row_result in results.items() if row.partition(", ")[0] == name]
        if runs:
            bleu, chrf, loss, minutes = (mean(figures) for figures in zip(*runs, strict=True))
            spread = f" ± {stdev(row_result.bleu for row_result in runs):.1f}" if len(runs) > 1 else ""
            lines.append((name, f"{bleu:.1f}{spread}", f"{chrf:.1f}", f"{loss:.3f}", f"{minutes:.1f}"))
    markdown(("", "dev BLEU", "chrF", "loss", "minutes"), *lines)


def main(arguments: list[str] | None = None) -> int:
    return trainings.main(TABLE, work, show, arguments)


if __name__ == "__main__":
    sys.exit(main())
