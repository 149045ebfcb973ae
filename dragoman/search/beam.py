"""Beam search over any number of sentences at once."""

from bisect import insort
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, final

import torch
from pydantic import Field

from dragoman.data.batch import Sequence, SourceBatch
from dragoman.data.vocabulary import EOS
from dragoman.model.seq2seq import Prediction
from dragoman.model.state import select
from dragoman.search.hypothesis import End, Hypothesis, Node, Paths, nothing
from dragoman.search.limits import Limit, Margin, Ratio, forbid, number
from dragoman.search.ranking import Alpha, Beta, NormalisationKind, Ranking, coverage
from dragoman.search.search import Predictor, Search, State

Size = Annotated[int, Field(ge=1, le=1000)]
_Candidates = Iterable[tuple[int, int, float, float]]  # row of the sentence, symbol, log P of that and of the whole


@dataclass(slots=True)
class _Sentence:
    limit: int
    beam: list[Node]  # open hypotheses, the best first
    finished: list[End]  # the best ones, the best first


@final
class Beam(Search):
    """Keep the `size` most probable of all continuations of the `size` hypotheses kept before (CN 4, AN).

    A continuation by the end symbol that is among them is set apart as finished. `normalisation` and `alpha` rank
    hypotheses of different lengths (`none` is CN's form); see `ranking.py`. Under one that rewards length, even a beam
    of 1 looks beyond the first end, where greedy search stops. Lengths are limited as in `Greedy`.

    `coverage_penalty` (Wu et al. 2016's beta) lets a finished hypothesis sink for each position of a text that got less
    than 1 of all its attention, the end's included. Which open ones are kept is up to their probability alone.

    A sentence is done when as many finished hypotheses as asked for rank above everything that an open one can still
    reach, so stopping loses nothing. Without normalisation that is soon; with it, an open hypothesis might rise by
    growing up to the limit, which costs a quarter more steps on Multi30k and all up to the limit where a model seldom
    says the end.
    """

    def __init__(
        self,
        *,
        size: Size = 5,
        normalisation: NormalisationKind = "length",
        alpha: Alpha = 1.0,
        coverage_penalty: Beta = 0.0,
        length_ratio: Ratio = 2.0,
        length_margin: Margin = 10,
    ) -> None:
        self.width = size
        self.ranking = Ranking(normalisation, alpha, coverage_penalty)
        self.limit = Limit(length_ratio, length_margin)

    def find(
        self, model: Predictor[State], sources: tuple[SourceBatch, ...], n_best: int, spare: int
    ) -> list[list[Hypothesis]]:
        paths, limits, device = Paths(sources), self.limit.steps(sources), sources[0].mask.device
        everyone = sentences = [_Sentence(limit, [nothing(model.start_id)], []) for limit in limits]
        state, length = model.begin(sources), 1  # of what ends at this step
        # What each row has attended to so far, if that matters; padding counts as covered.
        texts = [number for number, source in enumerate(sources) if self.ranking.beta and isinstance(source, Sequence)]
        attended = tuple((~sources[number].mask).float() for number in texts)
        while sentences:
            rows = [said for sentence in sentences for said in sentence.beam]  # as many of each
            step = model.predict(torch.tensor([said.symbol for said in rows], device=device), state)
            first = paths.add(rows, step.attention)
            width = len(rows) // len(sentences)
            attended = tuple(sums + step.attention[n] for sums, n in zip(attended, texts, strict=True))
            covered = coverage(attended).tolist() if attended else [0.0] * len(rows)
            forbid(step.log_probs, [row for row in range(len(rows)) if sentences[row // width].limit < length])
            for place, candidates in enumerate(self._continue(rows, step, len(sentences))):
                here = place * width
                self._keep(sentences[place], first + here, candidates, length, covered[here:], n_best + spare)
            left = [place for place, each in enumerate(sentences) if not self._done(each, length, n_best)]
            fewer = torch.tensor(left, device=device) if len(left) < len(sentences) else None
            sentences = [sentences[place] for place in left]
            state = step.state
            order = [said.parent - first for sentence in sentences for said in sentence.beam]
            if sentences and order != list(range(len(rows))):
                kept = torch.tensor(order, device=device)
                state, attended = model.reorder(state, kept, fewer), select(attended, kept)
            length += 1
        return paths.hypotheses([sentence.finished for sentence in everyone])

    def _continue(self, rows: list[Node], step: Prediction[State], sentences: int) -> Iterator[_Candidates]:
        """The best 2 * `size` continuations by one symbol: at least `size` go on, even if as many end."""
        columns = step.log_probs.size(1)
        before = torch.tensor([said.total for said in rows], dtype=step.log_probs.dtype, device=step.log_probs.device)
        continued = (before.unsqueeze(1) + step.log_probs).view(sentences, -1)  # (B, W * V)
        totals, places = continued.topk(min(2 * self.width, continued.size(1)), dim=1)
        log_probs = step.log_probs.view(sentences, -1).gather(1, places)
        found = (places // columns, step.named(places % columns), log_probs, totals)
        return (zip(*each, strict=True) for each in zip(*(part.tolist() for part in found), strict=True))

    def _keep(
        self,
        sentence: _Sentence,
        first: int,
        candidates: _Candidates,
        length: int,
        covered: list[float],
        most: int,
    ) -> None:
        """The best `size` of those that go on; and of those among the best `size` that end, what is among the `most`
        best finished ones, of equals the earlier first. `first` is the node of the sentence's first row, `covered` is
        the coverage of each of its rows.
        """
        beam: list[Node] = []
        for rank, (row, symbol, log_prob, total) in enumerate(candidates):
            if len(beam) == self.width:
                break
            if symbol != EOS:
                beam.append(Node(first + row, symbol, log_prob, number(total)))
            elif rank < self.width and number(total) > float("-inf"):
                end = End(first + row, log_prob, self.ranking.rank(total, length, covered[row]))
                insort(sentence.finished, end, key=lambda each: -each.score)
                del sentence.finished[most:]
        sentence.beam = beam

    def _done(self, sentence: _Sentence, length: int, n_best: int) -> bool:
        """No open hypothesis can still come among the best finished ones."""
        least = sentence.finished[n_best - 1].score if len(sentence.finished) >= n_best else float("-inf")
        reachable = self.ranking.bound(sentence.beam[0].total, sentence.limit + 1)
        return least >= reachable or sentence.limit < length
