"""Gathering rows of a long source many times, with gradients accumulated in one tensor."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from dragoman.model.backward import WithinPass
from dragoman.model.shapes import Float, Int


class _GradientCollector(torch.autograd.Function):
    """The identity on a source; its gradient is one tensor to which all windows add.

    Plain autograd allocates a tensor of the size of the source for each window.
    """

    @staticmethod
    def forward(ctx: Any, source: Tensor) -> Tensor:
        ctx.windows = WithinPass[Tensor]()
        # None instead of zeros of the size of the source, where only windows were read.
        ctx.set_materialize_grads(False)
        return source.view_as(source)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor | None) -> Tensor | None:
        collected: Tensor | None = ctx.windows.take()
        if collected is None or gradient is None:
            return gradient if collected is None else collected
        return collected + gradient


class _GatheredRows(torch.autograd.Function):
    """Rows of a source that has passed through `_GradientCollector`."""

    @staticmethod
    def forward(ctx: Any, source: Tensor, rows: Tensor) -> Tensor:
        ctx.save_for_backward(rows)
        ctx.shape = source.shape
        return _rows(source, rows)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, None]:
        (rows,) = ctx.saved_tensors
        ((source, _), _) = ctx.next_functions
        collected = source.windows.get(lambda: gradient.new_zeros(ctx.shape))
        collected.flatten(0, 1).index_add_(0, rows.flatten(), gradient.flatten(0, 1))
        return None, None


def collecting(source: Float[Tensor, "B S X"]) -> Float[Tensor, "B S X"]:
    """Prepare a source for `gathered`."""
    if not (torch.is_grad_enabled() and source.requires_grad):
        return source
    collecting: Tensor = _GradientCollector.apply(source)  # type: ignore[no-untyped-call]
    return collecting


def gathered(source: Float[Tensor, "B S X"], rows: Int[Tensor, "R W"]) -> Float[Tensor, "R W X"]:
    """Return rows of a source, numbered across all sentences."""
    if source.grad_fn is None or source.grad_fn.name() != f"{_GradientCollector.__name__}Backward":
        return _rows(source, rows)
    gathered: Tensor = _GatheredRows.apply(source, rows)  # type: ignore[no-untyped-call]
    return gathered


def _rows(source: Float[Tensor, "B S X"], rows: Int[Tensor, "R W"]) -> Float[Tensor, "R W X"]:
    return source.flatten(0, 1).index_select(0, rows.flatten()).view(*rows.shape, -1)
