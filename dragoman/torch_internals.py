"""What torch has no public name for, all of it: whatever else is used of torch is documented.

tests/test_torch_internals.py says what is expected of each, and that no other module has one.
"""

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

CAPABILITIES = {"amx_bf16": "_is_amx_tile_supported", "avx512_bf16": "_is_avx512_bf16_supported"}


def backward_pass() -> int:
    """The number of the backward pass at work, which no other pass has; -1 outside of one."""
    return torch._C._current_graph_task_id()


def int8_product(a: Tensor, b: Tensor) -> Tensor:
    """`a b` of 8-bit integers (R, I) and (I, O), summed in 32 bits."""
    return torch._int_mm(a, b)


def scan(
    turn: Callable[..., list[Tensor]], state: Sequence[Tensor], steps: Sequence[Tensor], parameters: Sequence[Tensor]
) -> tuple[Tensor, ...]:
    """A loop over the first axis of `steps`, whose length an exported graph leaves open.

    `turn(*state, *step, *parameters)` gives the next state and what is kept of the step; the result is the last state
    and what was kept, by step.
    """
    return tuple(torch.ops.higher_order.scan(turn, state, steps, parameters))


def capabilities() -> Mapping[str, object]:
    """The processor's instructions by name. Versions of torch without the public function tell of two."""
    told = getattr(torch.cpu, "get_capabilities", None)
    if told is None:
        return {name: getattr(torch.cpu, each, bool)() for name, each in CAPABILITIES.items()}
    found: Mapping[str, object] = told()
    return found
