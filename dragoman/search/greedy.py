"""Greedy search: the most probable symbol at every step."""

from typing import final

import torch

from dragoman.components import Positive
from dragoman.data.batch import Sequence
from dragoman.data.vocabulary import EOS
from dragoman.model.state import select
from dragoman.search.hypothesis import Hypothesis, Limit, Margin, Prefixes, Steps, allowed
from dragoman.search.search import Search


@final
class Greedy(Search):
    """`x_t = argmax P(x | x_1 .. x_(t-1))` until the end symbol (CN 4, AN).

    A translation has at most `length_ratio` times the source's symbols plus `length_margin`; there it is made to end.
    """

    def __init__(self, *, length_ratio: Positive = 2.0, length_margin: Margin = 10) -> None:
        self.limit = Limit(length_ratio, length_margin)

    @torch.inference_mode()
    def __call__(self, model: Steps, sources: tuple[Sequence, ...], n_best: int = 1) -> list[list[Hypothesis]]:
        lengths = sources[0].mask.sum(1).tolist()
        found: dict[int, Hypothesis] = {}
        sentences = torch.arange(len(lengths), device=sources[0].ids.device)  # which one each row is
        limits = self.limit.steps(sources)
        state = model.start(model.encode(sources))
        prefixes = Prefixes.empty(len(lengths), sources[0])
        symbols = torch.full_like(sentences, model.start_id)
        for position in range(int(limits.max()) + 1):
            step = model.step(symbols, state)
            log_probs, symbols = allowed(model.log_probs(step.features), limits <= position).max(1)
            state = step.state
            prefixes = prefixes.extend(symbols, log_probs, state.moving.weights)
            for row in (symbols == EOS).nonzero().flatten().tolist():
                sentence = int(sentences[row])
                total = float(prefixes.log_probs[row].sum())
                found[sentence] = prefixes.hypothesis(row, total, lengths[sentence])
            rows = (symbols != EOS).nonzero().flatten()
            if not len(rows):
                break
            if len(rows) < len(symbols):
                state, prefixes, sentences, limits, symbols = select(
                    (state, prefixes, sentences, limits, symbols), rows
                )
        return [[found[sentence]] for sentence in range(len(lengths))]
