"""The output of an encoder, and the shapes of recurrent states that a bridge converts."""

from typing import NamedTuple

from torch import Tensor

from dragoman.model.recurrent import CellState
from dragoman.model.shapes import Bool, Float, Int


class Memory(NamedTuple):
    """The output of an encoder. A sentence without this source is all padding, and its tensors are 0."""

    states: Float[Tensor, "B S H"]
    mask: Bool[Tensor, "B S"]  # True = real symbol
    final: tuple[CellState, ...] = ()  # the state after the last symbol, for each layer, each tensor (B, H)
    ids: Int[Tensor, "B S"] | None = None  # the symbols of the source, if it has symbols
    extended: Int[Tensor, "B S"] | None = None  # the same as target symbols, for a model that needs surfaces

    def mean(self) -> Float[Tensor, "B H"]:
        """The mean of the states over the real positions."""
        real = self.mask.unsqueeze(-1).to(self.states.dtype)
        return (self.states * real).sum(1) / real.sum(1).clamp(min=1)


class StateShape(NamedTuple):
    """The shape of a stack of recurrent states; 0 layers if nothing is recurrent."""

    layers: int
    size: int
    components: int
