"""`dragoman train --seeds`: a training with several seeds, and the mean and spread of its results."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dragoman import threads
from dragoman.cli.streams import aligned
from dragoman.configuration.messages import figure
from dragoman.errors import UserError

if TYPE_CHECKING:
    from dragoman.configuration.config import Config

LARGEST = 2**32 - 1  # that a seed may be
NONE = "-"  # in the place of a figure that there is not


def configurations(config: "Config", count: int) -> "list[Config]":
    """The configurations of a run for each seed, from that of the configuration on: RUN-SEED. UserError if torchrun
    started several processes: one run after the other cannot share them.
    """
    if threads.process().count > 1:
        raise UserError("--seeds: trains with one process, and torchrun started several; train each --seed by itself")
    last = config.seed + count - 1
    if last > LARGEST:
        raise UserError(f"--seeds: the last seed would be {last}, expected at most {LARGEST}")
    run = config.run.rstrip("/")
    return [config.model_copy(update={"run": f"{run}-{seed}", "seed": seed}) for seed in range(config.seed, last + 1)]


def table(configs: "Sequence[Config]") -> str:
    """What the development data score by each of these runs, which are finished; mean and standard deviation; and what
    they score without a model.
    """
    from pathlib import Path
    from statistics import fmean, stdev

    from dragoman.evaluation import baselines
    from dragoman.run.facts import metric_rows
    from dragoman.run.run import Run

    kinds = [*(spec.kind for spec in configs[0].metrics), "loss"]
    runs = [Run.load(Path(config.run)) for config in configs]
    finals = [metric_rows(run)[-1] for run in runs]
    scores = {
        config.run: [row.get(f"final/{kind}") for kind in kinds] for config, row in zip(configs, finals, strict=True)
    }
    columns = [[value for value in column if value is not None] for column in zip(*scores.values(), strict=True)]
    scores["mean"] = [fmean(column) if column else None for column in columns]
    scores["standard deviation"] = [stdev(column) if len(column) > 1 else None for column in columns]
    measured = baselines.from_json(runs[0].folder.proof.get("baselines"))
    for baseline in measured.baselines if measured else ():
        scores[baseline.name] = [baseline.scores[kind].value if kind in baseline.scores else None for kind in kinds]
    rows = [["development data", *kinds]]
    rows += [[name, *(NONE if value is None else figure(value) for value in values)] for name, values in scores.items()]
    return aligned(rows)
