"""Whether predictions are right as often as they say: reliability in bins, and the expected calibration error."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

BINS = 15


class Bin(NamedTuple):
    """The predictions of one bin: how many, their mean confidence, and the share of them that is right."""

    predictions: int
    confidence: float
    accuracy: float


class Reliability(NamedTuple):
    """Predictions in bins of equal width by their confidence: bin m of M has those in ((m - 1) / M, m / M], and the
    first one also those of 0 (Guo et al. 2017). `counts`, `confidences` and `right` are sums over each bin, so that
    those of several batches can be added.
    """

    counts: Float[np.ndarray, " M"]
    confidences: Float[np.ndarray, " M"]
    right: Float[np.ndarray, " M"]

    @classmethod
    def of(
        cls, confidences: Float[np.ndarray, " N"], right: Float[np.ndarray, " N"], bins: int = BINS
    ) -> "Reliability":
        """Predictions with these confidences, of which some are right (1) and the others are not (0)."""
        places = np.clip(np.ceil(confidences * bins).astype(np.int64) - 1, 0, bins - 1)
        weights = (None, confidences, right)
        return cls(*(np.bincount(places, weight, bins).astype(np.float64) for weight in weights))

    def plus(self, other: "Reliability") -> "Reliability":
        """These predictions and others."""
        return Reliability(*(one + more for one, more in zip(self, other, strict=True)))

    @property
    def error(self) -> float:
        """The expected calibration error, `sum_m |B_m| / n |accuracy(B_m) - confidence(B_m)|`, from 0 to 1."""
        return float(np.abs(self.right - self.confidences).sum() / max(1.0, self.counts.sum()))

    @property
    def bins(self) -> list[Bin]:
        """The bins, with zeros where there is no prediction."""
        sizes = self.counts.clip(min=1)
        means = zip(self.counts, self.confidences / sizes, self.right / sizes, strict=True)
        return [Bin(int(count), float(confidence), float(accuracy)) for count, confidence, accuracy in means]
