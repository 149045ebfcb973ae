"""Terms on the weights of earlier steps: those of the last step, and their sums."""

from typing import Any, final

import torch
from torch import Tensor
from torch.nn import functional

from dragoman.configuration.values import Positive, Width
from dragoman.model.attention.terms.term import AttentionTerm, TermInput, TermOutput, TermSizes
from dragoman.model.linear import Linear
from dragoman.model.memory import Memory
from dragoman.model.shapes import Float


def neighborhood(numbers: Float[Tensor, "B T S"], width: int) -> Float[Tensor, "B T S F"]:
    """Return the numbers at positions j - width ... j + width for each j; 0 outside."""
    return functional.pad(numbers, (width, width)).unfold(-1, 2 * width + 1, 1)


@final
class MarkovTerm(AttentionTerm):
    """`alpha_(t-1),j-k ... alpha_(t-1),j+k` as features (Cohn et al. 2016); `width` is k."""

    def __init__(self, sizes: TermSizes, *, width: Width = 1) -> None:
        super().__init__(sizes, 2 * width + 1)
        self.width = width

    def start(self, weights: Float[Tensor, "B S"], prepared: Any) -> Any:
        return ()

    def forward(self, term_input: TermInput, prepared: Any, carried: Any) -> TermOutput:
        return TermOutput((), neighborhood(term_input.weights, self.width))


@final
class FertilityTerm(AttentionTerm):
    """`sum_(t'<t) alpha_t',j-k ... sum_(t'<t) alpha_t',j+k` as features (Cohn et al. 2016, local); `width` is k."""

    def __init__(self, sizes: TermSizes, *, width: Width = 1) -> None:
        super().__init__(sizes, 2 * width + 1)
        self.width = width

    def start(self, weights: Float[Tensor, "B S"], prepared: Any) -> Float[Tensor, "B S"]:
        return weights

    def forward(self, term_input: TermInput, prepared: Any, carried: Float[Tensor, "B T S"]) -> TermOutput:
        total = carried + term_input.weights
        return TermOutput(total, neighborhood(total, self.width))


@final
class CoverageTerm(AttentionTerm):
    """`C_tj = C_(t-1),j + alpha_tj / Phi_j` from `C_0j = 0`; C_(t-1),j is the feature (Tu et al. 2016, linguistic).

    `Phi_j = N sigm(U_f h_j)` is the expected number of target words for j; `fertility` is N. Without it Phi_j = 1.
    """

    def __init__(self, sizes: TermSizes, *, fertility: Positive | None = None) -> None:
        super().__init__(sizes, 1)
        self.most = fertility or 1.0
        self.fertility = None if fertility is None else Linear(sizes.state, 1, bias=False)

    def prepare(self, memory: Memory) -> Any:
        if self.fertility is None:
            return ()
        expected: Tensor = self.fertility(memory.states).squeeze(-1)
        # Values at padding could make Phi 0 there, and 0 / 0 would make gradients nan.
        return self.most * torch.sigmoid(expected.masked_fill(~memory.mask, 0.0))

    def start(self, weights: Float[Tensor, "B S"], prepared: Any) -> Float[Tensor, "B S"]:
        return weights

    def forward(self, term_input: TermInput, prepared: Any, carried: Float[Tensor, "B T S"]) -> TermOutput:
        added = term_input.weights if self.fertility is None else term_input.weights / prepared.unsqueeze(1)
        covered = carried + added
        return TermOutput(covered, covered.unsqueeze(-1))
