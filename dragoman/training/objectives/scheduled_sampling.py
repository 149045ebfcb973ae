"""Scheduled sampling: the decoder reads its own predictions more and more often."""

from collections.abc import Callable, Iterator
from functools import partial
from math import exp
from typing import Annotated, Final, Literal, final

import torch
from pydantic import Field
from torch import Tensor

from dragoman.configuration.config import Config
from dragoman.configuration.values import Rate
from dragoman.data.batch import Batch, TokenBatch
from dragoman.data.vocabulary import UNK
from dragoman.model.seq2seq import ModelState, Seq2Seq
from dragoman.model.shapes import Int
from dragoman.training.objectives.objective import ObjectiveContext, best, drawn
from dragoman.training.objectives.teacher_forcing import ForcedObjective, ForcedPass, force_targets

LARGEST: Final = 700.0  # exponent whose power is a float
DECAYS: Final[dict[str, Callable[[float, float], float]]] = {  # of the constant k and the number of updates i
    "inverse_sigmoid": lambda k, i: k / (k + exp(min(i / k, LARGEST))),
    "linear": lambda k, i: max(0.0, 1 - i / k),
    "exponential": lambda k, i: exp(-i / k),
}


@final
class ScheduledSampling(ForcedObjective):
    """`- sum_t log P(y_t | z_<t, x)` (Bengio et al. 2015): z_t is y_t of the reference with a probability that falls
    with the number i of updates, and otherwise what the model predicts after z_<t: by `predictions`, `drawn` from its
    distribution or the `best`.

    By the `decay`, that probability is `k / (k + exp(i / k))` (`inverse_sigmoid`), `1 - i / k` (`linear`) or
    `exp(-i / k)` (`exponential`; the paper's k is exp(-1 / k)), and never less than `least`. No gradient passes
    through z.
    """

    draws = True

    def __init__(
        self,
        context: ObjectiveContext,
        *,
        decay: Literal["inverse_sigmoid", "linear", "exponential"] = "inverse_sigmoid",
        k: Annotated[float, Field(ge=1)] = 1000.0,
        least: Rate = 0.0,
        predictions: Literal["drawn", "best"] = "drawn",
    ) -> None:
        super().__init__(context)
        self.decay = partial(DECAYS[decay], k)
        self.least = least
        self.choose = drawn if predictions == "drawn" else best
        self.updates: Tensor
        self.register_buffer("updates", torch.zeros((), dtype=torch.long))

    @classmethod
    def problems(cls, config: Config) -> Iterator[str]:
        yield from super().problems(config)
        if config.data.edits is not None:
            yield "scheduled_sampling cannot be combined with data.edits: sampled edit operations may be invalid"

    @property
    def probability(self) -> float:
        """Of reading a symbol of the reference."""
        return max(self.least, self.decay(int(self.updates)))

    def passes(self, model: Seq2Seq, batch: Batch) -> list[ForcedPass]:
        return self.consistency.passes(lambda: force_targets(model, batch, self._mixed), model)

    @torch.no_grad()
    def _mixed(self, model: Seq2Seq, state: ModelState, target: TokenBatch) -> Int[Tensor, "B T"]:
        """Return what the decoder reads: the reference with predictions in the place of some symbols."""
        teacher_forced = torch.rand(target.ids.shape, device=target.ids.device) < self.probability
        # As at the beginning: no need to step through the sentence.
        if teacher_forced.all():
            return target.ids
        inputs, symbols = [], torch.full_like(target.ids[:, 0], model.start_id)
        for forced, gold in zip(teacher_forced.T[:-1], target.ids.T[:-1], strict=True):  # the last symbol is not read
            prediction = model.predict(symbols, state)
            symbols, state = torch.where(forced, gold, self.choose(prediction)), prediction.state
            inputs.append(symbols)
        read = torch.stack([*inputs, target.ids[:, -1]], 1)
        # A word of the sentence itself, beyond the vocabulary, has no embedding.
        return read.masked_fill(read >= model.target_embedding.symbols, UNK)

    def after_step(self, updated: bool) -> None:
        super().after_step(updated)
        self.updates += int(updated)
