"""Greedy search: the most probable symbol at every step."""

from typing import final

import torch

from dragoman.data.batch import SourceBatch
from dragoman.data.vocabulary import EOS
from dragoman.search.hypothesis import End, Hypothesis, Node, Paths, nothing
from dragoman.search.limits import Limit, Margin, Ratio, forbid, number
from dragoman.search.search import Predictor, Search, State


@final
class Greedy(Search):
    """`x_t = argmax P(x | x_1 .. x_(t-1))` until the end symbol (CN 4, AN).

    A translation has at most `length_ratio` times the source's symbols plus `length_margin`; there it is made to end.
    """

    width = 1

    def __init__(self, *, length_ratio: Ratio = 2.0, length_margin: Margin = 10) -> None:
        self.limit = Limit(length_ratio, length_margin)

    def find(
        self, model: Predictor[State], sources: tuple[SourceBatch, ...], n_best: int, spare: int
    ) -> list[list[Hypothesis]]:
        paths, limits, device = Paths(sources), self.limit.steps(sources), sources[0].mask.device
        ends: list[list[End]] = [[] for _ in limits]
        state, rows = model.begin(sources), [nothing(model.start_id) for _ in limits]
        sentences = list(range(len(limits)))  # of the rows
        position = 0
        while rows:
            step = model.predict(torch.tensor([said.symbol for said in rows], device=device), state)
            first = paths.add(rows, step.attention)
            forbid(step.log_probs, [row for row, sentence in enumerate(sentences) if limits[sentence] <= position])
            log_probs, columns = step.log_probs.max(1)
            following, left = [], []
            found = zip(step.named(columns).tolist(), log_probs.tolist(), strict=True)
            for row, (symbol, log_prob) in enumerate(found):
                said = Node(first + row, symbol, log_prob, rows[row].total + number(log_prob))
                if symbol == EOS:
                    ends[sentences[row]] = [End(said.parent, log_prob, said.total)]
                else:
                    following.append(said)
                    left.append(row)
            state = step.state
            if 0 < len(left) < len(rows):
                kept = torch.tensor(left, device=device)
                state, sentences = model.reorder(state, kept, kept), [sentences[row] for row in left]
            rows = following
            position += 1
        return paths.hypotheses(ends)
