"""What a translation may say, and how long it may become."""

from math import isnan
from typing import Annotated, NamedTuple

import torch
from pydantic import Field
from torch import Tensor

from dragoman.data.batch import Sequence, SourceBatch
from dragoman.data.vocabulary import BOS, EOS, PAD
from dragoman.errors import UserError
from dragoman.model.shapes import Float, Int

# A model that never ends takes all the steps that it is given, so a slip of the pen must not give it millions.
Ratio = Annotated[float, Field(gt=0, le=100)]
Margin = Annotated[int, Field(ge=0, le=1000)]

EXACT = 1e-9  # 0.29 * 100 is a little less than 29
IMAGE = 30  # symbols that the regions of an image count as, however many they are


class Limit(NamedTuple):
    """`ratio` symbols for each source symbol (of the longest source, an image counting as 30), and `margin` more."""

    ratio: float
    margin: int

    def steps(self, sources: tuple[SourceBatch, ...]) -> list[int]:
        """The step (counted from 0) at which the end symbol is forced, for each sentence."""
        lengths = torch.stack([_length(source) for source in sources]).amax(0).tolist()
        return [int(length * self.ratio + EXACT) + self.margin for length in lengths]


def _length(source: SourceBatch) -> Int[Tensor, "B"]:
    return source.mask.sum(1) if isinstance(source, Sequence) else source.mask.any(1) * IMAGE


def forbid(log_probs: Float[Tensor, "R V"], ending: list[int]) -> None:
    """Padding and start symbol are never said; rows that must end (their numbers) can only say the end symbol. Changes
    `log_probs`.
    """
    log_probs[:, PAD : BOS + 1] = float("-inf")
    if ending:
        # An end that is forced must be possible, even if the model has ruled it out.
        end = log_probs[ending, EOS].clamp(min=torch.finfo(log_probs.dtype).min)
        log_probs[ending] = float("-inf")
        log_probs[ending, EOS] = end


def number(log_prob: float) -> float:
    """The same. UserError where it is NaN: one of them makes a whole softmax NaN, so the best of each row tells."""
    if isnan(log_prob):
        raise UserError("the model gives no probabilities (NaN): its weights have diverged or are damaged")
    return log_prob
