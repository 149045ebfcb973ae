"""Windows: where they stand, what is seen through them, and what their gradient costs."""

import itertools
import math
from typing import Any

import pytest
import torch
from torch import Tensor

from dragoman.configuration.components import Spec, find_problems
from dragoman.model.attention.attention import Attention, GlobalAttention
from dragoman.model.attention.normalizers import Softmax
from dragoman.model.attention.scores import AdditiveScore
from dragoman.model.attention.windows import WINDOWS, LocalAttention, Monotonic, Predictive, Window
from dragoman.model.memory import Memory
from tests.builders import noise, shaken
from tests.model import loops

SIZE, PLACES, STEPS = 3, 9, 40
STATES = noise(2, PLACES, SIZE, seed=1)
QUERIES = 3 * noise(2, STEPS, SIZE)
LENGTHS = (9, 4)
MASK = torch.tensor([[place < length for place in range(PLACES)] for length in LENGTHS])


def make(window: Window) -> LocalAttention:
    return shaken(LocalAttention(GlobalAttention(AdditiveScore(SIZE, SIZE), Softmax()), window)).eval()


def steps(attention: Attention, states: Tensor = STATES, count: int = STEPS) -> tuple[Tensor, Tensor]:
    """Contexts (B, T, C) and weights (B, T, S)."""
    prepared_source = attention.prepare(Memory(states, MASK))
    history = attention.start(prepared_source)
    outputs = []
    for query in QUERIES[:, :count].unbind(1):
        output = attention(query, query, prepared_source, history)
        history = output.history
        outputs.append((output.context, history.weights))
    contexts, weights = zip(*outputs, strict=True)
    return torch.stack(contexts, 1), torch.stack(weights, 1)


def assert_printed(attention: LocalAttention, centers: list[list[float]]) -> None:
    """The equation, one sentence, one step and one position at a time, for these p_t."""
    context, weights = steps(attention)
    p, width = loops.numbers(attention.inner.score), attention.window.width
    for row, length in enumerate(LENGTHS):
        for t, center in enumerate(centers[row]):
            middle = min(round(center), length - 1)
            there = [j for j in range(length) if abs(j - middle) <= width]
            states = loops.array(STATES[row, there])
            expected = loops.softmax(loops.additive(p, loops.array(QUERIES[row, t]), states))
            if attention.window.deviation is not None:
                for index, j in enumerate(there):
                    expected[index] *= math.exp(-((j - center) ** 2) / (2 * attention.window.deviation**2))
            everywhere = [0.0] * PLACES
            for j, weight in zip(there, expected, strict=True):
                everywhere[j] = weight
            assert weights[row, t].tolist() == pytest.approx(everywhere, abs=1e-12)
            assert context[row, t].tolist() == pytest.approx(loops.mix(expected, states).tolist(), abs=1e-12)


@pytest.mark.spec("B10")
@pytest.mark.parametrize("width", [1, 2, 20])
def test_monotonic(width: int) -> None:
    """`p_t = t`; after the source the window stays at its end, where the last symbol is the middle."""
    assert_printed(make(Monotonic(SIZE, width=width)), [[float(t) for t in range(STEPS)]] * 2)


@pytest.mark.spec("B10")
@pytest.mark.parametrize("options", [{"width": 1}, {"width": 2, "deviation": 0.4}, {"width": 3}], ids=str)
def test_predictive(options: dict[str, Any]) -> None:
    """`p_t = S sigm(v^T tanh(W s_t))`, from one end of the source to the other."""
    torch.manual_seed(1)
    window = Predictive(SIZE, **options)
    attention = make(window)
    with torch.no_grad():
        window.vector.weight.mul_(20)
    p = loops.numbers(attention.window)
    centers = [
        [
            length * loops.sigmoid(loops.dot(p["vector.weight"][0], loops.tanh(loops.times(p["hidden.weight"], query))))
            for query in loops.array(QUERIES[row])
        ]
        for row, length in enumerate(LENGTHS)
    ]
    for length, row in zip(LENGTHS, centers, strict=True):
        assert {0, length} <= {round(center) for center in row}
    assert attention.window.deviation == options.get("deviation", options["width"] / 2)
    assert_printed(attention, centers)


@pytest.mark.spec("B10")
@pytest.mark.parametrize("window", [Monotonic(SIZE, width=30), Predictive(SIZE, width=30, deviation=1e9)])
def test_a_wide_window_is_no_window(window: Window) -> None:
    attention = make(window)
    for local, everywhere in zip(steps(attention), steps(attention.inner), strict=True):
        assert torch.allclose(local, everywhere)


@pytest.mark.spec("B10")
def test_nothing_outside_of_the_window_is_read() -> None:
    attention = make(Monotonic(SIZE, width=2))
    changed = STATES.clone()
    changed[:, 5:] = float("nan")
    context, weights = steps(attention, changed)
    wanted, _ = steps(attention)
    assert torch.equal(context[:, :3], wanted[:, :3])
    assert weights[:, :3, 5:].eq(0).all()


@pytest.mark.slow
def test_gradients_are_those_of_autograd_however_often_they_are_asked_for() -> None:
    attention = make(Predictive(SIZE, width=1))
    parameters = tuple(attention.parameters())

    def function(states: Tensor, *_: Tensor) -> tuple[Tensor, Tensor]:
        return steps(attention, states, 2)

    states = STATES.clone().requires_grad_()
    assert torch.autograd.gradcheck(function, (states, *parameters))
    context, _ = steps(attention, states, 3)
    (wanted,) = torch.autograd.grad(context.sum(), states, retain_graph=True)
    unread = list(attention.window.vector.parameters())  # a gradient of these leaves the source out
    torch.autograd.grad(context.sum(), unread, retain_graph=True)
    (again,) = torch.autograd.grad(context.sum(), states, retain_graph=True)
    assert torch.equal(wanted, again)
    assert wanted.abs().sum() > 0


@pytest.mark.spec("B10")
def test_the_center_of_a_window_keeps_its_precision_in_bfloat16() -> None:
    """In a source of 1,001 symbols, of which bfloat16 would name every fourth: `S sigm(v . 1)` for exact v."""
    window, places = Predictive(SIZE, width=1), 1001
    with torch.no_grad():
        window.hidden.weight.copy_(100 * torch.eye(SIZE))
        window.vector.weight.copy_(torch.tensor([[1.0, 0.5, 0.125]]))
    signs = torch.tensor(list(itertools.product((-1.0, 1.0), repeat=SIZE))).unsqueeze(0)
    with torch.autocast("cpu", torch.bfloat16):
        center, _ = window(signs, torch.ones(1, places, dtype=torch.bool), ())
    expected = [places * loops.sigmoid(float(sign @ window.vector.weight[0].detach())) for sign in signs[0]]
    assert center[0].tolist() == pytest.approx(expected, abs=1e-3)


def test_what_a_pass_left_on_its_way_is_no_part_of_the_next() -> None:
    """A pass that ends before the source leaves there what it has gathered."""
    attention = make(Monotonic(SIZE, width=1))
    states = STATES.clone().requires_grad_()
    prepared_source = attention.prepare(Memory(states, MASK))
    context = attention(QUERIES[:, 0], QUERIES[:, 0], prepared_source, attention.start(prepared_source)).context.sum()
    wanted = torch.autograd.grad(context, states, retain_graph=True)[0]

    def stopped() -> None:
        """A pass as far as keys and values, which get no gradient of their own."""
        inputs = (prepared_source.keys, prepared_source.values)
        torch.autograd.grad(context, inputs, retain_graph=True, allow_unused=True)

    stopped()
    (again,) = torch.autograd.grad(context, states, retain_graph=True)
    assert torch.equal(again, wanted)
    stopped()
    (whole,) = torch.autograd.grad(prepared_source.values.sum(), states, retain_graph=True)
    assert torch.equal(whole, torch.ones_like(whole))


def test_a_source_that_is_read_both_through_a_window_and_as_a_whole_gets_both_gradients() -> None:
    attention = make(Monotonic(SIZE, width=1))
    states = STATES.clone().requires_grad_()
    prepared_source = attention.prepare(Memory(states, MASK))
    context = attention(QUERIES[:, 0], QUERIES[:, 0], prepared_source, attention.start(prepared_source)).context
    (one,) = torch.autograd.grad(context.sum(), states, retain_graph=True)
    (both,) = torch.autograd.grad(context.sum() + prepared_source.values.sum(), states)
    assert torch.allclose(both, one + 1)


@pytest.mark.parametrize("kind", ["monotonic", "predictive"])
@pytest.mark.parametrize("options", [{"width": 0}, {"deviation": 0}, {"deviation": -1.0}], ids=str)
def test_faulty_options_are_refused(kind: str, options: dict[str, Any]) -> None:
    (problem,) = find_problems(WINDOWS, Spec(kind, options), ("model", "attention", "window"))
    assert problem.path[-1] in options
