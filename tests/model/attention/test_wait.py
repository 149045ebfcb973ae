"""Wait-k: each target symbol sees a prefix of the source, which grows by one symbol at a time."""

from typing import Any

import pytest
import torch

from dragoman.data.batch import TokenBatch
from dragoman.model import build
from dragoman.model.attention.attention import Attention, GlobalAttention
from dragoman.model.attention.normalizers import Softmax
from dragoman.model.attention.scores import AdditiveScore
from dragoman.model.attention.terms.term import TermSizes
from dragoman.model.attention.terms.wait_terms import WaitTerm
from dragoman.model.attention.windows import LocalAttention, Monotonic
from dragoman.model.memory import Memory
from dragoman.search.greedy import Greedy
from tests.builders import build_model, noise, sentences, settings, shaken, whole
from tests.model import loops

SIZE, PLACES, STEPS = 3, 6, 5
MASK = torch.tensor([[True] * 6, [True] * 3 + [False] * 3])
FORWARD: dict[str, Any] = {"encoder": {"direction": "forward"}, "bridge": "zero"}


def waiting(k: int) -> GlobalAttention:
    return GlobalAttention(
        shaken(AdditiveScore(SIZE, SIZE)), Softmax(), [WaitTerm(TermSizes(SIZE, SIZE, SIZE, 7), k=k)]
    )


def unrolled(attention: Attention) -> torch.Tensor:
    """Weights (B, T, S) of some steps."""
    prepared_source = attention.prepare(Memory(noise(2, PLACES, SIZE, seed=1), MASK))
    history, queries, weights = attention.start(prepared_source), noise(2, STEPS, SIZE), []
    for t in range(STEPS):
        history = attention(queries[:, t], queries[:, t], prepared_source, history).history
        weights.append(history.weights)
    return torch.stack(weights, 1)


@pytest.mark.spec("B12")
@pytest.mark.parametrize("k", [1, 2, 4, 6])
def test_symbol_t_sees_the_first_t_plus_k_minus_1_source_symbols(k: int) -> None:
    """A softmax over those alone, by loops."""
    attention = waiting(k)
    weights, states, queries = unrolled(attention), noise(2, PLACES, SIZE, seed=1), noise(2, STEPS, SIZE)
    parameters = loops.numbers(attention.score)
    for row, length in enumerate((6, 3)):
        for t in range(1, STEPS + 1):
            seen = min(t + k - 1, length)
            energies = loops.additive(parameters, loops.array(queries[row, t - 1]), loops.array(states[row, :seen]))
            expected = [*loops.softmax(energies), *[0.0] * (PLACES - seen)]
            assert weights[row, t - 1].tolist() == pytest.approx(expected, abs=1e-12)


@pytest.mark.spec("B12")
def test_a_long_wait_is_no_wait() -> None:
    long = waiting(10**9)
    torch.testing.assert_close(unrolled(long), unrolled(GlobalAttention(long.score, Softmax())))


@pytest.mark.spec("B12")
@pytest.mark.parametrize("terms", [(), {"kind": "wait", "k": 2}], ids=["off", "on"])
def test_what_follows_in_the_source_changes_nothing_before_it_is_seen(terms: Any) -> None:
    """The fifth source symbol is seen from the fourth target symbol on; without the term, from the first on."""
    model = build_model(terms=terms, **FORWARD)
    target = torch.tensor([[4, 5, 6, 7, 8]])

    def features(source: list[int]) -> torch.Tensor:
        return model.unroll(model.begin((sentences(source),)), target).features[0]

    with torch.no_grad():
        changed = (features([4, 5, 6, 7, 8]) - features([4, 5, 6, 7, 4])).abs().amax(1) > 1e-9
    assert changed.tolist() == ([False] * 3 + [True] * 2 if terms else [True] * 5)


@pytest.mark.spec("B12")
def test_greedy_search_writes_the_same_as_long_as_it_has_seen_the_same() -> None:
    model = build_model(terms={"kind": "wait", "k": 1}, spread=1.5, **FORWARD)
    limit = Greedy(length_ratio=0.01, length_margin=4)
    first, second = limit(model, (sentences([4, 5, 6, 7], [4, 5, 6, 8]),))
    assert first[0].symbols[:3] == second[0].symbols[:3]


@pytest.mark.parametrize("direction", ["forward", "reversed", "bidirectional"])
def test_an_encoder_says_whether_it_reads_ahead(direction: str) -> None:
    encoder = build_model(encoder={"direction": direction}).source_encoders[0].encoder
    with torch.no_grad():
        one, other = (
            encoder(states, torch.ones(1, 4).bool()).states[0, :3]
            for states in (noise(1, 4, 4), torch.cat([noise(1, 4, 4)[:, :3], noise(1, 1, 4, seed=9)], 1))
        )
    assert encoder.reads_ahead is not torch.equal(one, other)


@pytest.mark.parametrize("bridge", ["final", "mean", "copy", "zero"])
def test_a_bridge_says_whether_it_reads_the_source(bridge: str) -> None:
    model = build_model(bridge=bridge, encoder={"direction": "forward"})

    def first(ids: list[int]) -> torch.Tensor:
        return model.bridge(model.encode((TokenBatch(torch.tensor([ids]), torch.ones(1, 3).bool()),)))[0][0]

    assert model.bridge.reads_source is not torch.equal(first([4, 5, 6]), first([4, 5, 7]))


REFUSED: dict[str, tuple[dict[str, Any], list[str]]] = {
    "both ways": ({"bridge": "zero"}, ["model.encoder"]),
    "backwards": ({"bridge": "zero", "encoder": {"direction": "reversed"}}, ["model.encoder"]),
    "bridge": ({"encoder": {"direction": "forward"}}, ["model.bridge"]),
    "both": ({}, ["model.encoder", "model.bridge"]),
    "score": ({**FORWARD, "score": "convolutional"}, ["model.attention.score"]),
    "trees": ({"bridge": "zero", "encoder": {"direction": "forward", "trees": True}}, ["model.encoder"]),
    "memory": ({**FORWARD, "decoder": {"external_memory": 2}}, ["model.decoder"]),
    "neither": (FORWARD, []),
}


@pytest.mark.spec("B12")
@pytest.mark.parametrize("name", REFUSED)
def test_parts_that_have_read_what_is_hidden_are_refused(name: str) -> None:
    options, keys = REFUSED[name]
    messages = [str(message) for message in build.find_problems(whole(settings(terms="wait", **options)))]
    assert [message.split(":")[0] for message in messages] == keys
    assert all("depends on source tokens that 'wait' (attention.terms) masks; use " in message for message in messages)
    assert not build.find_problems(whole(settings(**options)))


def test_a_term_that_depends_on_the_length_of_the_source_is_refused() -> None:
    (problem,) = build.find_problems(whole(settings(terms=["wait", "coverage", "position"], **FORWARD)))
    assert str(problem).startswith("model.attention.terms.2: depends on source tokens that 'wait'")


def test_a_term_that_changes_a_position_before_it_is_seen_is_refused() -> None:
    (problem,) = build.find_problems(whole(settings(terms=["wait", "recurrent"], **FORWARD)))
    assert str(problem).startswith("model.attention.terms.1: depends on source tokens that 'wait'")


def test_two_terms_that_hide_are_refused() -> None:
    problems = build.find_problems(whole(settings(terms=["wait", "shift"], **FORWARD)))
    assert "model.attention.terms: at most one term may mask source tokens" in map(str, problems)


def test_a_window_that_depends_on_the_length_of_the_source_is_refused() -> None:
    model = settings(terms="wait", **FORWARD)
    for window, wrong in (("predictive", 1), ("monotonic", 0)):
        attention = model.attention.model_validate({"terms": "wait", "window": window})
        assert len(build.find_problems(whole(model.model_copy(update={"attention": attention})))) == wrong


def test_a_monotonic_window_is_cut_where_the_source_is_hidden() -> None:
    inner = waiting(1)
    weights = unrolled(LocalAttention(inner, Monotonic(SIZE, width=2)))
    for t in range(STEPS):
        assert weights[0, t].gt(0).tolist() == [max(0, t - 2) <= j <= t for j in range(PLACES)]
