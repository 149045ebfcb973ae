"""The interface by which searches differ, and the state of a search of one sentence."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from dragoman.model.predictor import Candidate, Predictor, StepRunner
from dragoman.model.shapes import Float, Int
from dragoman.search.hypothesis import FinishedHypothesis, HypothesisNode, Paths


@dataclass(slots=True)
class SentenceBeam:
    """The search state of one sentence."""

    number: int  # in the batch
    beam: list[HypothesisNode]  # open hypotheses, best first
    finished: list[FinishedHypothesis]  # best first
    random: torch.Generator | None  # one per sentence, so that draws do not depend on the batch
    required: int = 0  # symbols that a constraint requires in the translation


class Proposals(NamedTuple):
    """Continuations of every sentence, best first: columns of `log_probs` (not symbol ids; see `Prediction.at`), log P
    of each symbol, and rows within the sentence, which may be left out if each sentence has one row.
    """

    columns: Int[Tensor, "B P"]
    log_probs: Float[Tensor, "B P"]
    rows: Int[Tensor, "B P"] | None = None

    def of(self, indices: Int[Tensor, "_"]) -> "Proposals":
        """Return the proposals of some sentences."""
        rows = None if self.rows is None else self.rows[indices]
        return Proposals(self.columns[indices], self.log_probs[indices], rows)

    def replaced(self, indices: Int[Tensor, "_"], replacements: "Proposals") -> "Proposals":
        """Return these proposals with replacements for some sentences."""
        columns, log_probs = (
            own.index_copy(0, indices, other) for own, other in zip(self[:2], replacements[:2], strict=True)
        )
        if self.rows is None or replacements.rows is None:
            return Proposals(columns, log_probs)
        return Proposals(columns, log_probs, self.rows.index_copy(0, indices, replacements.rows))


class SearchStep(NamedTuple):
    """A step of a search, as `Strategy.keep` sees it."""

    paths: Paths
    first: int  # the node of the first row
    length: int  # of hypotheses that end here, counting the end symbol


class Strategy(ABC):
    """What distinguishes one search from another: which continuations it considers, which it keeps, when it ends.

    `beam_width` neighboring rows of a sentence compete with each other: in diverse beam search, the rows of a group.
    `coverage_sources` are the numbers of the sources whose coverage the ranking needs.
    """

    beam_width: int
    coverage_sources: Sequence[int] = ()

    @property
    def considered(self) -> int | None:
        """How many of a row's most probable continuations may be proposed; None: any number."""
        return None

    def begin(self, start: HypothesisNode) -> list[HypothesisNode]:
        """Return the open hypotheses of a sentence before the first step, given the empty one."""
        return [start]

    @abstractmethod
    def propose(self, log_probs: Float[Tensor, "B W C"], sentences: Sequence[SentenceBeam]) -> Proposals:
        """Return continuations of the sentences' beams by one symbol, given log P of each symbol."""

    @abstractmethod
    def keep(self, sentence: SentenceBeam, candidates: Iterable[Candidate], step: SearchStep) -> None:
        """Move open candidates into the sentence's beam, and candidates with the end symbol into `finished`. Beams may
        shrink. In the beam as passed, rows with log P -inf are padding: all sentences have equally many rows.
        """

    @abstractmethod
    def done(self, sentence: SentenceBeam, last_step: int) -> bool:
        """Return whether no better hypothesis can follow, given that the end is forced at `last_step`."""


class RunnableStrategy(Strategy):
    """A strategy of which a model may make several steps in one call: the `beam_width` best continuations that do not
    end go on, and those that end finish if they are among the `beam_width` best of all.
    """

    @abstractmethod
    def runner(self, model: Predictor[Any]) -> StepRunner | None:
        """Return a runner of several steps of this search, or None if each step has to be made by itself."""

    @abstractmethod
    def finish(self, sentence: SentenceBeam, candidate: Candidate, step: SearchStep) -> None:
        """Record a candidate that ends."""
