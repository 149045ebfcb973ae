"""The confidence of a calibrated run in the symbols of its translations."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch

from dragoman.model.predictor import Predictor
from dragoman.search.tempered import LOG_PARTITION, TemperaturePredictor, scale_log_probs
from dragoman.translation.sentence import Sentence, TextTransform
from dragoman.translation.translation import Step, Translation


class ConfidenceCalibration(TextTransform):
    """Steps of a translation get log P of their symbols at the `temperature` at which the run is calibrated (Guo et al.
    2017); the search goes by the model's own probabilities.
    """

    applies_to_given = True
    measures = True

    def __init__(self, temperature: float) -> None:
        self.temperature = temperature

    def prepare(self, sentence: Sentence) -> Sentence:
        return sentence.noted(self)

    def needs_details(self, sentence: Sentence) -> bool:
        return False

    def wrap(self, predictor: Predictor[Any], batch: Sequence[Sentence], device: torch.device) -> Predictor[Any]:
        return TemperaturePredictor(predictor, self.temperature)

    def finish(self, translation: Translation, sentence: Sentence) -> Translation:
        if not all(LOG_PARTITION in step.statistics for step in translation.steps):
            return translation
        log_probs = [step.log_prob for step in translation.steps]
        log_partitions = [step.statistics[LOG_PARTITION] for step in translation.steps]
        steps = zip(translation.steps, scale_log_probs(log_probs, log_partitions, self.temperature), strict=True)
        return replace(translation, steps=tuple(_calibrated(step, log_prob) for step, log_prob in steps))


def _calibrated(step: Step, log_prob: float) -> Step:
    """A step with its calibrated log-probability, and without the statistic that this is computed from."""
    statistics = {name: value for name, value in step.statistics.items() if name != LOG_PARTITION}
    return step._replace(statistics=statistics, calibrated=log_prob)
