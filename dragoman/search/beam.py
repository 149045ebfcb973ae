"""Beam search over any number of sentences at once."""

from typing import Any, NamedTuple, final

import torch
from torch import Tensor

from dragoman.components import Count, Positive
from dragoman.data.batch import Sequence
from dragoman.data.vocabulary import EOS
from dragoman.model.state import select, tile
from dragoman.search.hypothesis import Hypothesis, Limit, Margin, Prefixes, Steps, allowed
from dragoman.search.ranking import Alpha, NormalisationKind, Ranking
from dragoman.search.search import Search


class _Open(NamedTuple):
    """The open beams: row `b * size + k` is hypothesis k of the b-th sentence that is still open."""

    state: Any
    prefixes: Prefixes
    symbols: Tensor  # (R,) said last
    totals: Tensor  # (R,) log P so far; -inf marks an empty place in the beam


class _Sentence(NamedTuple):
    """A sentence that is still open."""

    number: int
    source_length: int
    limit: int
    finished: list[Hypothesis]


@final
class Beam(Search):
    """Keep the `size` most probable of all continuations of the `size` hypotheses kept before (CN 4, AN).

    A continuation by the end symbol that is among them is set apart as finished. A sentence is done when as many
    finished hypotheses as asked for rank above everything that an open one can still reach. `normalisation` and
    `alpha` rank hypotheses of different lengths (`none` is CN's form); see `ranking.py`. Under one that
    rewards length, even a beam of 1 looks beyond the first end, where greedy search stops. Lengths are limited as in
    `Greedy`.
    """

    def __init__(
        self,
        *,
        size: Count = 5,
        normalisation: NormalisationKind = "length",
        alpha: Alpha = 1.0,
        length_ratio: Positive = 2.0,
        length_margin: Margin = 10,
    ) -> None:
        self.size = size
        self.ranking = Ranking(normalisation, alpha)
        self.limit = Limit(length_ratio, length_margin)

    @torch.inference_mode()
    def __call__(self, model: Steps, sources: tuple[Sequence, ...], n_best: int = 1) -> list[list[Hypothesis]]:
        lengths = sources[0].mask.sum(1).tolist()
        limits = self.limit.steps(sources).tolist()
        sentences = [_Sentence(n, lengths[n], limits[n], []) for n in range(len(lengths))]
        everything = list(sentences)
        beams = self._start(model, sources)
        position = 0
        while sentences:
            beams = self._step(model, beams, sentences, position)
            keep = [b for b, each in enumerate(sentences) if not self._done(each, beams, b, position, n_best)]
            if len(keep) < len(sentences):
                sentences = [sentences[b] for b in keep]
                groups = torch.tensor(keep, device=beams.totals.device, dtype=torch.long)
                rows = (groups.unsqueeze(1) * self.size + torch.arange(self.size, device=groups.device)).flatten()
                beams = select(beams, rows)
            position += 1
        return [sorted(each.finished, key=lambda found: -found.score)[:n_best] for each in everything]

    def _start(self, model: Steps, sources: tuple[Sequence, ...]) -> _Open:
        """One hypothesis a sentence, the empty one; the other places of its beam are empty."""
        state = tile(model.start(model.encode(sources)), self.size)
        rows = sources[0].ids.size(0) * self.size
        symbols = torch.full((rows,), model.start_id, device=sources[0].ids.device)
        totals = torch.zeros(rows, device=symbols.device)
        totals.view(-1, self.size)[:, 1:] = float("-inf")
        return _Open(state, Prefixes.empty(rows, sources[0]), symbols, totals)

    def _step(self, model: Steps, beams: _Open, sentences: list[_Sentence], position: int) -> _Open:
        """One symbol further in every beam; what ends goes to its sentence's finished hypotheses."""
        step = model.step(beams.symbols, beams.state)
        ending = torch.tensor([position >= each.limit for each in sentences], device=beams.totals.device)
        log_probs = allowed(model.log_probs(step.features), ending.repeat_interleave(self.size))  # (R, V)
        symbols_known = log_probs.size(1)
        continued = (beams.totals.unsqueeze(1) + log_probs).view(len(sentences), -1)  # (B, K * V)
        totals, candidates = continued.topk(min(2 * self.size, continued.size(1)), dim=1)  # best first
        groups = torch.arange(len(sentences), device=totals.device).unsqueeze(1) * self.size
        parents = groups + candidates // symbols_known  # (B, 2K) rows of the hypotheses that are continued
        symbols = candidates % symbols_known
        said = totals - beams.totals[parents]

        ends = (symbols == EOS) & totals.isfinite()
        ends[:, self.size :] = False  # only the beam itself may end
        for b, k in ends.nonzero().tolist():
            row = parents[b, k : k + 1]
            prefix = select(beams.prefixes, row).extend(
                symbols[b, k : k + 1], said[b, k : k + 1], step.state.moving.weights[row]
            )
            score = self.ranking.rank(float(totals[b, k]), position + 1)
            sentences[b].finished.append(prefix.hypothesis(0, score, sentences[b].source_length))

        totals = totals.masked_fill(symbols == EOS, float("-inf"))
        totals, order = self._keep(totals)
        rows, symbols = parents.gather(1, order).flatten(), symbols.gather(1, order).flatten()
        moving = select(step.state.moving, rows)
        prefixes = select(beams.prefixes, rows).extend(symbols, said.gather(1, order).flatten(), moving.weights)
        return _Open(step.state._replace(moving=moving), prefixes, symbols, totals.flatten())

    def _keep(self, totals: Tensor) -> tuple[Tensor, Tensor]:
        """The best `size` of the candidates (B, X), padded with empty places when there are fewer."""
        kept, order = totals.topk(min(self.size, totals.size(1)), dim=1)
        missing = self.size - kept.size(1)
        if missing:
            kept = torch.cat([kept, kept.new_full((kept.size(0), missing), float("-inf"))], 1)
            order = torch.cat([order, order[:, :1].expand(-1, missing)], 1)
        return kept, order

    def _done(self, sentence: _Sentence, beams: _Open, b: int, position: int, n_best: int) -> bool:
        """No open hypothesis of the sentence can still come among its `n_best` finished ones."""
        best_open = float(beams.totals[b * self.size : (b + 1) * self.size].max())
        if best_open == float("-inf") or position >= sentence.limit:
            return True
        if len(sentence.finished) < n_best:
            return False
        worst = sorted(finished.score for finished in sentence.finished)[-n_best]
        return worst >= self.ranking.bound(best_open, sentence.limit + 1)
