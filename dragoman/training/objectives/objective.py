"""The interface of all objectives: what training minimises."""

from abc import ABC, abstractmethod

from torch import nn

from dragoman.data.batch import Batch
from dragoman.model.attention.terms import Shift
from dragoman.model.output.output import Loss
from dragoman.model.seq2seq import Seq2Seq


class Objective(nn.Module, ABC):
    """`objective(model, batch)`: the loss of a batch, summed over its target symbols, in nats.

    Its parameters are trained and saved with the model's, and are no part of it; what it counts from step to step is a
    parameter without gradient, so that a resumed training is exact.
    """

    def check(self, model: Seq2Seq) -> None:
        """ValueError where a model has what cannot be learnt so, or lacks what is needed."""
        if any(isinstance(part, Shift) for part in model.modules()):
            raise ValueError("cannot teach 'shift' (model.attention.terms) where to write; use segment")

    @abstractmethod
    def forward(self, model: Seq2Seq, batch: Batch) -> Loss: ...
