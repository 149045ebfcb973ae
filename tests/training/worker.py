"""One of two workers, started by test_workers.py: `worker.py CORPUS FOLDER PORT`."""

import os
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from dragoman.configuration.config import Config
from dragoman.model.weights import weights, write_tensors
from dragoman.training import session
from dragoman.training.callbacks import Callback, TrainingStep
from dragoman.training.training import Training
from tests import toy

RUNS: dict[str, dict[str, Any]] = {
    "whole": {"training.epochs": 2, "model.encoder": {"kind": "rnn", "size": 12, "dropout": 0.3}},
    "step": {"training.steps": 1, "training.clip_norm": None},
    "single": {
        "training.steps": 3,
        "training.clip_norm": None,
        "training.batch.size": 1,
        "training.penalties": "fertility",
    },
    "both": {"training.steps": 1, "training.clip_norm": None, "training.objective": "agreement"},
    "portions": {
        "training.steps": 3,
        "training.clip_norm": None,
        "training.batch.size": 3,
        "model.output": {"kind": "partitioned", "portion": 5},
    },
    "start": {
        "training.steps": 2,
        "training.clip_norm": None,
        "training.init_from": "start",
        "training.init_interpolation": 0.5,
    },
    "accumulate": {"training.steps": 2, "training.clip_norm": None, "training.batch": {"size": 3, "accumulate": 3}},
    "average": {"training.steps": 3, "training.clip_norm": None, "training.moving_average": 0.9},
    "weights": {
        "training.steps": 7,
        "training.clip_norm": None,
        "data.train": ["train", "more"],
        "data.weights": [1, 3],
    },
    "noise": {"training.steps": 5, "training.clip_norm": None, "data.source": "fr", "data.noise": "infilling"},
    "stopped": {"training.steps": 6, "training.clip_norm": None},
}


class EndAtStep(Callback):
    """Ends a training after two steps."""

    may_stop = True

    def on_step(self, step: TrainingStep) -> bool:
        return step.step == 2


CALLBACKS = {"stopped": [EndAtStep()]}


def config(corpus: Path, folder: Path, name: str) -> Config:
    """The configuration of such a run, whose files and whose run to start from are beside the corpus."""
    options = dict(RUNS[name])
    if "training.init_from" in options:
        options["training.init_from"] = str(corpus / options["training.init_from"])
    if "data.train" in options:
        options["data.train"] = [str(corpus / option) for option in options["data.train"]]
    return toy.config(corpus, folder / name, options)


def threads() -> str:
    """The names of this process's threads, where there is a /proc."""
    names = []
    for path in Path("/proc/self/task").glob("*/comm"):
        with suppress(OSError):  # it has just ended
            names.append(path.read_text("utf-8"))
    return "".join(names)


def threads_after() -> str:
    """The same, waiting up to ten seconds for those of connections: a joined thread is listed a little longer."""
    end = time.monotonic() + 10
    while "gloo" in (names := threads()) and time.monotonic() < end:
        time.sleep(0.05)
    return names


def main(corpus: Path, folder: Path, port: int) -> None:
    """Trains all runs; the worker that does not lead writes its weights and its threads beside them."""
    runs: list[Training] = []
    within: list[str] = []
    assemble = session.assemble

    def assembled(*parts: Any) -> Training:
        runs.append(assemble(*parts))
        within.append(threads())
        return runs[-1]

    session.assemble = assembled  # type: ignore[assignment]
    for number, name in enumerate(RUNS):
        os.environ["MASTER_PORT"] = str(port + number)
        session.train(config(corpus, folder, name), callbacks=CALLBACKS.get(name, []), quiet=True)
        if not runs[-1].workers.leads:
            write_tensors(folder / name / "other.safetensors", weights(runs[-1].model), {})
            (folder / name / "within.txt").write_text(within[-1], "utf-8")
            (folder / name / "after.txt").write_text(threads_after(), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
