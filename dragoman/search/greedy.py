"""Greedy search: the most probable symbol at every step."""

from abc import ABC
from collections.abc import Iterable, Sequence
from typing import Any, final

from torch import Tensor

from dragoman.data.batch import SourceBatch
from dragoman.data.vocabulary import EOS
from dragoman.model.predictor import Candidate, Predictor, StepRunner
from dragoman.model.shapes import Float
from dragoman.search.hypothesis import FinishedHypothesis, HypothesisNode
from dragoman.search.limits import LengthLimit, Margin, Ratio
from dragoman.search.search import Search
from dragoman.search.strategy import Proposals, RunnableStrategy, SearchStep, SentenceBeam, Strategy


@final
class Greedy(Search):
    """`x_t = argmax P(x | x_1 .. x_(t-1))` until the end symbol (CN 4, AN)."""

    width = 1

    def __init__(
        self,
        *,
        length_ratio: Ratio = 2.0,
        length_margin: Margin = 10,
        min_length_ratio: Ratio = 0.0,
        min_length_margin: Margin = 0,
    ) -> None:
        self.limit = LengthLimit(length_ratio, length_margin, min_length_ratio, min_length_margin)

    def strategy(self, sources: tuple[SourceBatch, ...], n_best: int, spare: int) -> Strategy:
        return GreedyStrategy()


class SingleHypothesis(RunnableStrategy, ABC):
    """One hypothesis per sentence, done at its first end symbol. A variant proposes the next symbol."""

    beam_width = 1

    def runner(self, model: Predictor[Any]) -> StepRunner | None:
        return None

    def keep(self, sentence: SentenceBeam, candidates: Iterable[Candidate], step: SearchStep) -> None:
        best = next(iter(candidates))  # the only one, or the best of several spellings
        if best.symbol == EOS:
            self.finish(sentence, best, step)
        else:
            node = step.first + best.row
            sentence.beam = [HypothesisNode(node, best.symbol, best.log_prob, best.total, best.surface)]

    def finish(self, sentence: SentenceBeam, candidate: Candidate, step: SearchStep) -> None:
        # Nothing is ranked by length: a score is log P of the whole.
        node = step.first + candidate.row
        sentence.finished, sentence.beam = [FinishedHypothesis(node, candidate.log_prob, candidate.total)], []

    def done(self, sentence: SentenceBeam, last_step: int) -> bool:
        return bool(sentence.finished)


@final
class GreedyStrategy(SingleHypothesis):
    """What is most probable."""

    @property
    def considered(self) -> int:
        return 1

    def runner(self, model: Predictor[Any]) -> StepRunner | None:
        return model.greedy_runner()

    def propose(self, log_probs: Float[Tensor, "B W C"], sentences: Sequence[SentenceBeam]) -> Proposals:
        best, columns = log_probs.max(2)  # (B, 1), since each sentence has one row
        return Proposals(columns, best)
