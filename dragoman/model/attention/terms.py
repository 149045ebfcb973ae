"""Terms: what attention knows of its own past, and of places. One class per equation, one table entry per class."""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple, final

import torch
from torch import Tensor, nn

from dragoman.components import Count
from dragoman.model.memory import Memory
from dragoman.model.shapes import Float, Int


class Sizes(NamedTuple):
    """What a term may need to know of the parts around it."""

    query: int
    state: int  # of the encoder
    embedding: int  # of the target's symbols
    symbols: int  # in the source's vocabulary


class Moment(NamedTuple):
    """What a term sees at a step; T counts the hypotheses of a sentence that are at that step."""

    query: Float[Tensor, "B T Q"]
    embedded: Float[Tensor, "B T E"]  # the symbol read last, y_(t-1)
    weights: Float[Tensor, "B T S"]  # of the step before; 0 at the first


class Said(NamedTuple):
    """What a term says at a step, and what it carries to the next one."""

    carried: Any
    features: Float[Tensor, "B T S F"] | None = None  # the score takes them in
    prior: Float[Tensor, "B T S"] | None = None  # added to the energies as it is; -inf hides a position


class Term(nn.Module, ABC):
    """`said = term(moment, prepared, carried)`, once a step, before the energies of that step.

    What the source alone says is found once per sentence, in `prepare`; what changes from step to step is carried, so
    that no term keeps anything. Both are nested tuples of tensors. Carried ones have a row for each hypothesis and, if
    they have positions of the source, these on the axis after it: (R, S, ...) or (R, ...); `forward` sees them as
    (B, T, ...). At padded positions a term may say anything; nothing that it says elsewhere depends on what is there.
    """

    hides = False  # whether it keeps positions from being seen; some is always left

    def __init__(self, sizes: Sizes, features: int) -> None:
        super().__init__()
        self.features = features  # F, how many it gives; 0 for a prior

    def prepare(self, memory: Memory) -> Any:
        return ()

    @abstractmethod
    def start(self, weights: Float[Tensor, "B S"], prepared: Any) -> Any:
        """What is carried into the first step; `weights` are 0."""

    @abstractmethod
    def forward(self, moment: Moment, prepared: Any, carried: Any) -> Said: ...


@final
class Wait(Term):
    """Target symbol t sees the first `t + k - 1` source symbols, the end symbol among them (Ma et al. 2019, wait-k).

    That makes a model that translates while its source arrives, if nothing else tells it of what is hidden.
    """

    hides = True

    def __init__(self, sizes: Sizes, *, k: Count = 3) -> None:
        super().__init__(sizes, 0)
        self.k = k

    def prepare(self, memory: Memory) -> Int[Tensor, "B S"]:
        """How many symbols stand before each."""
        return memory.mask.cumsum(1) - 1

    def start(self, weights: Float[Tensor, "B S"], prepared: Any) -> Any:
        return weights.new_zeros(weights.size(0))  # t - 1

    def forward(self, moment: Moment, prepared: Any, carried: Any) -> Said:
        hidden = prepared.unsqueeze(1) >= carried.unsqueeze(2) + self.k
        return Said(carried + 1, prior=torch.zeros_like(moment.weights).masked_fill(hidden, float("-inf")))


TERMS: dict[str, type[Term]] = {
    "wait": Wait,
}
