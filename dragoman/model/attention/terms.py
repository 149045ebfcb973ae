"""Terms: what attention knows of its own past, and of places. One class per equation, one table entry per class."""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple, final

import torch
from torch import Tensor, nn

from dragoman.components import Count
from dragoman.model.attention.scores import Additive
from dragoman.model.linear import product_kind
from dragoman.model.memory import Memory
from dragoman.model.shapes import Bool, Float, Int


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
    decides = False  # whether only one is left, so that no gradient says which it should be

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


@final
class Shift(Term):
    """Reads on or writes: a position that only moves to the right (Yu, Buys and Blunsom 2016, segment to segment).

    `e_ti = v^T tanh(W s_t + U h_i + b)`, `p(emit at i) = sigmoid(e_ti)`; from `a_(t-1)` on, symbol t is written at the
    first position where that is above a half, and at the last one of the source at the latest. All others are hidden.
    Trained by the objective `segment`, which sums over all positions.
    """

    hides = True
    decides = True

    def __init__(self, sizes: Sizes) -> None:
        super().__init__(sizes, 0)
        self.score = Additive(sizes.query, sizes.state)

    def prepare(self, memory: Memory) -> tuple[Float[Tensor, "B S A"], Bool[Tensor, "B S"]]:
        return self.score.keys(memory.states.to(product_kind(memory.states)), memory.mask), memory.mask

    def energies(self, query: Float[Tensor, "B T Q"], prepared: Any) -> Float[Tensor, "B T S"]:
        """The log-odds of writing at each position."""
        energies: Tensor = self.score(query, prepared[0])
        return energies

    def start(self, weights: Float[Tensor, "B S"], prepared: Any) -> Any:
        return weights.new_zeros(weights.size(0))  # a_0, the first position

    def forward(self, moment: Moment, prepared: Any, carried: Any) -> Said:
        mask = prepared[1].unsqueeze(1)
        place = torch.arange(mask.size(2), device=mask.device)
        last = (place * mask).amax(2, keepdim=True)
        writes = (self.energies(moment.query, prepared) > 0) & mask & (place >= carried.unsqueeze(2)) | (place == last)
        at = (writes.cumsum(2) == 0).sum(2)
        prior = torch.zeros_like(moment.weights).masked_fill(place != at.unsqueeze(2), float("-inf"))
        return Said(at.to(carried.dtype), prior=prior)


TERMS: dict[str, type[Term]] = {
    "wait": Wait,
    "shift": Shift,
}
