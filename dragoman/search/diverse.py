"""Diverse beam search: beams beside each other that say different things."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Annotated, final

import torch
from pydantic import Field
from torch import Tensor

from dragoman.data.batch import SourceBatch
from dragoman.model.predictor import Candidate
from dragoman.model.shapes import Float
from dragoman.search.beam import BestFinished, Size
from dragoman.search.decoding import group_by_row
from dragoman.search.hypothesis import FinishedHypothesis, HypothesisNode
from dragoman.search.limits import LengthLimit, Margin, Ratio
from dragoman.search.ranking import Alpha, NormalizationKind, Ranking
from dragoman.search.search import Search
from dragoman.search.strategy import Proposals, SearchStep, SentenceBeam, Strategy

Groups = Annotated[int, Field(ge=1, le=100)]
Strength = Annotated[float, Field(ge=0, le=100)]


@final
class Diverse(Search):
    """Diverse beam search (Vijayakumar et al. 2018): `groups` beams of `size` hypotheses each, which choose one after
    another at every step, by `log P(y_1 .. y_t | x) - strength n(y_t)`.

    n(y) is how many hypotheses of the groups before say y at this very step (Hamming diversity; the end symbol does not
    count). What was less probable at earlier steps for that reason is not lowered again, and log-probabilities and
    scores are those of the model. An n-best list has the best of each group, then the second of each, so that every
    group has its share; a shorter one the best of these. Groups may find the same. `normalization` and `alpha` are as
    in `Beam`. While something that a constraint demands is missing, groups are not kept apart.
    """

    def __init__(
        self,
        *,
        size: Size = 2,
        groups: Groups = 5,
        strength: Strength = 0.5,
        normalization: NormalizationKind = "length",
        alpha: Alpha = 1.0,
        length_ratio: Ratio = 2.0,
        length_margin: Margin = 10,
        min_length_ratio: Ratio = 0.0,
        min_length_margin: Margin = 0,
    ) -> None:
        self.width = size * groups
        self.size = size
        self.groups = groups
        self.strength = strength
        self.ranking = Ranking(normalization, alpha)
        self.limit = LengthLimit(length_ratio, length_margin, min_length_ratio, min_length_margin)

    def strategy(self, sources: tuple[SourceBatch, ...], n_best: int, spare: int) -> Strategy:
        share, max_finished = (-(-count // self.groups) for count in (n_best, n_best + spare))  # rounded up
        beam = BestFinished(self.size, self.ranking, share, max_finished, [])
        return DiverseBeam(self.size, beam, self.groups, self.strength, n_best, n_best + spare)


@final
@dataclass(frozen=True)
class DiverseBeam(Strategy):
    """Each group is searched as a sentence of its own, by the strategy of a beam, among candidates in another order."""

    beam_width: int
    beam: BestFinished
    groups: int
    strength: float
    n_best: int
    max_finished: int
    of_sentences: dict[int, list[SentenceBeam]] = field(default_factory=dict)

    def begin(self, start: HypothesisNode) -> list[HypothesisNode]:
        # Each group begins with one empty hypothesis, and rows that cannot win.
        return [start, *[start._replace(total=float("-inf"))] * (self.beam_width - 1)] * self.groups

    @property
    def considered(self) -> int:
        """As many continuations of every row as a beam considers, even if all that other groups may say count less."""
        return (self.groups + 1) * self.beam_width

    def propose(self, log_probs: Float[Tensor, "B W C"], sentences: Sequence[SentenceBeam]) -> Proposals:
        rows, columns = log_probs.shape[1:]
        # The best of each row, not of the sentence: the penalty depends on groups that have not chosen yet.
        best = log_probs.topk(min(self.considered, columns), dim=2)
        row_numbers = torch.arange(rows, device=log_probs.device).view(1, -1, 1).expand_as(best.indices)  # (B, W, P)
        return Proposals(best.indices.flatten(1), best.values.flatten(1), row_numbers.flatten(1))

    def keep(self, sentence: SentenceBeam, candidates: Iterable[Candidate], step: SearchStep) -> None:
        groups = self.of_sentences.setdefault(
            sentence.number, [SentenceBeam(sentence.number, [], [], None) for _ in range(self.groups)]
        )
        counts = Counter[int]()
        for group, own in zip(groups, group_by_row(candidates, self.beam_width, len(sentence.beam)), strict=True):
            # The penalty decides the order alone: totals, and with them scores, stay those of the model.
            own.sort(key=lambda candidate: self.strength * counts[candidate.symbol] - candidate.total)
            self.beam.keep(group, own, step)
            group.beam.sort(key=lambda node: -node.total)  # without the penalty: `done` takes the first for the best
            # Rows that fill a group up repeat a symbol which nobody says.
            counts.update(node.symbol for node in group.beam if node.total > float("-inf"))
        sentence.beam = [node for group in groups for node in group.beam]
        sentence.finished = self._chosen([group.finished for group in groups])

    def _chosen(self, finished: Sequence[Sequence[FinishedHypothesis]]) -> list[FinishedHypothesis]:
        """Return the best of each group, then the second of each, each time best first: those asked for, and spare
        ones.
        """
        turns: list[FinishedHypothesis] = []
        for turn in zip_longest(*finished):
            turns += _ranked(end for end in turn if end is not None)
        return [*_ranked(turns[: self.n_best]), *turns[self.n_best : self.max_finished]]

    def done(self, sentence: SentenceBeam, last_step: int) -> bool:
        return all(self.beam.done(group, last_step) for group in self.of_sentences[sentence.number])


def _ranked(ends: Iterable[FinishedHypothesis]) -> list[FinishedHypothesis]:
    return sorted(ends, key=lambda end: -end.score)
