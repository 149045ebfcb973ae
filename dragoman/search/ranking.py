"""How hypotheses of different lengths are compared."""

from collections.abc import Callable
from typing import Annotated, Literal, NamedTuple

from pydantic import Field

NormalisationKind = Literal["none", "length", "gnmt"]
# Below 0 long hypotheses would sink, and a bound on open ones with them; far above 1 all ranks of long ones are 0.
Alpha = Annotated[float, Field(ge=0, le=10)]


class Ranking(NamedTuple):
    """`rank = log P(y | x) / norm(|y|)`, |y| counting the end symbol.

    `none`: norm = 1 (CN 4); `length`: |y|^alpha; `gnmt`: ((5 + |y|) / 6)^alpha (Wu et al. 2016, (14)).
    """

    normalisation: NormalisationKind
    alpha: float

    def rank(self, log_prob: float, length: int) -> float:
        return log_prob / NORMALISATIONS[self.normalisation](length, self.alpha)

    def bound(self, log_prob: float, longest: int) -> float:
        """The best rank that an open hypothesis can reach: log P only falls, and norms grow with the length."""
        return self.rank(log_prob, longest)


NORMALISATIONS: dict[str, Callable[[int, float], float]] = {
    "none": lambda length, alpha: 1.0,
    "length": lambda length, alpha: length**alpha,
    "gnmt": lambda length, alpha: ((5 + length) / 6) ** alpha,
}
