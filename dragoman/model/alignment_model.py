"""From a decoder step to the probabilities of the next symbol."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, final

import torch
from torch import Tensor

from dragoman.model.attention.chain import NEVER, Chain, log_weights
from dragoman.model.decoder.decoder import Decoder, DecoderState
from dragoman.model.decoder.rnn_decoder import RnnDecoder
from dragoman.model.output.output import Distribution
from dragoman.model.shapes import Bool, Float, Int


class AlignmentStep(NamedTuple):
    """A step: the distribution of the next symbol, the attention weights, and the states after the step."""

    distribution: Distribution
    weights: Float[Tensor, "R S"]
    state: DecoderState  # the decoder's
    step_state: Any  # the alignment model's


# Computes the distribution from features and, if the output needs them, from the attention weights that went into them.
Predict = Callable[[Float[Tensor, "N F"], Callable[[], Float[Tensor, "N S"]]], Distribution]


class AlignmentModel(ABC):
    """`p(y_t | y_<t)` from the decoder's reading of `y_<t`; `step_state`, initially (), is passed from step to step."""

    reads_one_step: ClassVar[bool]  # of the decoder, so that references can be scored all at once

    @abstractmethod
    def step(
        self,
        decoder: Decoder,
        symbols: Int[Tensor, "R"],
        embedded: Tensor,
        state: DecoderState,
        step_state: Any,
        predict: Predict,
    ) -> AlignmentStep:
        """One step of the decoder, which reads these symbols as `embedded`, followed by `predict`."""

    @abstractmethod
    def marginal(
        self, alpha: Float[Tensor, "B T S"], log_probs: Float[Tensor, "B T S"], real: Bool[Tensor, "B T"]
    ) -> Float[Tensor, "B"]:
        """`log p(y | x)`, marginalized over the position that each step draws. `alpha` is the log-probability of each
        position, `log_probs` that of the reference symbol given the position.
        """


@final
class IndependentAlignment(AlignmentModel):
    """`p(y_t | y_<t) = output(features_t)`."""

    reads_one_step = True

    def step(
        self,
        decoder: Decoder,
        symbols: Int[Tensor, "R"],
        embedded: Tensor,
        state: DecoderState,
        step_state: Any,
        predict: Predict,
    ) -> AlignmentStep:
        features, weights, state = decoder.step(embedded, state)
        return AlignmentStep(predict(features, lambda: weights), weights, state, step_state)

    def marginal(
        self, alpha: Float[Tensor, "B T S"], log_probs: Float[Tensor, "B T S"], real: Bool[Tensor, "B T"]
    ) -> Float[Tensor, "B"]:
        """With independent positions: `sum_t log sum_z alpha_t(z) p(y_t | z, y_<t)`."""
        return torch.logsumexp(alpha + log_probs, -1).where(real, 0.0).sum(1)


class ChainState(NamedTuple):
    """Log-probabilities of the positions that a step may have drawn, and of the symbols given each position."""

    places: Float[Tensor, "R S"]  # log p(z_t | y_<t)
    log_probs: Float[Tensor, "R S V"]  # log p(y_t | z_t, y_<t): as large as the output of S steps


@final
class ChainedAlignment(AlignmentModel):
    """Positions of hard attention that form a chain, marginalized by the forward algorithm (Wu and Cotterell 2019):

    `log p(y_t | y_<t) = log sum_z p(z_t = z | y_<t) p(y_t | z, y_<t)`

    Figures are expectations over z_t.
    """

    reads_one_step = False

    def __init__(self, chain: Chain) -> None:
        self.chain = chain  # the decoder's

    def step(
        self,
        decoder: Decoder,
        symbols: Int[Tensor, "R"],
        embedded: Tensor,
        state: DecoderState,
        step_state: Any,
        predict: Predict,
    ) -> AlignmentStep:
        assert isinstance(decoder, RnnDecoder)
        features, weights, after = decoder.step_by_position(embedded, state)
        mask, width = state.source_state.mask, weights.size(1)
        places = log_weights(weights, mask.repeat_interleave(len(weights) // len(mask), 0))
        if step_state:
            column = symbols.view(-1, 1, 1).expand(-1, width, 1)
            emitted = (
                step_state.log_probs.gather(2, column).squeeze(2).clamp(min=NEVER)
            )  # of a symbol that none can say, too
            before = step_state.places + emitted
            places = self.chain(torch.log_softmax(before, 1), places)
        drawn = predict(features.flatten(0, 1), lambda: _everywhere(weights))
        assert drawn.ids is None  # symbols are columns below
        log_probs_by_position = drawn.log_probs.view(*weights.shape, -1)
        log_probs = torch.logsumexp(places.unsqueeze(2) + log_probs_by_position, 1)
        chances = places.exp()
        statistics = {
            name: (chances * statistic.view_as(chances)).sum(1) for name, statistic in drawn.statistics.items()
        }
        return AlignmentStep(
            Distribution(log_probs, drawn.ids, statistics), chances, after, ChainState(places, log_probs_by_position)
        )

    def marginal(
        self, alpha: Float[Tensor, "B T S"], log_probs: Float[Tensor, "B T S"], real: Bool[Tensor, "B T"]
    ) -> Float[Tensor, "B"]:
        so_far = alpha[:, 0] + log_probs[:, 0]
        for now, emitted, here in zip(alpha[:, 1:].unbind(1), log_probs[:, 1:].unbind(1), real[:, 1:].t(), strict=True):
            so_far = torch.where(here.unsqueeze(1), self.chain(so_far, now) + emitted, so_far)
        return torch.logsumexp(so_far, -1)


def _everywhere(weights: Float[Tensor, "R S"]) -> Float[Tensor, "N S"]:
    """One-hot weights: for every row and position, all attention on that position."""
    rows, width = weights.shape
    return torch.eye(width, dtype=weights.dtype, device=weights.device).repeat(rows, 1)
