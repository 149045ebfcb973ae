"""Several models used as one."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, final

import torch
from torch import Tensor

from dragoman.data.batch import FeatureBatch, SourceBatch
from dragoman.model.predictor import Continuations, Prediction, Predictor
from dragoman.model.shapes import Bool, Float, Int
from dragoman.model.state import select_rows


@dataclass(frozen=True, eq=False)
class EnsembleState:
    """The state of each model, and the rows in which it has a vote."""

    states: tuple[Any, ...]
    votes: Bool[Tensor, "R M"]


@final
class Ensemble(Predictor[EnsembleState]):
    """`P(y | x) = 1/M sum_m P_m(y | x^(m))`: the mean of the models' predictions, where each model reads sources of its
    own (Junczys-Dowmunt and Grundkiewicz 2016, LH section 5). All share the target symbols and the start symbol.

    The first model reads the first `reads[0]` of the given sources, the second the next `reads[1]`, and so on. A model
    has no vote on a sentence that has none of its sources, if another model has some. The attention to each source is
    that of its model, divided by the number of votes; the attention to sentinels is summed.
    """

    def __init__(self, models: Sequence[Predictor[Any]], reads: Sequence[int]) -> None:
        if len({model.start_id for model in models}) > 1:
            raise ValueError("the models have different start symbols (model.start_symbol)")
        self.start_id = models[0].start_id
        self.models = models
        self._reads = reads

    def mapped(self, function: Callable[[Predictor[Any]], Predictor[Any]]) -> "Ensemble":
        """Return the ensemble of `function(model)` for each model."""
        return Ensemble([function(model) for model in self.models], self._reads)

    def _split_sources(self, sources: tuple[SourceBatch, ...]) -> Iterator[tuple[SourceBatch, ...]]:
        """Yield the sources of each model."""
        rest = iter(sources)
        for count in self._reads:
            yield tuple(islice(rest, count))

    def begin(self, sources: tuple[SourceBatch, ...]) -> EnsembleState:
        model_sources = list(self._split_sources(sources))
        there = torch.stack([torch.stack([_there(source) for source in read]).any(0) for read in model_sources], 1)
        states = tuple(model.begin(read) for model, read in zip(self.models, model_sources, strict=True))
        return EnsembleState(states, there | ~there.any(1, keepdim=True))  # without any source, all vote

    def predict(self, symbols: Int[Tensor, "R"], state: EnsembleState) -> Prediction[EnsembleState]:
        steps = [
            model.predict(symbols, model_state) for model, model_state in zip(self.models, state.states, strict=True)
        ]
        # Members with shortlists have columns of their own; before probabilities are added, all get the same.
        ids = _all_symbols(steps)
        log_probs = [step.log_probs if ids is None else step.over(ids) for step in steps]
        shares = state.votes / state.votes.sum(1, keepdim=True)
        return Prediction(
            self._mean(log_probs, state.votes),
            self._together([step.attention for step in steps], shares),
            EnsembleState(tuple(step.state for step in steps), state.votes),
            ids,
            _statistics([step.statistics for step in steps], shares),
        )

    def reorder(
        self, state: EnsembleState, rows: Int[Tensor, "R"], sentences: Int[Tensor, "B"] | None = None
    ) -> EnsembleState:
        model_states = zip(self.models, state.states, strict=True)
        states = tuple(model.reorder(model_state, rows, sentences) for model, model_state in model_states)
        return EnsembleState(states, select_rows(state.votes, rows))

    def replace_candidates(self, candidates: Continuations, step: Prediction[EnsembleState]) -> Continuations:
        """Expand by each model in turn, so that the first one that spells a candidate decides how."""
        for model, state in zip(self.models, step.state.states, strict=True):
            candidates = model.replace_candidates(candidates, step.followed_by(state))
        return candidates

    def _mean(self, log_probs: list[Float[Tensor, "R V"]], votes: Bool[Tensor, "R M"]) -> Float[Tensor, "R V"]:
        # At least float32: in bfloat16, a sum of probabilities has eight bits.
        exact = torch.stack(
            [
                model_log_probs.to(torch.promote_types(model_log_probs.dtype, torch.float32))
                for model_log_probs in log_probs
            ],
            1,
        )
        voting = exact.masked_fill(~votes.unsqueeze(2), float("-inf"))  # (R, M, V)
        # log (1/M sum_m P_m), over the M models that have a vote
        return voting.logsumexp(1) - votes.sum(1, keepdim=True).to(exact.dtype).log()

    def _together(self, attention: list[tuple[Tensor, ...]], shares: Float[Tensor, "R M"]) -> tuple[Tensor, ...]:
        """Return the weights on all sources, and on all sentinels if there are any."""
        model_weights = zip(attention, torch.split(shares, 1, 1), strict=True)
        parts = [tuple(weight * share.to(weight.dtype) for weight in weights) for weights, share in model_weights]
        # Each model gives the weights of its sources in their order, and then that of its sentinel, if it has one.
        sources = [weight for weights, count in zip(parts, self._reads, strict=True) for weight in weights[:count]]
        sentinels = [weight for weights, count in zip(parts, self._reads, strict=True) for weight in weights[count:]]
        return (*sources, torch.stack(sentinels).sum(0)) if sentinels else tuple(sources)


def _all_symbols(steps: Sequence[Prediction[Any]]) -> Int[Tensor, "C"] | None:
    """Return the ids that any of these predicts; None if all have a column for every symbol of the vocabulary."""
    if all(step.ids is None for step in steps) and len({step.log_probs.size(1) for step in steps}) == 1:
        return None
    symbols: Tensor = torch.unique(torch.cat([step.symbols for step in steps]))
    return symbols


def _statistics(all_statistics: Sequence[Mapping[str, Tensor]], shares: Float[Tensor, "R M"]) -> dict[str, Tensor]:
    """Return the mean of each statistic over the models that report it."""
    means: dict[str, Tensor] = {}
    for name in dict.fromkeys(name for statistics in all_statistics for name in statistics):
        reporting = [number for number, statistics in enumerate(all_statistics) if name in statistics]
        votes = shares[:, reporting]
        sums = sum(
            statistics[name] * votes[:, place]
            for place, statistics in enumerate(all_statistics[number] for number in reporting)
        )
        # Where none of these models has a vote, 0 / 0 becomes 0.
        means[name] = sums / votes.sum(1).clamp(min=torch.finfo(votes.dtype).tiny)
    return means


def _there(source: SourceBatch) -> Bool[Tensor, "B"]:
    """Return which sentences have this source. A missing one is empty, a lone end symbol, or all zeros."""
    return source.values.flatten(1).any(1) if isinstance(source, FeatureBatch) else source.mask.sum(1) > 1
