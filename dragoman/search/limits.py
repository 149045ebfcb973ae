"""Length limits of a translation, and the symbols that no translation contains."""

from math import isnan
from typing import Annotated, NamedTuple

import torch
from pydantic import Field
from torch import Tensor

from dragoman.data.batch import Sequence, SourceBatch
from dragoman.data.vocabulary import BOS, EOS, PAD
from dragoman.errors import UserError
from dragoman.model.shapes import Float, Int

# A model that never predicts the end runs up to the limit, so a typing error must not allow millions of steps.
Ratio = Annotated[float, Field(gt=0, le=100)]
Margin = Annotated[int, Field(ge=0, le=1000)]

EXACT = 1e-9  # 0.29 * 100 is a little less than 29
IMAGE = 30  # the length of an image in symbols, however many regions it has


class Limit(NamedTuple):
    """At most `ratio` symbols per symbol of the longest source (an image counts as 30), plus `margin`."""

    ratio: float
    margin: int

    def steps(self, sources: tuple[SourceBatch, ...]) -> list[int]:
        """The step (counted from 0) at which the end symbol is forced, for each sentence."""
        lengths = torch.stack([_length(source) for source in sources]).amax(0).tolist()
        return [int(length * self.ratio + EXACT) + self.margin for length in lengths]


def _length(source: SourceBatch) -> Int[Tensor, "B"]:
    return source.mask.sum(1) if isinstance(source, Sequence) else source.mask.any(1) * IMAGE


def forbid(log_probs: Float[Tensor, "R V"], ending: list[int]) -> None:
    """Mask padding and the start symbol in every row, and all but the end symbol in the rows numbered in `ending`. In
    place.
    """
    log_probs[:, PAD : BOS + 1] = float("-inf")
    if ending:
        # A forced end must be possible, even if the model gives it probability 0.
        end = log_probs[ending, EOS].clamp(min=torch.finfo(log_probs.dtype).min)
        log_probs[ending] = float("-inf")
        log_probs[ending, EOS] = end


def number(log_prob: float) -> float:
    """`log_prob` itself; UserError if it is NaN. One NaN makes a whole softmax NaN, so checking the best suffices."""
    if isnan(log_prob):
        raise UserError("the model gives no probabilities (NaN): its weights have diverged or are damaged")
    return log_prob
