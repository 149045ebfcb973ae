"""How hypotheses of different lengths are compared."""

from collections.abc import Callable
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

from pydantic import Field
from torch import Tensor

NormalisationKind = Literal["none", "length", "gnmt"]
# Below 0 long hypotheses would sink, and a bound on open ones with them; far above 1 all ranks of long ones are 0.
Alpha = Annotated[float, Field(ge=0, le=10)]
Number = TypeVar("Number", float, Tensor)


class Ranking(NamedTuple):
    """`rank = log P(y | x) / norm(|y|)`, |y| counting the end symbol.

    `none`: norm = 1 (CN 4); `length`: |y|^alpha; `gnmt`: ((5 + |y|) / 6)^alpha (Wu et al. 2016, (14)).
    """

    normalisation: NormalisationKind
    alpha: float

    def norm(self, length: Number) -> Number:
        norm: Number = NORMALISATIONS[self.normalisation](length, self.alpha)
        return norm

    def rank(self, log_prob: Number, length: int) -> Number:
        return log_prob / self.norm(float(length))

    def bound(self, log_prob: Number, longest: Number) -> Number:
        """The best rank that an open hypothesis can reach: log P only falls, and norms grow with the length."""
        return log_prob / self.norm(longest)


NORMALISATIONS: dict[str, Callable[[Any, float], Any]] = {
    "none": lambda length, alpha: length**0,
    "length": lambda length, alpha: length**alpha,
    "gnmt": lambda length, alpha: ((5 + length) / 6) ** alpha,
}
