"""Models of several sources: whatever they are made of, a search finds what teacher forcing then scores."""

from typing import Any

import numpy as np
import pytest
import torch

from dragoman.data.batch import Batch, pad
from dragoman.data.vocabulary import EOS
from dragoman.model.attention.scores import SCORES
from dragoman.model.attention.terms.terms import TERMS
from dragoman.search.beam import Beam
from dragoman.search.greedy import Greedy
from dragoman.search.search import Search
from tests.builders import build_model

COMBINATIONS: dict[str, Any] = {
    "concatenation": "concatenation",
    "sum": "sum",
    **{
        f"{kind} {share} {sentinel}": {"kind": kind, "share_projections": share == "shared", "sentinel": bool(sentinel)}
        for kind in ("flat", "hierarchical")
        for share in ("shared", "separate")
        for sentinel in ("", "sentinel")
    },
}
DECODERS: dict[str, dict[str, Any]] = {
    "plain gru": {"cell": "gru", "attend": "before"},
    "conditional gru": {"cell": "gru", "attend": "between"},
    "plain lstm": {"cell": "lstm", "attend": "after", "feed": "attentional"},
    "conditional lstm": {"cell": "lstm", "attend": "between", "features": "deep"},
}
FIRST = [[4, 5, 6], [], [8, 4], [5]]
SECOND = [[5], [6, 6, 7, 8], [4, 4, 4, 4, 4], []]
THIRD = [[7, 7], [4], [], []]


def read(*columns: list[list[int]]) -> tuple[Any, ...]:
    """Sources as a model reads them: one that a sentence has not is empty."""
    return tuple(pad([[*words, EOS] if words else [] for words in column]) for column in columns)


def agree(model: Any, search: Search, *columns: list[list[int]]) -> None:
    """Each hypothesis has the log-probabilities and the weights of its sentence alone, forced."""
    found = search(model, read(*columns))
    for row, (best, *_) in enumerate(found):
        target = pad([[*best.symbols, EOS]])
        alone = read(*([column[row]] for column in columns))
        scored = model.score(Batch(alone, target, np.arange(1)))
        np.testing.assert_allclose(scored.log_probs[0].tolist(), best.log_probs, atol=1e-6)
        for weights, said in zip(scored.attention, best.attention, strict=True):
            length = said.shape[1]
            np.testing.assert_allclose(weights[0, :, :length].detach(), said, atol=1e-6)
            assert not weights[0, :, length:].any()  # padding


@pytest.mark.spec("C1", "C2", "C3", "C4", "C5", "C6", "C14")
@pytest.mark.parametrize("search", [Greedy(), Beam(size=3), Beam(size=2, coverage_penalty=0.3)], ids=["g", "b", "c"])
@pytest.mark.parametrize("name", COMBINATIONS)
def test_searches_find_what_forcing_scores(name: str, search: Search) -> None:
    """With beams too, and with a sentinel or not: every source is there once for each sentence of a beam."""
    model = build_model(sources=3, combination=COMBINATIONS[name], seed=3)
    agree(model, search, FIRST, SECOND, THIRD)


@pytest.mark.spec("C3", "C4", "B6", "B9")
@pytest.mark.parametrize("decoder", DECODERS)
@pytest.mark.parametrize("name", COMBINATIONS)
def test_with_every_cell_and_timing(name: str, decoder: str) -> None:
    model = build_model(sources=2, combination=COMBINATIONS[name], decoder=DECODERS[decoder], seed=4)
    agree(model, Beam(size=2), FIRST, SECOND)


@pytest.mark.spec("C3", "C4")
@pytest.mark.parametrize("score", sorted(SCORES))
@pytest.mark.parametrize("name", ["concatenation", "sum", "flat separate sentinel", "hierarchical separate sentinel"])
def test_with_every_score(name: str, score: str) -> None:
    agree(build_model(sources=2, combination=COMBINATIONS[name], score=score, seed=5), Beam(size=2), FIRST, SECOND)


@pytest.mark.spec("C3", "C4")
@pytest.mark.parametrize("term", sorted(term for term in TERMS if not TERMS[term].hides))
@pytest.mark.parametrize("name", COMBINATIONS)
def test_with_every_term(name: str, term: str) -> None:
    agree(build_model(sources=2, combination=COMBINATIONS[name], terms=[term], seed=6), Beam(size=2), FIRST, SECOND)


@pytest.mark.spec("C3", "C4")
@pytest.mark.parametrize("options", [{"normaliser": "sparsemax"}, {"normaliser": "entmax"}], ids=str)
@pytest.mark.parametrize("name", COMBINATIONS)
def test_with_other_normalisers(name: str, options: dict[str, Any]) -> None:
    agree(build_model(sources=2, combination=COMBINATIONS[name], seed=8, **options), Beam(size=2), FIRST, SECOND)


@pytest.mark.spec("C4")
@pytest.mark.parametrize(
    "options",
    [
        {"normaliser": "linear_chain"},
        {"attention": {"window": {"kind": "monotonic", "width": 1}}},
        {"attention": {"window": {"kind": "predictive", "width": 1}}},
        {"attention": {"sentences": "four"}, "mark": 4},
    ],
    ids=str,
)
@pytest.mark.parametrize("name", [name for name in COMBINATIONS if "flat" not in name])
def test_with_what_each_source_is_looked_at_by_itself(name: str, options: dict[str, Any]) -> None:
    agree(build_model(sources=2, combination=COMBINATIONS[name], seed=9, **options), Beam(size=2), FIRST, SECOND)


@pytest.mark.parametrize("name", COMBINATIONS)
def test_a_sentence_that_has_nothing_is_not_a_number_for_nobody(name: str) -> None:
    """A row without any source does not spoil its neighbours."""
    model = build_model(sources=2, combination=COMBINATIONS[name], seed=7)
    batch = Batch(read([[4], []], [[5, 6], []]), pad([[4, EOS], [5, EOS]]), np.arange(2))
    alone = Batch(read([[4]], [[5, 6]]), pad([[4, EOS]]), np.arange(1))
    torch.testing.assert_close(model.score(batch).log_probs[0], model.score(alone).log_probs[0])
