"""What holds for every recurrent cell."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from dragoman.configuration import components
from dragoman.configuration.components import Spec
from dragoman.contracts.contract import (
    Check,
    noise,
    require,
    require_close,
    require_derivative,
    require_round_trip,
    shaken,
)
from dragoman.model.projection_norm import PROJECTION_NORMS
from dragoman.model.recurrent import CELLS, Cell, CellState
from dragoman.model.unrolled import run_cell

INPUTS, SIZE = 3, 2
REAL = torch.tensor([[True] * 4, [True] * 2 + [False] * 2])


def _cells(kind: str) -> list[Cell]:
    """A cell with each normalization."""
    torch.manual_seed(0)
    specs = [Spec(kind, {"layer_norm": layer_norm}) for layer_norm in PROJECTION_NORMS]
    return [shaken(components.build(CELLS, spec, INPUTS, SIZE)) for spec in specs]


def cell_state(cell: Cell, rows: int, seed: int = 1) -> CellState:
    """A state of random numbers, each tensor (B, D)."""
    return tuple(noise(rows, SIZE, seed=seed + part) for part in range(cell.components))


def check_cell_state(kind: str) -> None:
    """A step returns a state like the one that it got, in the same type."""
    for cell in _cells(kind):
        state = cell_state(cell, 4)
        after = cell(cell.project(noise(4, INPUTS)), state)
        require(isinstance(after, tuple), f"a step returns {type(after).__name__}, expected a tuple of tensors")
        require(len(after) == len(state), f"a step returns {len(after)} tensors, expected components = {len(state)}")
        for part in after:
            require(part.shape == (4, SIZE), f"the new state has the shape {[*part.shape]}, expected {[4, SIZE]}")
            require(part.dtype == torch.float64, f"the new state is {part.dtype}, expected torch.float64")


def check_input_parts(kind: str) -> None:
    """An input in parts is the input as a whole."""
    for cell in _cells(kind):
        inputs, state = noise(4, INPUTS), cell_state(cell, 4)
        whole = cell(cell.project(inputs), state)
        parts = cell(cell.project(inputs[:, :2]) + cell.project(inputs[:, 2:], 2), state)
        for one, other in zip(parts, whole, strict=True):
            require_close(one, other, "the state after an input in parts")


def check_cell_alone(kind: str) -> None:
    """A row alone, without padding, is the row in its batch."""
    for cell in _cells(kind):
        inputs = noise(2, 4, INPUTS)
        outputs, last = run_cell(cell, inputs, REAL)
        alone, end = run_cell(cell, inputs[1:, :2], REAL[1:, :2])
        require_close(alone, outputs[1:, :2], "the outputs of a row alone")
        require_close(end[0], last[0][1:], "the last state of a row alone")
        require(outputs[1, 2:].eq(0).all(), "the output at padding is not 0")


def check_cell_dropout(kind: str) -> None:
    """Dropout of the hidden state acts where it enters the matrix alone: what is kept is kept."""
    for cell in _cells(kind):
        inputs, state = noise(1, INPUTS), cell_state(cell, 1)
        masked = cell(cell.project(inputs), state, torch.zeros(1, SIZE).double())
        with torch.no_grad():
            cell.weight_hidden.zero_()
        for one, other in zip(masked, cell(cell.project(inputs), state), strict=True):
            require_close(one, other, "the state after dropout of everything")


def check_cell_gradients(kind: str) -> None:
    """Every parameter gets a gradient."""
    for cell in _cells(kind):
        outputs, _ = run_cell(cell, noise(2, 4, INPUTS), torch.ones(2, 4, dtype=torch.bool))
        torch.autograd.backward((outputs * noise(*outputs.shape)).sum())
        for name, parameter in cell.named_parameters():
            require(parameter.grad is not None and parameter.grad.abs().sum() > 0, f"{name} gets no gradient")


def check_cell_derivative(kind: str) -> None:
    """Gradients are derivatives in float64."""
    for cell in _cells(kind):
        inputs = noise(2, 4, INPUTS).requires_grad_()

        def function(cell: Cell = cell, inputs: Tensor = inputs) -> Tensor:
            outputs, state = run_cell(cell, inputs, REAL)
            return (outputs * noise(*outputs.shape, seed=2)).sum() + sum(
                (part * noise(*part.shape, seed=3)).sum() for part in state
            )

        require_derivative(function, [inputs, *cell.parameters()])


def check_cell_round_trip(kind: str) -> None:
    """A state dict holds everything that was learned."""

    def compute(cell: nn.Module) -> Tensor:
        assert isinstance(cell, Cell)
        return run_cell(cell, noise(2, 4, INPUTS), REAL)[0]

    require_round_trip(lambda: components.build(CELLS, Spec(kind), INPUTS, SIZE), compute)


CELL_CHECKS: Sequence[Check] = (
    check_cell_state,
    check_input_parts,
    check_cell_alone,
    check_cell_dropout,
    check_cell_gradients,
    check_cell_derivative,
    check_cell_round_trip,
)
