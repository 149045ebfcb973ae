"""The color scale of a heat map: from 0 to its end, or as far on both sides of 0."""

import math
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Weights: TypeAlias = NDArray[np.float64]

MORE, LESS = "#2166d1", "#b3261e"  # values above and below 0


class Scale(NamedTuple):
    """A scale that ends at `top`. Values of a `signed` one are nats, above and below 0; those of others are weights."""

    top: float
    signed: bool = False

    @classmethod
    def of(cls, values: Weights, *, signed: bool = False) -> "Scale":
        """The scale of these values."""
        return cls(scale_top(np.abs(values) if signed else values), signed)

    @property
    def unit(self) -> str:
        return "nats" if self.signed else "weight"

    def part(self, value: float) -> float:
        """Where a value lies on the scale: from 0, or -1 if it is signed, to 1. What is not finite is 0."""
        return min(max(value / self.top, -1.0 if self.signed else 0.0), 1.0) if math.isfinite(value) else 0.0

    def format_value(self, value: float) -> str:
        """A value in figures."""
        return f"{value:{'+' if self.signed else ''}.2f}"


WEIGHTS = Scale(1.0)


def scale_top(weights: Weights) -> float:
    """Return the end of the color scale: the largest weight, rounded up to a tenth, or below that to a hundredth; 1 if
    there is none above 0. `scaleTop` in page/attention.js does the same.
    """
    largest = float(np.nan_to_num(weights, posinf=0.0).max(initial=0.0))
    if largest <= 0:
        return 1.0
    unit = 10 if largest > 0.1 else 100
    return max(math.ceil(largest * unit - 1e-6), 1) / unit
