"""The exponential moving average of the weights, which is validated and saved in their place."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

import torch
from torch import Tensor, nn

from dragoman.model.weights import weights
from dragoman.torch_internals import approach

FIRST: Final = 10  # steps by whose order the average follows the weights more closely at first


class MovingAverage:
    """`a_t = d_t a_(t-1) + (1 - d_t) w_t` with `a_0 = w_0` and `d_t = min(decay, (1 + t) / (10 + t))`: averaging as
    Polyak and Juditsky (1992) propose it, exponential and with the warm-up of TensorFlow's ExponentialMovingAverage.

    w_t are the weights after t steps: all parameters and persistent buffers that are floating-point numbers. Later
    changes of `module` reach the average by `update` alone; whatever else it has (counters) is not averaged.
    """

    def __init__(self, module: nn.Module, decay: float) -> None:
        self.module = module
        self.decay = decay
        self.tensors: dict[str, Tensor] = {}
        self.restart()

    def restart(self) -> None:
        """Begin with the weights as they are."""
        self.tensors = {name: tensor.detach().clone() for name, tensor in self._own().items()}

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Take in the weights after step 1, 2, ..."""
        # At first the average follows quickly, or its random beginning would weigh for thousands of steps.
        rate = 1 - min(self.decay, (1 + step) / (FIRST + step))
        own = self._own()
        approach([self.tensors[name] for name in own], [*own.values()], rate)

    @contextmanager
    def swapped_in(self) -> Iterator[None]:
        """Give the module the average as its weights, and its own ones again, to the last bit, when the block ends."""
        # Copies, not differences: the weights come back to the last bit.
        before = {name: tensor.detach().clone() for name, tensor in self._own().items()}
        self._fill(self.tensors)
        try:
            yield
        finally:
            self._fill(before)

    @torch.no_grad()
    def _fill(self, tensors: Mapping[str, Tensor]) -> None:
        for name, tensor in self._own().items():
            tensor.copy_(tensors[name])

    def _own(self) -> dict[str, Tensor]:
        return {name: tensor for name, tensor in weights(self.module).items() if tensor.is_floating_point()}
