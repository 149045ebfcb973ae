"""Outputs: from features to log-probabilities of the next symbol, or to a loss."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from dragoman.model.memory import Memory
from dragoman.model.predictor import Continuations
from dragoman.model.shapes import Bool, Float, Int

ROWS = 512  # symbols of a batch whose distributions are held in memory at once


class Loss(NamedTuple):
    """The total loss and the number of symbols, so that batches and workers can be added up. `parts` are the sums that
    make up the total, if the objective has several.
    """

    total: Float[Tensor, ""]
    symbols: int
    parts: tuple[Float[Tensor, ""], ...] = ()


class TargetScores(NamedTuple):
    """Scores of given symbols: `log P` of each, whether it was the most probable one, statistics of its step."""

    log_probs: Float[Tensor, "N"]
    correct: Bool[Tensor, "N"]
    statistics: Mapping[str, Float[Tensor, "N"]] = {}


class Readout(NamedTuple):
    """The input of an output for N rows: features and, if it `reads_source`, their attention weights, the
    number of each row's sentence, and what the output has prepared from the sources. `portion` are the symbols of the
    portion of the training corpus that the rows come from, if it is trained by portions. `words` are the characters of
    the words that targets number from the size of the vocabulary on, if it spells words (`Spelled`).
    """

    features: Float[Tensor, "N F"]
    attention: tuple[Float[Tensor, "N _"], ...] = ()  # on each source, and a sentinel
    sentences: Int[Tensor, "N"] | None = None
    prepared: Any = ()
    portion: Int[Tensor, "_"] | None = None
    words: Int[Tensor, "W L"] | None = None

    def rows(self, rows: slice) -> "Readout":
        """Return some of the rows."""
        sentences = None if self.sentences is None else self.sentences[rows]
        attention = tuple(weights[rows] for weights in self.attention)
        return Readout(self.features[rows], attention, sentences, self.prepared, self.portion, self.words)


class Distribution(NamedTuple):
    """log P of the symbols `ids`, or of the whole vocabulary, and the statistics of the step. `kept` is what the output
    will need of each row to `expand` candidates.
    """

    log_probs: Float[Tensor, "N V"]
    ids: Int[Tensor, "V"] | None = None
    statistics: Mapping[str, Float[Tensor, "N"]] = {}
    kept: Any = ()


class Output(nn.Module, ABC):
    """The model of the next symbol, whose form nothing outside `output/` knows. A variant is its `log_probs`.

    If it `extends` the vocabulary, ids from the vocabulary size on are the words of the sentence outside the
    vocabulary, in its symbols and in targets. If it `spells`, they are words of the batch in targets alone
    (`Readout.words`); its distributions have `<unk>`, which `expand` replaces by words.
    """

    reads_source: ClassVar[bool] = False
    extends: ClassVar[bool] = False  # needs the sources as symbols of the target (`Memory.extended`)
    spells: ClassVar[bool] = False  # whether it spells words outside the vocabulary
    by_symbol: ClassVar[tuple[str, ...]] = ()  # its parameters with a row for each symbol,
    by_character: ClassVar[tuple[str, ...]] = ()  # and with a row for each character
    approximates: ClassVar[bool] = False  # whether its training loss is not the sum of -log P
    arranges: ClassVar[bool] = False  # whether its parameters belong to an arrangement of this vocabulary's symbols
    portable: ClassVar[bool] = False  # whether other engines can compute it: log-probabilities from features alone
    partitions: ClassVar[bool] = False  # whether it is trained by portions of the corpus (`Readout.portion`),
    portion: int | None = None  # each with so many distinct target symbols

    @staticmethod
    def second_readout_size(options: Mapping[str, Any]) -> int:
        """Return the size of the second readout that these options need (`Decoder.add_second_readout`); 0: none."""
        return 0

    def prepare(self, memories: tuple[Memory, ...]) -> Any:
        """Precompute from the sources, once per batch: nested tuples of tensors, one row per sentence."""
        return ()

    @abstractmethod
    def log_probs(self, readout: Readout) -> Float[Tensor, "N V"]:
        """Return natural logarithms of the probabilities of all symbols, in float32 or better."""

    def loss(self, readout: Readout, targets: Int[Tensor, "N"]) -> Loss:
        """Return the training loss of real symbols in nats (padding is left out by the caller): `- sum log P`
        of them.
        """
        return Loss(-self.log_probs(readout).gather(1, targets.unsqueeze(1)).sum(), len(targets))

    def statistics(self, readout: Readout) -> Mapping[str, Float[Tensor, "N"]]:
        """Return further probabilities of each step by name, which translations report."""
        return {}

    def predict(self, readout: Readout) -> Distribution:
        """Return the distribution of the next symbol, for search."""
        return Distribution(self.log_probs(readout), None, self.statistics(readout))

    def spell_unknown(self, candidates: Continuations, kept: Any) -> Continuations:
        """Replace `<unk>` among the candidates by the words that it spells, given what it has `kept` of their rows."""
        return candidates

    def restrict_to(self, symbols: Int[Tensor, "_"]) -> "Output | None":
        """Return an output for these symbols only, in this order, normalized over them; None if that is no faster.
        Later changes of this output do not affect it.
        """
        return None

    def score_targets(self, readout: Readout, targets: Int[Tensor, "N"]) -> TargetScores:
        """Return the log-probabilities of given symbols, never smoothed."""
        log_probs: list[Tensor] = []
        correct: list[Tensor] = []
        # A few rows at a time: the distributions of a whole batch would be its largest tensor by far.
        for first in range(0, len(targets), ROWS):
            rows = slice(first, first + ROWS)
            distribution, gold = self.log_probs(readout.rows(rows)), targets[rows]
            log_probs.append(distribution.gather(1, gold.unsqueeze(1)).squeeze(1))
            correct.append(distribution.argmax(1) == gold)
        return TargetScores(torch.cat(log_probs), torch.cat(correct), self.statistics(readout))
