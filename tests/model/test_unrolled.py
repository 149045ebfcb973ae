"""A cell over whole sequences, in each of its forms."""

from typing import Any

import pytest
import torch
from torch import Tensor

from dragoman.model import unrolled
from dragoman.model.linear import use_backend
from dragoman.model.unrolled import run_cell
from tests.builders import noise
from tests.model import loops
from tests.model.test_recurrent import INPUTS, KINDS, SIZE, close, make


@pytest.mark.spec("A2")
@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_a_run_is_a_loop_over_the_sentence(kind: str, backward: bool) -> None:
    cell, inputs = make(kind), noise(1, 4, INPUTS)
    states, last = run_cell(cell, inputs, torch.ones(1, 4, dtype=torch.bool), backward=backward)
    order = range(3, -1, -1) if backward else range(4)
    outputs, final = loops.read(kind, loops.numbers(cell), [loops.array(inputs[0, j]) for j in order], SIZE)
    for j, output in zip(order, outputs, strict=True):
        assert states[0, j].tolist() == pytest.approx(output.tolist(), abs=1e-12)
    for part, wanted in zip(last, final, strict=True):
        assert part[0].tolist() == pytest.approx(wanted.tolist(), abs=1e-12)


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_padding_leaves_the_state_and_gives_zeros(kind: str, backward: bool) -> None:
    cell, inputs = make(kind), noise(2, 5, INPUTS)
    real = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])
    states, last = run_cell(cell, inputs, real, backward=backward)
    alone, final = run_cell(cell, inputs[1:, :3], real[1:, :3], backward=backward)
    assert torch.allclose(states[1:, :3], alone)
    assert states[1, 3:].eq(0).all()
    assert close(tuple(part[1:] for part in last), final)


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_torchs_kernel_for_whole_sequences_is_the_loop(
    kind: str, backward: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Outputs, last states and gradients, for sentences of any length in any order."""
    cell, inputs = make(kind), noise(5, 6, INPUTS).requires_grad_()
    real = torch.arange(6) < torch.tensor([[2], [6], [0], [5], [1]])
    outputs = []
    for pays in (True, False):
        monkeypatch.setattr(unrolled, "_kernels_pay", lambda *_, pays=pays: pays)
        if pays and cell.kernel is not None:
            monkeypatch.setattr(type(cell), "forward", None)  # not a single step
        states, last = run_cell(cell, inputs, real, backward=backward)
        monkeypatch.undo()
        loss = sum((part * noise(*part.shape)).sum() for part in (states, *last))
        assert isinstance(loss, Tensor)
        outputs.append((states, *last, *torch.autograd.grad(loss, (inputs, *cell.parameters()))))
    assert close(*outputs)


def test_kernels_are_used_where_they_pay(monkeypatch: pytest.MonkeyPatch) -> None:
    cell, inputs, real = make("gru"), noise(2, 3, INPUTS), torch.ones(2, 3, dtype=torch.bool)
    calls: list[object] = []
    plain = unrolled._run_kernel

    def counted(*args: Any, **options: Any) -> Any:
        calls.append(1)
        return plain(*args, **options)

    monkeypatch.setattr(unrolled, "_run_kernel", counted)
    run_cell(cell, inputs, real)
    assert not calls
    with torch.no_grad():
        run_cell(cell, inputs, real)
        assert len(calls) == 1
        with use_backend(lambda x, part: torch.nn.functional.linear(x, *part.cut())):
            run_cell(cell, inputs, real)  # another way of computing linear maps was asked for
        with torch.autocast("cpu", torch.bfloat16):
            run_cell(cell, inputs, real)
    assert len(calls) == 1
