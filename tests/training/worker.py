"""One of two workers, started by test_workers.py: `worker.py CORPUS FOLDER PORT`."""

import os
import sys
from pathlib import Path

from dragoman.model.weights import weights, write_tensors
from dragoman.training import session
from dragoman.training.trainer import Training
from tests import toy

RUNS = {
    "whole": {"training.epochs": 2, "model.encoder": {"kind": "rnn", "size": 12, "dropout": 0.3}},
    "step": {"training.steps": 1, "training.clip": None},
    "single": {"training.steps": 3, "training.clip": None, "training.batch.size": 1},
}


def main(corpus: Path, folder: Path, port: int) -> None:
    """Trains all runs, and writes the last weights of this worker beside them."""
    train = session.train_to_the_end
    rank = os.environ["RANK"]
    for number, (name, options) in enumerate(RUNS.items()):
        os.environ["MASTER_PORT"] = str(port + number)

        def trained(run: Training, name: str = name) -> None:
            train(run)
            write_tensors(folder / f"{name}-{rank}", weights(run.model), {})

        session.train_to_the_end = trained
        session.train(toy.config(corpus, folder / name, options), quiet=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
