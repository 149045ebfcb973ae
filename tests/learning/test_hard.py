"""Hard attention learns where to look, though it reads one word a step."""

from typing import Any

import numpy as np
import pytest
import torch

from dragoman.model import build
from dragoman.model.seq2seq import Seq2Seq
from dragoman.training.objectives.hard import Marginal, Reinforce
from dragoman.training.objectives.objective import Objective
from dragoman.training.objectives.teacher_forcing import TeacherForcing
from tests.builders import context, pairs, settings
from tests.learning.test_learning import SIZE, WORDS, accuracy, copy, draw

MODEL: dict[str, Any] = {
    "normalizer": "hard",
    "embedding": {"size": 24},
    "encoder": {"size": SIZE // 2},
    "decoder": {"size": SIZE, "readout": "deep"},
}


def learn(objective: Objective, steps: int = 200, order: int = 0) -> Seq2Seq:
    """A model with hard attention that has learned to copy three to five words, as well as it can."""
    torch.manual_seed(1)
    random = np.random.default_rng(1)
    options = {**MODEL, "normalizer": {"kind": "hard", "order": order}}
    model = build.build(settings(**options), (WORDS.stop,), WORDS.stop)
    optimizer = torch.optim.Adam([*model.parameters(), *objective.parameters()], lr=0.01)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.01, steps)
    for _ in range(steps):
        words = draw(random, 32, (3, 5))
        total, symbols, _ = objective(model, pairs(words, words))
        optimizer.zero_grad()
        (total / symbols).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        objective.after_step(True)
        schedule.step()
    return model.eval()


def on_the_diagonal(model: Seq2Seq) -> float:
    """The share of the words of new copies that were read where they stand."""
    words = draw(np.random.default_rng(3), 50, (5, 5))
    with torch.inference_mode():
        (attention,) = model.score(pairs(words, words)).attention
    return float((attention.argmax(-1)[:, :5] == torch.arange(5)).double().mean())


@pytest.mark.spec("B11")
@pytest.mark.parametrize("order", [0, 1])
def test_the_exact_likelihood_teaches_where_to_look(order: int) -> None:
    model = learn(Marginal(context()), order=order)
    assert accuracy(model, copy, (3, 5)) >= 0.9
    assert on_the_diagonal(model) >= 0.9


@pytest.mark.spec("B11")
def test_draws_teach_where_to_look() -> None:
    objective = Reinforce(context(), reward="step", entropy=0.03)
    model = learn(objective, 300)
    assert on_the_diagonal(model) >= 0.8


@pytest.mark.spec("B11")
def test_the_gradient_of_the_words_alone_does_not() -> None:
    assert on_the_diagonal(learn(TeacherForcing(context()), 50)) <= 0.5
