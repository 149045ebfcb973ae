"""Outputs: features to log-probabilities of the next symbol, or to a loss."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from dragoman.model.memory import Memory
from dragoman.model.shapes import Bool, Float, Int

ROWS = 512  # symbols of a batch whose distributions exist at once


class Loss(NamedTuple):
    """A sum and over how many symbols it runs, so that batches and workers can be added up; and the sums that an
    objective adds up to it, where there are several.
    """

    total: Float[Tensor, ""]
    symbols: int
    parts: tuple[Float[Tensor, ""], ...] = ()


class TargetScores(NamedTuple):
    """What is predicted of given symbols: `log P` of each, and whether it was the most probable one."""

    log_probs: Float[Tensor, "N"]
    correct: Bool[Tensor, "N"]


class Readout(NamedTuple):
    """What an output reads of N rows: features, and of the source, if it asks for that (`reads_source`), the attention
    that led to them, the number of each row's sentence, and what the output has prepared of the sentences.
    """

    features: Float[Tensor, "N F"]
    attention: tuple[Float[Tensor, "N _"], ...] = ()  # on each source, and a sentinel
    sentences: Int[Tensor, "N"] | None = None
    prepared: Any = ()

    def rows(self, rows: slice) -> "Readout":
        """Some of the rows."""
        sentences = None if self.sentences is None else self.sentences[rows]
        return Readout(self.features[rows], tuple(each[rows] for each in self.attention), sentences, self.prepared)


class Distribution(NamedTuple):
    """log P of the symbols `ids`, or of all of the vocabulary; and what else is known of each row, by name."""

    log_probs: Float[Tensor, "N V"]
    ids: Int[Tensor, "V"] | None = None
    figures: Mapping[str, Float[Tensor, "N"]] = {}


class Output(nn.Module, ABC):
    """Nothing outside `output/` knows how the next symbol is modelled. A variant is its `log_probs`.

    Where it `extends` the vocabulary, ids from its size on are the words of the sentence that the vocabulary does not
    have, in its symbols and in targets.
    """

    reads_source: ClassVar[bool] = False
    extends: ClassVar[bool] = False  # needs the sources as symbols of the target (`Memory.extended`)
    portable: ClassVar[bool] = False  # whether other engines compute it: log-probabilities from features alone

    def prepare(self, memories: tuple[Memory, ...]) -> Any:
        """What it needs to know of the sources, once a batch: nested tuples of tensors, a row a sentence."""
        return ()

    @abstractmethod
    def log_probs(self, readout: Readout) -> Float[Tensor, "N V"]:
        """Natural logarithms of the probabilities of all symbols, in float32 or better."""

    def loss(self, readout: Readout, targets: Int[Tensor, "N"]) -> Loss:
        """The training loss of real symbols in nats (padding is left out by the caller): `- sum log P` of them."""
        return Loss(-self.log_probs(readout).gather(1, targets.unsqueeze(1)).sum(), len(targets))

    def predict(self, readout: Readout) -> Distribution:
        """The same for a search."""
        return Distribution(self.log_probs(readout))

    def narrowed(self, symbols: Int[Tensor, "_"]) -> "Output | None":
        """An output of these symbols alone, in their order, whose probabilities are shared among them; None where that
        is no faster. It does not follow later changes.
        """
        return None

    def score_targets(self, readout: Readout, targets: Int[Tensor, "N"]) -> TargetScores:
        """The log-probabilities of given symbols, never smoothed."""
        log_probs, correct = list[Tensor](), list[Tensor]()
        for first in range(0, len(targets), ROWS):
            rows = slice(first, first + ROWS)
            some, gold = self.log_probs(readout.rows(rows)), targets[rows]
            log_probs.append(some.gather(1, gold.unsqueeze(1)).squeeze(1))
            correct.append(some.argmax(1) == gold)
        return TargetScores(torch.cat(log_probs), torch.cat(correct))
