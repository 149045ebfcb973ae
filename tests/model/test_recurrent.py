"""Cells: their printed equations, torch's own cells, padding, and the input in parts."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import nn

from dragoman.model.projection_norm import PROJECTION_NORMS
from dragoman.model.recurrent import CELLS, Cell, CellState, GruAn, Lstm
from tests.builders import noise, shaken
from tests.model import loops

KINDS = sorted(CELLS)
NORMS = sorted(PROJECTION_NORMS.keys() - {"none"})
INPUTS, SIZE = 3, 2


def make(kind: str, *, layer_norm: str = "none") -> Cell:
    return shaken(CELLS[kind](INPUTS, SIZE, layer_norm=layer_norm))


def state_of(cell: Cell, rows: int, seed: int = 1) -> CellState:
    return tuple(noise(rows, SIZE, seed=seed + part) for part in range(cell.components))


def close(one: CellState, other: CellState) -> bool:
    return len(one) == len(other) and all(map(torch.allclose, one, other))


@pytest.mark.spec("A2")
@pytest.mark.parametrize("kind", KINDS)
def test_a_step_is_the_printed_equation(kind: str) -> None:
    cell = make(kind)
    inputs, state = noise(5, INPUTS), state_of(cell, 5)
    state_after = cell(cell.project(inputs), state)
    for row in range(5):
        before = tuple(loops.array(part[row]) for part in state)
        expected = loops.CELLS[kind](loops.numbers(cell), loops.array(inputs[row]), before)
        assert len(state_after) == len(expected)
        for part, wanted in zip(state_after, expected, strict=True):
            assert part[row].tolist() == pytest.approx(wanted.tolist(), abs=1e-12)


@pytest.mark.spec("A2")
@pytest.mark.parametrize(
    ("kind", "reference"), [("rnn", nn.RNNCell), ("lstm", nn.LSTMCell), ("gru", nn.GRUCell)], ids=["rnn", "lstm", "gru"]
)
def test_a_step_is_torchs_own(kind: str, reference: Callable[[int, int], nn.RNNCellBase]) -> None:
    cell, torchs = make(kind), reference(INPUTS, SIZE).double()
    with torch.no_grad():
        for own, name in [
            (cell.weight_input, "weight_ih"),
            (cell.weight_hidden, "weight_hh"),
            (cell.bias_input, "bias_ih"),
            (cell.bias_hidden, "bias_hh"),
        ]:
            getattr(torchs, name).copy_(own)
    inputs, state = noise(4, INPUTS), state_of(cell, 4)
    state_after = cell(cell.project(inputs), state)
    expected = torchs(inputs, state if kind == "lstm" else state[0])
    assert close(state_after, expected if kind == "lstm" else (expected,))


@pytest.mark.spec("A2")
def test_in_the_printed_gru_z_brings_the_new_state_and_r_stands_inside_the_matrix() -> None:
    """One unit, numbers worked by hand: x = 1, s = 0.5, everything 0 but what is named."""
    cell = GruAn(1, 1).double()
    with torch.no_grad():
        for parameter in cell.parameters():
            parameter.zero_()
        cell.weight_input.copy_(torch.tensor([[0.0], [math.log(3)], [0.0]]))  # z = sigmoid(log 3) = 3/4
        cell.weight_hidden.copy_(torch.tensor([[0.0], [0.0], [4.0]]))  # s~ = tanh(4 * (1/2 * 0.5)) = tanh(1)
    (state_after,) = cell(cell.project(torch.ones(1, 1).double()), (torch.full((1, 1), 0.5).double(),))
    assert state_after.item() == pytest.approx(0.25 * 0.5 + 0.75 * math.tanh(1.0))
    (torchs,) = CELLS["gru"](1, 1).double()(
        cell.project(torch.ones(1, 1).double()), (torch.full((1, 1), 0.5).double(),)
    )
    assert torchs.item() != pytest.approx(state_after.item())


def test_an_lstm_starts_by_keeping_its_memory() -> None:
    cell = Lstm(INPUTS, SIZE)
    assert cell.bias_hidden.tolist() == [0.0] * SIZE + [1.0] * SIZE + [0.0] * (2 * SIZE)
    assert cell.bias_input.eq(0).all()


@pytest.mark.parametrize("kind", KINDS)
def test_recurrent_matrices_start_orthogonal(kind: str) -> None:
    cell = CELLS[kind](INPUTS, SIZE)
    for gate in cell.weight_hidden.detach().split(SIZE):
        assert torch.allclose(gate @ gate.T, torch.eye(SIZE), atol=1e-5)


@pytest.mark.spec("J10")
@pytest.mark.parametrize("kind", ["rnn", "lstm", "gru", "gru_an"])
@pytest.mark.parametrize("norm", NORMS)
def test_a_normalized_step_is_the_printed_equation(norm: str, kind: str) -> None:
    """For an LSTM with the standard norm, that is Ba, Kiros and Hinton's (20)-(22)."""
    cell = make(kind, layer_norm=norm)
    inputs, state = noise(3, INPUTS), state_of(cell, 3)
    state_after = cell(cell.project(inputs), state)
    for row in range(3):
        before = tuple(loops.array(part[row]) for part in state)
        expected = loops.normalized_cell(kind, norm, loops.numbers(cell), loops.array(inputs[row]), before)
        for part, wanted in zip(state_after, expected, strict=True):
            assert part[row].tolist() == pytest.approx(wanted.tolist(), abs=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_a_normalized_cell_ignores_the_scale_of_its_input(kind: str) -> None:
    cell = make(kind, layer_norm="standard")
    inputs, state = 100 * noise(3, INPUTS), state_of(cell, 3)
    bigger, smaller = cell(cell.project(7 * inputs), state), cell(cell.project(inputs), state)
    assert all(torch.allclose(one, other, atol=1e-3) for one, other in zip(bigger, smaller, strict=True))
