"""Greedy search: the most probable symbol at every step."""

from typing import final

import torch

from dragoman.data.batch import Sequence
from dragoman.data.vocabulary import EOS
from dragoman.model.state import select
from dragoman.search.hypothesis import End, History, Hypothesis, Said
from dragoman.search.limits import Limit, Margin, Ratio, forbid
from dragoman.search.search import Predictor, Search, State


@final
class Greedy(Search):
    """`x_t = argmax P(x | x_1 .. x_(t-1))` until the end symbol (CN 4, AN).

    A translation has at most `length_ratio` times the source's symbols plus `length_margin`; there it is made to end.
    """

    width = 1

    def __init__(self, *, length_ratio: Ratio = 2.0, length_margin: Margin = 10) -> None:
        self.limit = Limit(length_ratio, length_margin)

    def find(self, model: Predictor[State], sources: tuple[Sequence, ...], n_best: int) -> list[list[Hypothesis]]:
        history, ends = History(sources), dict[int, End]()
        state, limits = model.begin(sources), self.limit.steps(sources)
        numbers = torch.arange(len(limits), device=limits.device)  # which sentence each row is
        said = Said.nothing(model.start_id, like=numbers)
        totals = torch.zeros_like(numbers, dtype=torch.double)
        position = 0
        while len(numbers):
            step = model.predict(said.symbols, state)
            nodes = history.add(said, step.attention)
            forbid(step.log_probs, limits <= position)
            log_probs, columns = step.log_probs.max(1)
            symbols = step.named(columns)
            state, said, totals = step.state, Said(nodes, symbols, log_probs), totals + log_probs
            ended = symbols == EOS
            if ended.any():
                found = (part[ended].tolist() for part in (numbers, nodes, log_probs, totals))
                ends.update((number, End(*end)) for number, *end in zip(*found, strict=True))
                rows = (~ended).nonzero().flatten()
                state = model.reorder(state, rows, rows)
                said, totals, limits, numbers = select((said, totals, limits, numbers), rows)
            position += 1
        return history.hypotheses([[ends[number]] for number in range(len(ends))])
