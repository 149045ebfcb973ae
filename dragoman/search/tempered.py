"""Probabilities at another temperature, beside those of the search."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, final

import torch

from dragoman.data.batch import SourceBatch
from dragoman.model.predictor import Continuations, Prediction, Predictor
from dragoman.model.shapes import Float, Int

LOG_PARTITION = "log_partition"  # the statistic that a search keeps of each step: log sum_y P(y)^(1/T)
LEAST = -1000.0  # nats; exp of less is 0 anyway


@final
class TemperaturePredictor(Predictor[Any]):
    """A model that predicts what it always does, and reports of each step `log sum_y P(y)^(1/T)`: all that is needed to
    know the probability of its symbol at temperature T, `P(y)^(1/T) / sum_y' P(y')^(1/T)`, softmax(logits / T).
    """

    def __init__(self, model: Predictor[Any], temperature: float) -> None:
        self.start_id = model.start_id
        self._model = model
        self._temperature = temperature

    def begin(self, sources: tuple[SourceBatch, ...]) -> Any:
        return self._model.begin(sources)

    def predict(self, symbols: Int[torch.Tensor, "R"], state: Any) -> Prediction[Any]:
        step = self._model.predict(symbols, state)
        return replace(
            step, statistics={**step.statistics, LOG_PARTITION: log_partition(step.log_probs, 1 / self._temperature)}
        )

    def reorder(self, state: Any, rows: Int[torch.Tensor, "R"], sentences: Int[torch.Tensor, "B"] | None = None) -> Any:
        return self._model.reorder(state, rows, sentences)

    def replace_candidates(self, candidates: Continuations, step: Prediction[Any]) -> Continuations:
        return self._model.replace_candidates(candidates, step)


def log_partition(log_probs: Float[torch.Tensor, "R C"], sharpness: float) -> Float[torch.Tensor, "R"]:
    """Return `log sum_y P(y)^sharpness` of each row, in float32 or better."""
    exact = log_probs.to(torch.promote_types(log_probs.dtype, torch.float32))
    return torch.logsumexp(exact * sharpness, 1)


def scale_log_probs(log_probs: Iterable[float], log_partitions: Iterable[float], temperature: float) -> list[float]:
    """Return log P of symbols at this temperature, in nats, at least LEAST, from their log P and what
    `TemperaturePredictor` reports.
    """
    pairs = zip(log_probs, log_partitions, strict=True)
    return [max(LEAST, min(0.0, log_prob / temperature - log_z)) for log_prob, log_z in pairs]
