"""Dropout over sequences: plain, or variational with one mask for all steps of a sentence."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from dragoman.model.shapes import Float


class Dropout(nn.Module):
    """Zeroes each unit with probability `rate` and scales the others by 1 / (1 - rate).

    Variational (Gal and Ghahramani 2016): the mask is drawn once per sentence and shared by its steps, so that a
    recurrence can be regularized without losing its memory. Plain: every step draws its own.
    """

    def __init__(self, rate: float, variational: bool = True) -> None:
        super().__init__()
        self.rate = rate
        self.variational = variational

    def mask(self, like: Float[Tensor, "B X"], size: int) -> Float[Tensor, "B size"] | None:
        """The mask that all steps of a row share; None if no mask is shared."""
        if not self.training or self.rate == 0.0 or not self.variational:
            return None
        keep = torch.empty(like.size(0), size, dtype=like.dtype, device=like.device)
        return keep.bernoulli_(1.0 - self.rate).div_(1.0 - self.rate)

    def step(self, units: Float[Tensor, "B X"], mask: Float[Tensor, "B X"] | None) -> Float[Tensor, "B X"]:
        """One step of a recurrence under the mask that `mask()` drew for it."""
        if mask is not None:
            return units * mask
        return units if self.variational else functional.dropout(units, self.rate, self.training)

    def forward(self, units: Float[Tensor, "B T X"]) -> Float[Tensor, "B T X"]:
        return self.steps(units, self.mask(units[:, 0], units.size(-1)))

    def steps(self, units: Float[Tensor, "B T X"], mask: Float[Tensor, "B X"] | None) -> Float[Tensor, "B T X"]:
        """All steps at once under the mask that `mask()` drew for them."""
        if mask is not None:
            return units * mask.unsqueeze(1)
        return units if self.variational else functional.dropout(units, self.rate, self.training)
