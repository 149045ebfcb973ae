"""Where a model that writes edits is in the sentence that it edits."""

from typing import NamedTuple, final

import torch
from torch import Tensor, nn

from dragoman.model.linear import Linear
from dragoman.model.memory import Memory
from dragoman.model.shapes import Float, Int


class Edited(NamedTuple):
    """The number of the source that is edited, and the operations on its next symbol: to keep and to delete it."""

    source: int
    operations: tuple[int, ...]


@final
class Cursor(nn.Module):
    """What a decoder reads beside its last operation, `E(y_(t-1)) + W h_(i_t)`: the encoder's state of the symbol that
    is edited next (hard monotonic attention: Aharoni and Goldberg 2017; Junczys-Dowmunt and Grundkiewicz 2017).

    i_t counts, from 0, the operations so far that were on a symbol; behind the last symbol there is the end symbol.
    """

    def __init__(self, edited: Edited, state_size: int, embedding_size: int) -> None:
        super().__init__()
        self._edited = edited
        self.map = Linear(state_size, embedding_size, bias=False)

    def prepare(self, memories: tuple[Memory, ...]) -> Float[Tensor, "B S E"]:
        """`W h_j`, once per sentence."""
        states, mask, *_ = memories[self._edited.source]
        mapped: Tensor = self.map(states)
        return mapped.masked_fill(~mask.unsqueeze(-1), 0.0)

    def moves(self, symbols: Int[Tensor, "*_"]) -> Int[Tensor, "*_"]:
        """1 behind a symbol that is an operation on the next one, 0 behind others."""
        return torch.stack([symbols == each for each in self._edited.operations]).sum(0)

    def at(self, mapped: Float[Tensor, "B S E"], places: Int[Tensor, "R T"]) -> Float[Tensor, "R T E"]:
        """`W h_(i_t)` of each row, of which several, side by side, can belong to one sentence."""
        sentences, width, size = mapped.shape
        index = places.clamp(max=width - 1).reshape(sentences, -1, 1).expand(-1, -1, size)
        return mapped.gather(1, index).reshape(*places.shape, size)
