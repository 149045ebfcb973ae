"""How what is seen in several sources becomes one context, against LH (4)-(10) as plain loops."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from dragoman import components
from dragoman.components import Spec
from dragoman.model.attention.attention import Attention, GlobalAttention, History
from dragoman.model.attention.normalisers import Softmax
from dragoman.model.attention.scores import SCORES
from dragoman.model.attention.sources.combination import Asked, Combination
from dragoman.model.attention.sources.combinations import COMBINATIONS
from dragoman.model.attention.terms.term import Sizes
from dragoman.model.attention.terms.terms import TERMS
from dragoman.model.memory import Memory
from dragoman.model.state import select
from tests.builders import noise, shaken
from tests.model import loops
from tests.model.loops import Vector

QUERY, EMBEDDING, BATCH = 3, 2, 3
SIZES = (3, 4, 2, 5)  # of the states of each source
LENGTHS = ((4, 2, 1), (1, 3, 2), (2, 2, 2), (3, 1, 1))  # of each source's sentences

KINDS: dict[str, dict[str, Any]] = {
    f"{kind}{', shared' * share}{', sentinel' * sentinel}": {"share_projections": share, "sentinel": sentinel}
    for kind, share, sentinel in product(("flat", "hierarchical"), (False, True), (False, True))
} | {"concatenation": {}, "sum": {}}


def kind_of(name: str) -> str:
    return name.partition(",")[0]


def sizes_of(name: str, sources: int) -> tuple[int, ...]:
    return (3,) * sources if kind_of(name) == "sum" else SIZES[:sources]


def memories(sizes: tuple[int, ...], padding: float = 0.0) -> tuple[Memory, ...]:
    found = []
    for number, (size, lengths) in enumerate(zip(sizes, LENGTHS, strict=False)):
        mask = torch.arange(max(lengths)) < torch.tensor(lengths).unsqueeze(1)
        states = noise(BATCH, max(lengths), size, seed=10 + number).masked_fill(~mask.unsqueeze(2), padding)
        found.append(Memory(states, mask, ids=mask.long() * 5))
    return tuple(found)


def make(name: str, sizes: tuple[int, ...], score: str = "additive", terms: tuple[str, ...] = ()) -> Combination:
    torch.manual_seed(0)
    attentions: list[Attention] = []
    for size in sizes:
        built = [components.build(TERMS, Spec(term), Sizes(QUERY, size, EMBEDDING, 9)) for term in terms]
        features = sum(term.features for term in built)
        attentions.append(
            GlobalAttention(components.build(SCORES, Spec(score), QUERY, size, features), Softmax(), built)
        )
    parts: list[Any] = [attentions, QUERY, EMBEDDING]
    if kind_of(name) == "flat":
        parts.append(components.build(SCORES, Spec(score), QUERY, QUERY))
    return shaken(components.build(COMBINATIONS, Spec(kind_of(name), KINDS[name]), *parts)).eval()


def asked(seed: int = 0, rows: int = BATCH) -> Asked:
    return Asked(
        noise(rows, QUERY, seed=seed), noise(rows, EMBEDDING, seed=seed + 50), noise(rows, QUERY, seed=seed + 60)
    )


def sentinel(p: dict[str, Vector], question: Asked, row: int) -> Vector:
    """(4): `psi = sigmoid(W_y y + W_s s_before + b)`, and `psi * s`."""
    s, y, before = (loops.array(part[row]) for part in question)
    inside = loops.times(p["sentinel.symbol.weight"], y) + p["sentinel.symbol.bias"]
    inside = inside + loops.times(p["sentinel.state.weight"], before)
    return np.array([loops.sigmoid(each) * number for each, number in zip(inside, s, strict=True)])


def additive(p: dict[str, Vector], of: str, s: Vector, h: Vector) -> float:
    """(1), with a bias inside."""
    inside = loops.times(p["attentions.0.score.query.weight"], s) + loops.times(p[f"{of}.state.weight"], h)
    return loops.dot(p["attentions.0.score.vector"], loops.tanh(inside + p[f"{of}.state.bias"]))


def states(source: Memory, row: int) -> Vector:
    return loops.array(source.states[row, : int(source.mask[row].sum())])


def flat(p: dict[str, Vector], question: Asked, sources: tuple[Memory, ...], row: int, options: Any) -> Vector:
    """(6)-(7)."""
    s = loops.array(question.query[row])
    positions = [(k, f"attentions.{k}.score", h) for k, source in enumerate(sources) for h in states(source, row)]
    if options["sentinel"]:
        positions.append((len(sources), "sentinel_score", sentinel(p, question, row)))
    energies = np.array([additive(p, of, s, h) + p["bias"][k] for k, of, h in positions])
    shared = options["share_projections"]
    values = [loops.times(p[f"{of}.state.weight" if shared else f"values.{k}.weight"], h) for k, of, h in positions]
    return loops.mix(loops.softmax(energies), np.array(values))


def context(p: dict[str, Vector], k: int, s: Vector, states: Vector) -> Vector:
    """(1)-(3), of source k alone."""
    own = {name.replace(f"attentions.{k}.", "attentions.0."): each for name, each in p.items() if f"s.{k}." in name}
    energies = np.array([additive(own, "attentions.0.score", s, h) for h in states])
    return loops.mix(loops.softmax(energies), states)


def hierarchical(p: dict[str, Vector], question: Asked, sources: tuple[Memory, ...], row: int, options: Any) -> Vector:
    """(8)-(10)."""
    s = loops.array(question.query[row])
    contexts = []
    for k, source in enumerate(sources):
        own = {
            name.replace(f"attentions.{k}.", "attentions.0."): value
            for name, value in p.items()
            if f"attentions.{k}." in name
        }
        energies = np.array([additive(own, "attentions.0.score", s, h) for h in states(source, row)])
        contexts.append(loops.mix(loops.softmax(energies), states(source, row)))
    if options["sentinel"]:
        contexts.append(sentinel(p, question, row))
    keys = [loops.times(p[f"keys.{k}.weight"], context) for k, context in enumerate(contexts)]
    energies = np.array(
        [
            loops.dot(p["vector"], loops.tanh(loops.times(p["query.weight"], s) + key)) + p["bias"][k]
            for k, key in enumerate(keys)
        ]
    )
    own_values = "keys" if options["share_projections"] else "values"
    values = [loops.times(p[f"{own_values}.{k}.weight"], context) for k, context in enumerate(contexts)]
    return loops.mix(loops.softmax(energies), np.array(values))


@pytest.mark.spec("C3")
@pytest.mark.spec("C4")
@pytest.mark.spec("C5")
@pytest.mark.spec("C6")
@pytest.mark.spec("C14")
@pytest.mark.parametrize("sources", [1, 2, 3, 4])
@pytest.mark.parametrize("name", [name for name in KINDS if KINDS[name]])
def test_flat_and_hierarchical_are_the_printed_equations(name: str, sources: int) -> None:
    combination, read = make(name, SIZES[:sources]), memories(SIZES[:sources])
    question = asked()
    attended = combination.prepare(read)
    found = combination(question, attended, combination.start(attended)).context
    p = loops.numbers(combination)
    loop = {"flat": flat, "hierarchical": hierarchical}[kind_of(name)]
    for row in range(BATCH):
        np.testing.assert_allclose(loops.array(found[row]), loop(p, question, read, row, KINDS[name]), atol=1e-10)


@pytest.mark.spec("C1")
@pytest.mark.spec("C2")
def test_contexts_are_concatenated_or_added() -> None:
    for name, join in (("concatenation", loops.join), ("sum", lambda *vectors: np.sum(vectors, axis=0))):
        sizes = sizes_of(name, 3)
        combination, read, question = make(name, sizes), memories(sizes), asked()
        attended = combination.prepare(read)
        found = combination(question, attended, combination.start(attended)).context
        p = loops.numbers(combination)
        for row in range(BATCH):
            contexts = []
            for k, source in enumerate(read):
                own = {
                    n.replace(f"attentions.{k}.", "attentions.0."): v for n, v in p.items() if f"attentions.{k}." in n
                }
                s = loops.array(question.query[row])
                energies = [additive(own, "attentions.0.score", s, h) for h in states(source, row)]
                contexts.append(loops.mix(loops.softmax(np.array(energies)), states(source, row)))
            np.testing.assert_allclose(loops.array(found[row]), join(*contexts), atol=1e-10)


def walk(
    combination: Combination, read: tuple[Memory, ...], rows: Tensor | None = None, extreme: int = 0
) -> Iterator[tuple[Tensor, tuple[Tensor, ...]]]:
    """Contexts and weights by source of three steps."""
    attended = combination.prepare(read)
    history = combination.start(attended)
    for t in range(3):
        question = asked(seed=t)
        if rows is not None:
            question = Asked(*(part[rows] for part in question))
        glimpse = combination(question, attended, history)
        history = glimpse.history
        yield glimpse.context, combination.by_source(history.weights, attended)


each = pytest.mark.parametrize("name", KINDS)
each_score = pytest.mark.parametrize("score", [score for score in SCORES if score != "uniform"])


@each
@each_score
def test_padding_and_the_batch_change_nothing(name: str, score: str) -> None:
    if score not in ("additive", "bilinear") and KINDS[name].get("share_projections") and kind_of(name) == "flat":
        pytest.skip("this score has no projection to share")
    sizes = (3, 3, 3) if score in ("dot", "scaled_dot") else sizes_of(name, 3)
    combination = make(name, sizes, score, terms=("coverage", "markov"))
    plain = list(walk(combination, memories(sizes)))
    for (context, weights), (other, others) in zip(plain, walk(combination, memories(sizes, 1e3)), strict=True):
        torch.testing.assert_close(other, context)
        for one, two in zip(weights, others, strict=True):
            torch.testing.assert_close(two, one)
    for row in range(BATCH):
        alone = tuple(
            Memory(m.states[row : row + 1, : LENGTHS[k][row]], m.mask[row : row + 1, : LENGTHS[k][row]])
            for k, m in enumerate(memories(sizes))
        )
        for (context, _), (single, _) in zip(plain, walk(combination, alone, torch.tensor([row])), strict=True):
            torch.testing.assert_close(single[0], context[row])


@each
def test_weights_by_source_are_distributions_and_padding_has_none(name: str) -> None:
    sizes = sizes_of(name, 3)
    combination, read = make(name, sizes), memories(sizes)
    for _, weights in walk(combination, read):
        assert len(weights) == 3 + bool(KINDS[name].get("sentinel"))
        for source, each_weights in zip(read, weights, strict=False):
            assert each_weights[~source.mask].eq(0).all()
        total = torch.stack([each_weights.sum(1) for each_weights in weights])
        expected = torch.ones_like(total) if kind_of(name) in ("concatenation", "sum") else total / total.sum(0)
        torch.testing.assert_close(total, expected)


@each
def test_a_source_that_a_sentence_has_not_is_as_if_it_were_no_source(name: str) -> None:
    sizes = sizes_of(name, 2)
    combination, read = make(name, sizes), memories(sizes)
    gone = torch.tensor([False, True, False])
    mask = read[1].mask & ~gone.unsqueeze(1)
    without = (read[0], Memory(read[1].states * mask.unsqueeze(2), mask))
    for (context, weights), (plain, _) in zip(walk(combination, without), walk(combination, read), strict=True):
        assert context.isfinite().all()
        assert weights[1][1].eq(0).all()
        torch.testing.assert_close(context[~gone], plain[~gone])
        assert not torch.allclose(context[gone], plain[gone])
        if kind_of(name) in ("flat", "hierarchical"):  # all that there is adds up to 1
            torch.testing.assert_close(sum(part.sum(1) for part in weights), torch.ones(BATCH).double())


@each
def test_rows_of_a_sentence_keep_their_own_history_when_a_beam_moves_them(name: str) -> None:
    sizes = sizes_of(name, 2)
    combination, read = make(name, sizes, terms=("coverage", "markov")), memories(sizes)
    attended = combination.prepare(read)

    def alone(seed: int) -> list[Tensor]:
        history, found = combination.start(attended), []
        for t in range(3):
            glimpse = combination(asked(seed + t), attended, history)
            history = glimpse.history
            found.append(history.weights)
        return found

    paths = [alone(0), alone(100)]
    history: History = select(combination.start(attended), torch.tensor([0, 0, 1, 1, 2, 2]))
    for t in range(3):
        seeds = (t, 100 + t) if t % 2 == 0 else (100 + t, t)
        parts = zip(asked(seeds[0]), asked(seeds[1]), strict=True)
        question = Asked(*(torch.stack(both, 1).flatten(0, 1) for both in parts))
        glimpse = combination(question, attended, history)
        for place in range(2):
            path = paths[place if t % 2 == 0 else 1 - place]
            torch.testing.assert_close(glimpse.history.weights[place::2], path[t])
        history = select(glimpse.history, torch.tensor([1, 0, 3, 2, 5, 4]))


@each
def test_every_parameter_gets_a_gradient(name: str) -> None:
    sizes = sizes_of(name, 3)
    combination = make(name, sizes)
    sum((context**2).sum() for context, _ in walk(combination, memories(sizes))).backward()
    for parameter_name, parameter in combination.named_parameters():
        assert parameter.grad is not None, parameter_name
        assert parameter.grad.abs().sum() > 0, parameter_name


@pytest.mark.parametrize(
    ("name", "sizes", "score", "message"),
    [
        ("sum", (3, 4), "additive", "adds contexts of sizes 3, 4: they must be equal"),
        ("flat, shared", (3, 3), "dot", "use additive or bilinear"),
    ],
)
def test_what_does_not_fit_is_said(name: str, sizes: tuple[int, ...], score: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make(name, sizes, score)
