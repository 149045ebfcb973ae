"""Models of several sources: whatever they are made of, a search finds what teacher forcing then scores."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import torch

from dragoman.data.batch import Batch, pad_tokens
from dragoman.data.vocabulary import EOS
from dragoman.model.attention.normalizers import NORMALIZERS
from dragoman.model.attention.scores import SCORES
from dragoman.model.attention.terms.table import TERMS
from dragoman.model.attention.windows import WINDOWS
from dragoman.search.beam import Beam
from dragoman.search.greedy import Greedy
from dragoman.search.search import Search
from tests.builders import build_model
from tests.covering import cases, covering

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
    "plain lstm": {"cell": "lstm", "attend": "after", "input_feeding": "attentional"},
    "conditional lstm": {"cell": "lstm", "attend": "between", "readout": "deep"},
}
FIRST = [[4, 5, 6], [], [8, 4], [5]]
SECOND = [[5], [6, 6, 7, 8], [4, 4, 4, 4, 4], []]
THIRD = [[7, 7], [4], [], []]
SHORT: dict[str, Any] = {"length_ratio": 1.0, "length_margin": 2}


def read(*columns: list[list[int]]) -> tuple[Any, ...]:
    """Sources as a model reads them: one that a sentence has not is empty."""
    return tuple(pad_tokens([[*words, EOS] if words else [] for words in column]) for column in columns)


def agree(model: Any, search: Search, *columns: list[list[int]]) -> None:
    """Each hypothesis has the log-probabilities and the weights of its sentence alone, forced."""
    hypotheses = search(model, read(*columns))
    for row, (best, *_) in enumerate(hypotheses):
        target = pad_tokens([[*best.symbols, EOS]])
        alone = read(*([column[row]] for column in columns))
        scored = model.score(Batch(alone, target, np.arange(1)))
        np.testing.assert_allclose(scored.log_probs[0].tolist(), best.log_probs, atol=1e-6)
        for weights, expected in zip(scored.attention, best.attention, strict=True):
            length = expected.shape[1]
            np.testing.assert_allclose(weights[0, :, :length].detach(), expected, atol=1e-6)
            assert not weights[0, :, length:].any()  # padding


SEARCHES: dict[str, Search] = {
    "greedy": Greedy(**SHORT),
    "beam": Beam(size=3, **SHORT),
    "coverage penalty": Beam(size=2, coverage_penalty=0.3, **SHORT),
}
OPTIONS = {
    "combination": list(COMBINATIONS),
    "sources": ["2", "3"],
    "decoder": list(DECODERS),
    "score": list(SCORES),
    "term": ["none", *(term for term in TERMS if not TERMS[term].hides)],
    "normalizer": list(NORMALIZERS),
    "window": [*WINDOWS, "sentences"],
    "search": list(SEARCHES),
}


def possible(parts: Mapping[str, str]) -> bool:
    """Flat attention is one softmax over all sources, so that each must give it energies and nothing else."""
    combination, normalizer = parts.get("combination", "sum"), parts.get("normalizer", "softmax")
    window = parts.get("window", "none")
    if window == "sentences" and normalizer != "softmax":
        return False
    if "flat" not in combination:
        return True
    shares = "shared" not in combination or parts.get("score", "additive") in ("additive", "bilinear")
    return shares and window == "none" and normalizer not in ("linear_chain", "hard")


@pytest.mark.spec("C1", "C2", "C3", "C4", "C5", "C6", "C14", "B6", "B9")
@pytest.mark.parametrize("parts", cases(covering(OPTIONS, possible)))
def test_searches_find_what_forcing_scores(parts: dict[str, str]) -> None:
    """With beams too, and with a sentinel or not: every source is there once for each sentence of a beam."""
    sources, window = int(parts["sources"]), parts["window"]
    attention: dict[str, Any] = {"sentences": "four"} if window == "sentences" else {"window": window}
    if window in ("monotonic", "predictive"):
        attention = {"window": {"kind": window, "width": 1}}
    model = build_model(
        sources=sources,
        combination=COMBINATIONS[parts["combination"]],
        decoder=DECODERS[parts["decoder"]],
        score=parts["score"],
        terms=[parts["term"]] if parts["term"] != "none" else [],
        normalizer=parts["normalizer"],
        attention=attention,
        mark=4 if window == "sentences" else None,
        seed=3,
    )
    agree(model, SEARCHES[parts["search"]], *(FIRST, SECOND, THIRD)[:sources])


@pytest.mark.parametrize("name", COMBINATIONS)
def test_a_sentence_that_has_nothing_is_not_a_number_for_nobody(name: str) -> None:
    """A row without any source does not spoil its neighbors."""
    model = build_model(sources=2, combination=COMBINATIONS[name], seed=7)
    batch = Batch(read([[4], []], [[5, 6], []]), pad_tokens([[4, EOS], [5, EOS]]), np.arange(2))
    alone = Batch(read([[4]], [[5, 6]]), pad_tokens([[4, EOS]]), np.arange(1))
    torch.testing.assert_close(model.score(batch).log_probs[0], model.score(alone).log_probs[0])
