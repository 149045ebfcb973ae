"""What search returns, and what it keeps until then."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from dragoman.data.batch import SourceBatch
from dragoman.model.shapes import Float

ROOT = -1  # the parent of what has said nothing yet
LEAST = 64  # rows that there is room for


@dataclass(frozen=True)
class Hypothesis:
    """One translation in symbols.

    `symbols` are without the end symbol; `log_probs` (one for each symbol and one for the end, in nats) add up to
    `log P(y | x)`; `score` is that sum under the search's ranking, by which hypotheses are ordered; `attention`
    holds for every source the weights (len(symbols) + 1, source length), the row of the end symbol last.
    """

    symbols: tuple[int, ...]
    score: float
    log_probs: tuple[float, ...]
    attention: tuple[NDArray[np.float32], ...]

    @property
    def log_prob(self) -> float:
        return sum(self.log_probs)


class Node(NamedTuple):
    """What an open hypothesis said last: after which node, which symbol, and log P of that and of the whole."""

    parent: int
    symbol: int
    log_prob: float
    total: float  # -inf where a beam has fewer hypotheses than places


def nothing(symbol: int) -> Node:
    """Before the first step: the start symbol, for certain."""
    return Node(ROOT, symbol, 0.0, 0.0)


class End(NamedTuple):
    """A finished hypothesis: the node that said the end symbol, log P of that, and the score of the whole."""

    node: int
    log_prob: float
    score: float


class _Rows:
    """Rows of numbers in one piece that grows. Pieces of single steps would lie scattered among the large tensors that
    come and go between them, and these could not use each other's places (docs/speed.md, All engines).
    """

    def __init__(self) -> None:
        self._held: Tensor | None = None
        self._count = 0

    def add(self, rows: Float[Tensor, "R _"]) -> None:
        first, self._count = self._count, self._count + len(rows)
        if self._held is None or self._count > len(self._held):
            larger = rows.new_empty(max(LEAST, 2 * self._count), rows.size(1))
            if self._held is not None:
                larger[:first] = self._held[:first]
            self._held = larger
        self._held[first : self._count] = rows

    def all(self) -> Float[Tensor, "N _"]:
        assert self._held is not None
        return self._held[: self._count]


class Paths:
    """All steps of a search as a tree: each row of each step is a node, which knows what it had read and attended to.

    Nothing is copied while hypotheses branch and batches shrink; what was found is read off backwards from its end.
    """

    def __init__(self, sources: tuple[SourceBatch, ...]) -> None:
        self._lengths = [source.mask.sum(1).tolist() for source in sources]  # a sentinel has one position
        self._nodes: list[Node] = []
        self._attention: list[_Rows] = []

    def add(self, said: Iterable[Node], attention: tuple[Float[Tensor, "R _"], ...]) -> int:
        """A step, by what its rows read and their attention: the number of its first node, whence they are counted."""
        first = len(self._nodes)
        self._nodes.extend(said)
        self._attention = self._attention or [_Rows() for _ in attention]
        for rows, weights in zip(self._attention, attention, strict=True):
            rows.add(weights)
        return first

    def hypotheses(self, ends: list[list[End]]) -> list[list[Hypothesis]]:
        """For each sentence, what ended at its ends."""
        columns = (rows.all().float().cpu().numpy() for rows in self._attention)
        lengths = self._lengths + [[1] * len(ends)] * (len(self._attention) - len(self._lengths))
        attended = list(zip(columns, lengths, strict=True))

        def read(sentence: int, end: End) -> Hypothesis:
            path, node = [], end.node
            while node != ROOT:
                path.append(node)
                node = self._nodes[node].parent
            path.reverse()
            said = [self._nodes[node] for node in path[1:]]
            return Hypothesis(
                tuple(each.symbol for each in said),
                end.score,
                (*(each.log_prob for each in said), end.log_prob),
                tuple(weights[path, : lengths[sentence]] for weights, lengths in attended),
            )

        return [[read(sentence, end) for end in found] for sentence, found in enumerate(ends)]
