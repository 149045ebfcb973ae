"""Symbols that a model predicts, for training to read: drawn ones, or the most probable."""

from typing import Any

import torch

from dragoman.data.vocabulary import BOS, PAD
from dragoman.model.predictor import Prediction
from dragoman.model.shapes import Int


def drawn(prediction: Prediction[Any]) -> Int[torch.Tensor, "R"]:
    """A symbol for each row, drawn from its distribution."""
    log_probs = _of_words(prediction)
    return prediction.at(torch.multinomial(log_probs.float().softmax(1), 1).squeeze(1))


def best(prediction: Prediction[Any]) -> Int[torch.Tensor, "R"]:
    """The most probable symbol of each row."""
    return prediction.at(_of_words(prediction).argmax(1))


def _of_words(prediction: Prediction[Any]) -> torch.Tensor:
    """`log P` without padding and the start, which no target has."""
    symbols = prediction.symbols
    return prediction.log_probs.masked_fill((symbols == PAD) | (symbols == BOS), float("-inf"))
