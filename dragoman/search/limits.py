"""Length limits of a translation, and the symbols that no translation contains."""

from math import ceil, isnan
from typing import Annotated, NamedTuple

import torch
from pydantic import Field
from torch import Tensor

from dragoman.data.batch import SourceBatch, TokenBatch
from dragoman.data.vocabulary import EOS
from dragoman.errors import UserError
from dragoman.model.shapes import Float, Int

# A model that never predicts the end runs up to the limit, so a typing error must not allow millions of steps.
Ratio = Annotated[float, Field(ge=0, le=100)]
Margin = Annotated[int, Field(ge=0, le=1000)]

EXACT = 1e-9  # 0.29 * 100 is a little less than 29
FORCED = -1e30  # log P below this is that of a forced end which the model or a constraint had ruled out
IMAGE = 30  # the length of an image in symbols, however many regions it has


class LengthLimit(NamedTuple):
    """At most `ratio` symbols per symbol of the longest source (an image counts as 30), plus `margin`; and at least
    `min_ratio`, plus `min_margin`, if that is not more.
    """

    ratio: float
    margin: int
    min_ratio: float = 0.0
    min_margin: int = 0

    def max_steps(self, sources: tuple[SourceBatch, ...]) -> list[int]:
        """Return the step (counted from 0) at which the end symbol is forced, for each sentence."""
        return [int(length * self.ratio + EXACT) + self.margin for length in _lengths(sources)]

    def min_steps(self, sources: tuple[SourceBatch, ...]) -> list[int]:
        """Return the first step at which the end symbol may come, for each sentence."""
        return [ceil(length * self.min_ratio - EXACT) + self.min_margin for length in _lengths(sources)]


def was_forced(log_prob: float) -> bool:
    """Return whether a translation ends only because its end was forced against the model or a constraint."""
    return log_prob < FORCED


def _lengths(sources: tuple[SourceBatch, ...]) -> list[int]:
    """Return the length of the longest source of each sentence."""
    lengths: list[int] = torch.stack([_length(source) for source in sources]).amax(0).tolist()
    return lengths


def _length(source: SourceBatch) -> Int[Tensor, "B"]:
    return source.mask.sum(1) if isinstance(source, TokenBatch) else source.mask.any(1) * IMAGE


def force_end(log_probs: Float[Tensor, "R C"], rows: list[int]) -> None:
    """Mask all but the end symbol in these rows, in place."""
    if rows:
        # A forced end must be possible, even if the model gives it probability 0.
        end = log_probs[rows, EOS].clamp(min=torch.finfo(log_probs.dtype).min)
        log_probs[rows] = float("-inf")
        log_probs[rows, EOS] = end


def forbid_end(log_probs: Float[Tensor, "R C"], symbols: Int[Tensor, "C"], rows: list[int]) -> None:
    """Mask the end symbol in these rows, in place, except where nothing else may follow."""
    remaining = log_probs[rows].masked_fill(symbols == EOS, float("-inf"))
    stuck = remaining.amax(1, keepdim=True) == float("-inf")
    log_probs[rows] = log_probs[rows].where(stuck, remaining)


def refuse_nan(log_prob: float) -> float:
    """Return `log_prob` itself; UserError if it is NaN. One NaN makes a whole softmax NaN, so checking the best
    suffices.
    """
    if isnan(log_prob):
        raise UserError("the model returned NaN probabilities: its weights diverged or are damaged")
    return log_prob
