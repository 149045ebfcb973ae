"""Predictors around predictors: shortlists and ensembles in any order, with constraints in any order, against plain
loops over dictionaries.
"""

import itertools
import math
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.data.batch import Batch
from dragoman.data.lexicon import Lexicon
from dragoman.data.vocabulary import EOS, PAD, SPECIALS
from dragoman.model.predictor import Predictor
from dragoman.search.beam import Beam
from dragoman.search.constraints import CombinedConstraints, EditConstraint, ForbiddenSymbols, Prefix
from dragoman.search.ensemble import Ensemble
from dragoman.search.greedy import Greedy
from dragoman.search.shortlist import Shortlist, ShortlistPredictor
from tests.builders import build_model, sentences

SYMBOLS = 12
SOURCES = [[4, 5, 6], [7], [8, 4]]
CPU = torch.device("cpu")
MODELS = [
    build_model(symbols=SYMBOLS, seed=seed, spread=1.0, decoder={"attend": attend})
    for seed, attend in enumerate(("before", "between", "after"))
]
Chances: TypeAlias = Mapping[int, float]
Plain: TypeAlias = Callable[[list[int], tuple[int, ...]], Chances]  # of a source and a prefix


def lexicon(seed: int) -> Lexicon:
    translations = np.array([[4 + (x + seed) % 8, 4 + (3 * x + seed) % 8] for x in range(SYMBOLS)], np.int32)
    frequent = np.array([4 + (seed + place) % 8 for place in range(8)], np.int32)
    return Lexicon(frequent, translations, np.full(translations.shape, 0.25, np.float32))


class Tree:
    """A predictor, how many sources it reads, and the same by loops."""

    def __init__(self, predictor: Predictor[Any], reads: int, plain: Plain) -> None:
        self.predictor, self.reads, self.plain = predictor, reads, plain


def leaf(number: int) -> Tree:
    def plain(source: list[int], prefix: tuple[int, ...]) -> Chances:
        model = MODELS[number]
        state = model.begin((sentences(source),))
        for symbol in (model.start_id, *prefix):
            step = model.predict(torch.tensor([symbol]), state)
            state = step.state
        return dict(enumerate(step.log_probs[0].exp().tolist()))

    return Tree(MODELS[number], 1, plain)


def short(inner: Tree, seed: int, words: list[list[int]] = SOURCES) -> Tree:
    of = lexicon(seed)

    def plain(source: list[int], prefix: tuple[int, ...]) -> Chances:
        allowed = {*range(len(SPECIALS)), int(of.frequent[0])}
        allowed |= {int(y) for x in [*source, EOS] for y in of.translations[x]}
        chances = {symbol: chance for symbol, chance in inner.plain(source, prefix).items() if symbol in allowed}
        total = sum(chances.values())
        return {symbol: chance / total for symbol, chance in chances.items()}

    allowed = Shortlist([of], 1, 2, CPU).allowed((sentences(*words),))
    return Tree(ShortlistPredictor(inner.predictor, allowed), inner.reads, plain)


def together(inner: list[Tree]) -> Tree:
    def plain(source: list[int], prefix: tuple[int, ...]) -> Chances:
        inner_chances = [tree.plain(source, prefix) for tree in inner]
        symbols = set[int]().union(*inner_chances)
        return {
            symbol: sum(chances_of.get(symbol, 0.0) for chances_of in inner_chances) / len(inner_chances)
            for symbol in symbols
        }

    predictors, reads = [tree.predictor for tree in inner], [tree.reads for tree in inner]
    return Tree(Ensemble(predictors, reads), sum(reads), plain)


def build_tree(what: Any) -> Tree:
    """The number of a model, (what is in a shortlist, its seed), or a list of members."""
    if isinstance(what, int):
        return leaf(what)
    return (
        short(build_tree(what[0]), what[1])
        if isinstance(what, tuple)
        else together([build_tree(part) for part in what])
    )


trees = st.recursive(
    st.integers(0, len(MODELS) - 1),
    lambda inner: st.tuples(inner, st.integers(0, 3)) | st.lists(inner, min_size=1, max_size=2),
    max_leaves=3,
)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(what=trees, prefix=st.lists(st.sampled_from([4, 6, 9]), max_size=2))
def test_any_order_predicts_what_plain_loops_do(what: Any, prefix: list[int]) -> None:
    tree = build_tree(what)
    sources = (sentences(*SOURCES),) * tree.reads
    state, symbols = tree.predictor.begin(sources), [tree.predictor.start_id, *prefix]
    for number, symbol in enumerate(symbols):
        step = tree.predictor.predict(torch.full((3,), symbol), state)
        state = tree.predictor.reorder(step.state, torch.arange(3))
        for row, source in enumerate(SOURCES):
            expected = tree.plain(source, tuple(symbols[1 : number + 1]))
            predicted = dict(zip(step.symbols.tolist(), step.log_probs[row].exp().tolist(), strict=True))
            for symbol in range(SYMBOLS):
                assert predicted.get(symbol, 0.0) == pytest.approx(expected.get(symbol, 0.0), abs=1e-9)


def constraints(kinds: tuple[str, ...], sources: int) -> CombinedConstraints:
    prefixes = torch.tensor([[9, 5], [4, PAD], [PAD, PAD]][:sources])
    by_name = {
        "forbidden": ForbiddenSymbols([6, 10], SYMBOLS, CPU),
        "edits": EditConstraint(torch.tensor([2, 0, 1][:sources]), [4, 7]),
        "prefix": Prefix(prefixes),
    }
    return CombinedConstraints([by_name[kind] for kind in kinds])


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(what=trees, order=st.permutations(["forbidden", "edits", "prefix"]))
def test_constraints_hold_in_any_order_around_any_predictor(what: Any, order: list[str]) -> None:
    """Greedy search by loops: of what is allowed, the most probable; what is forced has the model's probability."""
    tree = build_tree(what)
    sources = (sentences(*SOURCES),) * tree.reads
    results = Greedy(length_ratio=1.0, length_margin=2)(
        tree.predictor, sources, constraint=constraints(tuple(order), len(SOURCES))
    )
    for source, prefix, edited, (best,) in zip(SOURCES, [[9, 5], [4], []], [2, 0, 1], results, strict=True):
        symbols_so_far: list[int] = []
        limit = max(len(source) + 1 + 2, len(prefix))
        while True:
            chances = tree.plain(source, tuple(symbols_so_far))
            done = len(symbols_so_far) >= len(prefix)
            allowed = [
                symbol
                for symbol in range(SYMBOLS)
                if symbol in chances
                and symbol not in (1, 2, 6, 10)
                and (symbol not in (4, 7) or sum(said_symbol in (4, 7) for said_symbol in symbols_so_far) < edited)
                and (done or symbol == prefix[len(symbols_so_far)])
            ]
            if len(symbols_so_far) >= limit:
                break
            reachable = [symbol for symbol in allowed if chances.get(symbol, 0.0) > 0]
            if not (reachable or allowed):
                break  # nothing fits: it ends
            symbol = max(reachable or allowed, key=lambda candidate: chances.get(candidate, 0.0))
            if symbol == EOS:
                break
            if reachable:
                assert best.log_probs[len(symbols_so_far)] == pytest.approx(math.log(chances[symbol]), abs=1e-9)
            symbols_so_far.append(symbol)
        assert best.symbols == tuple(symbols_so_far)


@pytest.mark.parametrize("order", [*itertools.permutations(["forbidden", "edits", "prefix"])])
def test_a_beam_is_the_same_whatever_the_order(order: tuple[str, ...]) -> None:
    sources = (sentences(*SOURCES),)
    first = constraints(("forbidden", "edits", "prefix"), 3)
    expected = Beam(size=4)(MODELS[0], sources, 4, constraint=first)
    results = Beam(size=4)(MODELS[0], sources, 4, constraint=constraints(order, 3))
    assert [[hypothesis.symbols for hypothesis in few] for few in results] == [
        [hypothesis.symbols for hypothesis in few] for few in expected
    ]


def test_shortlists_of_the_members_of_an_ensemble_are_scored() -> None:
    """Which was refused once: what each member names by its columns are other symbols."""
    ensemble = together([short(leaf(0), 1, [[4, 5]]), short(leaf(1), 2, [[4, 5]])])
    source, target = sentences([4, 5]), sentences([9])
    scored = ensemble.predictor.score(Batch((source, source), target, np.arange(1)))
    expected = ensemble.plain([4, 5], ()).get(9, 0.0)
    assert scored.log_probs[0, 0].exp().item() == pytest.approx(expected, abs=1e-9)
