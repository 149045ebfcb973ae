"""How hypotheses of different lengths are compared."""

from collections.abc import Callable, Iterable
from typing import Annotated, NamedTuple, TypeAlias

import torch
from pydantic import Field
from torch import Tensor

from dragoman.configuration.components import OneOf
from dragoman.model.shapes import Float

# A negative alpha would penalize length and break the bound on open hypotheses; far above 1, long ones all rank 0.
Alpha = Annotated[float, Field(ge=0, le=10)]
Beta = Annotated[float, Field(ge=0, le=10)]

LEAST = 1e-6  # lower bound of a position's attention: the logarithm of 0 would make all hypotheses equal


class Ranking(NamedTuple):
    """`rank = log P(y | x) / norm(|y|) + beta coverage`, |y| counting the end symbol (Wu et al. 2016, (14)).

    `none`: norm = 1 (CN 4); `length`: |y|^alpha; `prefixed`: (1 + |y|)^alpha, as Transformers counts a language code
    before y; `gnmt`: ((5 + |y|) / 6)^alpha.
    """

    normalization: str  # a name in NORMALIZATIONS
    alpha: float
    beta: float = 0.0

    def rank(self, log_prob: float, length: int, coverage: float = 0.0) -> float:
        return log_prob / NORMALIZATIONS[self.normalization](length, self.alpha) + self.beta * coverage

    def bound(self, log_prob: float, longest: int) -> float:
        """Return an upper bound on the rank that an open hypothesis can reach: log P only falls, norms grow with the
        length, and coverage is at most 0.
        """
        return self.rank(log_prob, longest)


def coverage(attended: Iterable[Float[Tensor, "R _"]]) -> Float[Tensor, "R"]:
    """Return `sum_j log min(sum_t alpha_tj, 1)` over the positions of all sources, given `sum_t alpha_tj` for each
    source.
    """
    return torch.stack([weights.clamp(LEAST, 1.0).log().sum(1) for weights in attended]).sum(0)


NORMALIZATIONS: dict[str, Callable[[int, float], float]] = {
    "none": lambda length, alpha: 1.0,
    "length": lambda length, alpha: length**alpha,
    "prefixed": lambda length, alpha: (1 + length) ** alpha,
    "gnmt": lambda length, alpha: ((5 + length) / 6) ** alpha,
}
NormalizationKind: TypeAlias = Annotated[str, OneOf(NORMALIZATIONS)]
