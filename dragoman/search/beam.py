"""Beam search over any number of sentences at once."""

from typing import Annotated, NamedTuple, final

import torch
from pydantic import Field
from torch import Tensor

from dragoman.data.batch import Sequence
from dragoman.data.vocabulary import EOS
from dragoman.model.seq2seq import Prediction
from dragoman.model.state import each_tensor, select
from dragoman.search.hypothesis import End, History, Hypothesis, Said
from dragoman.search.limits import Limit, Margin, Ratio, forbid
from dragoman.search.ranking import Alpha, NormalisationKind, Ranking
from dragoman.search.search import Predictor, Search, State

Size = Annotated[int, Field(ge=1, le=1000)]


class _Beams(NamedTuple):
    """Open hypotheses: (B, W), those of a sentence side by side, the best first."""

    said: Said
    totals: Tensor  # log P so far; -inf where there are fewer


class _Finished(NamedTuple):
    """The best finished hypotheses: (B, n_best), the best first; their scores are -inf where there are fewer."""

    nodes: Tensor
    log_probs: Tensor
    scores: Tensor  # in float64

    def ends(self) -> list[list[End]]:
        """What has finished, by sentence."""
        rows = zip(*(part.tolist() for part in self), strict=True)
        return [[end for end in map(End, *row) if end.score > float("-inf")] for row in rows]


class _Sentences(NamedTuple):
    """The sentences that are still open: (B,)."""

    numbers: Tensor
    limits: Tensor
    finished: _Finished


@final
class Beam(Search):
    """Keep the `size` most probable of all continuations of the `size` hypotheses kept before (CN 4, AN).

    A continuation by the end symbol that is among them is set apart as finished. `normalisation` and `alpha` rank
    hypotheses of different lengths (`none` is CN's form); see `ranking.py`. Under one that rewards length, even a beam
    of 1 looks beyond the first end, where greedy search stops. Lengths are limited as in `Greedy`.

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
        length_ratio: Ratio = 2.0,
        length_margin: Margin = 10,
    ) -> None:
        self.width = size
        self.ranking = Ranking(normalisation, alpha)
        self.limit = Limit(length_ratio, length_margin)

    def find(self, model: Predictor[State], sources: tuple[Sequence, ...], n_best: int) -> list[list[Hypothesis]]:
        history, ends = History(sources), dict[int, list[End]]()
        state, sentences = model.begin(sources), self._sentences(sources, n_best)
        said = Said.nothing(model.start_id, like=sentences.numbers.unsqueeze(1))
        beams = _Beams(said, torch.zeros_like(said.log_probs))
        position = 0
        while len(sentences.numbers):
            step = model.predict(beams.said.symbols.flatten(), state)
            nodes = history.add(beams.said, step.attention)  # (B, W)
            forbid(step.log_probs, (sentences.limits <= position).repeat_interleave(nodes.size(1)))
            candidates = self._continue(beams.totals, nodes, step)
            sentences = sentences._replace(finished=self._finish(sentences.finished, candidates, position + 1))
            beams = self._keep(candidates)
            done, left = self._done(sentences, beams, position), None
            if done.any():
                gone = select(sentences, done.nonzero().flatten())
                ends.update(zip(gone.numbers.tolist(), gone.finished.ends(), strict=True))
                left = (~done).nonzero().flatten()
                sentences, beams = select((sentences, beams), left)
            state = model.reorder(step.state, (beams.said.parents - nodes[0, 0]).flatten(), left)
            position += 1
        return history.hypotheses([ends[number] for number in range(len(ends))])

    def _sentences(self, sources: tuple[Sequence, ...], n_best: int) -> _Sentences:
        limits = self.limit.steps(sources)
        scores = torch.full((len(limits), n_best), float("-inf"), dtype=torch.double, device=limits.device)
        nowhere = torch.zeros_like(scores, dtype=torch.long)
        finished = _Finished(nowhere, torch.zeros_like(scores, dtype=torch.float), scores)
        return _Sentences(torch.arange(len(limits), device=limits.device), limits, finished)

    def _continue(self, totals: Tensor, nodes: Tensor, step: Prediction[State]) -> _Beams:
        """The best 2 * `size` continuations by one symbol: at least `size` go on, even if as many end."""
        log_probs = step.log_probs.view(*nodes.shape, -1)  # (B, W, V)
        symbols = log_probs.size(2)
        continued = (totals.unsqueeze(2) + log_probs).flatten(1)  # (B, W * V)
        totals, places = continued.topk(min(2 * self.width, continued.size(1)), dim=1)
        parents, log_probs = nodes.gather(1, places // symbols), log_probs.flatten(1).gather(1, places)
        return _Beams(Said(parents, step.named(places % symbols), log_probs), totals)

    def _finish(self, finished: _Finished, candidates: _Beams, length: int) -> _Finished:
        """The best finished ones, with those of the best `size` candidates that end; of equals the earlier first."""
        said, totals = each_tensor(lambda part: part[:, : self.width], candidates)
        ends = said.symbols == EOS
        if not ends.any():
            return finished
        scores = self.ranking.rank(totals.double(), length).masked_fill(~ends, float("-inf"))
        ended = _Finished(said.parents, said.log_probs, scores)
        both = _Finished(*(torch.cat(parts, 1) for parts in zip(finished, ended, strict=True)))
        order = both.scores.argsort(dim=1, descending=True, stable=True)[:, : finished.scores.size(1)]
        return each_tensor(lambda part: part.gather(1, order), both)

    def _keep(self, candidates: _Beams) -> _Beams:
        """The best `size` of those that go on."""
        totals = candidates.totals.masked_fill(candidates.said.symbols == EOS, float("-inf"))
        order = totals.topk(min(self.width, totals.size(1)), dim=1).indices
        return each_tensor(lambda part: part.gather(1, order), _Beams(candidates.said, totals))

    def _done(self, sentences: _Sentences, beams: _Beams, position: int) -> Tensor:
        """No open hypothesis can still come among the best finished ones."""
        reachable = self.ranking.bound(beams.totals[:, 0].double(), sentences.limits.double() + 1)
        return (sentences.finished.scores[:, -1] >= reachable) | (sentences.limits <= position)
