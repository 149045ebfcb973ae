"""One measurement of dragoman in a process of its own: `python -m benchmarks.worker JOB`."""

import sys
from pathlib import Path
from typing import final

import torch
from torch import nn

import dragoman
from benchmarks.device_rounds import DeviceRounds
from benchmarks.jobs import Job
from benchmarks.rounds import Updates
from dragoman import devices
from dragoman.configuration import components
from dragoman.configuration.components import Spec
from dragoman.configuration.config import Config
from dragoman.data.batch import Batch
from dragoman.model.output.output import Loss
from dragoman.model.seq2seq import Seq2Seq
from dragoman.run.folder import RunFolder
from dragoman.search.table import SEARCHES
from dragoman.text.mark import Symbol
from dragoman.training import checks, session, trainer
from dragoman.training.journal import NullLog
from dragoman.training.objectives.objective import Objective
from dragoman.training.progress import Progress
from dragoman.training.workers import SignalHandler, Workers
from dragoman.translation.generator import Task
from dragoman.translation.sentence import Sentence
from dragoman.translation.translator import Translator

PRODUCTS = 8  # products in a round


def load(job: Job) -> Config:
    """Return the configuration of the prepared corpus, for this device and precision."""
    device = {"name": job.device, "threads": str(job.threads), "precision": job.precision}
    overrides = {f"device.{name}": value for name, value in device.items()} | job.overrides
    return checks.load_config(Path(job.folder).parent / "config.yaml", overrides)


@final
class Counted(Objective):
    """The objective of the run, which records the size of the last batch."""

    def __init__(self, objective: Objective) -> None:
        nn.Module.__init__(self)  # the objective knows all that is needed of the training
        self.objective = objective
        self.parts = objective.parts
        self.last = (0, 0)  # target symbols, sentences

    def forward(self, model: Seq2Seq, batch: Batch) -> Loss:
        loss: Loss = self.objective(model, batch)
        self.last = (int(batch.target.mask.sum()), len(batch.rows))
        return loss

    def batch_statistics(self) -> tuple[torch.Tensor, ...]:
        return self.objective.batch_statistics()

    def after_step(self, updated: bool) -> None:
        self.objective.after_step(updated)


@final
class Meter(NullLog):
    """A journal that is notified of every update and writes nothing."""

    def __init__(self, folder: RunFolder) -> None:
        super().__init__(folder)
        self.updates: Updates
        self.counted: Counted

    def step(self, progress: Progress) -> None:
        self.updates.done(*self.counted.last)


def train(job: Job) -> None:
    """Measure the training loop of `dragoman train`, with its own batches, step and optimizer."""
    folder = RunFolder(Path(job.folder).parent / "run")
    meter = Meter(folder)
    run = session.assemble(load(job), folder, Workers(), meter, SignalHandler())
    run.objective = meter.counted = Counted(run.objective)
    meter.updates = Updates(DeviceRounds(job.device), job.warm, job.updates)
    trainer.train(run)


def decode(job: Job) -> None:
    """Measure a search over the test sentences, with random weights and forced lengths."""
    config = load(job)
    candidates = (job.candidates[0], job.candidates[1]) if job.candidates else None
    folder = Path(job.folder).parent / "run"
    translator = dragoman.load(folder, device=config.device, engine=job.engine, shortlist=candidates)
    sentences = [_sentence(translator, number, line) for number, line in enumerate(job.sentences())]
    batches = [sentences[begin : begin + job.rows] for begin in range(0, len(sentences), job.rows)]
    length = {"length_ratio": 1e-9, "length_margin": job.length - 1}  # the end symbol is added
    spec = Spec("greedy", length) if job.beam == 1 else Spec("beam", {"size": job.beam, **length})
    task = Task(components.build(SEARCHES, spec))
    rounds = DeviceRounds(job.device)

    def work() -> None:
        for batch in batches:
            results = translator.generator.hypotheses(task, batch)
            rounds.count(sum(len(best.symbols) + 1 for best, *_ in results), len(batch))

    rounds.repeat(work)


def _sentence(translator: Translator, number: int, line: str) -> Sentence:
    """A sentence that is these symbols, however its run segments text."""
    sentence = translator.processor.sentence(number, (line,), transforms=())
    vars(sentence)["encoded"] = [list[Symbol](line.split())]
    return sentence


def products(job: Job) -> None:
    """Measure square matrix products. A token here is a floating-point operation."""
    device = devices.choose(load(job).device)
    matrix = torch.randn(job.size, job.size, device=device.torch_device).to(device.precision)
    rounds = DeviceRounds(job.device)

    def work() -> None:
        for _ in range(PRODUCTS):
            matrix @ matrix
            rounds.count(2 * job.size**3, 0)

    rounds.repeat(work)


if __name__ == "__main__":
    job = Job.read(sys.argv[1])
    {"train": train, "terms": train, "greedy": decode, "beam": decode, "products": products}[job.work](job)
