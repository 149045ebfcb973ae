"""The interface of all encoders."""

from abc import ABC, abstractmethod

from torch import Tensor, nn

from dragoman.model.memory import Memory, StateShape
from dragoman.model.shapes import Bool, Float


class Encoder(nn.Module, ABC):
    """`encoder(embedded, mask)`: maps embedded source symbols, or regions, to a Memory, which attention reads and from
    which the bridge starts the decoder.
    """

    size: int  # H, of a state of the memory
    state_shape: StateShape  # of the final states
    reads_ahead = True  # whether a state of the memory depends on later symbols

    @abstractmethod
    def forward(self, embedded: Float[Tensor, "B S E"], mask: Bool[Tensor, "B S"]) -> Memory:
        """Return the states (B, S, H) and the final states of all layers."""
