"""The parts of a training: its model, or its models in both directions, and what works on them."""

from dataclasses import dataclass, field
from functools import cached_property

import torch
from torch import nn

from dragoman.configuration.config import Config
from dragoman.data.dataset import Dataset
from dragoman.devices import Device, Heap
from dragoman.model.seq2seq import Seq2Seq
from dragoman.run.folder import RunFolder
from dragoman.training.callbacks import CallbackGroup
from dragoman.training.checkpoint import Selection
from dragoman.training.cuda_graphs import CudaGraphs
from dragoman.training.journal import TrainingLog
from dragoman.training.moving_average import MovingAverage
from dragoman.training.objectives.objective import Objective
from dragoman.training.optimizer import Schedule
from dragoman.training.progress import Clock, Progress
from dragoman.training.validation import Validator
from dragoman.training.workers import SignalHandler, Workers


@dataclass
class TrainingDirection:
    """A model of one direction with its run folder, and the parts that validate it, select weights and log."""

    config: Config
    folder: RunFolder
    data: Dataset
    model: Seq2Seq
    journal: TrainingLog
    validator: Validator
    selection: Selection


@dataclass
class Training(TrainingDirection):
    """Everything that a run trains with, the same on every worker; only the leader writes and prints."""

    objective: Objective
    optimizer: torch.optim.Optimizer
    schedule: Schedule
    device: Device
    workers: Workers
    stop: SignalHandler
    progress: Progress
    reverse: TrainingDirection | None = None  # from target to source, if both are trained together
    average: MovingAverage | None = None  # of the weights, which is validated and kept in their place
    graphs: CudaGraphs | None = None  # which replay forward passes, over rounded batches
    callbacks: CallbackGroup = field(default_factory=CallbackGroup)
    saved_step: int = 0  # the step of the state on the disk; 0 = there is none
    clock: Clock = field(default_factory=Clock)
    heap: Heap = field(default_factory=Heap)

    @property
    def directions(self) -> list[TrainingDirection]:
        """The direction that the run is named after, and the reverse if there is one."""
        return [self, self.reverse] if self.reverse else [self]

    def named(self, direction: TrainingDirection) -> str:
        """Return the direction that a line is about; empty if there is only one."""
        return f"{direction.config.data.languages}  " if self.reverse else ""

    @cached_property
    def trained_modules(self) -> nn.Module:
        """All modules that are trained."""
        # One module, so that its names are those in saved states; an objective has parameters and buffers, too.
        return nn.ModuleDict({"model": self.model, "objective": self.objective})
