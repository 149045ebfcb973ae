"""The interface of all objectives: what training minimises."""

from abc import ABC, abstractmethod
from typing import ClassVar

from torch import nn

from dragoman.data.batch import Batch
from dragoman.model.output.output import Loss
from dragoman.model.seq2seq import Seq2Seq


class Objective(nn.Module, ABC):
    """`objective(model, batch)`: the loss of a batch, summed over its target symbols, in nats.

    Its parameters are trained and saved with the model's, and are no part of it; what it counts from step to step is a
    parameter without gradient, so that a resumed training is exact. `parts` names those of its losses.
    """

    parts: tuple[str, ...] = ()

    penalised: ClassVar[bool] = False  # takes penalties on attention as its part

    @abstractmethod
    def forward(self, model: Seq2Seq, batch: Batch) -> Loss: ...
