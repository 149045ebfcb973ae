"""All uses of torch internals: everything else that is used of torch is public and documented.

tests/test_torch_internals.py tests what is expected of each, and that no other module uses any.
"""

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

CAPABILITIES = {"amx_bf16": "_is_amx_tile_supported", "avx512_bf16": "_is_avx512_bf16_supported"}


def backward_pass() -> int:
    """Return the unique number of the current backward pass; -1 outside of one."""
    return torch._C._current_graph_task_id()


def int8_product(a: Tensor, b: Tensor) -> Tensor:
    """Return `a b` for 8-bit integers (R, I) and (I, O), summed in 32 bits."""
    return torch._int_mm(a, b)


def multiply(tensors: Sequence[Tensor], factor: float) -> None:
    """Multiply tensors in place; on a GPU, many in a kernel."""
    torch._foreach_mul_([*tensors], factor)


def approach(tensors: Sequence[Tensor], others: Sequence[Tensor], share: float) -> None:
    """Move tensors in place by this share of the way to others; on a GPU, many in a kernel."""
    torch._foreach_lerp_([*tensors], [*others], share)


def scan(
    turn: Callable[..., list[Tensor]], state: Sequence[Tensor], steps: Sequence[Tensor], parameters: Sequence[Tensor]
) -> tuple[Tensor, ...]:
    """Loop over the first axis of `steps`, whose length is dynamic in an exported graph.

    `turn(*state, *step, *parameters)` returns the next state and the outputs of the step; the result is the last state
    and the outputs of all steps.
    """
    return tuple(torch.ops.higher_order.scan(turn, state, steps, parameters))


def capabilities() -> Mapping[str, object]:
    """Return the processor's instruction sets by name. Versions of torch without the public function know only two."""
    told = getattr(torch.cpu, "get_capabilities", None)
    if told is None:
        return {name: getattr(torch.cpu, each, bool)() for name, each in CAPABILITIES.items()}
    found: Mapping[str, object] = told()
    return found
