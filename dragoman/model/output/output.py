"""Outputs: features to log-probabilities of the next symbol, or to a loss."""

from abc import ABC, abstractmethod
from typing import NamedTuple

from torch import Tensor, nn

from dragoman.model.shapes import Float, Int


class Loss(NamedTuple):
    """A sum and over how many symbols it runs, so that batches and workers can be added up."""

    total: Float[Tensor, ""]
    symbols: int


class Output(nn.Module, ABC):
    """Nothing outside `output/` knows how the next symbol is modelled."""

    @abstractmethod
    def loss(self, features: Float[Tensor, "N F"], targets: Int[Tensor, "N"]) -> Loss:
        """The training loss of real symbols in nats (padding is left out by the caller)."""

    @abstractmethod
    def log_probs(self, features: Float[Tensor, "N F"]) -> Float[Tensor, "N V"]:
        """Natural logarithms of the probabilities of all symbols, in float32 or better."""
