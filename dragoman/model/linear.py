"""Linear maps, and alternative backends that compute them: see `deferred_weight_gradients` here, and `int8.py`."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

from dragoman.model.backward import WithinPass
from dragoman.model.shapes import Float

Slice = tuple[int, int]  # from, to


class WeightSlice(NamedTuple):
    """A matrix (O, I) with its bias (O,), or some of its rows or columns. As a dictionary key it compares tensors by
    identity, and keeps them alive.
    """

    weight: Tensor
    bias: Tensor | None
    rows: Slice | None = None
    columns: Slice | None = None

    def cut(self) -> tuple[Tensor, Tensor | None]:
        """The rows and columns. Slices only where asked: even a slice of everything costs a gradient of full size."""
        weight, bias = self.weight, self.bias
        if self.rows is not None:
            weight, bias = weight[slice(*self.rows)], None if bias is None else bias[slice(*self.rows)]
        return weight if self.columns is None else weight[:, slice(*self.columns)], bias


LinearBackend = Callable[[Tensor, WeightSlice], Tensor]  # computes `W x + b`
_backend: ContextVar[LinearBackend | None] = ContextVar("backend", default=None)


def linear(
    x: Float[Tensor, "*rows _"],
    weight: Float[Tensor, "M N"],
    bias: Float[Tensor, "M"] | None = None,
    *,
    rows: Slice | None = None,
    columns: Slice | None = None,
) -> Float[Tensor, "*rows _"]:
    """`W x + b` with these rows of W and b, or these columns of W, computed by the current backend."""
    backend, part = _backend.get(), WeightSlice(weight, bias, rows, columns)
    return functional.linear(x, *part.cut()) if backend is None else backend(x, part)


def is_default_backend() -> bool:
    """Whether the default backend is in use."""
    return _backend.get() is None


class Linear(nn.Linear):
    """A linear layer computed by the current backend, so that it can be used in a loop over time."""

    def forward(self, x: Float[Tensor, "*rows I"]) -> Float[Tensor, "*rows O"]:
        return linear(x, self.weight, self.bias)


@contextmanager
def use_backend(backend: LinearBackend | None) -> Iterator[None]:
    """Context manager: compute linear maps with this backend; None is the default one."""
    token = _backend.set(backend)
    try:
        yield
    finally:
        _backend.reset(token)


def deferred_weight_gradients() -> AbstractContextManager[None]:
    """Context manager for a loop over time: computes the gradient of a weight as one product over all steps,
    `dW = sum_t dy_t^T x_t`.

    Plain autograd computes a product and an addition of the size of W at every step, and autocast casts a slice of W
    again at every step.
    """
    return use_backend(_Loop()) if torch.is_grad_enabled() else nullcontext()


def matmul_dtype(tensor: Tensor) -> torch.dtype:
    """The dtype in which autocast would multiply this tensor."""
    device = tensor.device.type
    lower = torch.is_autocast_enabled(device) and tensor.dtype is not torch.float64
    return torch.get_autocast_dtype(device) if lower else tensor.dtype


Steps = WithinPass[list[tuple[Tensor, Tensor]]]  # the input of each step, and the gradient of its output


class _Map(NamedTuple):
    """A linear map inside a loop, sliced and cast once.

    Autograd sees two functions. `_Enter` takes W and b and returns an empty `handle`; at each step `_Multiply` takes x
    and the handle and returns y. A backward pass therefore reaches all steps before `_Enter`: each step stores x and dy
    in `steps`, and `_Enter` computes the gradient of W from them.
    """

    weight: Tensor
    bias: Tensor | None
    handle: Tensor
    steps: Steps


class _Loop:
    """The backend of one loop, with the maps used so far."""

    def __init__(self) -> None:
        self.maps: dict[WeightSlice, _Map] = {}

    def __call__(self, x: Tensor, part: WeightSlice) -> Tensor:
        used = self.maps.get(part)
        if used is None:
            used = self.maps[part] = _map(part)
        y: Tensor = _Multiply.apply(x, used.handle, used)  # type: ignore[no-untyped-call]
        return y


def _map(part: WeightSlice) -> _Map:
    weight, bias = part.cut()
    steps = Steps()
    handle: Tensor = _Enter.apply(weight, bias, steps)  # type: ignore[no-untyped-call]
    kind = matmul_dtype(weight)
    return _Map(weight.detach().to(kind), None if bias is None else bias.detach().to(kind), handle, steps)


class _Enter(torch.autograd.Function):
    """`W, b -> handle`, with the gradients `dW = sum_t dy_t^T x_t` and `db = sum_t dy_t`."""

    @staticmethod
    def forward(ctx: Any, weight: Tensor, bias: Tensor | None, steps: Steps) -> Tensor:
        ctx.steps, ctx.kind, ctx.biased = steps, weight.dtype, bias is not None
        ctx.set_materialize_grads(False)
        return weight.new_empty(0)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *_: None) -> tuple[Tensor | None, Tensor | None, None]:
        inputs, gradients = zip(*ctx.steps.take(), strict=True)
        dy = torch.cat(gradients)
        d_weight = dy.t() @ torch.cat(inputs)
        d_bias = dy.sum(0, dtype=ctx.kind) if ctx.biased else None
        return d_weight.to(ctx.kind), d_bias, None


class _Multiply(torch.autograd.Function):
    """`x, handle -> y = W x + b`, with the gradient of x."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, handle: Tensor, used: _Map) -> Tensor:
        ctx.kind, ctx.used = x.dtype, used
        low = x.to(used.weight.dtype)
        ctx.save_for_backward(low)
        with torch.autocast(x.device.type, enabled=False):
            return functional.linear(low, used.weight, used.bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor | None, None, None]:
        (x,) = ctx.saved_tensors
        if ctx.needs_input_grad[1]:  # W is not frozen
            ctx.used.steps.get(list).append((x.detach().flatten(0, -2), dy.flatten(0, -2)))
        return (dy @ ctx.used.weight).to(ctx.kind) if ctx.needs_input_grad[0] else None, None, None
