"""Terms: each printed equation, step by step, against a plain loop over numbers."""

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from dragoman.configuration.components import Spec, build, find_problems
from dragoman.model.attention.attention import AttentionHistory, GlobalAttention
from dragoman.model.attention.normalizers import Softmax
from dragoman.model.attention.scores import SCORES
from dragoman.model.attention.terms.recurrent_terms import TrackedState
from dragoman.model.attention.terms.table import TERMS
from dragoman.model.attention.terms.term import AttentionTerm, TermInput, TermSizes
from dragoman.model.memory import Memory
from dragoman.model.state import map_tensors
from tests.builders import noise, shaken
from tests.model import loops
from tests.model.loops import Vector, array, join

ROWS, STEPS, PLACES, CELL = 2, 4, 4, 2  # CELL: the size of one
SIZES = TermSizes(query=3, state=5, embedding=2, symbols=7)
LENGTHS = (4, 2)
MASK = torch.tensor([[j < length for j in range(PLACES)] for length in LENGTHS])
IDS = torch.tensor([[4, 5, 4, 3], [6, 3, 1, 1]])
STATES = noise(ROWS, PLACES, SIZES.state)
QUERIES = noise(ROWS, STEPS, SIZES.query, seed=1)
READ = noise(ROWS, STEPS, SIZES.embedding, seed=2)
WEIGHTS = torch.softmax(noise(ROWS, STEPS, PLACES, seed=3).masked_fill(~MASK.unsqueeze(1), -math.inf), -1)


def make(kind: str, **options: Any) -> AttentionTerm:
    torch.manual_seed(0)
    return shaken(build(TERMS, Spec(kind, options), SIZES))


def features(term: AttentionTerm) -> Tensor:
    """What a term says at each step (B, T, S, F) if those are the weights."""
    prepared = term.prepare(Memory(STATES, MASK, ids=IDS))
    before = torch.zeros_like(WEIGHTS[:, 0])
    carried, steps = term.start(before, prepared), []
    for t in range(STEPS):
        term_input = TermInput(*(tensor.unsqueeze(1) for tensor in (QUERIES[:, t], READ[:, t], before)))
        terms = term(term_input, prepared, map_tensors(lambda tensor: tensor.unsqueeze(1), carried))
        assert terms.prior is None
        assert terms.features is not None
        steps.append(terms.features.squeeze(1))
        carried, before = map_tensors(lambda tensor: tensor.squeeze(1), terms.carried), WEIGHTS[:, t]
    return torch.stack(steps, 1)


def assert_each(term: AttentionTerm, equation: Callable[[int, int, int], Any]) -> None:
    """The features are the equation in every row, at every step t = 1, 2, ... and real position j = 1, 2, ..."""
    values = features(term)
    assert values.shape == (ROWS, STEPS, PLACES, term.features)
    for row, length in enumerate(LENGTHS):
        for t in range(1, STEPS + 1):
            for j in range(1, length + 1):
                expected = pytest.approx(list(equation(row, t, j)), abs=1e-12)
                assert values[row, t - 1, j - 1].tolist() == expected, (row, t, j)


def alpha(row: int, t: int, j: int) -> float:
    """`alpha_tj`, 0 before the first step and outside the sentence."""
    return WEIGHTS[row, t - 1, j - 1].item() if t >= 1 and 1 <= j <= LENGTHS[row] else 0.0


def summed(row: int, t: int, j: int) -> float:
    """`sum_(t'<t) alpha_t'j`"""
    return sum(alpha(row, before, j) for before in range(1, t))


@pytest.mark.spec("B17")
def test_position() -> None:
    assert_each(make("position"), lambda row, t, j: [math.log(1 + t), math.log(1 + j), math.log(1 + LENGTHS[row])])


@pytest.mark.spec("B18")
@pytest.mark.parametrize("k", [1, 2, 9])
def test_markov(k: int) -> None:
    assert_each(make("markov", width=k), lambda row, t, j: [alpha(row, t - 1, i) for i in range(j - k, j + k + 1)])


@pytest.mark.spec("B19")
@pytest.mark.parametrize("k", [1, 2, 9])
def test_fertility(k: int) -> None:
    assert_each(make("fertility", width=k), lambda row, t, j: [summed(row, t, i) for i in range(j - k, j + k + 1)])


@pytest.mark.spec("B14")
def test_coverage() -> None:
    assert_each(make("coverage"), lambda row, t, j: [summed(row, t, j)])


@pytest.mark.spec("B14")
def test_coverage_with_fertility() -> None:
    term = make("coverage", fertility=3.0)
    weight = loops.numbers(term)["fertility.weight"][0]

    def equation(row: int, t: int, j: int) -> list[float]:
        expected = 3.0 * loops.sigmoid(loops.dot(weight, array(STATES[row, j - 1])))
        return [summed(row, t, j) / expected]

    assert_each(term, equation)


@pytest.mark.spec("B14")
def test_a_word_of_padding_cannot_spoil_the_gradient_of_fertility() -> None:
    """Phi there would be 0, and so would the weight."""
    states = STATES.clone()
    term = build(TERMS, Spec("coverage", {"fertility": 2.0}), SIZES).double()
    weight = next(term.parameters())
    states[1, 2:] = -1e6 * weight.detach().sign()
    prepared = term.prepare(Memory(states, MASK, ids=IDS))
    term_input = TermInput(QUERIES[:, :1], READ[:, :1], WEIGHTS[:, :1])
    terms = term(term_input, prepared, torch.zeros_like(WEIGHTS[:, :1]))
    assert terms.features is not None
    terms.features.sum().backward()
    assert weight.grad is not None
    assert weight.grad.abs().sum() > 0
    assert weight.grad.isfinite().all()


def tracked(
    term: AttentionTerm, cell: str, begin: Callable[[int, int], Vector], read: Callable[[int, int, int], Vector]
) -> None:
    """The features are h of `cell`, which starts there and has read the input of each step t' < t."""
    p = {name.removeprefix("cell."): value for name, value in loops.numbers(term).items()}

    def equation(row: int, t: int, j: int) -> Vector:
        state = (begin(row, j), *loops.zeros(cell, CELL)[1:])
        for before in range(1, t):
            state = loops.CELLS[cell](p, read(row, before, j), state)
        return state[0]

    assert_each(term, equation)


def nothing(row: int, j: int) -> Vector:
    return loops.zeros("rnn", CELL)[0]


@pytest.mark.spec("B14")
@pytest.mark.parametrize("cell", ["gru", "rnn", "lstm"])
def test_neural_coverage(cell: str) -> None:
    """`C_tj = f(C_(t-1),j, h_j, s_t, alpha_tj)`."""

    def read(row: int, t: int, j: int) -> Vector:
        return join(array(STATES[row, j - 1]), array(QUERIES[row, t - 1]), [alpha(row, t, j)])

    tracked(make("neural_coverage", cell=cell, size=CELL), cell, nothing, read)


@pytest.mark.spec("B15")
def test_coverage_embedding() -> None:
    """`C_tj = GRU(C_(t-1),j; [y_t, alpha_tj])`; y_t is what the step after t reads."""
    term = make("coverage_embedding", size=CELL)
    table = loops.numbers(term)["embedding.table"]

    def begin(row: int, j: int) -> Vector:
        return table[int(IDS[row, j - 1])]

    def read(row: int, t: int, j: int) -> Vector:
        return join(array(READ[row, t]), [alpha(row, t, j)])

    tracked(term, "gru", begin, read)


@pytest.mark.spec("A11")
@pytest.mark.parametrize("k", [1, 5])
def test_recurrent(k: int) -> None:
    """`C_tj = LSTM(C_(t-1),j; alpha_t,j-k ... alpha_t,j+k)`."""

    def read(row: int, t: int, j: int) -> Vector:
        return join([alpha(row, t, i) for i in range(j - k, j + k + 1)])

    tracked(make("recurrent", size=CELL, width=k), "lstm", nothing, read)


@pytest.mark.spec("B12")
def test_shift() -> None:
    """From a_(t-1) on the first position with `e_tj > 0`, or the last of the sentence: one step after the other."""
    stayed = passed = 0
    for seed in range(10):
        term = shaken(build(TERMS, Spec("shift"), SIZES), seed)
        p = {name.removeprefix("score."): value for name, value in loops.numbers(term).items()}
        prepared = term.prepare(Memory(STATES, MASK, ids=IDS))
        carried, places = term.start(torch.zeros_like(WEIGHTS[:, 0]), prepared), [0] * ROWS
        for t in range(STEPS):
            term_input = TermInput(*(tensor.unsqueeze(1) for tensor in (QUERIES[:, t], READ[:, t], WEIGHTS[:, t])))
            terms = term(term_input, prepared, carried.unsqueeze(1))
            assert terms.prior is not None
            for row, length in enumerate(LENGTHS):
                energies = loops.additive(p, array(QUERIES[row, t]), array(STATES[row, :length]))
                before, place = places[row], places[row]
                while place < length - 1 and energies[place] <= 0:
                    place += 1
                assert terms.prior[row, 0].isfinite().nonzero().flatten().tolist() == [place]
                assert terms.prior[row, 0, place] == 0
                stayed += place == before and place < length - 1
                passed += any(energy > 0 for energy in energies[:before])
                places[row] = place
            carried = terms.carried.squeeze(1)
    assert stayed > 3
    assert passed > 3


def attention(score: str, *kinds: str) -> GlobalAttention:
    torch.manual_seed(0)
    sizes = TermSizes(query=3, state=3, embedding=2, symbols=7)
    terms = [build(TERMS, Spec(kind), sizes) for kind in kinds]
    part = build(SCORES, Spec(score), 3, 3, sum(term.features for term in terms))
    return shaken(GlobalAttention(part, Softmax(), terms))


@pytest.mark.spec("B14", "B17", "B18")
@pytest.mark.parametrize("score", sorted(SCORES))
def test_features_stand_inside_the_tanh_of_the_additive_score_and_beside_every_other(score: str) -> None:
    """`v^T tanh(W s_t + U h_j + V f_tj + b)`, or the energy and `v . f_tj`; of several terms side by side."""
    whole = attention(score, "position", "coverage", "markov")
    p = loops.numbers(whole.score)
    states = noise(1, PLACES, 3)
    prepared_source = whole.prepare(Memory(states, torch.ones(1, PLACES, dtype=torch.bool), ids=IDS[:1]))
    history = whole.start(prepared_source)
    past = [[0.0] * (PLACES + 2)]  # with a zero before and after the sentence
    for t in range(1, STEPS + 1):
        query = QUERIES[:1, t - 1]
        energies = []
        for j in range(1, PLACES + 1):
            covered = sum(weights[j] for weights in past)
            f = join([math.log(1 + t), math.log(1 + j), math.log(1 + PLACES), covered], past[-1][j - 1 : j + 2])
            extra = loops.times(p["feature_map.weight"], f)
            if score == "additive":
                inside = loops.times(p["query.weight"], array(query[0])) + extra + p["state.bias"]
                inside = inside + loops.times(p["state.weight"], array(states[0, j - 1]))
                energies.append(loops.dot(p["vector"], loops.tanh(inside)))
            else:
                plain = whole.score.energies(query.unsqueeze(1), prepared_source.keys)[0, 0, j - 1]
                energies.append(plain.item() + extra[0])
        history = whole(query, READ[:1, t - 1], prepared_source, history).history
        expected = loops.softmax(energies).tolist()
        assert history.weights[0].tolist() == pytest.approx(expected, abs=1e-12)
        past.append([0.0, *expected, 0.0])


@pytest.mark.parametrize("kind", sorted(TERMS))
def test_under_autocast_what_adds_up_keeps_its_precision(kind: str) -> None:
    whole = attention("additive", kind).float()
    memory = Memory(noise(ROWS, PLACES, 3).float(), MASK, ids=IDS)

    def last() -> AttentionHistory:
        prepared_source = whole.prepare(memory)
        history = whole.start(prepared_source)
        for t in range(STEPS):
            history = whole(QUERIES[:, t].float(), READ[:, t].float(), prepared_source, history).history
        return history

    exact = last()
    with torch.autocast("cpu", torch.bfloat16):
        rough = last()
    torch.testing.assert_close(rough.weights.float(), exact.weights, rtol=0.05, atol=0.05)
    (carried,) = rough.term_states
    if kind == "neural_coverage":
        carried, _ = carried
    if kind != "markov":
        added = carried.state[0] if isinstance(carried, TrackedState) else carried
        assert added.dtype is torch.float32


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("coverage", {"fertility": 0}, "more than 0"),
        ("coverage", {"fertilty": 2.0}, "did you mean 'fertility'"),
        ("neural_coverage", {"cell": "grue"}, "gru"),
        ("neural_coverage", {"size": 0}, "1"),
        ("coverage_embedding", {"size": "ten"}, "number"),
        ("markov", {"width": 0}, "1"),
        ("fertility", {"width": True}, "number"),
        ("recurrent", {"width": 1.5}, "number"),
        ("position", {"width": 1}, "no options"),
    ],
)
def test_bad_options_are_refused(kind: str, options: dict[str, Any], message: str) -> None:
    (problem,) = find_problems(TERMS, Spec(kind, options), ())
    assert message in problem.message
