"""Segment to segment: the sum over all sequences of reads and writes."""

from collections.abc import Iterator
from typing import final

import torch
from torch import Tensor
from torch.nn import functional

from dragoman.configuration.components import Spec
from dragoman.configuration.config import AttentionConfig, Config
from dragoman.data.batch import Batch
from dragoman.model.attention.attention import GlobalAttention
from dragoman.model.attention.chain import NEVER
from dragoman.model.attention.terms.table import TERMS
from dragoman.model.attention.terms.wait_terms import ShiftTerm
from dragoman.model.decoder.rnn_decoder import RnnDecoder
from dragoman.model.output.output import Loss
from dragoman.model.seq2seq import Seq2Seq
from dragoman.model.shapes import Bool, Float
from dragoman.training.objectives import lattice as lattices
from dragoman.training.objectives.lattice import build_lattice
from dragoman.training.objectives.objective import Objective


@final
class Segment(Objective):
    """`-log P(y | x) = -log sum_a prod_t p(a_t | a_(t-1), s_t) p(y_t | h_(a_t), s_t)` over all `a_1 <= ... <= a_T`
    (Yu, Buys and Blunsom 2016).

    `p(a_t = i | a_(t-1) = j) = sigmoid(e_ti) prod_(i'=j..i-1) (1 - sigmoid(e_ti'))`, with the energies of the term
    `shift`; at the last position of the source, the probability of writing is 1. The sum is exact, by the forward
    algorithm. There is no label smoothing.
    """

    @classmethod
    def problems(cls, config: Config) -> Iterator[str]:
        attention = config.model.attention
        if not any(TERMS[term.kind].is_hard for term in attention.terms) or not attention.attends:
            yield "segment requires model.attention.terms: shift"
        elif attention != AttentionConfig(score=Spec("uniform"), terms=attention.terms[:1]):
            yield (
                "segment attends only to the position chosen by shift; "
                "use model.attention: {score: uniform, terms: shift}"
            )
        yield from lattices.problems("segment", config)

    def forward(self, model: Seq2Seq, batch: Batch) -> Loss:
        paths, mask, real = build_lattice(model, batch), batch.sources[0].mask, batch.target.mask
        shift, place = shift_of(paths.decoder)
        prepared = paths.state.source_state.prepared_terms[place]
        energies = shift.energies(paths.queries, prepared).to(paths.log_probs.dtype)
        return Loss(-log_likelihood(energies, paths.log_probs, mask, real).sum(), int(real.sum()))


def shift_of(decoder: RnnDecoder) -> tuple[ShiftTerm, int]:
    """Return the term that decides, and its place among the terms."""
    assert isinstance(decoder.attention.attention, GlobalAttention)
    return next(
        (term, place) for place, term in enumerate(decoder.attention.attention.terms) if isinstance(term, ShiftTerm)
    )


def log_likelihood(
    energies: Float[Tensor, "B T S"],
    words: Float[Tensor, "B T S"],
    mask: Bool[Tensor, "B S"],
    real: Bool[Tensor, "B T"],
) -> Float[Tensor, "B"]:
    """Return `log P(y | x)` from the log-odds of writing and `log p(y_t | h_i, s_t)`, for each t and i."""
    # At the last position nothing is left to read: writing has probability 1 there, reading log 1 = 0 in sums.
    last = mask & (mask.cumsum(1) == mask.sum(1, keepdim=True))
    write = functional.logsigmoid(energies).masked_fill(last.unsqueeze(1), 0.0).masked_fill(~mask.unsqueeze(1), NEVER)
    read = functional.logsigmoid(-energies).masked_fill((last | ~mask).unsqueeze(1), 0.0)
    to = read.cumsum(2) - read  # log-probability of reading from the first position up to each
    forward = functional.pad(torch.zeros_like(to[:, 0, :1]), (0, to.size(2) - 1), value=NEVER)
    for t in range(to.size(1)):
        # All ways to position i from j <= i in one cumulated sum: to(i) - to(j) is the sum of reads between them.
        reached = to[:, t] + torch.logcumsumexp(forward - to[:, t], 1)
        forward = torch.where(real[:, t, None], reached + write[:, t] + words[:, t], forward)
    return torch.logsumexp(forward, 1)
