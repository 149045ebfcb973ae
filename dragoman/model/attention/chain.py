"""A Markov chain over the positions of hard attention: z_t depends on z_(t-1)."""

from typing import final

import torch
from torch import Tensor, nn

from dragoman.model.shapes import Bool, Float

NEVER = -1e9  # log of probability 0: -inf has no gradient, and -inf minus itself is nan


def log_weights(weights: Float[Tensor, "*_ S"], mask: Bool[Tensor, "*_ S"]) -> Float[Tensor, "*_ S"]:
    """Return the logs of weights; NEVER at padding. A weight that underflows is still above that."""
    return weights.clamp(min=torch.finfo(weights.dtype).tiny).log().masked_fill(~mask, NEVER)


@final
class Chain(nn.Module):
    """`p(z_t = j | z_(t-1) = i) ~ alpha_t(j) exp(theta(j - i))` (Wu and Cotterell 2019).

    theta is learned, starting at 0, for jumps of up to `jump` positions; longer jumps share the theta of the longest.
    With `monotonic` no jump goes back.
    """

    def __init__(self, monotonic: bool, jump: int) -> None:
        super().__init__()
        self.monotonic = monotonic
        self.jump = jump
        self.theta = nn.Parameter(torch.zeros(2 * jump + 1))

    def forward(self, before: Float[Tensor, "R S"], alpha: Float[Tensor, "R S"]) -> Float[Tensor, "R S"]:
        """Return a step of the forward algorithm, in log space: `sum_i before(i) p(z_t = j | z_(t-1) = i)`, given
        alpha_t.
        """
        jumps = torch.log_softmax(alpha.unsqueeze(1) + self.transition(alpha.size(1)), -1)  # (R, S, S): from, to
        return torch.logsumexp(before.unsqueeze(2) + jumps, 1)

    def transition(self, places: int) -> Float[Tensor, "S S"]:
        """Return `theta(j - i)` at [i, j]."""
        place = torch.arange(places, device=self.theta.device)
        jumps = place - place.unsqueeze(1)
        theta = self.theta[jumps.clamp(-self.jump, self.jump) + self.jump]
        return theta.masked_fill(jumps < 0, NEVER) if self.monotonic else theta
