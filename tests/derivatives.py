"""Whether gradients are derivatives, by finite differences."""

from collections.abc import Callable, Iterable

import pytest
import torch
from torch import Tensor

from tests.builders import noise

STEP = 1e-5


def assert_derivative(function: Callable[[], Tensor], leaves: Iterable[Tensor]) -> None:
    """The gradient of a number with respect to all of these at once (in float64), along a random direction.

    What a gradient does not pass through is seen too: it is part of the differences.
    """
    tensors = list(leaves)
    directions = [noise(*tensor.shape, seed=number) for number, tensor in enumerate(tensors)]
    gradients = torch.autograd.grad(function(), tensors, allow_unused=True)
    along = sum(
        float((gradient * direction).sum())
        for gradient, direction in zip(gradients, directions, strict=True)
        if gradient is not None
    )
    values = []
    with torch.no_grad():
        for step in (STEP, -2 * STEP, STEP):
            for tensor, direction in zip(tensors, directions, strict=True):
                tensor.add_(direction, alpha=step)
            values.append(float(function()))
    ahead, after, _ = values
    assert along == pytest.approx((ahead - after) / (2 * STEP), rel=1e-5, abs=1e-8)
