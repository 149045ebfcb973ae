"""Hypotheses that a search returns, and the tree of steps that it keeps until then."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dragoman.data.batch import SourceBatch
from dragoman.model.shapes import Float
from dragoman.search.ranking import coverage

ROOT = -1  # the parent of an empty hypothesis
LEAST = 64  # the smallest capacity in rows


@dataclass(frozen=True)
class Hypothesis:
    """One translation as symbols.

    `symbols` exclude the end symbol; `log_probs` (one for each symbol and one for the end, in nats) sum to
    `log P(y | x)`; `score` is that sum under the search's ranking, by which hypotheses are ordered. `attention` holds
    the weights (len(symbols) + 1, source length) for each source, with the row of the end symbol last. `surfaces` are
    the spellings of symbols that the model spelled itself, None for others. `statistics` are further values that the
    model reports for each step (len(symbols) + 1,), by name. `proved` tells whether no other translation is more
    probable than this one and those before it; None if the search does not ask. `total` is `log P(y | x)` from an
    engine that did not report log P of symbols, which are NaN then, and attention.
    """

    symbols: tuple[int, ...]
    score: float
    log_probs: tuple[float, ...]
    attention: tuple[NDArray[np.float32], ...]
    surfaces: tuple[str | None, ...] = ()
    statistics: Mapping[str, NDArray[np.float32]] = field(default_factory=dict)
    proved: bool | None = None
    total: float | None = None

    @property
    def log_prob(self) -> float:
        return sum(self.log_probs) if self.total is None else self.total

    @property
    def without_details(self) -> "Hypothesis":
        """The same hypothesis without attention and statistics."""
        return replace(self, attention=(), statistics={})


class HypothesisNode(NamedTuple):
    """The last step of an open hypothesis: its parent node, its symbol, log P of the symbol and of the whole
    hypothesis, and the symbol's spelling if it is not in the vocabulary.
    """

    parent: int
    symbol: int
    log_prob: float
    total: float  # -inf where a beam has fewer hypotheses than places
    surface: str | None = None


def start_node(symbol: int) -> HypothesisNode:
    """Return the node before the first step: the start symbol, with probability 1."""
    return HypothesisNode(ROOT, symbol, 0.0, 0.0)


class FinishedHypothesis(NamedTuple):
    """A finished hypothesis: the node that predicted the end symbol, log P of the end, and the score of the whole."""

    node: int
    log_prob: float
    score: float


class _Rows:
    """Rows of numbers in one tensor that grows. One tensor per step would fragment memory: such tensors would lie
    between the large ones allocated and freed meanwhile, whose places could not be reused (docs/speed-notes.md,
    All engines).
    """

    def __init__(self) -> None:
        self._held: Tensor | None = None
        self._count = 0

    def add(self, rows: Float[Tensor, "R _"]) -> None:
        first, self._count = self._count, self._count + len(rows)
        if self._held is None or self._count > len(self._held):
            # Twice as many as needed, so that all copies together are no longer than the rows themselves.
            larger = rows.new_empty(max(LEAST, 2 * self._count), rows.size(1))
            if self._held is not None:
                larger[:first] = self._held[:first]
            self._held = larger
        self._held[first : self._count] = rows

    def all(self) -> Float[Tensor, "N _"]:
        assert self._held is not None
        return self._held[: self._count]


class _Coverage:
    """The coverage of each row of the last step, from the attention summed over its path, for the numbered sources."""

    def __init__(self, sources: tuple[SourceBatch, ...], numbers: Sequence[int]) -> None:
        self._numbers = numbers
        self._attended = [(~sources[number].mask).float() for number in numbers]  # (R, S); padding counts as covered
        self._first = 0  # the node of the first row
        self._coverages: list[float] | None = None

    def add(self, rows: Sequence[HypothesisNode], attention: tuple[Tensor, ...], first: int) -> None:
        """Add a step whose first row is the node `first`."""
        if first:  # rows of the first step have no parents
            parents = torch.tensor([node.parent - self._first for node in rows], device=attention[0].device)
            self._attended = [weights[parents] for weights in self._attended]
        self._attended = [
            weights + attention[number] for weights, number in zip(self._attended, self._numbers, strict=True)
        ]
        self._first, self._coverages = first, None

    def of(self, node: int) -> float:
        # Computed at the first end of a step: most steps have none, and a logarithm of all positions is not cheap.
        if self._coverages is None:
            self._coverages = coverage(self._attended).tolist()
        return self._coverages[node - self._first]


class Paths:
    """All steps of a search as a tree. Each row of each step is a node with its input symbol, its attention and its
    statistics.

    Nothing is copied when hypotheses branch or batches shrink; a finished hypothesis is read off backwards from its
    end. `nodes` are the inputs of the rows. `coverage_sources` are the numbers of the sources counted in the
    coverage.
    """

    def __init__(self, sources: tuple[SourceBatch, ...], coverage_sources: Sequence[int] = ()) -> None:
        self._lengths = [source.mask.sum(1).tolist() for source in sources]  # a sentinel has one position
        self.nodes: list[HypothesisNode] = []
        self._attention: list[_Rows] = []
        self._statistics: dict[str, _Rows] = {}
        self._coverage = _Coverage(sources, coverage_sources) if coverage_sources else None

    def add(
        self,
        rows: Sequence[HypothesisNode],
        attention: tuple[Float[Tensor, "R _"], ...],
        statistics: Mapping[str, Float[Tensor, "R"]] = MappingProxyType({}),
    ) -> int:
        """Add a step: the input of its rows, their attention on each source, and their statistics. Returns the number
        of its first node; the others follow in order.
        """
        first = len(self.nodes)
        self.nodes.extend(rows)
        if not first:
            self._attention = [_Rows() for _ in attention]
            self._statistics = {name: _Rows() for name in statistics}
        for held, weights in zip(self._attention, attention, strict=True):
            held.add(weights)
        for name, held in self._statistics.items():
            held.add(statistics[name].unsqueeze(1))
        if self._coverage:
            self._coverage.add(rows, attention, first)
        return first

    def path(self, node: int) -> list[int]:
        """Return the nodes from the first step to this one."""
        path = []
        while node != ROOT:
            path.append(node)
            node = self.nodes[node].parent
        return path[::-1]

    def symbol_nodes(self, node: int) -> list[HypothesisNode]:
        """Return the nodes of the symbols of this hypothesis."""
        return [self.nodes[ancestor] for ancestor in self.path(node)[1:]]

    def coverage(self, node: int) -> float:
        """Return the coverage of a node of the last step; 0 if no source is covered."""
        return self._coverage.of(node) if self._coverage else 0.0

    def hypotheses(self, ends: list[list[FinishedHypothesis]]) -> list[list[Hypothesis]]:
        """Return the finished hypotheses of each sentence, read off from their ends."""
        # All steps come to the processor at once, for all hypotheses.
        columns = (rows.all().float().cpu().numpy() for rows in self._attention)
        lengths = self._lengths + [[1] * len(ends)] * (len(self._attention) - len(self._lengths))
        attended = list(zip(columns, lengths, strict=True))
        statistics = {name: rows.all()[:, 0].float().cpu().numpy() for name, rows in self._statistics.items()}

        def read(sentence: int, end: FinishedHypothesis) -> Hypothesis:
            path, nodes = self.path(end.node), self.symbol_nodes(end.node)
            return Hypothesis(
                tuple(symbol_node.symbol for symbol_node in nodes),
                end.score,
                (*(symbol_node.log_prob for symbol_node in nodes), end.log_prob),
                tuple(weights[path, : lengths[sentence]] for weights, lengths in attended),
                tuple(symbol_node.surface for symbol_node in nodes),
                {name: values[path] for name, values in statistics.items()},
            )

        return [[read(sentence, end) for end in sentence_ends] for sentence, sentence_ends in enumerate(ends)]
