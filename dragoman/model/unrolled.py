"""A cell over whole sequences: a loop over steps, and two equivalent forms: torch's kernel and an exported scan."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch
from torch import Tensor
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from dragoman import torch_internals
from dragoman.model.linear import deferred_weight_gradients, is_default_backend
from dragoman.model.recurrent import Cell, CellState, Recurrence
from dragoman.model.shapes import Bool, Float

_kernels: ContextVar[bool] = ContextVar("kernels", default=True)


@contextmanager
def without_kernels() -> Iterator[None]:
    """Context manager: loops alone. Kernels read lengths back from the GPU, which a CUDA graph cannot."""
    token = _kernels.set(False)
    try:
        yield
    finally:
        _kernels.reset(token)


def run_cell(
    cell: Recurrence,
    inputs: Float[Tensor, "B S I"],
    real: Bool[Tensor, "B S"],
    *,
    backward: bool = False,
    mask: Float[Tensor, "B D"] | None = None,
) -> tuple[Float[Tensor, "B S D"], CellState]:
    """Run a cell over whole sequences from a zero state: all outputs, and the state after the last real symbol.

    `backward` reads from right to left; either way, outputs are at the positions of their symbols. Padding, which
    comes last, leaves the state unchanged and outputs zeros.
    """
    if torch.compiler.is_exporting():
        return scan_cell(cell, inputs, real, backward=backward)
    if (
        mask is None
        and isinstance(cell, Cell)
        and cell.kernel
        and cell.norm_input is None
        and _kernels_pay(cell, inputs)
    ):
        with torch.autocast(inputs.device.type, enabled=False):
            return _run_kernel(cell, inputs.to(cell.weight_input.dtype), real, backward=backward)
    state = cell.zeros(inputs)
    steps = list(zip(cell.project(inputs).unbind(1), real.unsqueeze(-1).unbind(1), strict=True))
    outputs = []
    with deferred_weight_gradients():
        for projected, here in reversed(steps) if backward else steps:
            new = cell(projected, state, mask)
            state = tuple(torch.where(here, fresh, old) for fresh, old in zip(new, state, strict=True))
            outputs.append(state[0])
    stacked = torch.stack(outputs[::-1] if backward else outputs, dim=1)  # (B, S, D)
    return stacked * real.unsqueeze(-1), state


def _kernels_pay(cell: Cell, inputs: Tensor) -> bool:
    """Kernels avoid the overhead of single steps. With gradients, the loop is as fast on a CPU; and on a GPU, cuDNN has
    gradients in training alone.
    """
    if not is_default_backend() or not _kernels.get():
        return False
    if inputs.is_cuda:
        return cell.training or not torch.is_grad_enabled()
    return not torch.is_grad_enabled() and not torch.is_autocast_enabled(inputs.device.type)


def _run_kernel(cell: Cell, inputs: Tensor, real: Tensor, *, backward: bool) -> tuple[Tensor, CellState]:
    """As the loop in `run_cell`, with torch's kernel for packed sequences (cuDNN's on a GPU)."""
    assert cell.kernel is not None
    lengths = real.sum(1).clamp(min=1)
    if backward:  # reverse each sentence within its length
        places = torch.arange(real.size(1), device=real.device)
        turned = torch.where(real, lengths.unsqueeze(1) - 1 - places, places).unsqueeze(-1)
        inputs = inputs.gather(1, turned.expand_as(inputs))
    packed = pack_padded_sequence(inputs, lengths.cpu(), batch_first=True, enforce_sorted=False)
    start = tuple(part.unsqueeze(0) for part in cell.zeros(inputs))
    weights = (cell.weight_input, cell.weight_hidden, cell.bias_input, cell.bias_hidden)
    first = start if cell.components > 1 else start[0]
    data, *state = cell.kernel(packed.data, packed.batch_sizes, first, weights, True, 1, 0.0, cell.training, False)
    outputs, _ = pad_packed_sequence(packed._replace(data=data), batch_first=True, total_length=real.size(1))
    if backward:
        outputs = outputs.gather(1, turned.expand_as(outputs))
    something = real[:, :1]  # the final state of an all-padding sentence is zero
    final = tuple(part.squeeze(0)[packed.unsorted_indices] * something for part in state)
    return outputs * real.unsqueeze(-1), final


def scan_cell(cell: Recurrence, inputs: Tensor, real: Tensor, *, backward: bool) -> tuple[Tensor, CellState]:
    """As `run_cell`, exported: a loop of any length; a Python loop would keep the example's length."""
    names, parameters = zip(*cell.named_parameters(), strict=True)

    def turn(*tensors: Tensor) -> list[Tensor]:
        state, (projected, here), own = (
            tensors[: cell.components],
            tensors[cell.components :][:2],
            tensors[-len(names) :],
        )
        new = torch.func.functional_call(cell, dict(zip(names, own, strict=True)), (projected, tuple(state)))
        kept = [torch.where(here, fresh, old) for fresh, old in zip(new, state, strict=True)]
        return [*kept, kept[0].clone()]

    start = [zeros.clone() for zeros in cell.zeros(inputs)]  # the zeros of an LSTM are the same tensor twice
    steps = [part.transpose(0, 1) for part in (cell.project(inputs), real.unsqueeze(-1))]
    flipped = [part.flip(0) for part in steps] if backward else steps
    *final, outputs = torch_internals.scan(turn, start, flipped, parameters)
    ordered = outputs.flip(0) if backward else outputs
    return ordered.transpose(0, 1) * real.unsqueeze(-1), tuple(final)
