"""Decoder inputs: the previous symbol, and possibly the source symbol that is being edited."""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple, final

import torch
from torch import Tensor, nn

from dragoman.data.vocabulary import BOS
from dragoman.model.embedding import Embedding
from dragoman.model.linear import Linear
from dragoman.model.memory import Memory
from dragoman.model.shapes import Float, Int


class DecoderInput(nn.Module, ABC):
    """Maps symbols to vectors. `source_state` is computed from the sources once per sentence; `step_state` changes from
    step to step. Both are nested tuples of tensors, passed in and returned.
    """

    def __init__(self, embedding: Embedding, *, zero_start: bool = False) -> None:
        super().__init__()
        self.embedding = embedding
        self.zero_start = zero_start  # whether a zero vector is read before the first symbol, in the place of `<s>`

    def embed(self, symbols: Int[Tensor, "*rows"]) -> Float[Tensor, "*rows E"]:
        """The embeddings of symbols."""
        vectors: Tensor = self.embedding(symbols)
        return vectors.masked_fill((symbols == BOS).unsqueeze(-1), 0.0) if self.zero_start else vectors

    @abstractmethod
    def start(self, memories: tuple[Memory, ...]) -> tuple[Any, Any]:
        """Return `step_state` and `source_state` before the first symbol."""

    @abstractmethod
    def step(self, symbols: Int[Tensor, "R"], step_state: Any, source_state: Any) -> tuple[Float[Tensor, "R E"], Any]:
        """Return the vectors of one symbol per row, and `step_state` after it. Several rows, next to each other, can
        belong to one sentence.
        """

    @abstractmethod
    def unroll(self, symbols: Int[Tensor, "B T"], step_state: Any, source_state: Any) -> Float[Tensor, "B T E"]:
        """Return the vectors of all symbols that a decoder reads."""


@final
class PreviousSymbol(DecoderInput):
    """`E(y_(t-1))`."""

    def start(self, memories: tuple[Memory, ...]) -> tuple[Any, Any]:
        return (), ()

    def step(self, symbols: Int[Tensor, "R"], step_state: Any, source_state: Any) -> tuple[Float[Tensor, "R E"], Any]:
        return self.embed(symbols), step_state

    def unroll(self, symbols: Int[Tensor, "B T"], step_state: Any, source_state: Any) -> Float[Tensor, "B T E"]:
        return self.embed(symbols)


class Edited(NamedTuple):
    """The number of the edited source, and the operations on its next symbol: keep and delete."""

    source: int
    operations: tuple[int, ...]


@final
class Cursor(DecoderInput):
    """`E(y_(t-1)) + W h_(i_t)`: beside the last operation, the encoder state of the next symbol to edit (hard
    monotonic attention: Aharoni and Goldberg 2017; Junczys-Dowmunt and Grundkiewicz 2017).

    i_t, from 0, is the number of operations on source symbols so far; the end symbol follows the last symbol.
    """

    def __init__(self, embedding: Embedding, edited: Edited, state_size: int, *, zero_start: bool = False) -> None:
        super().__init__(embedding, zero_start=zero_start)
        self._edited = edited
        self.map = Linear(state_size, embedding.size, bias=False)

    def start(self, memories: tuple[Memory, ...]) -> tuple[Int[Tensor, "B"], Float[Tensor, "B S E"]]:
        """Return i_1 and `W h_j`."""
        memory = memories[self._edited.source]
        # Mapped once for the sentence, not at each step. Behind its end there is nothing to edit: 0.
        mapped: Tensor = self.map(memory.states).masked_fill(~memory.mask.unsqueeze(-1), 0.0)
        return torch.zeros(mapped.size(0), dtype=torch.long, device=mapped.device), mapped

    def step(self, symbols: Int[Tensor, "R"], step_state: Any, source_state: Any) -> tuple[Float[Tensor, "R E"], Any]:
        place = step_state + self._moves(symbols)  # (R,)
        return self.embed(symbols) + self._at(source_state, place.unsqueeze(1)).squeeze(1), place

    def unroll(self, symbols: Int[Tensor, "B T"], step_state: Any, source_state: Any) -> Float[Tensor, "B T E"]:
        return self.embed(symbols) + self._at(source_state, step_state.unsqueeze(1) + self._moves(symbols).cumsum(1))

    def _moves(self, symbols: Int[Tensor, "*_"]) -> Int[Tensor, "*_"]:
        """Return 1 after an operation on a source symbol, 0 after other symbols."""
        return torch.stack([symbols == operation for operation in self._edited.operations]).sum(0)

    def _at(self, mapped: Float[Tensor, "B S E"], places: Int[Tensor, "R T"]) -> Float[Tensor, "R T E"]:
        sentences, width, size = mapped.shape
        # Behind the end symbol, the last position: in a batch its place may be padding, which is 0.
        index = places.clamp(max=width - 1).reshape(sentences, -1, 1).expand(-1, -1, size)
        return mapped.gather(1, index).reshape(*places.shape, size)
