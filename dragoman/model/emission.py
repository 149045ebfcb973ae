"""From a step of the decoder to the probabilities of the next symbol."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, final

import torch
from torch import Tensor

from dragoman.model.attention.chain import Chain, log_weights
from dragoman.model.decoder.decoder import Decoder, State
from dragoman.model.decoder.rnn import RnnDecoder
from dragoman.model.output.output import Distribution
from dragoman.model.shapes import Bool, Float, Int


class Emitted(NamedTuple):
    """A step with the distribution of what follows, the weights of attention, and the states after it."""

    distribution: Distribution
    weights: Float[Tensor, "R S"]
    state: State  # the decoder's
    step_state: Any  # the emission's


# What an output makes of features and, if it asks for them, of the weights that led to these.
Predict = Callable[[Float[Tensor, "N F"], Callable[[], Float[Tensor, "N S"]]], Distribution]


class Emission(ABC):
    """`p(y_t | y_<t)` from what a decoder makes of `y_<t`; `step_state`, () at first, is carried from step to step."""

    direct: ClassVar[bool]  # from one step of the decoder and nothing else: then references are scored all at once

    @abstractmethod
    def step(
        self,
        decoder: Decoder,
        symbols: Int[Tensor, "R"],
        embedded: Tensor,
        state: State,
        step_state: Any,
        predict: Predict,
    ) -> Emitted:
        """One step of the decoder, which reads these symbols as `embedded`, and what `predict` makes of it."""

    @abstractmethod
    def marginal(
        self, alpha: Float[Tensor, "B T S"], log_probs: Float[Tensor, "B T S"], real: Bool[Tensor, "B T"]
    ) -> Float[Tensor, "B"]:
        """`log p(y | x)`, summed over the position that each step draws: from the log-probability of each position, and
        from that of the reference, had it been drawn.
        """


@final
class Direct(Emission):
    """`p(y_t | y_<t) = output(features_t)`."""

    direct = True

    def step(
        self,
        decoder: Decoder,
        symbols: Int[Tensor, "R"],
        embedded: Tensor,
        state: State,
        step_state: Any,
        predict: Predict,
    ) -> Emitted:
        features, weights, state = decoder.step(embedded, state)
        return Emitted(predict(features, lambda: weights), weights, state, step_state)

    def marginal(
        self, alpha: Float[Tensor, "B T S"], log_probs: Float[Tensor, "B T S"], real: Bool[Tensor, "B T"]
    ) -> Float[Tensor, "B"]:
        """The positions do not depend on each other: `sum_t log sum_z alpha_t(z) p(y_t | z, y_<t)`."""
        return torch.logsumexp(alpha + log_probs, -1).where(real, 0.0).sum(1)


class ChainState(NamedTuple):
    """Where a decoder may have looked, and what it would have said there."""

    places: Float[Tensor, "R S"]  # log p(z_t | y_<t)
    said: Float[Tensor, "R S V"]  # log p(y_t | z_t, y_<t): as much as the output of S steps


@final
class Chained(Emission):
    """Positions of hard attention that depend on each other, summed by the forward algorithm (Wu and Cotterell 2019):

    `log p(y_t | y_<t) = log sum_z p(z_t = z | y_<t) p(y_t | z, y_<t)`

    Figures are their mean over z_t.
    """

    direct = False

    def __init__(self, chain: Chain) -> None:
        self.chain = chain  # the decoder's

    def step(
        self,
        decoder: Decoder,
        symbols: Int[Tensor, "R"],
        embedded: Tensor,
        state: State,
        step_state: Any,
        predict: Predict,
    ) -> Emitted:
        assert isinstance(decoder, RnnDecoder)
        features, weights, after = decoder.step_by_position(embedded, state)
        mask, width = state.source_state.mask, weights.size(1)
        places = log_weights(weights, mask.repeat_interleave(len(weights) // len(mask), 0))
        if step_state:
            column = symbols.view(-1, 1, 1).expand(-1, width, 1)
            before = step_state.places + step_state.said.gather(2, column).squeeze(2)
            places = self.chain(torch.log_softmax(before, 1), places)
        drawn = predict(features.flatten(0, 1), lambda: _everywhere(weights))
        assert drawn.ids is None  # symbols are columns below
        said = drawn.log_probs.view(*weights.shape, -1)
        log_probs = torch.logsumexp(places.unsqueeze(2) + said, 1)
        chances = places.exp()
        figures = {name: (chances * each.view_as(chances)).sum(1) for name, each in drawn.figures.items()}
        return Emitted(Distribution(log_probs, drawn.ids, figures), chances, after, ChainState(places, said))

    def marginal(
        self, alpha: Float[Tensor, "B T S"], log_probs: Float[Tensor, "B T S"], real: Bool[Tensor, "B T"]
    ) -> Float[Tensor, "B"]:
        so_far = alpha[:, 0] + log_probs[:, 0]
        for now, said, here in zip(alpha[:, 1:].unbind(1), log_probs[:, 1:].unbind(1), real[:, 1:].t(), strict=True):
            so_far = torch.where(here.unsqueeze(1), self.chain(so_far, now) + said, so_far)
        return torch.logsumexp(so_far, -1)


def _everywhere(weights: Float[Tensor, "R S"]) -> Float[Tensor, "N S"]:
    """For every row and position, all of the attention on that position."""
    rows, width = weights.shape
    return torch.eye(width, dtype=weights.dtype, device=weights.device).repeat(rows, 1)
