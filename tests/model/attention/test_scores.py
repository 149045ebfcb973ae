"""Scores: each printed equation, and what holds for all of them."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from dragoman.configuration.components import Spec, find_problems
from dragoman.model.attention.scores import (
    SCORES,
    AdditiveScore,
    AlignmentScore,
    BilinearScore,
    DotScore,
    ScaledDotScore,
)
from tests.builders import noise, shaken
from tests.model import loops

KINDS = sorted(SCORES)
SIZES = {kind: (3, 3) if SCORES[kind].equal_sizes else (3, 4) for kind in KINDS}  # query, state
QUERIES, STEPS, PLACES = 2, 3, 5


def make(kind: str, **options: Any) -> AlignmentScore:
    return shaken(SCORES[kind](*SIZES[kind], **options))


def energies(score: AlignmentScore, query: Tensor, states: Tensor) -> Tensor:
    return score(query, score.keys(states, torch.ones(states.shape[:2], dtype=torch.bool)))


def parts(kind: str, **options: Any) -> tuple[AlignmentScore, Tensor, Tensor]:
    """A score, queries (B, T, Q) and states (B, S, H)."""
    query_size, state_size = SIZES[kind]
    return make(kind, **options), noise(QUERIES, STEPS, query_size), noise(QUERIES, PLACES, state_size, seed=1)


def assert_each(kind: str, equation: Any, **options: Any) -> None:
    """All energies at once are the equation at every row, step and position on its own."""
    score, query, states = parts(kind, **options)
    p, values = loops.numbers(score), energies(score, query, states)
    for b in range(QUERIES):
        for t in range(STEPS):
            for j in range(PLACES):
                expected = equation(p, loops.array(query[b, t]), loops.array(states[b, j]))
                assert values[b, t, j].item() == pytest.approx(expected, abs=1e-12)


@pytest.mark.spec("B1")
def test_dot() -> None:
    """`h_j . s_t`; by hand: (1, 2) . (3, 4) = 11, (1, 2) . (-1, 0.5) = 0."""
    states = torch.tensor([[[3.0, 4.0], [-1.0, 0.5]]])
    assert energies(DotScore(2, 2), torch.tensor([[[1.0, 2.0]]]), states).tolist() == [[[11.0, 0.0]]]
    assert_each("dot", lambda p, s, h: loops.dot(h, s))


@pytest.mark.spec("B2")
def test_scaled_dot() -> None:
    """`h_j . s_t / sqrt(|h_j|)`; by hand: (1, 1, 1, 1) . (2, 4, 6, 8) / sqrt(4) = 10."""
    states = torch.tensor([[[2.0, 4.0, 6.0, 8.0]]])
    assert energies(ScaledDotScore(4, 4), torch.ones(1, 1, 4), states).tolist() == [[[10.0]]]
    assert_each("scaled_dot", lambda p, s, h: loops.dot(h, s) / math.sqrt(len(h)))


@pytest.mark.spec("B3", "B22")
def test_bilinear() -> None:
    """`s_t^T W h_j`, W of query size times state size; for all positions at once `H^T W^T s_t`."""
    assert make("bilinear").get_parameter("weight.weight").shape == SIZES["bilinear"]
    assert_each("bilinear", lambda p, s, h: loops.dot(s, loops.times(p["weight.weight"], h)))
    score, query, states = parts("bilinear")
    assert isinstance(score, BilinearScore)
    whole = torch.stack([states[0] @ score.weight.weight.T @ query[0, t] for t in range(STEPS)])
    assert torch.allclose(energies(score, query, states)[0], whole)


def test_additive_keeps_its_precision_in_bfloat16() -> None:
    """However far the mean of v is from zero: only differences of energies count."""
    torch.manual_seed(0)
    score, query, states = AdditiveScore(64, 64, size=256), torch.randn(4, 1, 64), torch.randn(4, 9, 64)
    with torch.no_grad():
        score.vector.add_(0.2)
        wanted = energies(score.double(), query.double(), states.double())
        score.float()
        with torch.autocast("cpu", torch.bfloat16):
            rough = energies(score, query, states).double()
    errors = (rough - rough.mean(-1, keepdim=True)) - (wanted - wanted.mean(-1, keepdim=True))
    assert errors.std() < 0.01 * wanted.std()


@pytest.mark.spec("B4", "B22")
def test_additive() -> None:
    """`v^T tanh(W s_t + U h_j + b)`; for all positions at once `v^T tanh(W s_t 1^T + U H)`."""
    assert_each(
        "additive",
        lambda p, s, h: loops.dot(
            p["vector"],
            loops.tanh(loops.times(p["query.weight"], s) + loops.times(p["state.weight"], h) + p["state.bias"]),
        ),
    )


@pytest.mark.spec("J10")
@pytest.mark.parametrize("norm", ["standard", "marian", "nematus"])
def test_the_products_of_an_additive_score_can_be_normalized(norm: str) -> None:
    """`v^T tanh(norm(W s) + norm(U h_j, b))`."""

    def printed(p: dict[str, loops.Vector], s: loops.Vector, h: loops.Vector) -> float:
        read = loops.projected(p, "query.norm", norm, loops.times(p["query.weight"], s), 0 * p["vector"])
        key = loops.projected(p, "state.norm", norm, loops.times(p["state.weight"], h), p["state.bias"])
        return loops.dot(p["vector"], loops.tanh(read + key))

    assert_each("additive", printed, layer_norm=norm)


@pytest.mark.spec("B4")
def test_one_matrix_over_both_vectors_is_the_same_additive_score() -> None:
    """NT (80) and Luong's "concat": `w_2^T tanh(W_1 [h_j; s_t])`, W_1 the two matrices side by side."""
    score, query, states = parts("additive")
    assert isinstance(score, AdditiveScore)
    both = torch.cat([score.state.weight, score.query.weight], 1)  # (A, H + Q)
    for j in range(PLACES):
        joined = torch.cat([states[0, j], query[0, 0]])
        expected = score.vector @ torch.tanh(both @ joined + score.state.bias)
        assert torch.allclose(energies(score, query, states)[0, 0, j], expected)


@pytest.mark.parametrize(("options", "size"), [({}, 3), ({"size": None}, 3), ({"size": 7}, 7)])
def test_the_size_of_an_additive_score(options: dict[str, Any], size: int) -> None:
    assert make("additive", **options).get_parameter("vector").shape == (size,)


@pytest.mark.spec("B5")
def test_linear() -> None:
    """`w . [h_j; s_t]`."""

    def printed(p: dict[str, loops.Vector], s: loops.Vector, h: loops.Vector) -> float:
        return loops.dot(loops.join(p["state.weight"][0], p["query.weight"][0]), loops.join(h, s))

    assert_each("linear", printed)


@pytest.mark.spec("B5")
def test_the_decoders_share_of_a_linear_score_cancels() -> None:
    """The weights do not depend on the decoder's state, whatever it is; those of every other learned score do."""
    for kind in ("linear", "additive", "bilinear"):
        score, query, states = parts(kind)
        one, other = (torch.softmax(energies(score, q, states), -1) for q in (query, 5 * query + 1))
        assert torch.allclose(one, other) == (kind == "linear")


@pytest.mark.spec("A8")
@pytest.mark.parametrize("options", [{}, {"size": 2, "widths": (2, 4, 5)}, {"widths": (1, 1, 1)}], ids=str)
def test_convolutional(options: dict[str, Any]) -> None:
    """Three convolutions in a row, those of a short sentence as if it stood alone."""
    score, query, states = make("convolutional", **options), noise(2, STEPS, 3), noise(2, PLACES, 4, seed=1)
    p, mask = loops.numbers(score), torch.tensor([[True] * PLACES, [True] * 3 + [False] * 2])
    values = score(query, score.keys(states, mask))
    for b, length in enumerate((PLACES, 3)):
        first = loops.convolved(p["first.kernel.weight"], p["first.kernel.bias"], loops.array(states[b, :length]))
        second = loops.convolved(p["second.kernel.weight"], p["second.kernel.bias"], first.clip(min=0))
        for t in range(STEPS):
            gated = second * loops.array(query[b, t])
            scaled = gated / [[math.sqrt(loops.dot(row, row))] for row in gated]
            expected = loops.convolved(p["third.weight"].T[None], None, scaled)[:, 0]
            assert values[b, t, :length].tolist() == pytest.approx(expected.tolist(), abs=1e-12)


def test_uniform() -> None:
    assert_each("uniform", lambda p, s, h: 0.0)


@pytest.mark.spec("B22")
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "convolutional"])  # which sees neighbors
def test_many_queries_and_positions_at_once_are_one_at_a_time(kind: str) -> None:
    score, query, states = parts(kind)
    values = energies(score, query, states)
    assert values.shape == (QUERIES, STEPS, PLACES)
    for b in range(QUERIES):
        for t in range(STEPS):
            for j in range(PLACES):
                alone = energies(score, query[b : b + 1, t : t + 1], states[b : b + 1, j : j + 1])
                assert torch.allclose(alone, values[b, t, j])


@pytest.mark.parametrize("kind", [kind for kind in KINDS if SCORES[kind].equal_sizes])
def test_products_need_equal_sizes(kind: str) -> None:
    with pytest.raises(
        ValueError, match=r"requires equal sizes of decoder state \(3\) and encoder states \(4\); use 'bilinear'"
    ):
        SCORES[kind](3, 4)


@pytest.mark.parametrize("kind", KINDS)
def test_unknown_options_are_refused(kind: str) -> None:
    (problem,) = find_problems(SCORES, Spec(kind, {"siz": 3}), ("model", "attention", "score"))
    assert problem.path == ("model", "attention", "score", "siz")


@pytest.mark.parametrize("widths", [(3, 3), (3, 3, 0), (3, 3, 2.5), 3], ids=str)
def test_widths_that_no_kernels_can_have_are_refused(widths: Any) -> None:
    errors = find_problems(SCORES, Spec("convolutional", {"widths": widths}), ("model", "attention", "score"))
    assert {problem.path[-1] for problem in errors} == {"widths"}
