"""Sampling: translations drawn from the model's distribution, whole or without its improbable part."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from math import log
from typing import Annotated, NamedTuple, final

import torch
from pydantic import Field
from torch import Tensor

from dragoman.configuration.values import Count, Rate
from dragoman.data.batch import SourceBatch
from dragoman.data.vocabulary import EOS
from dragoman.model.predictor import Candidate
from dragoman.model.shapes import Bool, Float, Int
from dragoman.search.hypothesis import FinishedHypothesis, HypothesisNode
from dragoman.search.limits import LengthLimit, Margin, Ratio
from dragoman.search.search import Search
from dragoman.search.strategy import Proposals, SearchStep, SentenceBeam, Strategy

MOST = 1000  # samples of a sentence

Temperature = Annotated[float, Field(ge=0, le=100)]
Share = Annotated[float, Field(gt=0, le=1)]
Seed = Annotated[int, Field(ge=0, le=2**32 - 1)]


@final
class Sample(Search):
    """Ancestral sampling: `x_t ~ P(x | x_1 .. x_(t-1))` until the end symbol (CN 4, AN).

    `temperature` T makes that `p ∝ exp(logit / T)` (AN): below 1 what is probable is drawn more often, and 0 is greedy
    search. The other options leave out improbable symbols, in this order, each of what the ones before have left:
    `top_k` keeps the k most probable (Fan et al. 2018); `epsilon` those with a probability of at least epsilon (Hewitt
    et al. 2022); `top_p` the fewest of the most probable ones that sum to p (Holtzman et al. 2020); `typical` the
    fewest that sum to p of those whose surprisal -log p is nearest to the entropy (Meister et al. 2023).

    `n_best` is the number of samples. They are independent of each other, so that several can be the same, and sorted
    by probability. Log-probabilities and scores are those of the model, not of what is drawn from, but a score counts
    what favored terms add. What is drawn for a sentence depends on its sources, on `n_best` and on `seed`, and on
    nothing else in its batch. A word that the model spells is drawn as `<unk>`, and spelled in the most probable way.
    """

    draws = True
    width = MOST

    def __init__(
        self,
        *,
        temperature: Temperature = 1.0,
        top_k: Count | None = None,
        epsilon: Rate = 0.0,
        top_p: Share = 1.0,
        typical: Share = 1.0,
        seed: Seed = 0,
        length_ratio: Ratio = 2.0,
        length_margin: Margin = 10,
        min_length_ratio: Ratio = 0.0,
        min_length_margin: Margin = 0,
    ) -> None:
        self.distribution = SamplingDistribution(temperature, top_k, epsilon, top_p, typical)
        self.seed = seed
        self.limit = LengthLimit(length_ratio, length_margin, min_length_ratio, min_length_margin)

    def rows(self, n_best: int) -> int:
        return n_best

    def strategy(self, sources: tuple[SourceBatch, ...], n_best: int, spare: int) -> Strategy:
        return SamplingStrategy(n_best, self.distribution)


class SamplingDistribution(NamedTuple):
    """What symbols are drawn from, given log P of the model; the options are those of `Sample`."""

    temperature: float = 1.0
    top_k: int | None = None
    epsilon: float = 0.0
    top_p: float = 1.0
    typical: float = 1.0

    def __call__(self, log_probs: Float[Tensor, "B W C"]) -> Float[Tensor, "B W C"]:
        """Return its log-probabilities, in double precision."""
        # In float32, a cumulated sum over a vocabulary would swallow the improbable symbols at its end.
        exact = log_probs.double()
        best, columns = exact.max(-1, keepdim=True)
        if self.temperature == 0:  # the limit of what follows, which would divide by 0
            return torch.full_like(exact, float("-inf")).scatter(-1, columns, 0.0)
        scaled = ((exact - best) / self.temperature).log_softmax(-1)  # a forced end may have the least of all numbers
        for kept in self._truncations():
            scaled = scaled.masked_fill(~kept(scaled), float("-inf")).log_softmax(-1)
        return scaled

    def _truncations(self) -> "Iterable[partial[Bool[Tensor, 'B W C']]]":
        if self.top_k is not None:
            yield partial(top_k_mask, self.top_k)
        if self.epsilon > 0:
            yield partial(epsilon_mask, self.epsilon)
        if self.top_p < 1:
            yield partial(nucleus_mask, self.top_p)
        if self.typical < 1:
            yield partial(typical_mask, self.typical)


def top_k_mask(count: int, log_probs: Float[Tensor, "*rows C"]) -> Bool[Tensor, "*rows C"]:
    """Return the `count` most probable symbols, and others as probable as the last of these."""
    return log_probs >= log_probs.topk(min(count, log_probs.size(-1)), -1).values[..., -1:]


def epsilon_mask(epsilon: float, log_probs: Float[Tensor, "*rows C"]) -> Bool[Tensor, "*rows C"]:
    """Return the symbols with a probability of at least `epsilon`; the most probable ones if there are none."""
    return log_probs >= log_probs.amax(-1, keepdim=True).clamp(max=log(epsilon))


def nucleus_mask(share: float, log_probs: Float[Tensor, "*rows C"]) -> Bool[Tensor, "*rows C"]:
    """Return the fewest of the most probable symbols whose probabilities sum to `share`."""
    return _summing_to(share, log_probs, log_probs.argsort(dim=-1, descending=True, stable=True))


def typical_mask(share: float, log_probs: Float[Tensor, "*rows C"]) -> Bool[Tensor, "*rows C"]:
    """Return the fewest symbols that sum to `share`, those first whose -log p is nearest to the entropy."""
    # entr(0) is 0, where p log p would be NaN: others may be masked already.
    entropy = torch.special.entr(log_probs.exp()).sum(-1, keepdim=True)
    return _summing_to(share, log_probs, (-log_probs - entropy).abs().argsort(dim=-1, stable=True))


def _summing_to(
    share: float, log_probs: Float[Tensor, "*rows C"], order: Int[Tensor, "*rows C"]
) -> Bool[Tensor, "*rows C"]:
    """Return the first symbols in this order whose probabilities sum to `share`."""
    ranked = log_probs.exp().gather(-1, order)
    before = ranked.cumsum(-1) - ranked  # without itself: the symbol that reaches the share is kept
    return torch.zeros_like(order, dtype=torch.bool).scatter(-1, order, before < share)


@final
@dataclass(frozen=True)
class SamplingStrategy(Strategy):
    """Several hypotheses of a sentence that know nothing of each other, each continued by one symbol that is drawn."""

    count: int
    distribution: SamplingDistribution
    beam_width = 1

    def begin(self, start: HypothesisNode) -> list[HypothesisNode]:
        return [start] * self.count

    def propose(self, log_probs: Float[Tensor, "B W C"], sentences: Sequence[SentenceBeam]) -> Proposals:
        """Return one symbol for each row, by the inverse of the cumulated probabilities: symbols with probability 0, of
        which other sentences of the batch may add some, do not change what is drawn.
        """
        sums = self.distribution(log_probs).exp().cumsum(2)  # (B, W, C)
        total = sums[:, :, -1:]
        uniform = torch.stack([_uniform(sentence, log_probs.size(1)) for sentence in sentences])  # (B, W)
        # right=True: a symbol with probability 0 has the sum of the one before it, and is passed over.
        columns = torch.searchsorted(sums, uniform.unsqueeze(2) * total, right=True)
        columns = torch.minimum(columns, (sums < total).sum(2, keepdim=True)).squeeze(2)  # the product may be rounded
        rows = torch.arange(columns.size(1), device=columns.device).expand_as(columns)
        return Proposals(columns, log_probs.gather(2, columns.unsqueeze(2)).squeeze(2), rows)

    def keep(self, sentence: SentenceBeam, candidates: Iterable[Candidate], step: SearchStep) -> None:
        drawn: dict[int, Candidate] = {}
        for candidate in candidates:
            if candidate.total > float("-inf"):
                drawn.setdefault(candidate.row, candidate)  # the first is the best spelling
        sentence.beam = []
        for row, candidate in sorted(drawn.items()):
            node = step.first + row
            if candidate.symbol == EOS:
                sentence.finished.append(FinishedHypothesis(node, candidate.log_prob, candidate.total))
            else:
                sentence.beam.append(
                    HypothesisNode(node, candidate.symbol, candidate.log_prob, candidate.total, candidate.surface)
                )
        sentence.finished.sort(key=lambda end: -end.score)

    def done(self, sentence: SentenceBeam, last_step: int) -> bool:
        return not sentence.beam


def _uniform(sentence: SentenceBeam, rows: int) -> Float[Tensor, "W"]:
    """Return a random number for each hypothesis that is open; 0 for the rows after them, which other
    sentences need.
    """
    assert sentence.random is not None
    opened = sum(node.total > float("-inf") for node in sentence.beam)
    drawn = torch.rand(opened, generator=sentence.random, dtype=torch.double, device=sentence.random.device)
    return torch.nn.functional.pad(drawn, (0, rows - opened))
