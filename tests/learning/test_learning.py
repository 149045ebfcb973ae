"""Tiny models learn to copy and to reverse, and long sentences need attention."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from dragoman.evaluation.latency import average_lagging
from dragoman.model import build
from dragoman.model.seq2seq import Seq2Seq
from dragoman.search.beam import Beam
from dragoman.search.greedy import Greedy
from dragoman.search.streaming import AdaptivePolicy, stream
from dragoman.training.objectives.objective import Objective
from dragoman.training.objectives.segment import Segment
from dragoman.training.objectives.teacher_forcing import TeacherForcing
from tests.builders import context, pairs, sentences, settings

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


def learn(
    task: Task,
    lengths: tuple[int, int],
    steps: int,
    options: dict[str, Any],
    objective: Objective = TeacherForcing(context()),  # noqa: B008
) -> Seq2Seq:
    """A model of that task, trained on `steps` batches of 32 new sentences with a falling learning rate."""
    torch.manual_seed(1)
    random = np.random.default_rng(1)
    sizes = {
        "embedding": {"size": 24},
        "encoder": {"size": SIZE // 2, **options.get("encoder", {})},
        "decoder": {"size": SIZE, **options.get("decoder", {})},
    }
    model = build.build(settings(**{**options, **sizes}), (WORDS.stop,), WORDS.stop)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.01, steps)
    for _ in range(steps):
        sources = draw(random, 32, lengths)
        batch = pairs(sources, [task(source) for source in sources])
        loss = objective(model, batch)
        optimizer.zero_grad()
        (loss.total / loss.symbols).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    return model.eval()


def accuracy(model: Seq2Seq, task: Task, lengths: tuple[int, int]) -> float:
    """The share of 200 new sentences that greedy search gets right to the last word."""
    sources = draw(np.random.default_rng(2), 200, lengths)
    results = Greedy()(model, (sentences(*sources),))
    right = [list(best.symbols) == task(source) for source, (best,) in zip(sources, results, strict=True)]
    return sum(right) / len(right)


MODELS: dict[str, dict[str, Any]] = {
    "luong": {
        "score": "dot",
        "encoder": {"cell": "lstm"},
        "decoder": {"cell": "lstm", "attend": "after", "input_feeding": "attentional", "readout": "tanh"},
    },
    "conditional": {
        "score": "additive",
        "encoder": {"cell": "gru"},
        "decoder": {"cell": "gru", "attend": "between", "input_feeding": "none", "readout": "deep"},
    },
    "printed": {
        "score": "bilinear",
        "encoder": {"cell": "gru_an"},
        "decoder": {"cell": "gru_an", "attend": "before", "input_feeding": "context", "readout": "concat"},
    },
}


@pytest.mark.parametrize(("name", "task"), [("luong", reverse), ("conditional", copy), ("printed", reverse)])
def test_learns(name: str, task: Task) -> None:
    """Nine of ten sentences of three to five words, out of eight words, are right to the last word."""
    assert accuracy(learn(task, (3, 5), 200, MODELS[name]), task, (3, 5)) >= 0.9


SELF = {"kind": "self_attention", "size": SIZE, "layers": 1, "heads": 4}
ATTENTIVE: dict[str, dict[str, Any]] = {
    "encoder": {"bridge": "mean", "encoder": SELF, "decoder": {"attend": "between"}},
    "decoder": {"bridge": "none", "score": "scaled_dot", "decoder": SELF},
    "both": {"bridge": "none", "score": "scaled_dot", "encoder": SELF, "decoder": SELF},
}


@pytest.mark.spec("A12")
@pytest.mark.parametrize(("name", "task"), [("encoder", reverse), ("decoder", copy), ("both", reverse)])
def test_self_attention_learns_on_either_side(name: str, task: Task) -> None:
    assert accuracy(learn(task, (3, 5), 300, ATTENTIVE[name]), task, (3, 5)) >= 0.9


@pytest.mark.spec("A12")
def test_self_attention_without_positions_cannot_copy() -> None:
    """The source is a set of words to it."""
    options = {**ATTENTIVE["both"], "encoder": {**SELF, "positions": "none"}}
    assert accuracy(learn(copy, (3, 5), 300, options), copy, (3, 5)) <= 0.4


@pytest.mark.spec("A1")
def test_long_sentences_need_attention() -> None:
    """One vector cannot hold what attention finds: of copies of seven to ten words few are right without it."""
    attentive = learn(copy, (7, 10), 250, MODELS["conditional"])
    plain = learn(copy, (7, 10), 250, {"score": "none", "encoder": {"cell": "gru"}, "decoder": {"cell": "gru"}})
    assert accuracy(attentive, copy, (7, 10)) >= 0.9
    assert accuracy(plain, copy, (7, 10)) <= 0.3


@pytest.mark.spec("B16")
def test_with_a_coverage_penalty_a_model_that_drops_words_drops_fewer() -> None:
    """A model trained on copies that break off anywhere, all lengths alike, finds short ones most probable."""
    random = np.random.default_rng(3)

    def beginning(words: list[int]) -> list[int]:
        return words[: random.integers(len(words), endpoint=True)]

    model = learn(beginning, (4, 6), 200, MODELS["conditional"])
    sources = draw(np.random.default_rng(2), 50, (4, 6))

    def dropped(**options: Any) -> float:
        results = Beam(size=3, normalization="none", **options)(model, (sentences(*sources),))
        symbols = sum(len(best.symbols) for (best,) in results)
        return 1 - symbols / sum(map(len, sources))

    assert dropped() > 0.5
    assert dropped(coverage_penalty=0.5) < 0.2


@pytest.mark.spec("B12")
def test_a_model_that_waits_copies_as_it_reads_and_cannot_reverse() -> None:
    """The first word of what is reversed stands at the end, which it has not seen."""
    options = {**MODELS["conditional"], "bridge": "zero", "terms": {"kind": "wait", "k": 2}}
    options["encoder"] = {"cell": "gru", "direction": "forward"}
    assert accuracy(learn(copy, (3, 5), 200, options), copy, (3, 5)) >= 0.9
    assert accuracy(learn(reverse, (3, 5), 200, options), reverse, (3, 5)) <= 0.2


@pytest.mark.spec("B21")
def test_an_external_memory_brings_the_source() -> None:
    """Without attention and from zeros: what its cells start with is all that the decoder learns of two words."""
    options = {"score": "none", "bridge": "zero", "decoder": {"external_memory": 4}}
    assert accuracy(learn(copy, (1, 2), 200, options), copy, (1, 2)) >= 0.9


@pytest.mark.spec("B12")
def test_segments_copy_a_source_while_it_arrives() -> None:
    """Little more than one word behind, which no one has told the model; all would be read first without `shift`."""
    options = {"score": "uniform", "terms": "shift", "bridge": "zero", "encoder": {"direction": "forward"}}
    model = learn(copy, (3, 5), 200, options, Segment(context()))
    assert accuracy(model, copy, (3, 5)) >= 0.9
    lagging = []
    for source in draw(np.random.default_rng(4), 20, (5, 5)):
        parts = [[word] for word in source]
        read = [step.read for step in stream(AdaptivePolicy(model, parts, Greedy().limit, torch.device("cpu")))]
        lagging.append(average_lagging(read, len(source)))
    assert sum(lagging) / len(lagging) <= 2.0
