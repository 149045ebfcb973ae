"""How hypotheses of different lengths are compared."""

from collections.abc import Callable
from typing import Annotated, Literal, NamedTuple

from pydantic import Field

NormalisationKind = Literal["none", "length", "gnmt"]
Alpha = Annotated[float, Field(ge=0)]  # below 0 long hypotheses would sink, and a bound on open ones with them


class Ranking(NamedTuple):
    """`rank = log P(y | x) / norm(|y|)`, |y| counting the end symbol.

    `none`: norm = 1 (CN 4); `length`: |y|^alpha; `gnmt`: ((5 + |y|) / 6)^alpha (Wu et al. 2016, (14)).
    """

    normalisation: NormalisationKind
    alpha: float

    def norm(self, length: int) -> float:
        return NORMALISATIONS[self.normalisation](length, self.alpha)

    def rank(self, log_prob: float, length: int) -> float:
        return log_prob / self.norm(length)

    def bound(self, log_prob: float, longest: int) -> float:
        """The best rank that an open hypothesis can reach: log P only falls, and norms grow with the length."""
        return log_prob / self.norm(longest)


NORMALISATIONS: dict[str, Callable[[int, float], float]] = {
    "none": lambda length, alpha: 1.0,
    "length": lambda length, alpha: length**alpha,
    "gnmt": lambda length, alpha: ((5 + length) / 6) ** alpha,
}
