"""What search returns, and what it keeps until then."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dragoman.data.batch import SourceBatch
from dragoman.model.predictor import Prediction
from dragoman.model.shapes import Float
from dragoman.search.ranking import coverage

ROOT = -1  # the parent of what has said nothing yet
LEAST = 64  # rows that there is room for


@dataclass(frozen=True)
class Hypothesis:
    """One translation in symbols.

    `symbols` are without the end symbol; `log_probs` (one for each symbol and one for the end, in nats) add up to
    `log P(y | x)`; `score` is that sum under the search's ranking, by which hypotheses are ordered; `attention`
    holds for every source the weights (len(symbols) + 1, source length), the row of the end symbol last. `surfaces`
    spells the symbols that a model has spelled itself, None elsewhere. `figures` are what else the model knows of each
    step (len(symbols) + 1,), by name.
    """

    symbols: tuple[int, ...]
    score: float
    log_probs: tuple[float, ...]
    attention: tuple[NDArray[np.float32], ...]
    surfaces: tuple[str | None, ...] = ()
    figures: Mapping[str, NDArray[np.float32]] = field(default_factory=dict)

    @property
    def log_prob(self) -> float:
        return sum(self.log_probs)


class Node(NamedTuple):
    """What an open hypothesis said last: after which node, which symbol, log P of that and of the whole, and how it is
    spelled where the vocabulary does not say.
    """

    parent: int
    symbol: int
    log_prob: float
    total: float  # -inf where a beam has fewer hypotheses than places
    surface: str | None = None


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


class _Coverage:
    """The coverage of each row of the last step, by the attention that some sources have got on the way to it."""

    def __init__(self, sources: tuple[SourceBatch, ...], numbers: Sequence[int]) -> None:
        self._numbers = numbers
        self._attended = [(~sources[number].mask).float() for number in numbers]  # (R, S); padding is seen in full
        self._first = 0  # the node of the first row
        self._found: list[float] | None = None

    def add(self, rows: Sequence[Node], attention: tuple[Tensor, ...], first: int) -> None:
        """A step, whose first row is this node."""
        if first:
            parents = torch.tensor([node.parent - self._first for node in rows], device=attention[0].device)
            self._attended = [each[parents] for each in self._attended]
        self._attended = [each + attention[number] for each, number in zip(self._attended, self._numbers, strict=True)]
        self._first, self._found = first, None

    def of(self, node: int) -> float:
        if self._found is None:
            self._found = coverage(self._attended).tolist()
        return self._found[node - self._first]


class Paths:
    """All steps of a search as a tree: each row of each step is a node, which knows what it had read, what it attended
    to, and its figures.

    Nothing is copied while hypotheses branch and batches shrink; what was found is read off backwards from its end.
    `covered` are the numbers of the sources that coverage counts.
    """

    def __init__(self, sources: tuple[SourceBatch, ...], covered: Sequence[int] = ()) -> None:
        self._lengths = [source.mask.sum(1).tolist() for source in sources]  # a sentinel has one position
        self._nodes: list[Node] = []
        self._attention: list[_Rows] = []
        self._figures: dict[str, _Rows] = {}
        self._coverage = _Coverage(sources, covered) if covered else None

    def add(self, rows: Sequence[Node], prediction: Prediction[Any]) -> int:
        """A step, by what its rows read and what is predicted from there: the number of its first node, whence they
        are counted.
        """
        first = len(self._nodes)
        self._nodes.extend(rows)
        if not first:
            self._attention = [_Rows() for _ in prediction.attention]
            self._figures = {name: _Rows() for name in prediction.figures}
        for held, weights in zip(self._attention, prediction.attention, strict=True):
            held.add(weights)
        for name, held in self._figures.items():
            held.add(prediction.figures[name].unsqueeze(1))
        if self._coverage:
            self._coverage.add(rows, prediction.attention, first)
        return first

    def path(self, node: int) -> list[int]:
        """The nodes from the first step to this one."""
        path = []
        while node != ROOT:
            path.append(node)
            node = self._nodes[node].parent
        return path[::-1]

    def coverage(self, node: int) -> float:
        """Of a node of the last step; 0 where no source is covered."""
        return self._coverage.of(node) if self._coverage else 0.0

    def hypotheses(self, ends: list[list[End]]) -> list[list[Hypothesis]]:
        """For each sentence, what ended at its ends."""
        columns = (rows.all().float().cpu().numpy() for rows in self._attention)
        lengths = self._lengths + [[1] * len(ends)] * (len(self._attention) - len(self._lengths))
        attended = list(zip(columns, lengths, strict=True))
        figures = {name: rows.all()[:, 0].float().cpu().numpy() for name, rows in self._figures.items()}

        def read(sentence: int, end: End) -> Hypothesis:
            path = self.path(end.node)
            said = [self._nodes[node] for node in path[1:]]
            return Hypothesis(
                tuple(each.symbol for each in said),
                end.score,
                (*(each.log_prob for each in said), end.log_prob),
                tuple(weights[path, : lengths[sentence]] for weights, lengths in attended),
                tuple(each.surface for each in said),
                {name: values[path] for name, values in figures.items()},
            )

        return [[read(sentence, end) for end in found] for sentence, found in enumerate(ends)]
