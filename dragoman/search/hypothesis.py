"""What search returns, and what it keeps until then."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dragoman.data.batch import Sequence
from dragoman.model.shapes import Float

ROOT = -1  # the parent of what has said nothing yet


@dataclass(frozen=True)
class Hypothesis:
    """One translation in symbols.

    `symbols` are without the end symbol; `log_probs` (one for each symbol and one for the end, in nats) add up to
    `log P(y | x)`; `score` is that sum under the search's normalisation, by which hypotheses are ranked; `attention`
    holds for every source the weights (len(symbols) + 1, source length), the row of the end symbol last.
    """

    symbols: tuple[int, ...]
    score: float
    log_probs: tuple[float, ...]
    attention: tuple[NDArray[np.float32], ...]

    @property
    def log_prob(self) -> float:
        return sum(self.log_probs)


class Said(NamedTuple):
    """What open hypotheses said last: the node that said it, the symbol, and log P of that, all of one shape."""

    parents: Tensor
    symbols: Tensor
    log_probs: Tensor

    @classmethod
    def nothing(cls, symbol: int, like: Tensor) -> "Said":
        """Before the first step: the start symbol, for certain."""
        certain = torch.zeros_like(like, dtype=torch.float)
        return cls(torch.full_like(like, ROOT), torch.full_like(like, symbol), certain)


class End(NamedTuple):
    """A finished hypothesis: the node that said the end symbol, log P of that, and the score of the whole."""

    node: int
    log_prob: float
    score: float


class History:
    """All steps of a search as a tree: each row of each step is a node, which knows what it had read and attended to.

    Nothing is copied while hypotheses branch and batches shrink; what was found is read off backwards from its end.
    """

    def __init__(self, sources: tuple[Sequence, ...]) -> None:
        self._lengths = [source.mask.sum(1).tolist() for source in sources]
        self._steps: list[tuple[Tensor, ...]] = []
        self._nodes = 0

    def add(self, said: Said, attention: tuple[Float[Tensor, "R _"], ...]) -> Tensor:
        """The nodes of a step, numbered on in the order of its rows, from what they read and their attention."""
        self._steps.append((*(part.flatten() for part in said), *attention))
        first, self._nodes = self._nodes, self._nodes + said.parents.numel()
        return torch.arange(first, self._nodes, device=said.parents.device).view_as(said.parents)

    def hypotheses(self, ends: list[list[End]]) -> list[list[Hypothesis]]:
        """For each sentence, what ended at its ends."""
        columns = [torch.cat(parts).cpu() for parts in zip(*self._steps, strict=True)]
        parents, symbols, log_probs = (column.tolist() for column in columns[:3])
        attended = list(zip((column.float().numpy() for column in columns[3:]), self._lengths, strict=True))

        def read(sentence: int, end: End) -> Hypothesis:
            path, node = [], end.node
            while node != ROOT:
                path.append(node)
                node = parents[node]
            path.reverse()
            return Hypothesis(
                tuple(symbols[node] for node in path[1:]),
                end.score,
                (*(log_probs[node] for node in path[1:]), end.log_prob),
                tuple(weights[path, : lengths[sentence]] for weights, lengths in attended),
            )

        return [[read(sentence, end) for end in found] for sentence, found in enumerate(ends)]
