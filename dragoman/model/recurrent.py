"""Recurrent cells: one step of a recurrence."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Annotated, TypeAlias, final

import torch
from pydantic import Field
from torch import Tensor, nn

from dragoman.configuration.components import OneOf
from dragoman.model.linear import Slice, linear
from dragoman.model.projection_norm import ProjectionNorm, ProjectionNormKind, build_norm
from dragoman.model.shapes import Float

CellState = tuple[Tensor, ...]  # the output h first, each (B, D)


class Recurrence(nn.Module, ABC):
    """One step of a recurrence: `state = recurrence(projected input, state)`.

    The input enters through `project`, which is linear: inputs known before the loop are projected for all steps at
    once; parts known only inside the loop are projected there and added.
    """

    size: int  # D
    components = 1  # tensors in a state

    @abstractmethod
    def project(self, part: Float[Tensor, "*rows I"], first: int = 0) -> Float[Tensor, "*rows G"]:
        """Apply the columns of the input matrix from `first` on to this part of the input."""

    @abstractmethod
    def forward(
        self, projected: Float[Tensor, "B G"], state: CellState, mask: Float[Tensor, "B D"] | None = None
    ) -> CellState:
        """One step; `mask` is the variational dropout of the hidden state before the recurrent matrix."""

    def zeros(self, like: Tensor) -> CellState:
        """The zero state for the rows of `like` (B, ...)."""
        return (like.new_zeros(like.size(0), self.size),) * self.components


class Cell(Recurrence):
    """A recurrence with one matrix for the input, one for the state, and gates.

    With `layer_norm`, the projected input and the recurrent projection are each normalized before they are added, and
    the LSTM's c before it enters h (`projection_norm.py`).
    """

    gates: int
    matrices: tuple[int, ...] = ()  # the gates of each matrix, where models keep several; (): one
    kernel: Callable[..., tuple[Tensor, ...]] | None = None  # torch's kernel for whole sequences, if it has one

    def __init__(self, input_size: int, size: int, *, layer_norm: ProjectionNormKind = "none") -> None:
        super().__init__()
        self.size = size
        width = self.gates * size
        self.weight_input = nn.Parameter(torch.empty(width, input_size))
        self.weight_hidden = nn.Parameter(torch.empty(width, size))
        self.bias_input = nn.Parameter(torch.zeros(width))
        self.bias_hidden = nn.Parameter(torch.zeros(width))
        widths = [gates * size for gates in self.matrices or (self.gates,)]
        self.norm_input = build_norm(layer_norm, *widths)
        self.norm_hidden = build_norm(layer_norm, *widths)
        self._initialize()

    def _initialize(self) -> None:
        """Glorot for the input, orthogonal for the recurrence, gate by gate."""
        gates = (self.gates, self.size, -1)
        for input_gate, hidden_gate in zip(
            self.weight_input.data.view(gates), self.weight_hidden.data.view(gates), strict=True
        ):
            if input_gate.numel():
                nn.init.xavier_uniform_(input_gate)
            nn.init.orthogonal_(hidden_gate)

    def project(self, part: Float[Tensor, "*rows I"], first: int = 0) -> Float[Tensor, "*rows G"]:
        """Apply the columns of the input matrix from `first` on to this part of the input.

        The bias is added to the part that starts at column 0, unless the sum of the parts is normalized first.
        """
        last = first + part.size(-1)
        columns = None if part.size(-1) == self.weight_input.size(1) else (first, last)
        bias = self.bias_input if first == 0 and self.norm_input is None else None
        return linear(part, self.weight_input, bias, columns=columns)

    def recur(self, hidden: Float[Tensor, "B D"]) -> Float[Tensor, "B G"]:
        return normalized_linear(hidden, self.weight_hidden, self.bias_hidden, self.norm_hidden)

    def forward(
        self, projected: Float[Tensor, "B G"], state: CellState, mask: Float[Tensor, "B D"] | None = None
    ) -> CellState:
        hidden = state[0] if mask is None else state[0] * mask
        if self.norm_input is not None:
            projected = self.norm_input(projected, self.bias_input)
        return self.update(projected, hidden, state)

    @abstractmethod
    def update(self, projected: Float[Tensor, "B G"], hidden: Float[Tensor, "B D"], state: CellState) -> CellState:
        """The new state from the normalized input projection (B, G), the dropped h (B, D) and the old state."""


def normalized_linear(
    units: Tensor, weight: Tensor, bias: Tensor, norm: ProjectionNorm | None, rows: Slice | None = None
) -> Tensor:
    """`W x + b`, or `norm(W x, b)`, with these rows of W and b."""
    if norm is None:
        return linear(units, weight, bias, rows=rows)
    normalized: Tensor = norm(linear(units, weight, rows=rows), bias if rows is None else bias[slice(*rows)])
    return normalized


@final
class TanhRnn(Cell):
    """Elman's network: `h' = tanh(W x + b + U h + d)`."""

    gates = 1
    kernel = staticmethod(torch.rnn_tanh)

    def update(self, projected: Float[Tensor, "B G"], hidden: Float[Tensor, "B D"], state: CellState) -> CellState:
        return (torch.tanh(projected + self.recur(hidden)),)


@final
class Lstm(Cell):
    """Long short-term memory, gates in the order of `torch.nn.LSTMCell`.

    `i, f, o = sigmoid(...)`, `g = tanh(...)`, `c' = f c + i g`, `h' = o tanh(c')`. The forget bias starts at 1.
    """

    gates = 4
    components = 2
    kernel = staticmethod(torch.lstm)

    def __init__(self, input_size: int, size: int, *, layer_norm: ProjectionNormKind = "none") -> None:
        super().__init__(input_size, size, layer_norm=layer_norm)
        normalizes = self.norm_hidden is not None and self.norm_hidden.normalizes_memory
        self.norm_memory = nn.LayerNorm(size) if normalizes else None

    def _initialize(self) -> None:
        super()._initialize()
        self.bias_hidden.data[self.size : 2 * self.size] = 1.0

    def update(self, projected: Float[Tensor, "B G"], hidden: Float[Tensor, "B D"], state: CellState) -> CellState:
        enter, forget, candidate, leave = (projected + self.recur(hidden)).chunk(4, -1)
        memory = torch.sigmoid(forget) * state[1] + torch.sigmoid(enter) * torch.tanh(candidate)
        shown = memory if self.norm_memory is None else self.norm_memory(memory)
        return torch.sigmoid(leave) * torch.tanh(shown), memory


@final
class Gru(Cell):
    """The gated recurrent unit of `torch.nn.GRUCell` (Cho et al. 2014, with the reset gate outside U).

    `r, z = sigmoid(W x + b + U h + d)`, `n = tanh(W_n x + b_n + r (U_n h + d_n))`, `h' = (1 - z) n + z h`.
    """

    gates = 3
    matrices = (2, 1)
    kernel = staticmethod(torch.gru)

    def update(self, projected: Float[Tensor, "B G"], hidden: Float[Tensor, "B D"], state: CellState) -> CellState:
        reset_x, keep_x, new_x = projected.chunk(3, -1)
        reset_h, keep_h, new_h = self.recur(hidden).chunk(3, -1)
        new = torch.tanh(new_x + torch.sigmoid(reset_x + reset_h) * new_h)
        return (new + torch.sigmoid(keep_x + keep_h) * (state[0] - new),)


@final
class GruAn(Cell):
    """The GRU as printed in the lecture notes *Attention Models*: z weighs the *new* state, r is applied inside U.

    `z, r = sigmoid(W x + b + U h + d)`, `s~ = tanh(W x + b + U (r h) + d)`, `s' = (1 - z) s + z s~`.
    Gates in the order r, z, candidate.
    """

    gates = 3
    matrices = (2, 1)

    def __init__(self, input_size: int, size: int, *, layer_norm: ProjectionNormKind = "none") -> None:
        super().__init__(input_size, size, layer_norm=layer_norm)
        # The candidate's recurrent part is known only after the reset gate: it is normalized separately.
        self.norm_hidden = build_norm(layer_norm, 2 * size)
        self.norm_candidate = build_norm(layer_norm, size)

    def update(self, projected: Float[Tensor, "B G"], hidden: Float[Tensor, "B D"], state: CellState) -> CellState:
        both = 2 * self.size
        weight, bias = self.weight_hidden, self.bias_hidden
        gates_h = normalized_linear(hidden, weight, bias, self.norm_hidden, (0, both))
        reset, bring = torch.sigmoid(projected[:, :both] + gates_h).chunk(2, -1)
        candidate_h = normalized_linear(reset * hidden, weight, bias, self.norm_candidate, (both, both + self.size))
        candidate = torch.tanh(projected[:, both:] + candidate_h)
        return (state[0] + bring * (candidate - state[0]),)


CELLS: dict[str, type[Cell]] = {"rnn": TanhRnn, "lstm": Lstm, "gru": Gru, "gru_an": GruAn}
CellKind: TypeAlias = Annotated[str, OneOf(CELLS)]
Transitions: TypeAlias = Annotated[int, Field(ge=0, le=20)]


@final
class DeepCell(Recurrence):
    """Several cells in one step: the first reads the input, each transition only the state of the cell before (deep
    transition: Pascanu et al. 2014; Miceli Barone et al. 2017).
    """

    def __init__(
        self, kind: CellKind, input_size: int, size: int, transitions: int, *, layer_norm: ProjectionNormKind
    ) -> None:
        super().__init__()
        self.size = size
        self.first = CELLS[kind](input_size, size, layer_norm=layer_norm)
        self.components = self.first.components
        cells = [CELLS[kind](0, size, layer_norm=layer_norm) for _ in range(transitions)]
        for cell in cells:  # without an input
            cell.register_parameter("weight_input", None)
            cell.norm_input = None
        self.transitions = nn.ModuleList(cells)

    def project(self, part: Float[Tensor, "*rows I"], first: int = 0) -> Float[Tensor, "*rows G"]:
        return self.first.project(part, first)

    def forward(
        self, projected: Float[Tensor, "B G"], state: CellState, mask: Float[Tensor, "B D"] | None = None
    ) -> CellState:
        state = self.first(projected, state, mask)
        for cell in self.transitions:
            assert isinstance(cell, Cell)
            state = cell(cell.bias_input.expand(projected.size(0), -1), state, mask)
        return state


def build_cell(
    kind: CellKind, input_size: int, size: int, *, layer_norm: ProjectionNormKind = "none", transitions: int = 0
) -> Recurrence:
    """A cell of this kind, with transitions after it if there are any."""
    if transitions:
        return DeepCell(kind, input_size, size, transitions, layer_norm=layer_norm)
    return CELLS[kind](input_size, size, layer_norm=layer_norm)
