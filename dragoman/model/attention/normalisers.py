"""Normalisers: from energies to weights. One class per equation, one table entry per class."""

from abc import ABC, abstractmethod
from typing import NamedTuple, final

import torch
from torch import Tensor, nn

from dragoman.model.shapes import Float, Int


class Reading(NamedTuple):
    """What is taken from the values."""

    context: Float[Tensor, "B T C"]
    drawn: Int[Tensor, "B T"] | None = None  # the position it comes from, where it is only one


class Normaliser(nn.Module, ABC):
    """`weights = normaliser(energies)`: exactly 0 where the energy is -inf; some position of every row is above it."""

    everywhere = True  # every other position has a weight above 0
    sums_to_one = True

    @abstractmethod
    def forward(self, energies: Float[Tensor, "B T S"]) -> Float[Tensor, "B T S"]: ...

    def read(self, weights: Float[Tensor, "B T S"], values: Float[Tensor, "B S C"]) -> Reading:
        """The expectation `c_t = sum_j alpha_tj h_j`."""
        return Reading(torch.bmm(weights.to(values.dtype), values))


@final
class Softmax(Normaliser):
    """`alpha_tj = exp(e_tj) / sum_k exp(e_tk)` (NT (74), LH (2))."""

    def forward(self, energies: Float[Tensor, "B T S"]) -> Float[Tensor, "B T S"]:
        return torch.softmax(energies, dim=-1)


NORMALISERS: dict[str, type[Normaliser]] = {"softmax": Softmax}
