"""What an encoder leaves of its source, and the sizes by which a bridge joins it to a decoder."""

from typing import NamedTuple

from torch import Tensor

from dragoman.model.recurrent import CellState
from dragoman.model.shapes import Bool, Float, Int


class Memory(NamedTuple):
    """What an encoder made of its source. A sentence without such a source has padding alone, and all of it is 0."""

    states: Float[Tensor, "B S H"]
    mask: Bool[Tensor, "B S"]  # True = real symbol
    final: tuple[CellState, ...] = ()  # the state after the last symbol, for each layer, each tensor (B, H)
    ids: Int[Tensor, "B S"] | None = None  # the symbols that were read, if it were symbols
    extended: Int[Tensor, "B S"] | None = None  # the same as symbols of the target, where a model asks for surfaces

    def mean(self) -> Float[Tensor, "B H"]:
        """Of the states over the real positions."""
        real = self.mask.unsqueeze(-1).to(self.states.dtype)
        return (self.states * real).sum(1) / real.sum(1).clamp(min=1)


class StateShape(NamedTuple):
    """Sizes of a stack of recurrent states; no layers where nothing is recurrent."""

    layers: int
    size: int
    components: int
