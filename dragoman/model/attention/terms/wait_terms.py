"""Terms that hide a part of the source, to translate while it arrives."""

from typing import Any, final

import torch
from torch import Tensor

from dragoman.configuration.values import Count
from dragoman.model.attention.scores import AdditiveScore
from dragoman.model.attention.terms.term import AttentionTerm, TermInput, TermOutput, TermSizes
from dragoman.model.linear import matmul_dtype
from dragoman.model.memory import Memory
from dragoman.model.shapes import Bool, Float, Int


@final
class WaitTerm(AttentionTerm):
    """Target symbol t sees the first `t + k - 1` source symbols, including the end symbol (Ma et al. 2019, wait-k).

    The model can then translate while its source arrives, if no other part depends on hidden symbols.
    """

    hides = True

    def __init__(self, sizes: TermSizes, *, k: Count = 3) -> None:
        super().__init__(sizes, 0)
        self.k = k

    def prepare(self, memory: Memory) -> Int[Tensor, "B S"]:
        """Return the number of symbols before each."""
        return memory.mask.cumsum(1) - 1

    def start(self, weights: Float[Tensor, "B S"], prepared: Any) -> Any:
        return weights.new_zeros(weights.size(0))  # t - 1

    def forward(self, term_input: TermInput, prepared: Any, carried: Any) -> TermOutput:
        hidden = prepared.unsqueeze(1) >= carried.unsqueeze(2) + self.k
        return TermOutput(carried + 1, prior=torch.zeros_like(term_input.weights).masked_fill(hidden, float("-inf")))


@final
class ShiftTerm(AttentionTerm):
    """Reads on or writes, at a position that only moves to the right (Yu, Buys and Blunsom 2016, segment to segment).

    `e_ti = v^T tanh(W s_t + U h_i + b)`, `p(emit at i) = sigmoid(e_ti)`; symbol t is written at the first
    position from `a_(t-1)` on where this is above 1/2, at the latest at the last source position. All others are
    hidden. Trained by the objective `segment`, which marginalizes over all positions.
    """

    hides = True
    is_hard = True

    def __init__(self, sizes: TermSizes) -> None:
        super().__init__(sizes, 0)
        self.score = AdditiveScore(sizes.query, sizes.state)

    def prepare(self, memory: Memory) -> tuple[Float[Tensor, "B S A"], Bool[Tensor, "B S"]]:
        return self.score.keys(memory.states.to(matmul_dtype(memory.states)), memory.mask), memory.mask

    def energies(self, query: Float[Tensor, "B T Q"], prepared: Any) -> Float[Tensor, "B T S"]:
        """Return the log-odds of writing at each position."""
        energies: Tensor = self.score(query, prepared[0])
        return energies

    def start(self, weights: Float[Tensor, "B S"], prepared: Any) -> Any:
        return weights.new_zeros(weights.size(0))  # a_0, the first position

    def forward(self, term_input: TermInput, prepared: Any, carried: Any) -> TermOutput:
        mask = prepared[1].unsqueeze(1)
        place = torch.arange(mask.size(2), device=mask.device)
        last = (place * mask).amax(2, keepdim=True)
        writes = (self.energies(term_input.query, prepared) > 0) & mask & (place >= carried.unsqueeze(2)) | (
            place == last
        )
        at = (writes.cumsum(2) == 0).sum(2)
        prior = torch.zeros_like(term_input.weights).masked_fill(place != at.unsqueeze(2), float("-inf"))
        return TermOutput(at.to(carried.dtype), prior=prior)
