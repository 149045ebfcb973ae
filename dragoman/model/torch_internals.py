"""What torch has no public name for, all of it: whatever else is used of torch is documented.

tests/model/test_torch_internals.py says what is expected of each, and that no other module has one.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from dragoman.model.shapes import Int


def backward_pass() -> int:
    """The number of the backward pass at work, which no other pass has; -1 outside of one."""
    return torch._C._current_graph_task_id()


def int8_product(a: Int[Tensor, "R I"], b: Int[Tensor, "I O"]) -> Int[Tensor, "R O"]:
    """`a b` of 8-bit integers, summed in 32 bits."""
    return torch._int_mm(a, b)


def scan(
    turn: Callable[..., list[Tensor]], state: Sequence[Tensor], steps: Sequence[Tensor], parameters: Sequence[Tensor]
) -> tuple[Tensor, ...]:
    """A loop over the first axis of `steps`, whose length an exported graph leaves open.

    `turn(*state, *step, *parameters)` gives the next state and what is kept of the step; the result is the last state
    and what was kept, by step.
    """
    return tuple(torch.ops.higher_order.scan(turn, state, steps, parameters))
