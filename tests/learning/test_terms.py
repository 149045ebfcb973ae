"""What each term is for: the same small model with it and without it, after the same few steps."""

from collections import Counter
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
import torch
from torch import Tensor

from dragoman.configuration.components import Spec, build
from dragoman.model.attention.attention import GlobalAttention
from dragoman.model.attention.normalizers import Softmax
from dragoman.model.attention.scores import AdditiveScore
from dragoman.model.attention.terms.table import TERMS
from dragoman.model.attention.terms.term import TermSizes
from dragoman.model.memory import Memory
from dragoman.model.seq2seq import Seq2Seq
from dragoman.search.greedy import Greedy
from tests.builders import pairs, sentences
from tests.learning.test_learning import MODELS, Task, accuracy, copy, draw, learn, reverse

LONG = 8, 12  # words in a sentence, of eight different ones: many stand there twice
STEPS = 90


class Faults(NamedTuple):
    """Words of 200 copies: said once too often, left out."""

    repeated: int
    dropped: int


@cache
def learned(*terms: str, task: Task = copy, lengths: tuple[int, int] = LONG, steps: int = STEPS) -> Seq2Seq:
    return learn(task, lengths, steps, {**MODELS["conditional"], "attention": {"terms": terms}})


def faults(model: Seq2Seq) -> Faults:
    sources = draw(np.random.default_rng(2), 200, LONG)
    counts = [Counter(best.symbols) for (best,) in Greedy()(model, (sentences(*sources),))]
    wanted = list(map(Counter, sources))
    return Faults(
        sum((count - words).total() for count, words in zip(counts, wanted, strict=True)),
        sum((words - count).total() for count, words in zip(counts, wanted, strict=True)),
    )


def near(model: Seq2Seq) -> float:
    """The share of the weights that lies within one position of the diagonal, in copies."""
    sources = draw(np.random.default_rng(2), 200, LONG)
    batch = pairs(sources, sources)
    with torch.no_grad():
        weights = model(batch).weights
    places = torch.arange(weights.size(1))
    band = (places.unsqueeze(1) - places).abs() <= 1
    return (weights * band).sum(-1)[batch.target.mask].mean().item()


@pytest.mark.parametrize(
    "term",
    [
        pytest.param("coverage", marks=pytest.mark.spec("B14")),
        pytest.param("neural_coverage", marks=pytest.mark.spec("B14")),
        pytest.param("fertility", marks=pytest.mark.spec("B19")),
        pytest.param("recurrent", marks=pytest.mark.spec("A11")),
    ],
)
def test_the_past_of_attention_saves_words_from_being_repeated_and_dropped(term: str) -> None:
    plain, with_term = faults(learned()), faults(learned(term))
    assert with_term.repeated < 0.6 * plain.repeated
    assert with_term.dropped < 0.6 * plain.dropped


@pytest.mark.parametrize(
    ("term", "steps"),
    [
        pytest.param("position", 60, marks=pytest.mark.spec("B17")),
        pytest.param("markov", STEPS, marks=pytest.mark.spec("B18")),
    ],
)
def test_biases_find_the_diagonal_sooner(term: str, steps: int) -> None:
    assert near(learned(term, steps=steps)) > near(learned(steps=steps)) + 0.1


@pytest.mark.parametrize(
    "term",
    [
        pytest.param("position", marks=pytest.mark.spec("B17")),
        pytest.param("markov", marks=pytest.mark.spec("B18")),
    ],
)
def test_biases_are_only_biases(term: str) -> None:
    """A language in reverse order is learned all the same."""
    assert accuracy(learned(term, task=reverse, lengths=(3, 5), steps=200), reverse, (3, 5)) >= 0.9


def followed(term: str) -> float:
    """How often attention is where it should be, in 200 sentences whose word 4 becomes one word and whose word 5 two.

    Query and target words say nothing, and the encoder's states only where they stand.
    """
    torch.manual_seed(1)
    places, steps = 4, 6
    sizes = TermSizes(query=1, state=2, embedding=1, symbols=6)
    part = build(TERMS, Spec(term), sizes)
    whole = GlobalAttention(AdditiveScore(1, 2, part.features, size=32), Softmax(), [part])
    optimizer = torch.optim.Adam(whole.parameters(), lr=0.01)
    nothing = torch.zeros(200, 1)
    where = torch.linspace(-1, 1, places)

    def attend(ids: Tensor) -> Tensor:
        """Weights (B, T, S)."""
        rows = len(ids)
        states = torch.stack([where, where**2], 1).expand(rows, -1, -1)
        prepared_source = whole.prepare(Memory(states, torch.ones_like(ids, dtype=torch.bool), ids=ids))
        history, weights = whole.start(prepared_source), []
        for _ in range(steps):
            history = whole(nothing[:rows], nothing[:rows], prepared_source, history).history
            weights.append(history.weights)
        return torch.stack(weights, 1)

    def wanted(ids: Tensor) -> Tensor:
        """The position for each step (B, T), and past the last one still the last."""
        ends = (ids - 3).cumsum(1).unsqueeze(1)  # (B, 1, S)
        return (torch.arange(steps).unsqueeze(1) >= ends).sum(-1).clamp(max=places - 1)

    for _ in range(200):
        ids = torch.randint(4, 6, (32, places))
        loss = -attend(ids).gather(2, wanted(ids).unsqueeze(2)).log().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ids = torch.randint(4, 6, (200, places))
    with torch.no_grad():
        return (attend(ids).argmax(-1) == wanted(ids)).double().mean().item()


@pytest.mark.spec("B15")
def test_a_coverage_embedding_learns_how_many_words_a_word_becomes() -> None:
    """The sum of past weights alone does not know which words want two of them."""
    assert followed("coverage_embedding") >= 0.9
    assert followed("coverage") <= 0.8
