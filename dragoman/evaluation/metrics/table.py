"""All metrics by name."""

from collections.abc import Mapping

from dragoman.configuration.config import UNTRANSLATED
from dragoman.evaluation.metrics.error_rates import (
    CharacterErrorRate,
    DroppedWords,
    ExactMatchRate,
    PositionIndependentErrorRate,
    RepeatedWords,
    TokenErrorRate,
    WordErrorRate,
)
from dragoman.evaluation.metrics.meteor import Meteor
from dragoman.evaluation.metrics.metric import Metric
from dragoman.evaluation.metrics.rouge import Rouge1, Rouge2, RougeL
from dragoman.evaluation.metrics.sacre import Bleu, BleuCS224n, Chrf, Hter, Ter

METRICS: Mapping[str, type[Metric]] = {
    "bleu": Bleu,
    "bleu_cs224n": BleuCS224n,
    "chrf": Chrf,
    "ter": Ter,
    "hter": Hter,
    "meteor": Meteor,
    "rouge1": Rouge1,
    "rouge2": Rouge2,
    "rougeL": RougeL,
    "exact_match": ExactMatchRate,
    "wer": WordErrorRate,
    "cer": CharacterErrorRate,
    "per": PositionIndependentErrorRate,
    "token_error_rate": TokenErrorRate,
    "repeated_words": RepeatedWords,
    "dropped_words": DroppedWords,
}


def higher_is_better(name: str) -> bool:
    """Whether a higher value is better, for a metric or for a value in UNTRANSLATED."""
    return METRICS[name].higher_is_better if name in METRICS else UNTRANSLATED[name]
