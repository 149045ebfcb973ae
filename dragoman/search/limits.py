"""What a translation may say, and how long it may become."""

from typing import Annotated, NamedTuple

import torch
from pydantic import Field
from torch import Tensor

from dragoman.data.batch import Sequence
from dragoman.data.vocabulary import BOS, EOS, PAD
from dragoman.errors import UserError
from dragoman.model.shapes import Bool, Float, Int

# A model that never ends takes all the steps that it is given, so a slip of the pen must not give it millions.
Ratio = Annotated[float, Field(gt=0, le=100)]
Margin = Annotated[int, Field(ge=0, le=1000)]


class Limit(NamedTuple):
    """`ratio` symbols for each source symbol (of the longest source), and `margin` more."""

    ratio: float
    margin: int

    def steps(self, sources: tuple[Sequence, ...]) -> Int[Tensor, "B"]:
        """The step (counted from 0) at which the end symbol is forced, for each sentence."""
        lengths = torch.stack([source.mask.sum(1) for source in sources]).amax(0)
        return (lengths * self.ratio).long() + self.margin


def forbid(log_probs: Float[Tensor, "R V"], ending: Bool[Tensor, "R"]) -> None:
    """Padding and start symbol are never said; rows that must end can only say the end symbol. Changes `log_probs`.

    Raises UserError where there are no probabilities.
    """
    end = log_probs[:, EOS].clone()
    if end.isnan().any():  # one NaN makes a whole softmax NaN
        raise UserError("the model gives no probabilities (NaN): its weights have diverged or are damaged")
    log_probs[:, PAD : BOS + 1] = float("-inf")
    if ending.any():
        log_probs.masked_fill_(ending.unsqueeze(1), float("-inf"))
        least = torch.finfo(end.dtype).min  # an end that is forced must be possible, even if the model has ruled it out
        log_probs[:, EOS] = torch.where(ending, end.clamp(min=least), end)
