"""A search as a tree, beside a plain loop that keeps every beam."""

from typing import Any

import pytest

from dragoman.configuration.components import Spec, build
from dragoman.data.vocabulary import EOS
from dragoman.search.beam import Beam
from dragoman.search.table import SEARCHES
from dragoman.search.tree import Branch, Fate, SearchTree
from tests.builders import build_model, sentences
from tests.search.toys import A, B, Chances, Prefix, Written

EVERY = 10**6
SOURCES = [[4, 5], [5], [4, 4, 5]]
SHORT: dict[str, Any] = {"length_ratio": 0.01, "length_margin": 4}
MODEL = build_model(symbols=7)


def prefix(tree: list[Branch], branch: Branch) -> Prefix:
    """The symbols of a hypothesis, its end among them."""
    before = () if branch.parent is None else prefix(tree, tree[branch.parent])
    return (*before, branch.symbol)


@pytest.mark.parametrize(
    "search",
    [
        Spec("greedy", SHORT),
        Spec("beam", {"size": 3, **SHORT}),
        Spec("beam", {"size": 3, "normalization": "none", **SHORT}),
        Spec("diverse", {"size": 2, "groups": 2, **SHORT}),
        Spec("sample", SHORT),
    ],
    ids=str,
)
def test_what_finished_is_the_n_best_list(search: Spec) -> None:
    """In a batch, and the search finds what it finds without a trace."""
    built, trace = build(SEARCHES, search), SearchTree()
    n_best = min(3, built.width)
    seeds = range(len(SOURCES))
    expected = built(MODEL, (sentences(*SOURCES),), n_best, seeds=seeds)
    results = built(MODEL, (sentences(*SOURCES),), n_best, EVERY, seeds=seeds, trace=trace)
    for tree, hypotheses, without in zip(trace.trees, results, expected, strict=True):
        finished = [branch for branch in tree if branch.fate == Fate.FINISHED]
        assert [prefix(tree, entry) for entry in finished] == [(*entry.symbols, EOS) for entry in hypotheses]
        assert [entry.score for entry in finished] == [entry.score for entry in hypotheses]
        assert [entry.symbols for entry in hypotheses[:n_best]] == [entry.symbols for entry in without[:n_best]]
        for branch, hypothesis in zip(finished, hypotheses, strict=True):
            assert branch.total == pytest.approx(hypothesis.log_prob)
            assert branch.length == len(hypothesis.log_probs)


def test_every_hypothesis_continues_one_and_has_one_fate() -> None:
    trace = SearchTree()
    Beam(size=3, **SHORT)(MODEL, (sentences(*SOURCES),), 2, EVERY, trace=trace)
    assert len(trace.trees) == len(SOURCES)
    for tree in trace.trees:
        parents = {branch.parent for branch in tree}
        for number, branch in enumerate(tree):
            before = None if branch.parent is None else tree[branch.parent]
            assert branch.length == 1 + (before.length if before else 0)
            assert branch.total == pytest.approx(branch.log_prob + (before.total if before else 0.0))
            assert (branch.fate == Fate.CONTINUED) == (number in parents)
            assert (branch.fate == Fate.FINISHED) == (branch.symbol == EOS) == (branch.score is not None)


def test_the_beam_of_each_step_and_where_each_hypothesis_died() -> None:
    """By hand, with a beam of 2: A, B; AA, AB, for which B died; AAA, ABA, which end."""

    def chances(word: int, prefix: Prefix) -> Chances:
        if len(prefix) == 3:
            return {EOS: 1.0}
        if prefix == (B,):
            return {A: 0.01, B: 0.01, EOS: 0.98} if word == B else {A: 0.5, B: 0.5}
        return {A: 0.9, B: 0.1} if prefix == (A, A) else {A: 0.8, B: 0.2}

    trace = SearchTree()
    search = Beam(size=2, normalization="none", length_ratio=0.01, length_margin=3)
    search(Written(chances), (sentences([A], [B]),), 1, EVERY, trace=trace)
    first, second = trace.trees
    alive = [
        {prefix(first, branch) for branch in first if branch.length == step and branch.symbol != EOS}
        for step in (1, 2, 3)
    ]
    assert alive == [{(A,), (B,)}, {(A, A), (A, B)}, {(A, A, A), (A, B, A)}]
    fates = {prefix(first, branch): branch.fate for branch in first}
    assert [branch for branch, fate in fates.items() if fate == Fate.PRUNED] == [(B,)]
    assert fates[(A, B)] == Fate.CONTINUED
    assert fates[(A, A, A, EOS)] == fates[(A, B, A, EOS)] == Fate.FINISHED
    fates_by_prefix = {prefix(second, branch): branch.fate for branch in second}
    assert fates_by_prefix[(B, EOS)] == Fate.FINISHED
    assert fates_by_prefix[(B,)] == Fate.CONTINUED


def test_what_is_open_when_the_search_is_done() -> None:
    """A search for the most probable one ends as soon as none can become better."""

    def chances(word: int, prefix: Prefix) -> Chances:
        return {EOS: 0.9, A: 0.1}

    trace = SearchTree()
    Beam(size=2, normalization="none")(Written(chances), (sentences([A]),), 1, EVERY, trace=trace)
    (tree,) = trace.trees
    assert [(prefix(tree, branch), branch.fate) for branch in tree] == [((EOS,), Fate.FINISHED), ((A,), Fate.OPEN)]
