"""Penalties on attention, added to the loss of teacher forcing."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import ClassVar, Literal, final

import torch
from torch import Tensor, nn
from torch.nn import functional

from dragoman.configuration.values import Positive, Rate
from dragoman.data.batch import Batch
from dragoman.model.memory import Memory
from dragoman.model.shapes import Bool, Float

LEAST_WEIGHT = 1e-30  # for smaller weights, the gradient of the logarithm overflows in float32
LEAST_VARIANCE = 0.01  # of a fertility: without a lower bound, density and loss would be unbounded


class Penalty(nn.Module, ABC):
    """`weight` times a sum over the words of a batch, in nats like the loss that it is added to.

    `length` is the number of updates in training; for the first `begin` of them, a share, the weight is 0.

    The target's end symbol is excluded; words without a counterpart may attend to the source's. Parameters are trained
    and saved with the model's, but are not part of it. `state_size` is the size of an encoder state.
    """

    supervised: ClassVar[bool] = False  # needs `Batch.links`

    def __init__(self, state_size: int, length: int = 1, *, weight: Positive = 1.0, begin: Rate = 0.0) -> None:
        super().__init__()
        self.weight = weight
        self.share = begin
        self.begin = round(begin * length)
        self.updates: Tensor
        if begin:
            self.register_buffer("updates", torch.zeros((), dtype=torch.long))

    def forward(self, weights: Float[Tensor, "B T S"], memory: Memory, batch: Batch) -> Float[Tensor, ""]:
        # Sums over steps, and logarithms: bfloat16 has 8 bits.
        exact = weights.to(torch.promote_types(weights.dtype, torch.float32))
        weight = 0.0 if self.begin and self.updates < self.begin else self.weight
        return weight * self.penalty(exact, memory, batch)

    def after_step(self, updated: bool) -> None:
        """Take note of a step, which counts if it `updated` the weights."""
        if self.share:
            self.updates += int(updated)

    def warnings(self, before: int) -> Iterator[str]:
        """Yield options that do not fit the length `before` (0 = none) that training began with."""
        was = round(self.share * before)
        if before and was != self.begin:
            now = f"{self.share:g} of the training are {self.begin:,} updates now"
            yield f"begin: {now}, previously {was:,}; the penalty applies from there"

    @abstractmethod
    def penalty(self, weights: Float[Tensor, "B T S"], memory: Memory, batch: Batch) -> Float[Tensor, ""]: ...


def word_mask(mask: Bool[Tensor, "B S"]) -> Bool[Tensor, "B S"]:
    """Return a mask that is true for the symbols of a sentence without its end."""
    return functional.pad(mask[:, 1:], (0, 1))


def pair_mask(memory: Memory, batch: Batch) -> Bool[Tensor, "B T S"]:
    """Return a mask that is true for each pair of a target and a source symbol, without the end symbols."""
    return word_mask(batch.target.mask).unsqueeze(2) & word_mask(memory.mask).unsqueeze(1)


@final
class SupervisedPenalty(Penalty):
    """`- sum_t sum_j A_tj log alpha_tj` with gold links A, which sum to 1 for each target symbol that has any (Mi et
    al. 2016, "Supervised attentions for neural machine translation").

    A target symbol without links is ignored (`unlinked: skip`) or taught to attend to the end symbol of the source
    (`end`), as alignment models link such words to an empty word; a pair without any link is ignored.
    """

    supervised = True

    def __init__(
        self,
        state_size: int,
        length: int = 1,
        *,
        weight: Positive = 1.0,
        begin: Rate = 0.0,
        unlinked: Literal["skip", "end"] = "skip",
    ) -> None:
        super().__init__(state_size, length, weight=weight, begin=begin)
        self.unlinked = unlinked

    def penalty(self, weights: Float[Tensor, "B T S"], memory: Memory, batch: Batch) -> Float[Tensor, ""]:
        if batch.links is None:
            raise ValueError("the batch has no links")
        links = batch.links
        if self.unlinked == "end":
            linked = links.any(2)  # (B, T)
            alone = word_mask(batch.target.mask) & ~linked & linked.any(1, keepdim=True)
            end = memory.mask & ~word_mask(memory.mask)  # (B, S)
            links = links | (alone.unsqueeze(2) & end.unsqueeze(1))
        gold = links.to(weights.dtype) / links.sum(2, keepdim=True).clamp(min=1)
        return -(gold * weights.clamp(min=LEAST_WEIGHT).log()).sum()


@final
class CoveragePenalty(Penalty):
    """`sum_t sum_j min(alpha_tj, sum_(t'<t) alpha_t'j)`: attending again to the same position costs the overlap (See et
    al. 2017, "Get to the point", (12)). The source's end symbol counts too, or all attention would go there.
    """

    def penalty(self, weights: Float[Tensor, "B T S"], memory: Memory, batch: Batch) -> Float[Tensor, ""]:
        # sum over t' < t, without the step itself
        before = weights.cumsum(1) - weights
        seen = word_mask(batch.target.mask).unsqueeze(2) & memory.mask.unsqueeze(1)
        return torch.minimum(weights, before)[seen].sum()


@final
class FertilityPenalty(Penalty):
    """`- sum_j log N(f_j; mu(h_j), sigma^2(h_j))` with the fertility `f_j = sum_t alpha_tj` (Cohn et al. 2016, global
    fertility): the total attention to a word is predicted from its encoder state.

    `mu = softplus(u . h + b)` and `sigma^2 = softplus(v . h + c) + 0.01` start at 1.
    """

    def __init__(self, state_size: int, length: int = 1, *, weight: Positive = 1.0, begin: Rate = 0.0) -> None:
        super().__init__(state_size, length, weight=weight, begin=begin)
        self.moments = nn.Linear(state_size, 2)
        nn.init.constant_(self.moments.bias, math.log(math.expm1(1.0)))

    def penalty(self, weights: Float[Tensor, "B T S"], memory: Memory, batch: Batch) -> Float[Tensor, ""]:
        real = word_mask(memory.mask)
        fertility = (weights * word_mask(batch.target.mask).unsqueeze(2)).sum(1)[real]  # (N,)
        mean, spread = functional.softplus(self.moments(memory.states[real]).to(weights.dtype)).unbind(1)
        # As a constant added, it keeps a gradient where `clamp` would have none.
        variance = spread + LEAST_VARIANCE
        return (((fertility - mean) ** 2 / variance + variance.log() + math.log(2 * math.pi)) / 2).sum()


PENALTIES: dict[str, type[Penalty]] = {
    "supervised": SupervisedPenalty,
    "coverage": CoveragePenalty,
    "fertility": FertilityPenalty,
}
