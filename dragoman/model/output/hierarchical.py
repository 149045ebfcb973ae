"""Outputs that decide in several steps, each among few: trees, classes and clusters of symbols by frequency."""

import heapq
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, final

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

from dragoman.configuration.values import Count
from dragoman.data.vocabulary import SymbolTable
from dragoman.model.linear import Linear, linear, matmul_dtype
from dragoman.model.output.output import Loss, Output, Readout
from dragoman.model.output.softmax import ENTRIES, cross_entropy, output_weight, unigram_log_probs, unsmoothed_loss
from dragoman.model.shapes import Float, Int


@final
class ClassOutput(Output):
    """`p(y) = p(c) p(y | c)`: a softmax over classes, and one over the symbols of the class (Goodman 2001).

    With at most C `classes` (by default the root of V) a symbol costs C + V / C products in training instead of V. A
    class has symbols of adjacent ranks by frequency, as many as every other but the last, which may have fewer.
    """

    by_symbol = ("weight", "bias")
    arranges = True

    def __init__(
        self,
        features_size: int,
        symbols: SymbolTable,
        table: nn.Parameter | None = None,
        *,
        classes: Count | None = None,
    ) -> None:
        super().__init__()
        self.width = math.ceil(len(symbols) / (classes or math.ceil(len(symbols) ** 0.5)))
        self.weight = output_weight(features_size, symbols, table)
        self.bias = nn.Parameter(unigram_log_probs(symbols.counts))
        self.classes = Linear(features_size, math.ceil(len(symbols) / self.width))
        self.ranks: Tensor
        self.register_buffer("ranks", torch.tensor(ranks(symbols.counts), device="cpu"))  # the class is rank // width
        # The model begins as the unigram distribution: log of the sum of what its symbols have.
        of_classes = self.bias.new_zeros(len(self.classes.bias)).index_add(0, self.ranks // self.width, self.bias.exp())
        self.classes.bias = nn.Parameter(of_classes.detach().log())

    def loss(self, readout: Readout, targets: Int[Tensor, "N"]) -> Loss:
        classes = self.ranks[targets] // self.width
        of_classes = cross_entropy(readout.features, self.classes.weight, self.classes.bias, classes)
        apply: Callable[..., Tensor] = _WithinClasses.apply
        members = torch.split(self.ranks.argsort(), self.width)
        parts = readout.features, self.weight, self.bias
        return of_classes._replace(total=of_classes.total + apply(*parts, self.ranks[targets], members))

    def log_probs(self, readout: Readout) -> Float[Tensor, "N V"]:
        logits = linear(readout.features, self.weight, self.bias)
        of_classes = self.classes(readout.features)
        exact = torch.promote_types(logits.dtype, torch.float32)
        shape = len(logits), of_classes.size(1), self.width
        # Sorted by rank, a class is a row; the last is filled up with symbols of probability 0.
        table = logits.new_full((len(logits), shape[1] * self.width), -math.inf).index_copy(1, self.ranks, logits)
        within = torch.log_softmax(table.view(shape), -1, dtype=exact)
        log_probs = within + torch.log_softmax(of_classes, -1, dtype=exact).unsqueeze(2)
        return log_probs.flatten(1).index_select(1, self.ranks)


class _WithinClasses(torch.autograd.Function):
    """`- sum_n log p(y_n | c_n)`: the cross-entropy of each row among the symbols of its class, with the gradient
    computed beside it, as in `softmax.py`. Only rows of W of classes that occur are read.
    """

    @staticmethod
    def forward(
        ctx: Any, features: Tensor, weight: Tensor, bias: Tensor, ranks: Tensor, members: Sequence[Tensor]
    ) -> Tensor:
        kind = matmul_dtype(weight)
        exact = torch.promote_types(kind, torch.float32)
        f, width = features.to(kind), len(members[0])
        d_features = torch.zeros_like(f, dtype=exact)
        d_weight, d_bias = torch.zeros_like(weight, dtype=exact), torch.zeros_like(bias, dtype=exact)
        total = torch.zeros((), dtype=exact, device=features.device)
        with torch.autocast(features.device.type, enabled=False):
            # A product for each class that occurs, with all of its rows, instead of one for each row.
            for number, rows in _groups(ranks // width):
                ids, inputs = members[number], f[rows]
                w, b = weight[ids].to(kind), bias[ids].to(kind)
                loss, d_logits = unsmoothed_loss(functional.linear(inputs, w, b), ranks[rows] % width, 1.0, exact)
                total += loss
                d_features[rows] = (d_logits @ w).to(exact)
                d_weight[ids] = (d_logits.t() @ inputs).to(exact)
                d_bias[ids] = d_logits.sum(0, dtype=exact)
        ctx.save_for_backward(d_features, d_weight, d_bias)
        ctx.kinds = features.dtype, weight.dtype, bias.dtype
        return total

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        scaled = ((saved * gradients[0]).to(kind) for saved, kind in zip(ctx.saved_tensors, ctx.kinds, strict=True))
        return *scaled, None, None


def _groups(numbers: Int[Tensor, "N"]) -> Iterator[tuple[int, Int[Tensor, "_"]]]:
    """Yield each number that occurs, and where."""
    sizes = numbers.bincount()
    # Stable, so that sums of gradients have the same order in every run.
    rows = torch.split(numbers.argsort(stable=True), sizes.tolist())
    return ((number, rows[number]) for number in sizes.nonzero().flatten().tolist())


@final
class HuffmanOutput(Output):
    """`p(y) = prod_i sigmoid(± (w_i f + b_i))` over the inner nodes i on the way from the root of a binary tree to the
    leaf of y, + to the left (Morin and Bengio 2005), with the Huffman codes of the frequencies as ways: a symbol costs
    the length of its code, about `- log2` of its frequency.

    Probabilities of all symbols are exact and sum to 1; all V - 1 inner nodes are computed for that.
    """

    arranges = True

    def __init__(self, features_size: int, symbols: SymbolTable, table: nn.Parameter | None = None) -> None:
        super().__init__()
        _require_untied(table, "a vector for each inner node of a tree")
        inner = len(symbols) - 1
        self.weight = nn.Parameter(nn.init.xavier_uniform_(torch.empty(inner, features_size)))
        # Of each node, first the V - 1 inner ones from the root on, then the symbols: twice its parent, + 1 if it is
        # the right child. A parent comes before its inner children.
        places = huffman_tree(symbols.counts)
        self.bias = nn.Parameter(torch.tensor(node_log_odds(places, symbols.counts), dtype=torch.get_default_dtype()))
        self.places: Tensor
        self.register_buffer("places", torch.tensor(places))

    def loss(self, readout: Readout, targets: Int[Tensor, "N"]) -> Loss:
        rows, places = self._ways(targets)
        nodes = places // 2
        vectors = functional.embedding(nodes, self.weight)  # (M, F)
        scores = (readout.features.index_select(0, rows) * vectors).sum(1) + self.bias.index_select(0, nodes)
        return Loss(functional.softplus(torch.where(places % 2 == 0, -scores, scores)).sum(), len(targets))

    def _ways(self, symbols: Int[Tensor, "N"]) -> tuple[Int[Tensor, "M"], Int[Tensor, "M"]]:
        """Return all nodes on the ways to these symbols but the root: the number of the symbol, and the node's
        place.
        """
        rows, nodes = torch.arange(len(symbols), device=symbols.device), symbols + len(self.weight)
        levels = [(rows[:0], nodes[:0])]
        # From all leaves up at the same time: as many rounds as the longest code has bits.
        while len(nodes):
            places = self.places[nodes]
            levels.append((rows, places))
            nodes = places // 2
            rows, nodes = rows[nodes > 0], nodes[nodes > 0]
        of_rows, of_places = zip(*levels, strict=True)
        return torch.cat(of_rows), torch.cat(of_places)

    def log_probs(self, readout: Readout) -> Float[Tensor, "N V"]:
        # The sums below take several times the memory of the result.
        portion = max(1, ENTRIES // len(self.weight))
        return torch.cat([self._log_probs(features) for features in torch.split(readout.features, portion)])

    def _log_probs(self, features: Float[Tensor, "N F"]) -> Float[Tensor, "N V"]:
        """Return the sums of the steps on all ways: each round adds to a node's sum that of the node where it begins,
        so that ways of twice the length are summed.
        """
        scores = linear(features, self.weight, self.bias)
        # (V - 1, N): whole rows are selected and added, which is faster than columns.
        scores = scores.to(torch.promote_types(scores.dtype, torch.float32)).t()
        steps = torch.stack([functional.logsigmoid(scores), functional.logsigmoid(-scores)], 1).flatten(0, 1)
        inner, leaves = self.places[: len(self.weight)], self.places[len(self.weight) :]
        sums = torch.cat([torch.zeros_like(steps[:1]), steps.index_select(0, inner[1:])])
        begins = inner // 2
        # Pointers that double: log2 of the longest way instead of its length.
        while begins.any():
            sums = sums + sums.index_select(0, begins)
            begins = begins[begins]
        return (sums.index_select(0, leaves // 2) + steps.index_select(0, leaves)).t()


@final
class AdaptiveSoftmax(Output):
    """torch's `AdaptiveLogSoftmaxWithLoss` (Grave et al. 2017): a softmax over the most frequent symbols and some
    clusters of rarer ones, each cluster with a softmax of its own over features of size `F / div_value^i`.

    `cutoffs` are the ranks at which clusters begin; those beyond the vocabulary are left out, and if none remains, half
    of the symbols are in one cluster.
    """

    arranges = True

    def __init__(
        self,
        features_size: int,
        symbols: SymbolTable,
        table: nn.Parameter | None = None,
        *,
        cutoffs: tuple[Count, ...] = (4_000, 40_000),
        div_value: Annotated[float, Field(ge=1)] = 4.0,
    ) -> None:
        super().__init__()
        _require_untied(table, "vectors of several sizes")
        if not cutoffs or list(cutoffs) != sorted(set(cutoffs)):
            raise ValueError(f"needs cutoffs in ascending order, found {list(cutoffs)}")
        within = [cutoff for cutoff in cutoffs if cutoff < len(symbols)] or [len(symbols) // 2]
        if features_size < div_value ** len(within):
            raise ValueError(
                f"leaves no features to the last of {len(within)} clusters: {features_size} features are too few"
            )
        self.softmax = nn.AdaptiveLogSoftmaxWithLoss(features_size, len(symbols), within, div_value, head_bias=True)
        self.ranks: Tensor
        self.register_buffer("ranks", torch.tensor(ranks(symbols.counts)))
        ranked = unigram_log_probs(sorted(symbols.counts, reverse=True))
        first, *clusters = torch.tensor_split(ranked, within)
        # A cluster's entry in the head has the probability of all its symbols.
        head = torch.cat([first, *(cluster.logsumexp(0, keepdim=True) for cluster in clusters)])
        self.softmax.head.bias = nn.Parameter(head)

    def loss(self, readout: Readout, targets: Int[Tensor, "N"]) -> Loss:
        # torch's module fails without rows; the sum keeps the gradient of an empty batch.
        if not len(targets):
            return Loss(readout.features.sum(), 0)
        with self._in_full(readout) as features:
            return Loss(-self.softmax(features, self.ranks[targets]).output.sum(), len(targets))

    def log_probs(self, readout: Readout) -> Float[Tensor, "N V"]:
        with self._in_full(readout) as features:
            log_probs: Tensor = self.softmax.log_prob(features)
        return log_probs.index_select(1, self.ranks)

    @contextmanager
    def _in_full(self, readout: Readout) -> Iterator[Tensor]:
        """Give the features in the type of the weights; torch's module knows no other type, so nothing is cast
        in it.
        """
        with torch.autocast(readout.features.device.type, enabled=False):
            yield readout.features.to(self.softmax.head.weight.dtype)


def _require_untied(table: nn.Parameter | None, what: str) -> None:
    if table is not None:
        raise ValueError(f"has {what}, and no embedding is tied to it; use model.embedding.tie: none or languages")


def ranks(counts: Sequence[int]) -> list[int]:
    """Return the rank of each symbol by frequency, from 0; of equally frequent ones, the first comes first."""
    rank_of = [0] * len(counts)
    for rank, symbol in enumerate(sorted(range(len(counts)), key=lambda symbol: -counts[symbol])):
        rank_of[symbol] = rank
    return rank_of


def huffman_tree(counts: Sequence[int]) -> list[int]:
    """Return the places of the nodes in the tree of Huffman's codes (1952), as `HuffmanOutput` has them: the two rarest
    nodes become children of a new one, until one is left, the root.
    """
    last = 2 * len(counts) - 2  # the root is made last, and the first of the inner nodes
    heap = [(count, symbol) for symbol, count in enumerate(counts)]
    heapq.heapify(heap)
    places = [0] * (last + 1)
    for parent in range(len(counts), last + 1):
        both = heapq.heappop(heap), heapq.heappop(heap)
        for side, (_, node) in enumerate(both):
            inner = last - node  # if it is one
            places[len(counts) - 1 + node if node < len(counts) else inner] = 2 * (last - parent) + side
        heapq.heappush(heap, (both[0][0] + both[1][0], parent))
    return places


def node_log_odds(places: Sequence[int], counts: Sequence[int]) -> list[float]:
    """Return the log-odds of each inner node to go to the left, where the symbols have their probabilities of
    `unigram_log_probs`.
    """
    inner = len(counts) - 1
    totals = [0] * (2 * inner)  # of the children of each inner node
    for node in range(2 * inner, 0, -1):
        symbol = node - inner
        totals[places[node]] = counts[symbol] + 1 if symbol >= 0 else totals[2 * node] + totals[2 * node + 1]
    return [math.log(totals[2 * node] / totals[2 * node + 1]) for node in range(inner)]
