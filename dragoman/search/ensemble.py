"""Several models behaving as one."""

from collections.abc import Iterator
from collections.abc import Sequence as List
from dataclasses import dataclass
from itertools import islice
from math import log
from typing import Any, final

import torch
from torch import Tensor

from dragoman.data.batch import Batch, SourceBatch
from dragoman.model.seq2seq import Prediction, ScoredBatch, by_steps
from dragoman.model.shapes import Float, Int
from dragoman.search.search import Predictor


@dataclass(frozen=True, eq=False)
class Members:
    """The state of each model."""

    states: tuple[Any, ...]


@final
class Ensemble:
    """`P(y | x) = 1/M sum_m P_m(y | x^(m))`: the mean of what models predict, each of which reads sources of its own
    (Junczys-Dowmunt and Grundkiewicz 2016, LH section 5). All write the same symbols and begin with the same one.

    The first model reads the first `reads[0]` of the sources that are given, the second the next `reads[1]` of them,
    and so on. The attention on each source is an M-th of what its model looked at; that of sentinels is added up.
    """

    def __init__(self, models: List[Predictor[Any]], reads: List[int]) -> None:
        if len({model.start_id for model in models}) > 1:
            raise ValueError("the models begin with different symbols (model.start_symbol)")
        self.start_id = models[0].start_id
        self._models = models
        self._reads = reads

    def _each(self, sources: tuple[SourceBatch, ...]) -> Iterator[tuple[SourceBatch, ...]]:
        """The sources of each model."""
        rest = iter(sources)
        for count in self._reads:
            yield tuple(islice(rest, count))

    def begin(self, sources: tuple[SourceBatch, ...]) -> Members:
        every = zip(self._models, self._each(sources), strict=True)
        return Members(tuple(model.begin(read) for model, read in every))

    def predict(self, symbols: Int[Tensor, "R"], state: Members) -> Prediction[Members]:
        steps = [model.predict(symbols, each) for model, each in zip(self._models, state.states, strict=True)]
        log_probs = self._mean([step.log_probs for step in steps])
        attention = self._together([step.attention for step in steps])
        return Prediction(log_probs, attention, Members(tuple(step.state for step in steps)))

    def reorder(self, state: Members, rows: Int[Tensor, "R"], sentences: Int[Tensor, "B"] | None = None) -> Members:
        every = zip(self._models, state.states, strict=True)
        return Members(tuple(model.reorder(each, rows, sentences) for model, each in every))

    def score(self, batch: Batch) -> ScoredBatch:
        """Given pairs, step by step: what the models would say together first is not known from each alone."""
        return by_steps(self, batch)

    def _mean(self, log_probs: list[Float[Tensor, "R V"]]) -> Float[Tensor, "R V"]:
        exact = torch.stack([each.to(torch.promote_types(each.dtype, torch.float32)) for each in log_probs])
        mean: Tensor = exact.logsumexp(0) - log(len(log_probs))
        return mean

    def _together(self, attention: list[tuple[Tensor, ...]]) -> tuple[Tensor, ...]:
        """The weights on all sources, and on all sentinels if there are any."""
        parts = [tuple(each / len(attention) for each in weights) for weights in attention]
        sources = [each for weights, count in zip(parts, self._reads, strict=True) for each in weights[:count]]
        sentinels = [each for weights, count in zip(parts, self._reads, strict=True) for each in weights[count:]]
        return (*sources, torch.stack(sentinels).sum(0)) if sentinels else tuple(sources)
