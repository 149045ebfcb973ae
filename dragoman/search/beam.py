"""Beam search over any number of sentences at once."""

from bisect import insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, Any, final

from pydantic import Field
from torch import Tensor

from dragoman.data.batch import SourceBatch, TokenBatch
from dragoman.data.vocabulary import EOS
from dragoman.model.predictor import Candidate, Predictor, StepRunner
from dragoman.model.shapes import Float
from dragoman.search.hypothesis import FinishedHypothesis, HypothesisNode
from dragoman.search.limits import LengthLimit, Margin, Ratio
from dragoman.search.ranking import Alpha, Beta, NormalizationKind, Ranking
from dragoman.search.search import Search
from dragoman.search.strategy import Proposals, RunnableStrategy, SearchStep, SentenceBeam, Strategy

Size = Annotated[int, Field(ge=1, le=1000)]


@final
class Beam(Search):
    """Keep the `size` most probable of all continuations of the `size` hypotheses kept before (CN 4, AN).

    Those among them that end in the end symbol are finished. `normalization` and `alpha` rank hypotheses of different
    lengths (`none` is CN's form); see `ranking.py`. With a normalization that rewards length, even a beam of 1 looks
    beyond the first end symbol, where greedy search stops.

    `coverage_penalty` (Wu et al. 2016's beta) lowers the rank of a finished hypothesis for each position of a text that
    received less than 1 of its attention in total, the end symbol's position included. Open hypotheses are kept by
    probability alone.

    As many go on as before, even where some have ended. With `shrink`, a finished hypothesis keeps its place in the
    beam, so that one less goes on: Marian's and Nematus' search, which ends earlier and finds less. (Sentences with
    required terms keep their places.)

    A sentence is done when `n_best` finished hypotheses rank above everything that an open one can still reach, so
    early stopping loses nothing, unless glossary terms earn a bonus, which the bound does not include. Without
    normalization this happens soon. With it, an open hypothesis might rise by growing up to the limit: this costs a
    quarter more steps on Multi30k, and all steps up to the limit if a model seldom predicts the end.
    """

    def __init__(
        self,
        *,
        size: Size = 5,
        normalization: NormalizationKind = "length",
        alpha: Alpha = 1.0,
        coverage_penalty: Beta = 0.0,
        length_ratio: Ratio = 2.0,
        length_margin: Margin = 10,
        min_length_ratio: Ratio = 0.0,
        min_length_margin: Margin = 0,
        shrink: bool = False,
    ) -> None:
        self.width = size
        self.shrink = shrink
        self.ranking = Ranking(normalization, alpha, coverage_penalty)
        self.limit = LengthLimit(length_ratio, length_margin, min_length_ratio, min_length_margin)

    def strategy(self, sources: tuple[SourceBatch, ...], n_best: int, spare: int) -> Strategy:
        texts = [number for number, source in enumerate(sources) if isinstance(source, TokenBatch)]
        kind = ShrinkingBeam if self.shrink else BestFinished
        return kind(self.width, self.ranking, n_best, n_best + spare, texts if self.ranking.beta else [])


@dataclass(frozen=True)
class BestFinished(RunnableStrategy):
    """Keep the `beam_width` best open hypotheses and the `max_finished` best finished ones; `n_best` are requested."""

    beam_width: int
    ranking: Ranking
    n_best: int
    max_finished: int
    coverage_sources: Sequence[int]

    @property
    def considered(self) -> int:
        """Twice the width: at least `beam_width` continuations stay open, even if `beam_width` end."""
        return 2 * self.beam_width

    def runner(self, model: Predictor[Any]) -> StepRunner | None:
        return None if self.coverage_sources else model.beam_runner()

    def propose(self, log_probs: Float[Tensor, "B W C"], sentences: Sequence[SentenceBeam]) -> Proposals:
        columns = log_probs.size(2)
        totals = log_probs.new_tensor([[node.total for node in sentence.beam] for sentence in sentences])  # (B, W)
        continued = (totals.unsqueeze(2) + log_probs).flatten(1)  # (B, W * C)
        indices = continued.topk(min(self.considered, continued.size(1)), dim=1).indices  # row * C + column
        return Proposals(indices % columns, log_probs.flatten(1).gather(1, indices), indices // columns)

    def keep(self, sentence: SentenceBeam, candidates: Iterable[Candidate], step: SearchStep) -> None:
        """Keep the `beam_width` best open candidates. Ends among the `beam_width` best of all join the `max_finished`
        best finished hypotheses; ties go to the earlier one.
        """
        beam: list[HypothesisNode] = []
        for rank, candidate in enumerate(candidates):
            parent = step.first + candidate.row
            if candidate.symbol != EOS:
                beam.append(
                    HypothesisNode(parent, candidate.symbol, candidate.log_prob, candidate.total, candidate.surface)
                )
                if len(beam) == self.beam_width:  # before another candidate is created
                    break
            # An end counts where a beam that treats it like any other symbol would have kept it.
            elif rank < self.beam_width:
                self.finish(sentence, candidate, step)
        sentence.beam = beam

    def finish(self, sentence: SentenceBeam, candidate: Candidate, step: SearchStep) -> None:
        """Put a candidate that ends among the best finished hypotheses, unless it is impossible."""
        if candidate.total > float("-inf"):
            node = step.first + candidate.row
            score = self.ranking.rank(candidate.total, step.length, step.paths.coverage(node))
            insort(sentence.finished, FinishedHypothesis(node, candidate.log_prob, score), key=lambda end: -end.score)
            del sentence.finished[self.max_finished :]

    def done(self, sentence: SentenceBeam, last_step: int) -> bool:
        """Return whether no open hypothesis can still enter the `n_best` finished ones."""
        if len(sentence.finished) < self.n_best:
            return False
        # The first of the beam has the highest log P; |y| counts the end symbol, hence one more than the last step.
        return sentence.finished[self.n_best - 1].score >= self.ranking.bound(sentence.beam[0].total, last_step + 1)


@final
@dataclass(frozen=True)
class ShrinkingBeam(BestFinished):
    """The same, but a finished hypothesis keeps its place: the beam shrinks with each hypothesis that ends."""

    def runner(self, model: Predictor[Any]) -> StepRunner | None:
        return None

    def keep(self, sentence: SentenceBeam, candidates: Iterable[Candidate], step: SearchStep) -> None:
        """Keep as many candidates as were open; those that end join the finished hypotheses. A sentence with required
        symbols keeps its places: ends come first there, whatever their rank.
        """
        if sentence.required:
            super().keep(sentence, candidates, step)
            return
        # Not `len`: a shrunken beam is padded to the width of others. At least one, or there would be no hypothesis.
        open_count = sum(node.total > float("-inf") for node in sentence.beam)
        count = self.beam_width if step.length == 1 else max(1, open_count)
        beam: list[HypothesisNode] = []
        for candidate in islice(candidates, count):
            if candidate.total == float("-inf") and (beam or sentence.finished):
                break  # an impossible continuation takes no place
            if candidate.symbol == EOS:
                self.finish(sentence, candidate, step)
            else:
                parent = step.first + candidate.row
                beam.append(
                    HypothesisNode(parent, candidate.symbol, candidate.log_prob, candidate.total, candidate.surface)
                )
        sentence.beam = beam

    def done(self, sentence: SentenceBeam, last_step: int) -> bool:
        return not sentence.beam or super().done(sentence, last_step)
