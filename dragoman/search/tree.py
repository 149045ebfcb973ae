"""A search as a tree: which hypotheses were alive at each step, and what became of each."""

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple, final

from dragoman.data.vocabulary import EOS
from dragoman.search.hypothesis import ROOT, HypothesisNode, Paths
from dragoman.search.strategy import SentenceBeam


class Fate(StrEnum):
    """What became of a hypothesis: a longer one went on, none of those that continue it was kept, it ended, or it was
    still open when the search was done.
    """

    CONTINUED = "continued"
    PRUNED = "pruned"
    FINISHED = "finished"
    OPEN = "open"


class Branch(NamedTuple):
    """A hypothesis that a search kept: the number of the one that it continues (None: the empty one), its last symbol,
    with its spelling if the vocabulary has none, log P of the symbol and of the whole, its number of symbols and its
    fate. One that is finished says the end symbol, which counts, and has the score by which it is ranked.
    """

    parent: int | None
    symbol: int
    surface: str | None
    log_prob: float
    total: float
    length: int
    fate: Fate
    score: float | None = None


@final
class SearchTree:
    """The trees of a search of some sentences, read off the steps that it has kept anyway: `search(...,
    trace=SearchTree())`. `trees` has the branches of each sentence, shorter ones first, then the finished ones, best
    first, and those that were still open.
    """

    def __init__(self) -> None:
        self.trees: list[list[Branch]] = []

    def __call__(self, paths: Paths, sentences: Sequence[SentenceBeam]) -> None:
        """Look at a search that is done."""
        roots = sum(node.parent == ROOT for node in paths.nodes)  # several of each sentence in a diverse beam
        trees = [_Growing() for _ in sentences]
        of_node: list[_Growing] = []
        for number, node in enumerate(paths.nodes):
            grown = trees[number * len(trees) // roots] if node.parent == ROOT else of_node[node.parent]
            of_node.append(grown)
            if node.parent == ROOT:
                grown.places[number] = None
            elif node.total > float("-inf"):  # not one that only fills a beam
                grown.add(node, Fate.PRUNED, number)
        for sentence, grown in zip(sentences, trees, strict=True):
            for end in sentence.finished:
                # An end is no node of the search: its score may be normalized, its log P is computed here.
                total = paths.nodes[end.node].total + end.log_prob
                grown.add(HypothesisNode(end.node, EOS, end.log_prob, total), Fate.FINISHED, score=end.score)
            for node in sentence.beam:
                if node.total > float("-inf"):
                    grown.add(node, Fate.OPEN)
        self.trees = [grown.branches for grown in trees]


class _Growing:
    """The branches of a sentence so far, and the place among them of each node of the search."""

    def __init__(self) -> None:
        self.branches: list[Branch] = []
        self.places: dict[int, int | None] = {}

    def add(self, node: HypothesisNode, fate: Fate, number: int | None = None, score: float | None = None) -> None:
        parent, length = self.places[node.parent], 1
        if parent is not None:
            length += self.branches[parent].length
            # What seemed to be pruned has a continuation that was kept.
            self.branches[parent] = self.branches[parent]._replace(fate=Fate.CONTINUED)
        if number is not None:
            self.places[number] = len(self.branches)
        self.branches.append(Branch(parent, node.symbol, node.surface, node.log_prob, node.total, length, fate, score))
