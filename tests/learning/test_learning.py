"""Tiny models learn to copy and to reverse, and long sentences need attention."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from dragoman.model import build
from dragoman.model.seq2seq import Seq2Seq
from dragoman.search.greedy import Greedy
from tests.builders import pairs, sentences, settings

WORDS = range(4, 12)
SIZE = 32
Task = Callable[[list[int]], list[int]]


def copy(words: list[int]) -> list[int]:
    return words


def reverse(words: list[int]) -> list[int]:
    return words[::-1]


def draw(random: np.random.Generator, count: int, lengths: tuple[int, int]) -> list[list[int]]:
    """Random sentences of random lengths."""
    sizes = random.integers(*lengths, size=count, endpoint=True)
    return [random.integers(WORDS.start, WORDS.stop, size=size).tolist() for size in sizes]


def learn(task: Task, lengths: tuple[int, int], steps: int, options: dict[str, Any]) -> Seq2Seq:
    """A model of that task, trained on `steps` batches of 32 new sentences with a falling learning rate."""
    torch.manual_seed(1)
    random = np.random.default_rng(1)
    sizes = {
        "embedding": {"size": 24},
        "encoder": {"size": SIZE // 2, **options.get("encoder", {})},
        "decoder": {"size": SIZE, **options.get("decoder", {})},
    }
    model = build.build(settings(**{**options, **sizes}), WORDS.stop, WORDS.stop)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
    schedule = torch.optim.lr_scheduler.LinearLR(optimiser, 1.0, 0.01, steps)
    for _ in range(steps):
        sources = draw(random, 32, lengths)
        batch = pairs(sources, [task(source) for source in sources])
        real = batch.target.mask
        loss = model.output.loss(model(batch).features[real], batch.target.ids[real])
        optimiser.zero_grad()
        (loss.total / loss.symbols).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        schedule.step()
    return model.eval()


def accuracy(model: Seq2Seq, task: Task, lengths: tuple[int, int]) -> float:
    """The share of 200 new sentences that greedy search gets right to the last word."""
    sources = draw(np.random.default_rng(2), 200, lengths)
    found = Greedy()(model, (sentences(*sources),))
    right = [list(best.symbols) == task(source) for source, (best,) in zip(sources, found, strict=True)]
    return sum(right) / len(right)


MODELS: dict[str, dict[str, Any]] = {
    "luong": {
        "score": "dot",
        "encoder": {"cell": "lstm"},
        "decoder": {"cell": "lstm", "attend": "after", "feed": "attentional", "features": "tanh"},
    },
    "conditional": {
        "score": "additive",
        "encoder": {"cell": "gru"},
        "decoder": {"cell": "gru", "attend": "between", "feed": "nothing", "features": "deep"},
    },
    "printed": {
        "score": "bilinear",
        "encoder": {"cell": "gru_an"},
        "decoder": {"cell": "gru_an", "attend": "before", "feed": "context", "features": "concat"},
    },
}


@pytest.mark.parametrize("task", [copy, reverse])
@pytest.mark.parametrize("name", MODELS)
def test_learns(name: str, task: Task) -> None:
    """Nine of ten sentences of three to five words, out of eight words, are right to the last word."""
    assert accuracy(learn(task, (3, 5), 200, MODELS[name]), task, (3, 5)) >= 0.9


@pytest.mark.spec("A1")
def test_long_sentences_need_attention() -> None:
    """One vector cannot hold what attention finds: of copies of seven to ten words few are right without it."""
    attentive = learn(copy, (7, 10), 250, MODELS["conditional"])
    plain = learn(copy, (7, 10), 250, {"score": "none", "encoder": {"cell": "gru"}, "decoder": {"cell": "gru"}})
    assert accuracy(attentive, copy, (7, 10)) >= 0.9
    assert accuracy(plain, copy, (7, 10)) <= 0.3
