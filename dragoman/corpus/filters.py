"""Filters for training pairs."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]


class FilterReport(NamedTuple):
    """The numbers of pairs in a corpus: all, those kept, and those left out for each reason."""

    pairs: int
    kept: int
    empty: int
    too_long: int
    ratio: int

    def __str__(self) -> str:
        reasons = {
            "with an empty side": self.empty,
            "too long": self.too_long,
            "of unlike lengths": self.ratio,
        }
        left_out = ", ".join(f"{count:,} {reason}" for reason, count in reasons.items() if count)
        return f"{self.kept:,} of {self.pairs:,} pairs" + (f" (left out: {left_out})" if left_out else "")


class Filters:
    """Filters pairs by their numbers of symbols, and counts them.

    A pair is left out, and counted under the first reason that holds, if a side is empty, if a side has more than
    `max_length` symbols, or if the longer side has more than `max_ratio` times as many symbols as the shorter.
    """

    def __init__(self, *, max_length: int, max_ratio: float) -> None:
        self._max_length = max_length
        self._max_ratio = max_ratio
        self._counts = [0, 0, 0, 0]

    def keep(self, *sides: Numbers) -> npt.NDArray[np.bool_]:
        """A mask (N,) of the pairs to keep, given the number of symbols of each side (N,) without EOS. 0 means that a
        side is blank.
        """
        shorter, longer = np.minimum.reduce(sides), np.maximum.reduce(sides)
        fit = np.ones(len(shorter), np.bool_)
        for reason, fault in enumerate((shorter == 0, longer > self._max_length, longer > self._max_ratio * shorter)):
            self._counts[reason] += int(np.count_nonzero(fit & fault))
            fit &= ~fault
        self._counts[-1] += int(np.count_nonzero(fit))
        return fit

    @property
    def report(self) -> FilterReport:
        """The counts so far."""
        empty, too_long, ratio, kept = self._counts
        return FilterReport(sum(self._counts), kept, empty, too_long, ratio)
