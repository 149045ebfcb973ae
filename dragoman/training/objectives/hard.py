"""Objectives of hard attention, which reads one position per step: z_t."""

from collections.abc import Iterator
from typing import Annotated, Literal, final

import torch
from pydantic import Field
from torch import Tensor

from dragoman.configuration.config import Config
from dragoman.configuration.values import Rate
from dragoman.data.batch import Batch
from dragoman.model.attention.chain import log_weights
from dragoman.model.attention.normalizers import NORMALIZERS
from dragoman.model.attention.windows import WINDOWS
from dragoman.model.decoder.table import DECODERS
from dragoman.model.output.output import Loss
from dragoman.model.seq2seq import Seq2Seq
from dragoman.training.objectives import lattice as lattices
from dragoman.training.objectives.lattice import build_lattice
from dragoman.training.objectives.objective import Objective, ObjectiveContext, check_learnable, check_no_hard_term


def _problems(kind: str, config: Config) -> Iterator[str]:
    model = config.model
    yield from check_no_hard_term(config)
    yield from check_learnable(config)
    if not NORMALIZERS[model.attention.normalizer.kind].is_hard:
        yield f"{kind} requires model.attention.normalizer: hard"
    window = model.attention.window.kind
    if not WINDOWS[window].normalized:
        yield f"{kind} requires attention weights that sum to 1, unlike model.attention.window: {window}"


@final
class Marginal(Objective):
    """The exact likelihood of hard attention: the sum over all positions (Wu et al. 2018).

    With `order: 0` of the normalizer, where draws are independent:

        - sum_t log sum_z alpha_t(z) p(y_t | z, y_<t, x)

    with `order: 1`, by the forward algorithm (Wu and Cotterell 2019):

        - log sum_z prod_t p(z_t | z_(t-1)) p(y_t | z_t, y_<t, x),  p(z_1) = alpha_1

    Requires a decoder whose state does not depend on draws: `attend: after` with `input_feeding: none`.
    """

    @classmethod
    def problems(cls, config: Config) -> Iterator[str]:
        yield from _problems("marginal", config)
        yield from lattices.problems("marginal", config)

    def forward(self, model: Seq2Seq, batch: Batch) -> Loss:
        forms, real = build_lattice(model, batch), batch.target.mask
        alpha = log_weights(forms.weights, batch.sources[0].mask.unsqueeze(1))
        return Loss(-model.alignment_model.marginal(alpha, forms.log_probs, real).sum(), int(real.sum()))


@final
class Reinforce(Objective):
    """Hard attention by sampling (Xu et al. 2015; Williams 1992): each step draws a z_t, and the gradient is that of

        - sum_t log p(y_t | y_<t, z_<=t, x) - sum_t (R_t - b_t) log alpha_t(z_t) - entropy sum_t H(alpha_t)

    with R_t and b_t as constants. Without the entropy term, its expectation is the gradient of the expected first sum,
    which is also the loss reported.

    `reward` selects the symbols whose log p R_t sums: the `rest`, y_t and all after it; or the `step`, y_t alone, which
    has less variance and suffices if no state depends on a draw (`attend: after` with `input_feeding: none`; otherwise
    it is biased). b_t is the running mean of log p times the number of these symbols; a training step keeps the share
    `decay` of that mean.
    """

    draws = True

    def __init__(
        self,
        context: ObjectiveContext,
        *,
        reward: Literal["rest", "step"] = "rest",
        entropy: Annotated[float, Field(ge=0)] = 0.01,
        decay: Rate = 0.9,
    ) -> None:
        super().__init__(context)
        self.reward = reward
        self.entropy = entropy
        self.decay = decay
        self.mean: Tensor
        self.register_buffer("mean", torch.zeros(()))
        self.tally: Tensor
        self.register_buffer("tally", torch.zeros(2), persistent=False)  # sums of log p and of symbols

    @classmethod
    def problems(cls, config: Config) -> Iterator[str]:
        yield from _problems("reinforce", config)
        if config.model.attention.normalizer.options.get("order"):
            yield "reinforce samples positions independently; with normalizer order: 1 use marginal"
        if not DECODERS[config.model.decoder.kind].reports_drawn:
            yield "reinforce requires model.decoder: rnn"

    def forward(self, model: Seq2Seq, batch: Batch) -> Loss:
        state, real, symbols = model.begin(batch.sources), batch.target.mask, batch.target.labels
        unrolled = model.unroll(state, batch.target.ids)
        readout = model.readouts(unrolled, batch, state)
        loss = model.output.loss(readout, symbols[real])
        with torch.no_grad():
            log_probs = model.output.score_targets(readout, symbols[real]).log_probs
            self.tally.add_(torch.stack([log_probs.sum(), log_probs.new_full((), len(log_probs))]))
            # R_t - b_t for one symbol; summed from the end, each has those of all that follow.
            reward = torch.zeros_like(real, dtype=log_probs.dtype).masked_scatter(real, log_probs - self.mean)
            if self.reward == "rest":
                reward = reward.flip(1).cumsum(1).flip(1)
        assert unrolled.drawn is not None
        # A weight of 0 contributes 0 to the entropy; its logarithm would make that NaN.
        log_alpha = unrolled.weights.clamp(min=torch.finfo(unrolled.weights.dtype).tiny).log()
        chosen = log_alpha.gather(2, unrolled.drawn.unsqueeze(2)).squeeze(2)
        entropy = -(unrolled.weights * log_alpha).sum(2)
        drawn = -(reward * chosen + self.entropy * entropy)[real].sum()
        # Adds the gradient of `drawn`, and not its value, which has no meaning as a loss.
        return loss._replace(total=loss.total + drawn - drawn.detach())

    def batch_statistics(self) -> tuple[Tensor, ...]:
        return (self.tally,)

    def after_step(self, updated: bool) -> None:
        if updated:
            self.mean.lerp_(self.tally[0] / self.tally[1], 1 - self.decay)
        self.tally.zero_()
