"""From energies to weights: each normalizer's equation."""

import itertools
import math
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck

from dragoman.configuration import components
from dragoman.configuration.components import Spec
from dragoman.model.attention.attention import GlobalAttention
from dragoman.model.attention.normalizers import NORMALIZERS, AttentionNormalizer
from dragoman.model.attention.scores import BilinearScore
from dragoman.model.attention.windows import LocalAttention, Monotonic
from dragoman.model.memory import Memory
from tests.builders import noise, shaken

HIDDEN = -math.inf
SPARSE: dict[float, Spec] = {
    1.05: Spec("entmax", {"alpha": 1.05}),
    1.3: Spec("entmax", {"alpha": 1.3}),
    1.5: Spec("entmax"),
    1.9: Spec("entmax", {"alpha": 1.9}),
    2.0: Spec("sparsemax"),
}
each_sparse = pytest.mark.parametrize("alpha", SPARSE)


def make(kind: str, **options: Any) -> AttentionNormalizer:
    return components.build(NORMALIZERS, Spec(kind, options))


def energies() -> Tensor:
    """Three rows, two steps, five positions; of the second row one is hidden, of the third all but one."""
    values = 2 * noise(3, 2, 5)
    values[1, :, 2] = HIDDEN
    values[2, :, 1:] = HIDDEN
    return values


def sparse(row: list[float], alpha: float) -> list[float]:
    """`max(0, (a - 1) e - tau)^(1 / (a - 1))`, tau by halving an interval until it cannot be halved."""

    def weights(tau: float) -> list[float]:
        return [max(0.0, (alpha - 1) * energy - tau) ** (1 / (alpha - 1)) for energy in row]

    high = (alpha - 1) * max(row)
    low = high - 1
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if sum(weights(middle)) > 1 else (low, middle)
    return weights(low)


@each_sparse
def test_sparse_weights_are_those_of_the_equation(alpha: float) -> None:
    weights = components.build(NORMALIZERS, SPARSE[alpha])(energies())
    for row, its in zip(weights.flatten(0, 1), energies().flatten(0, 1), strict=True):
        assert row.tolist() == pytest.approx(sparse(its.tolist(), alpha), abs=1e-11)


@each_sparse
def test_sparse_gradients_are_exact(alpha: float) -> None:
    seen = energies()[:1].requires_grad_()
    assert gradcheck(components.build(NORMALIZERS, SPARSE[alpha]), (seen,))


@each_sparse
def test_hidden_positions_have_no_gradient_and_equal_energies_equal_weights(alpha: float) -> None:
    seen = torch.tensor([[[0.5, 0.5, HIDDEN, -80.0]]], dtype=torch.float64, requires_grad=True)
    weights = components.build(NORMALIZERS, SPARSE[alpha])(seen)
    assert weights[0, 0].tolist() == pytest.approx([0.5, 0.5, 0.0, 0.0])
    (gradient,) = torch.autograd.grad(weights[0, 0, 0], seen)
    assert gradient[0, 0, 0] > 0.1
    assert gradient[0, 0, 2:].tolist() == [0, 0]


def test_sparsemax_worked_by_hand() -> None:
    """Martins and Astudillo: [t, 0] gives (t + 1) / 2 within -1 ... 1, and beyond it a weight of 1."""
    pairs = torch.tensor([[[0.5, 0.0], [1.0, 0.0], [3.0, 0.0]]], dtype=torch.float64)
    assert make("sparsemax")(pairs)[0].tolist() == [[0.75, 0.25], [1.0, 0.0], [1.0, 0.0]]


def test_entmax_lies_between_softmax_and_sparsemax() -> None:
    row = energies()[:1]
    supports = [int(components.build(NORMALIZERS, spec)(row).gt(0).sum()) for spec in SPARSE.values()]
    assert supports == sorted(supports, reverse=True)
    assert supports[0] > supports[-1]
    near = make("entmax", alpha=1.01)(row)
    torch.testing.assert_close(near, make("softmax")(row), rtol=0, atol=0.02)


@each_sparse
def test_rounded_energies_lose_nothing_more(alpha: float) -> None:
    rounded = energies().bfloat16()
    normalizer = components.build(NORMALIZERS, SPARSE[alpha])
    weights = normalizer(rounded)
    assert weights.dtype is torch.float32
    torch.testing.assert_close(weights.double(), normalizer(rounded.double()), rtol=0, atol=1e-5)


@pytest.mark.parametrize("alpha", [1.0, 2.0])
def test_entmax_has_an_alpha_between_those_of_softmax_and_sparsemax(alpha: float) -> None:
    (problem,) = components.find_problems(NORMALIZERS, Spec("entmax", {"alpha": alpha}), ())
    assert "alpha" in str(problem)


def chain(row: list[float], theta: Tensor) -> list[float]:
    """`p(z_j = 1)` summed over all assignments to the positions that are not hidden."""
    places = [place for place, energy in enumerate(row) if energy != HIDDEN]
    marginals, total = [0.0] * len(row), 0.0
    for chosen in itertools.product((0, 1), repeat=len(places)):
        unary = sum(row[place] for place, z in zip(places, chosen, strict=True) if z)
        share = math.exp(unary + sum(float(theta[pair]) for pair in itertools.pairwise(chosen)))
        total += share
        for place, z in zip(places, chosen, strict=True):
            marginals[place] += share * z
    return [marginal / total for marginal in marginals]


@pytest.mark.spec("A10")
@pytest.mark.parametrize("divide", [False, True])
def test_weights_of_a_chain_are_its_marginals(divide: bool) -> None:
    normalizer = shaken(make("linear_chain", divide=divide), spread=2.0)
    with torch.no_grad():
        weights = normalizer(energies())
    for row, its in zip(weights.flatten(0, 1), energies().flatten(0, 1), strict=True):
        expected = chain(its.tolist(), normalizer.get_parameter("theta").detach())
        scale = sum(expected) if divide else 1.0
        assert row.tolist() == pytest.approx([marginal / scale for marginal in expected], abs=1e-12)


@pytest.mark.spec("A10")
def test_a_chain_that_has_learned_nothing_is_a_logistic_function_of_each_energy() -> None:
    torch.testing.assert_close(make("linear_chain").double()(energies()), torch.sigmoid(energies()))


@pytest.mark.spec("A10")
@pytest.mark.parametrize("divide", [False, True])
def test_gradients_of_a_chain_are_those_of_its_marginals(divide: bool) -> None:
    normalizer = shaken(make("linear_chain", divide=divide))
    theta = normalizer.get_parameter("theta")
    seen = noise(1, 2, 4).requires_grad_()
    assert gradcheck(lambda seen, theta: torch.func.functional_call(normalizer, {"theta": theta}, seen), (seen, theta))


@pytest.mark.spec("A10")
@pytest.mark.parametrize("divide", [False, True])
def test_a_chain_is_finite_however_large_its_energies_are(divide: bool) -> None:
    seen = torch.tensor([[[-1e4, -2e4, -1e4], [1e4, -1e4, 1e4]]], requires_grad=True)
    weights = make("linear_chain", divide=divide)(seen)
    weights.square().sum().backward()
    assert seen.grad is not None
    assert seen.grad.isfinite().all()
    assert weights[0].tolist() == [[0.5, 0, 0.5] if divide else [0, 0, 0], [0.5, 0, 0.5] if divide else [1, 0, 1]]


@pytest.mark.parametrize("kind", sorted(NORMALIZERS))
def test_weights_of_rounded_energies_are_not_rounded(kind: str) -> None:
    """As autocast gives them: weights add up to 1 and are summed over steps, for which bfloat16 is too coarse."""
    normalizer = make(kind)
    rounded = energies()[:2].bfloat16()
    weights = normalizer(rounded)
    assert weights.dtype is torch.float32
    torch.testing.assert_close(weights, normalizer(rounded.float()), rtol=0, atol=1e-6)


@pytest.mark.spec("B11")
def test_positions_are_drawn_as_often_as_their_weights_say() -> None:
    normalizer, weights = make("hard").train(), torch.tensor([0.5, 0.3, 0.2])
    torch.manual_seed(0)
    _, drawn = normalizer.read(weights.expand(1, 40_000, 3), torch.eye(3).unsqueeze(0))
    assert drawn is not None
    shares = torch.bincount(drawn.flatten(), minlength=3) / 40_000
    torch.testing.assert_close(shares, weights, rtol=0, atol=0.01)


@pytest.mark.spec("B11")
@pytest.mark.parametrize("training", [False, True])
def test_hard_attention_reads_one_position_also_through_a_window(training: bool) -> None:
    attention = LocalAttention(GlobalAttention(shaken(BilinearScore(3, 3)), make("hard")), Monotonic(3, width=1))
    attention.train(training)
    torch.manual_seed(0)
    states = noise(2, 5, 3, seed=1)
    prepared_source = attention.prepare(Memory(states, torch.tensor([[True] * 5, [True] * 2 + [False] * 3])))
    history, seen = attention.start(prepared_source), set()
    for _ in range(4):
        context, history, drawn = attention(noise(2, 3), noise(2, 3), prepared_source, history)
        assert drawn is not None
        assert torch.equal(context, states[torch.arange(2), drawn])
        assert history.weights[torch.arange(2), drawn].gt(0).all()
        assert training or torch.equal(drawn, history.weights.argmax(-1))
        seen.add(int(drawn[0]))
    assert len(seen) > 1
