"""Outputs: features to log-probabilities of the next symbol, or to a loss."""

from abc import ABC, abstractmethod
from typing import NamedTuple

import torch
from torch import Tensor, nn

from dragoman.model.shapes import Bool, Float, Int

ROWS = 512  # symbols of a batch whose distributions exist at once


class Loss(NamedTuple):
    """A sum and over how many symbols it runs, so that batches and workers can be added up; and the sums that an
    objective adds up to it, where there are several.
    """

    total: Float[Tensor, ""]
    symbols: int
    parts: tuple[Float[Tensor, ""], ...] = ()


class Judgement(NamedTuple):
    """What a model makes of given symbols: `log P` of each, and whether it would have said the same."""

    log_probs: Float[Tensor, "N"]
    first: Bool[Tensor, "N"]


class Output(nn.Module, ABC):
    """Nothing outside `output/` knows how the next symbol is modelled."""

    @abstractmethod
    def loss(self, features: Float[Tensor, "N F"], targets: Int[Tensor, "N"]) -> Loss:
        """The training loss of real symbols in nats (padding is left out by the caller)."""

    @abstractmethod
    def logits(self, features: Float[Tensor, "N F"]) -> Float[Tensor, "N V"]:
        """Natural logarithms of the probabilities of all symbols, but for a number that is the same for a whole row."""

    @abstractmethod
    def narrowed(self, symbols: Int[Tensor, "_"]) -> "Output":
        """An output of these symbols alone, in their order: its logits are theirs. It does not follow later changes."""

    def log_probs(
        self, features: Float[Tensor, "N F"], barred: Bool[Tensor, "B V"] | None = None
    ) -> Float[Tensor, "N V"]:
        """Natural logarithms of the probabilities of all symbols, in float32 or better: -inf for the `barred` ones,
        whose probability falls to the others of their row. The rows of a sentence, equally many, stand side by side.
        """
        logits = self.logits(features)
        if barred is not None:
            by_sentence = logits.view(len(barred), -1, logits.size(1))
            logits = by_sentence.masked_fill(barred.unsqueeze(1), float("-inf")).view_as(logits)
        return torch.log_softmax(logits, -1, dtype=torch.promote_types(logits.dtype, torch.float32))

    def judge(self, features: Float[Tensor, "N F"], targets: Int[Tensor, "N"]) -> Judgement:
        """The log-probabilities of given symbols, never smoothed."""
        found = []
        for some, gold in zip(torch.split(features, ROWS), torch.split(targets, ROWS), strict=True):
            log_probs = self.log_probs(some)
            found.append((log_probs.gather(1, gold.unsqueeze(1)).squeeze(1), log_probs.argmax(1) == gold))
        return Judgement(*(torch.cat(parts) for parts in zip(*found, strict=True)))
