"""Several models used as one."""

from collections.abc import Callable, Iterator, Mapping
from collections.abc import Sequence as List
from dataclasses import dataclass
from itertools import islice
from typing import Any, final

import torch
from torch import Tensor

from dragoman.data.batch import Features, SourceBatch
from dragoman.model.predictor import Continuations, Prediction, Predictor
from dragoman.model.shapes import Bool, Float, Int
from dragoman.model.state import select


@dataclass(frozen=True, eq=False)
class Members:
    """The state of each model, and the rows in which it has a vote."""

    states: tuple[Any, ...]
    votes: Bool[Tensor, "R M"]


@final
class Ensemble(Predictor[Members]):
    """`P(y | x) = 1/M sum_m P_m(y | x^(m))`: the mean of the models' predictions, where each model reads sources of its
    own (Junczys-Dowmunt and Grundkiewicz 2016, LH section 5). All share the target symbols and the start symbol.

    The first model reads the first `reads[0]` of the given sources, the second the next `reads[1]`, and so on. A model
    has no vote on a sentence that has none of its sources, if another model has some. The attention to each source is
    that of its model, divided by the number of votes; the attention to sentinels is summed.
    """

    def __init__(self, models: List[Predictor[Any]], reads: List[int]) -> None:
        if len({model.start_id for model in models}) > 1:
            raise ValueError("the models begin with different symbols (model.start_symbol)")
        self.start_id = models[0].start_id
        self.models = models
        self._reads = reads

    def mapped(self, function: Callable[[Predictor[Any]], Predictor[Any]]) -> "Ensemble":
        """The ensemble of `function(model)` for each model."""
        return Ensemble([function(model) for model in self.models], self._reads)

    def _each(self, sources: tuple[SourceBatch, ...]) -> Iterator[tuple[SourceBatch, ...]]:
        """The sources of each model."""
        rest = iter(sources)
        for count in self._reads:
            yield tuple(islice(rest, count))

    def begin(self, sources: tuple[SourceBatch, ...]) -> Members:
        each = list(self._each(sources))
        there = torch.stack([torch.stack([_there(source) for source in read]).any(0) for read in each], 1)
        states = tuple(model.begin(read) for model, read in zip(self.models, each, strict=True))
        return Members(states, there | ~there.any(1, keepdim=True))

    def predict(self, symbols: Int[Tensor, "R"], state: Members) -> Prediction[Members]:
        steps = [model.predict(symbols, each) for model, each in zip(self.models, state.states, strict=True)]
        ids = _all_symbols(steps)
        log_probs = [step.log_probs if ids is None else step.over(ids) for step in steps]
        shares = state.votes / state.votes.sum(1, keepdim=True)
        return Prediction(
            self._mean(log_probs, state.votes),
            self._together([step.attention for step in steps], shares),
            Members(tuple(step.state for step in steps), state.votes),
            ids,
            _figures([step.figures for step in steps], shares),
        )

    def reorder(self, state: Members, rows: Int[Tensor, "R"], sentences: Int[Tensor, "B"] | None = None) -> Members:
        every = zip(self.models, state.states, strict=True)
        states = tuple(model.reorder(each, rows, sentences) for model, each in every)
        return Members(states, select(state.votes, rows))

    def expand(self, candidates: Continuations, step: Prediction[Members]) -> Continuations:
        """By each model in turn, so that the first one that spells a candidate decides how."""
        for model, state in zip(self.models, step.state.states, strict=True):
            candidates = model.expand(candidates, step.followed_by(state))
        return candidates

    def _mean(self, log_probs: list[Float[Tensor, "R V"]], votes: Bool[Tensor, "R M"]) -> Float[Tensor, "R V"]:
        exact = torch.stack([each.to(torch.promote_types(each.dtype, torch.float32)) for each in log_probs], 1)
        said = exact.masked_fill(~votes.unsqueeze(2), float("-inf"))
        return said.logsumexp(1) - votes.sum(1, keepdim=True).to(exact.dtype).log()

    def _together(self, attention: list[tuple[Tensor, ...]], shares: Float[Tensor, "R M"]) -> tuple[Tensor, ...]:
        """The weights on all sources, and on all sentinels if there are any."""
        every = zip(attention, torch.split(shares, 1, 1), strict=True)
        parts = [tuple(each * share.to(each.dtype) for each in weights) for weights, share in every]
        sources = [each for weights, count in zip(parts, self._reads, strict=True) for each in weights[:count]]
        sentinels = [each for weights, count in zip(parts, self._reads, strict=True) for each in weights[count:]]
        return (*sources, torch.stack(sentinels).sum(0)) if sentinels else tuple(sources)


def _all_symbols(steps: List[Prediction[Any]]) -> Int[Tensor, "C"] | None:
    """The ids that any of these predicts; None if all have a column for every symbol of the vocabulary."""
    if all(step.ids is None for step in steps) and len({step.log_probs.size(1) for step in steps}) == 1:
        return None
    found: Tensor = torch.unique(torch.cat([step.symbols for step in steps]))
    return found


def _figures(every: List[Mapping[str, Tensor]], shares: Float[Tensor, "R M"]) -> dict[str, Tensor]:
    """The mean of each figure over the models that report it."""
    found = dict[str, Tensor]()
    for name in dict.fromkeys(name for figures in every for name in figures):
        known = [number for number, figures in enumerate(every) if name in figures]
        votes = shares[:, known]
        sums = sum(each[name] * votes[:, place] for place, each in enumerate(every[number] for number in known))
        found[name] = sums / votes.sum(1).clamp(min=torch.finfo(votes.dtype).tiny)
    return found


def _there(source: SourceBatch) -> Bool[Tensor, "B"]:
    """Which sentences have this source. A missing one is empty, a lone end symbol, or all zeros."""
    return source.values.flatten(1).any(1) if isinstance(source, Features) else source.mask.sum(1) > 1
