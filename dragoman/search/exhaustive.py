"""Exhaustive search: the most probable of all translations, and the proof that it is."""

from bisect import insort
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, final

import torch

from dragoman.configuration.values import Count
from dragoman.data.batch import SourceBatch
from dragoman.data.vocabulary import EOS
from dragoman.model.predictor import Candidate, Prediction, Predictor, mask_specials
from dragoman.model.state import select_rows
from dragoman.search.beam import Beam, Size
from dragoman.search.constraints import Constraint
from dragoman.search.decoding import Deadline, Trace
from dragoman.search.hypothesis import FinishedHypothesis, Hypothesis, HypothesisNode, Paths, start_node
from dragoman.search.limits import Margin, Ratio, forbid_end
from dragoman.search.search import Search
from dragoman.search.strategy import Strategy

ROWS = 32  # hypotheses that are continued together: more are faster, but some would not have been continued later


@final
class Exhaustive(Search):
    """The most probable of all translations (CN 4), by depth-first branch and bound (Stahlberg and Byrne 2019).

    A hypothesis only becomes less probable as it grows, so one that is no better than the best translation known is not
    continued. The first bound is what a beam of size `beam` finds, without length normalization. Often the most
    probable translation of a model is shorter than a good one, or empty: this shows what a model believes, and is not
    the way to translate. Translations meet every constraint.

    `Hypothesis.proved` tells that none but those before it is more probable. It is False if that would have needed more
    than `steps` continued hypotheses for a sentence; these are the best that were found then. It is False of spare
    hypotheses, too. The `n_best` most
    probable, up to `beam`, are found in the same way. What a model spells is spelled as in a beam.
    """

    allows_rewards = False  # the bound holds only where a hypothesis becomes less probable as it grows

    def __init__(
        self,
        *,
        beam: Size = 5,
        steps: Count = 100_000,
        length_ratio: Ratio = 2.0,
        length_margin: Margin = 10,
        min_length_ratio: Ratio = 0.0,
        min_length_margin: Margin = 0,
    ) -> None:
        self.width = beam
        self.steps = steps
        self.beam = Beam(
            size=beam,
            normalization="none",
            length_ratio=length_ratio,
            length_margin=length_margin,
            min_length_ratio=min_length_ratio,
            min_length_margin=min_length_margin,
        )
        self.limit = self.beam.limit

    def strategy(self, sources: tuple[SourceBatch, ...], n_best: int, spare: int) -> Strategy:
        return self.beam.strategy(sources, n_best, spare)

    @torch.inference_mode()
    def __call__(
        self,
        model: Predictor[Any],
        sources: tuple[SourceBatch, ...],
        n_best: int = 1,
        spare: int = 0,
        *,
        constraint: Constraint | None = None,
        seeds: Sequence[int] = (),
        deadline: Deadline | None = None,
        trace: Trace | None = None,
    ) -> list[list[Hypothesis]]:
        """Search like any other; `trace` sees the beam that comes first."""
        # What a beam finds is the first bound: the higher it is, the more is cut off from the start.
        beam_hypotheses = super().__call__(
            model, sources, n_best, spare, constraint=constraint, deadline=deadline, trace=trace
        )
        begun, states = model.begin(sources), constraint.start() if constraint else ()
        demand = constraint.progress(states) if constraint else None
        demanded = demand.missing.tolist() if demand else [0] * len(beam_hypotheses)
        # As in `Decoding`, what a constraint demands has room.
        longest = map(max, self.limit.max_steps(sources), demanded)

        def best(number: int, bounds: tuple[int, int]) -> list[Hypothesis]:
            """Return those of one sentence, whose paths are forgotten before the next one is searched."""
            here = torch.tensor([number], device=sources[0].mask.device)
            searched = SearchSpace(model, constraint, Paths(sources), here.device)
            root = Siblings(
                [start_node(model.start_id)], model.reorder(begun, here, here), select_rows(states, here), 0, 0
            )
            branches = BranchAndBound(searched, bounds, beam_hypotheses[number], n_best)
            branches.search(root, self.steps, deadline)
            ends = [branches.ends if row == number else [] for row in range(len(beam_hypotheses))]
            hypotheses = searched.paths.hypotheses(ends)[number] if branches.ends else []
            return branches.ranked(hypotheses)[: n_best + spare]

        return [best(*arguments) for arguments in enumerate(zip(self.limit.min_steps(sources), longest, strict=True))]


class SearchSpace(NamedTuple):
    """What is searched for a sentence, with all its hypotheses that were continued."""

    model: Predictor[Any]
    constraint: Constraint | None
    paths: Paths
    device: torch.device


class Siblings(NamedTuple):
    """Hypotheses of `length` symbols that continue one other, which is the `row` of these states, best first. The
    states are those before their last symbols.
    """

    nodes: Sequence[HypothesisNode]
    state: Any
    constraint: Any
    row: int
    length: int


class BranchAndBound:
    """The translations of a sentence, of these `lengths` at least and at most, that are more probable than those that
    are `hypotheses`.
    """

    def __init__(
        self, searched: SearchSpace, lengths: tuple[int, int], hypotheses: Sequence[Hypothesis], n_best: int
    ) -> None:
        self.ends: list[FinishedHypothesis] = []
        self.proved = False
        self._searched = searched
        self._shortest, self._longest = lengths
        self._by_symbols = {(hypothesis.symbols, hypothesis.surfaces): hypothesis for hypothesis in hypotheses}
        self._n_best = n_best
        self._costs = sorted(-hypothesis.score for hypothesis in hypotheses)  # of all translations found

    @property
    def bound(self) -> float:
        """The log-probability that another translation must exceed."""
        return -self._costs[self._n_best - 1] if len(self._costs) >= self._n_best else float("-inf")

    def ranked(self, hypotheses: Sequence[Hypothesis]) -> list[Hypothesis]:
        """Return all translations, best first, with the hypotheses that `ends` became."""
        translations = sorted([*self._by_symbols.values(), *hypotheses], key=lambda translation: -translation.score)
        best = [replace(translation, proved=self.proved) for translation in translations[: self._n_best]]
        return [*best, *(replace(translation, proved=False) for translation in translations[self._n_best :])]

    def search(self, root: Siblings, steps: int, deadline: Deadline | None) -> None:
        """Find all `ends`, unless more than so many hypotheses would have to be continued."""
        stack = [root]
        while stack:
            if deadline:
                deadline.check()
            family = stack.pop()
            # Translations found since these were put on the stack have raised the bound.
            better = [node for node in family.nodes if node.total > self.bound]
            steps -= len(better)
            if steps < 0:
                return
            if better:
                # Depth first: a good translation that is found early cuts off most of the rest.
                stack += [*self._continued(family._replace(nodes=better))][::-1]  # the best is on top
        self.proved = True

    def _continued(self, family: Siblings) -> Iterator[Siblings]:
        """Note what follows these hypotheses and ends, and yield what goes on, best first."""
        model, rules, paths, device = self._searched
        symbols = torch.tensor([node.symbol for node in family.nodes], device=device)
        rows = torch.full_like(symbols, family.row)
        state, constraint = model.reorder(family.state, rows), select_rows(family.constraint, rows)
        if rules and family.length:
            constraint = rules.advance(symbols, constraint)
        prediction = model.predict(symbols, state)
        first = paths.add(family.nodes, prediction.attention, prediction.statistics)
        self._restrict(prediction, constraint, family.length)
        going_on = defaultdict[int, list[HypothesisNode]](list)
        for candidate in self._candidates(family.nodes, prediction, constraint):
            node = HypothesisNode(
                first + candidate.row, candidate.symbol, candidate.log_prob, candidate.total, candidate.surface
            )
            if candidate.symbol == EOS:
                self._finish(node)
            else:
                going_on[candidate.row].append(node)
        for row, nodes in going_on.items():
            for start in range(0, len(nodes), ROWS):
                part = nodes[start : start + ROWS]
                yield Siblings(part, prediction.state, constraint, row, family.length + 1)

    def _restrict(self, prediction: Prediction[Any], constraint: Any, length: int) -> None:
        """Set, in place, log P of the symbols that may not follow to -inf."""
        log_probs, symbols, rules = prediction.log_probs, prediction.symbols, self._searched.constraint
        progress = rules.progress(constraint) if rules else None
        if rules:
            log_probs.masked_fill_(~rules.allowed(constraint, symbols), float("-inf"))
        if progress:
            # The end has to wait, and nothing else is forced: each order of what is required is a translation.
            withheld = (progress.missing > 0).unsqueeze(1) & (symbols == EOS)
            log_probs.masked_fill_(withheld, float("-inf"))
        # No end is forced: it would get a probability that the model does not give it.
        mask_specials(log_probs)
        if length >= self._longest:
            log_probs.masked_fill_(symbols != EOS, float("-inf"))
        elif length < self._shortest:
            forbid_end(log_probs, symbols, list(range(len(log_probs))))

    def _candidates(
        self, nodes: Sequence[HypothesisNode], prediction: Prediction[Any], constraint: Any
    ) -> Iterator[Candidate]:
        """Yield what follows these hypotheses and is more probable than the bound, best first."""
        totals = prediction.log_probs.new_tensor([node.total for node in nodes]).unsqueeze(1) + prediction.log_probs
        rows, columns = (totals > self.bound).nonzero(as_tuple=True)
        symbols, log_probs = prediction.at(columns).tolist(), prediction.log_probs[rows, columns].tolist()
        candidates = [
            Candidate(row, symbol, log_prob, nodes[row].total + log_prob)
            for row, symbol, log_prob in zip(rows.tolist(), symbols, log_probs, strict=True)
        ]
        rules = self._searched.constraint
        if rules and rules.refuses:
            refused = rules.refused(constraint, rows.tolist(), symbols)
            candidates = [candidate for candidate, bad in zip(candidates, refused, strict=True) if not bad]
        candidates.sort(key=lambda candidate: -candidate.total)
        (expanded,) = self._searched.model.replace_candidates([candidates], prediction)
        # Lazily: the ends that are noted meanwhile raise the bound for those after them.
        return (candidate for candidate in expanded if candidate.total > self.bound)

    def _finish(self, node: HypothesisNode) -> None:
        """Note a translation, unless it was known."""
        nodes = self._searched.paths.symbol_nodes(node.parent)
        # The spellings as well: an output that spells can write one symbol as different words.
        key = tuple(symbol_node.symbol for symbol_node in nodes), tuple(symbol_node.surface for symbol_node in nodes)
        if key not in self._by_symbols:
            self.ends.append(FinishedHypothesis(node.parent, node.log_prob, node.total))
            insort(self._costs, -node.total)
