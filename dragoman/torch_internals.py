"""All uses of torch internals: everything else that is used of torch is public and documented.

tests/test_torch_internals.py tests what is expected of each, and that no other module uses any.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

UNIQUE = {"_unique2", "unique_consecutive", "unique_dim"}
WAITING = {"_linalg_check_errors", "_local_scalar_dense", "equal", "masked_select", "nonzero"} | UNIQUE
CAPABILITIES = {
    "amx_bf16": "_is_amx_tile_supported",
    "avx512_bf16": "_is_avx512_bf16_supported",
    "avx512_vnni": "_is_vnni_supported",
}


def backward_pass() -> int:
    """Return the unique number of the current backward pass; -1 outside of one."""
    return torch._C._current_graph_task_id()


def int8_product(a: Tensor, b: Tensor) -> Tensor:
    """Return `a b` for 8-bit integers (R, I) and (I, O), summed in 32 bits."""
    if b.size(0) == 1:  # a matrix of one row that is a column turned has strides (1, 1), which _int_mm misreads
        b = b.clone(memory_format=torch.contiguous_format)
    return torch._int_mm(a, b)


def multiply(tensors: Sequence[Tensor], factor: float) -> None:
    """Multiply tensors in place; on a GPU, many in a kernel."""
    torch._foreach_mul_([*tensors], factor)


def approach(tensors: Sequence[Tensor], targets: Sequence[Tensor], share: float) -> None:
    """Move tensors in place by this share of the way to others; on a GPU, many in a kernel."""
    torch._foreach_lerp_([*tensors], [*targets], share)


class WaitsForGpu(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Context manager: raises RuntimeError for an operation of which the result has to be known before the next one can
    begin, such as `item` and `nonzero`. On a GPU, a program waits there.
    """

    def __torch_dispatch__(
        self, func: Any, types: Sequence[type], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        name = func.overloadpacket.__name__
        indices = args[1] if name in ("index", "index_put", "index_put_") else ()
        if name in WAITING or any(index is not None and index.dtype in (torch.bool, torch.uint8) for index in indices):
            raise RuntimeError(f"a forward pass waits for the GPU ({name})")
        return func(*args, **kwargs or {})


def scan(
    turn: Callable[..., list[Tensor]], state: Sequence[Tensor], steps: Sequence[Tensor], parameters: Sequence[Tensor]
) -> tuple[Tensor, ...]:
    """Loop over the first axis of `steps`, whose length is dynamic in an exported graph.

    `turn(*state, *step, *parameters)` returns the next state and the outputs of the step; the result is the last state
    and the outputs of all steps.
    """
    return tuple(torch.ops.higher_order.scan(turn, state, steps, parameters))


@contextmanager
def shared_onnx_registry() -> Iterator[None]:
    """Within this context, `torch.onnx.export` builds its table of operators once in a process.

    Otherwise each call builds it anew, in 2 to 3 seconds. Versions of torch that have no such table are left alone.
    """
    try:
        from torch.onnx._internal.exporter._registration import ONNXRegistry
    except ImportError:
        yield
        return
    original = vars(ONNXRegistry)["from_torchlib"]
    setattr(ONNXRegistry, "from_torchlib", classmethod(_with_cache(original.__func__)))  # noqa: B010 (mypy)
    try:
        yield
    finally:
        setattr(ONNXRegistry, "from_torchlib", original)  # noqa: B010


@cache
def _with_cache(build: Callable[..., Any]) -> Callable[..., Any]:
    """Return `build` with a cache, which is the same one in later contexts."""
    return cache(build)


def capabilities() -> Mapping[str, object]:
    """Return the processor's instruction sets by name. Older versions of torch know only CAPABILITIES."""
    get_capabilities = getattr(torch.cpu, "get_capabilities", None)
    if get_capabilities is None:
        return {name: getattr(torch.cpu, function, bool)() for name, function in CAPABILITIES.items()}
    instruction_sets: Mapping[str, object] = get_capabilities()
    return instruction_sets
