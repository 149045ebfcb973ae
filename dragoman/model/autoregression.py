"""How a layer of a self-attentional decoder reads the symbols so far: the interface, and recurrences in its place."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple, final

import torch
from torch import Tensor, nn

from dragoman.model.linear import Linear
from dragoman.model.positions import Relations
from dragoman.model.shapes import Bool, Float, Int


class Reading(NamedTuple):
    """The positions of the next T symbols, which positions each of them sees (None = all that came before), and how
    many positions there are then.
    """

    places: Int[Tensor, "T"]
    seen: Bool[Tensor, "T _"] | None
    keys: int


class Autoregression(nn.Module, ABC):
    """The block of a decoder layer that reads the symbols so far; its state is a nested tuple of tensors."""

    relates: ClassVar[bool] = False  # whether it has queries and keys, for rotary and relative positions

    @abstractmethod
    def start(self, states: Float[Tensor, "B _ _"]) -> Any:
        """The state before the first symbol, for as many sentences as there are in a tensor of encoder states."""

    @abstractmethod
    def reading(self, past: Any, steps: int) -> Reading:
        """The positions of the next symbols."""

    @abstractmethod
    def forward(
        self,
        states: Float[Tensor, "R T D"],
        relations: Relations | None,
        seen: Bool[Tensor, "*_ T _"] | None = None,
        past: Any = None,
    ) -> tuple[Float[Tensor, "R T D"], Any]:
        """Read T symbols; return the outputs, and the state after them."""


class LightState(NamedTuple):
    """The cell of each row, and how many symbols it has read."""

    cell: Float[Tensor, "R D"]
    symbols: Int[Tensor, "R"]


class LightRecurrence(Autoregression):
    """`c_t = f_t c_(t-1) + (1 - f_t) W x_t`, `f_t = sigmoid(F x_t + b)`: one vector of state, and no product with it,
    so that all products of a reference are computed at once.
    """

    gates: ClassVar[int]

    def __init__(self, size: int, heads: int, *, bias: bool = False, head_size: int | None = None) -> None:
        super().__init__()
        self.project = Linear(size, (1 + self.gates) * size, bias=False)  # W, F, ...
        self.bias = nn.Parameter(torch.zeros(self.gates * size))  # of the gates

    @abstractmethod
    def outputs(
        self, cells: Float[Tensor, "R T D"], states: Float[Tensor, "R T D"], gates: tuple[Tensor, ...]
    ) -> Float[Tensor, "R T D"]:
        """The outputs, from the cells, the inputs, and the gates after the first."""

    def start(self, states: Float[Tensor, "B _ _"]) -> LightState:
        rows, size = states.size(0), self.project.in_features
        return LightState(states.new_zeros(rows, size), torch.zeros(rows, dtype=torch.long, device=states.device))

    def reading(self, past: LightState, steps: int) -> Reading:
        return Reading(past.symbols[:1] + torch.arange(steps, device=past.symbols.device), None, 0)

    def forward(
        self,
        states: Float[Tensor, "R T D"],
        relations: Relations | None,
        seen: Bool[Tensor, "*_ T _"] | None = None,
        past: Any = None,
    ) -> tuple[Float[Tensor, "R T D"], LightState]:
        candidates, *gates = self.project(states).to(states.dtype).chunk(1 + self.gates, -1)  # (R, T, D) each
        forget, *rest = (torch.sigmoid(gate + b) for gate, b in zip(gates, self.bias.chunk(self.gates), strict=True))
        cell, cells = past.cell, []
        for candidate, keep in zip(candidates.unbind(1), forget.unbind(1), strict=True):
            cell = torch.lerp(candidate, cell, keep)
            cells.append(cell)
        outputs = self.outputs(torch.stack(cells, 1), states, tuple(rest))
        return outputs, LightState(cell, past.symbols + states.size(1))


@final
class Ssru(LightRecurrence):
    """The simpler simple recurrent unit, `h_t = relu(c_t)` (Kim et al. 2019): the decoder of Firefox's models."""

    gates = 1

    def outputs(
        self, cells: Float[Tensor, "R T D"], states: Float[Tensor, "R T D"], gates: tuple[Tensor, ...]
    ) -> Float[Tensor, "R T D"]:
        return torch.relu(cells)


@final
class Sru(LightRecurrence):
    """The simple recurrent unit, `h_t = r_t tanh(c_t) + (1 - r_t) x_t`, `r_t = sigmoid(R x_t + d)` (Lei et al. 2018,
    version 1).
    """

    gates = 2

    def outputs(
        self, cells: Float[Tensor, "R T D"], states: Float[Tensor, "R T D"], gates: tuple[Tensor, ...]
    ) -> Float[Tensor, "R T D"]:
        (reset,) = gates
        return torch.lerp(states, torch.tanh(cells), reset)
