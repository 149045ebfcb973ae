"""How what is seen in several sources becomes one context, against LH (4)-(10) as plain loops."""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, cast, final

import numpy as np
import pytest
import torch
from torch import Tensor

from dragoman.configuration import components
from dragoman.configuration.components import Spec
from dragoman.model.attention.attention import Attention, AttentionHistory, GlobalAttention
from dragoman.model.attention.normalizers import Softmax
from dragoman.model.attention.scores import SCORES, AdditiveScore, AlignmentScore
from dragoman.model.attention.sources.combination import Combination, DecoderQuery
from dragoman.model.attention.sources.table import COMBINATIONS
from dragoman.model.attention.terms.table import TERMS
from dragoman.model.attention.terms.term import TermSizes
from dragoman.model.memory import Memory
from dragoman.model.state import select_rows
from tests.builders import noise, shaken
from tests.derivatives import assert_derivative
from tests.model import combined, loops
from tests.model.combined import LOOPS, Combined
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
    memories_by_source = []
    for number, (size, lengths) in enumerate(zip(sizes, LENGTHS, strict=False)):
        mask = torch.arange(max(lengths)) < torch.tensor(lengths).unsqueeze(1)
        states = noise(BATCH, max(lengths), size, seed=10 + number).masked_fill(~mask.unsqueeze(2), padding)
        memories_by_source.append(Memory(states, mask, ids=mask.long() * 5))
    return tuple(memories_by_source)


def make(name: str, sizes: tuple[int, ...], score: str = "additive", terms: tuple[str, ...] = ()) -> Combination:
    torch.manual_seed(0)
    attentions: list[Attention] = []
    for size in sizes:
        built = [components.build(TERMS, Spec(term), TermSizes(QUERY, size, EMBEDDING, 9)) for term in terms]
        features = sum(term.features for term in built)
        attentions.append(
            GlobalAttention(components.build(SCORES, Spec(score), QUERY, size, features), Softmax(), built)
        )
    parts: list[Any] = [attentions, QUERY, EMBEDDING]
    if kind_of(name) == "flat":
        parts.append(components.build(SCORES, Spec(score), QUERY, QUERY))
    return shaken(components.build(COMBINATIONS, Spec(kind_of(name), KINDS[name]), *parts)).eval()


def make_query(seed: int = 0, rows: int = BATCH) -> DecoderQuery:
    return DecoderQuery(
        noise(rows, QUERY, seed=seed), noise(rows, EMBEDDING, seed=seed + 50), noise(rows, QUERY, seed=seed + 60)
    )


def states(source: Memory, row: int) -> Vector:
    return loops.array(source.states[row, : int(source.mask[row].sum())])


def loop(
    name: str,
    combination: Combination,
    question: DecoderQuery,
    read: tuple[Memory, ...],
    row: int,
    score: str = "additive",
) -> Combined:
    """The printed equations, of one sentence."""
    p, kind = loops.numbers(combination), kind_of(name)
    plain = combined.DecoderQuery(*(loops.array(part[row]) for part in question))
    sources = [states(source, row) for source in read]
    if kind in LOOPS:
        return LOOPS[kind](p, plain, sources, KINDS[name], score)
    return combined.apart(p, plain, sources, kind, score)


def assert_printed(name: str, combination: Combination, read: tuple[Memory, ...], score: str = "additive") -> None:
    """Contexts are those of the loops, and so are the weights of every source and of the sentinel."""
    question, prepared_sources = make_query(), combination.prepare(read)
    output = combination(question, prepared_sources, combination.start(prepared_sources))
    weights = combination.by_source(output.history.weights, prepared_sources)
    for row in range(BATCH):
        expected = loop(name, combination, question, read, row, score)
        np.testing.assert_allclose(loops.array(output.context[row]), expected.context, atol=1e-10)
        for source_weights, wanted in zip(weights, expected.weights, strict=True):
            np.testing.assert_allclose(loops.array(source_weights[row])[: len(wanted)], wanted, atol=1e-10)
            assert not source_weights[row, len(wanted) :].any()


@pytest.mark.spec("C3", "C4", "C5", "C6", "C9", "C14")
@pytest.mark.parametrize("sources", [1, 2, 3, 4])
@pytest.mark.parametrize("name", [name for name in KINDS if KINDS[name]])
def test_flat_and_hierarchical_are_the_printed_equations(name: str, sources: int) -> None:
    assert_printed(name, make(name, SIZES[:sources]), memories(SIZES[:sources]))


@pytest.mark.spec("C1", "C2", "C9", "C14")
@pytest.mark.parametrize("sources", [2, 3, 4])
@pytest.mark.parametrize("name", ["concatenation", "sum"])
def test_contexts_are_concatenated_or_added(name: str, sources: int) -> None:
    sizes = sizes_of(name, sources)
    assert_printed(name, make(name, sizes), memories(sizes))


@pytest.mark.spec("C1", "C2", "C3", "C4", "C5")
@pytest.mark.parametrize("score", ["bilinear", "dot"])
@pytest.mark.parametrize("name", KINDS)
def test_with_other_scores_too(name: str, score: str) -> None:
    if score == "dot" and KINDS[name].get("share_projections") and kind_of(name) == "flat":
        pytest.skip("this score has no projection to share")
    sizes = (QUERY,) * 3 if score == "dot" else sizes_of(name, 3)
    assert_printed(name, make(name, sizes, score), memories(sizes), score)


def walk(
    combination: Combination, read: tuple[Memory, ...], rows: Tensor | None = None, extreme: int = 0
) -> Iterator[tuple[Tensor, tuple[Tensor, ...]]]:
    """Contexts and weights by source of three steps."""
    prepared_sources = combination.prepare(read)
    history = combination.start(prepared_sources)
    for t in range(3):
        question = make_query(seed=t)
        if rows is not None:
            question = DecoderQuery(*(part[rows] for part in question))
        output = combination(question, prepared_sources, history)
        history = output.history
        yield output.context, combination.by_source(history.weights, prepared_sources)


each_kind = pytest.mark.parametrize("name", KINDS)
SAME_SIZE = [score for score in SCORES if SCORES[score].equal_sizes]
each_score = pytest.mark.parametrize("score", [score for score in SCORES if score != "uniform"])


@each_kind
@each_score
def test_padding_and_the_batch_change_nothing(name: str, score: str) -> None:
    if score not in ("additive", "bilinear") and KINDS[name].get("share_projections") and kind_of(name) == "flat":
        pytest.skip("this score has no projection to share")
    sizes = (3, 3, 3) if SCORES[score].equal_sizes else sizes_of(name, 3)
    combination = make(name, sizes, score, terms=("coverage", "markov"))
    plain = list(walk(combination, memories(sizes)))
    for (context, weights), (other, padded_weights) in zip(plain, walk(combination, memories(sizes, 1e3)), strict=True):
        torch.testing.assert_close(other, context)
        for one, two in zip(weights, padded_weights, strict=True):
            torch.testing.assert_close(two, one)
    for row in range(BATCH):
        alone = tuple(
            Memory(m.states[row : row + 1, : LENGTHS[k][row]], m.mask[row : row + 1, : LENGTHS[k][row]])
            for k, m in enumerate(memories(sizes))
        )
        for (context, _), (single, _) in zip(plain, walk(combination, alone, torch.tensor([row])), strict=True):
            torch.testing.assert_close(single[0], context[row])


@each_kind
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


@pytest.mark.spec("C14")
@each_kind
def test_a_source_that_a_sentence_has_not_is_as_if_it_were_no_source(name: str) -> None:
    """Equations over the sources that are left; the context of the other is nothing."""
    sizes = sizes_of(name, 3)
    combination, read = make(name, sizes), memories(sizes)
    mask = read[1].mask & ~torch.tensor([False, True, False]).unsqueeze(1)
    without = (read[0], Memory(read[1].states, mask, ids=read[1].ids), read[2])
    assert_printed(name, combination, without)
    for (context, weights), (plain, _) in zip(walk(combination, without), walk(combination, read), strict=True):
        assert context.isfinite().all()
        assert weights[1][1].eq(0).all()
        torch.testing.assert_close(context[[0, 2]], plain[[0, 2]])


@pytest.mark.spec("C3", "C4")
@pytest.mark.parametrize("term", sorted(term for term in TERMS if not TERMS[term].hides))
@each_kind
def test_terms_know_the_past_of_their_own_source(name: str, term: str) -> None:
    """Three steps: each source is looked at as by itself, or (flat) under one softmax with the others; and what a term
    knows of the past are the weights that its source then got.
    """
    sizes = sizes_of(name, 2)
    combination, read = make(name, sizes, terms=(term,)), memories(sizes)
    bias = cast(Tensor, getattr(combination, "bias", None))
    attentions = [cast(GlobalAttention, attention) for attention in combination.attentions]
    prepared = [attention.prepare(memory) for attention, memory in zip(attentions, read, strict=True)]
    pasts = [attention.start(source) for attention, source in zip(attentions, prepared, strict=True)]
    for t, (_, weights) in enumerate(walk(combination, read)):
        question = make_query(seed=t)
        parts = list(zip(attentions, prepared, pasts, strict=True))
        if kind_of(name) == "flat":
            terms = [
                attention.term_outputs(question.query, question.embedded, source, past)
                for attention, source, past in parts
            ]
            energies = [
                attention.energies(question.query.unsqueeze(1), source, output).squeeze(1) + bias[k]
                for k, ((attention, source, _), output) in enumerate(zip(parts, terms, strict=True))
            ]
            softmax = torch.softmax(torch.cat(energies, 1), 1) * sum(part.sum(1, keepdim=True) for part in weights[:2])
            expected = list(torch.split(softmax, [energy.size(1) for energy in energies], 1))
            pasts = [AttentionHistory(part, output.carried) for part, output in zip(expected, terms, strict=True)]
        else:
            pasts = [attention(question.query, question.embedded, *rest).history for attention, *rest in parts]
            expected = [past.weights * part.sum(1, keepdim=True) for past, part in zip(pasts, weights, strict=False)]
        for source_weights, wanted in zip(weights, expected, strict=False):
            torch.testing.assert_close(source_weights, wanted)


@each_kind
def test_rows_of_a_sentence_keep_their_own_history_when_a_beam_moves_them(name: str) -> None:
    sizes = sizes_of(name, 2)
    combination, read = make(name, sizes, terms=("coverage", "markov")), memories(sizes)
    prepared_sources = combination.prepare(read)

    def alone(seed: int) -> list[Tensor]:
        history, steps = combination.start(prepared_sources), []
        for t in range(3):
            output = combination(make_query(seed + t), prepared_sources, history)
            history = output.history
            steps.append(history.weights)
        return steps

    paths = [alone(0), alone(100)]
    history: AttentionHistory = select_rows(combination.start(prepared_sources), torch.tensor([0, 0, 1, 1, 2, 2]))
    for t in range(3):
        seeds = (t, 100 + t) if t % 2 == 0 else (100 + t, t)
        parts = zip(make_query(seeds[0]), make_query(seeds[1]), strict=True)
        question = DecoderQuery(*(torch.stack(both, 1).flatten(0, 1) for both in parts))
        output = combination(question, prepared_sources, history)
        for place in range(2):
            path = paths[place if t % 2 == 0 else 1 - place]
            torch.testing.assert_close(output.history.weights[place::2], path[t])
        history = select_rows(output.history, torch.tensor([1, 0, 3, 2, 5, 4]))


@each_kind
def test_every_parameter_gets_a_gradient(name: str) -> None:
    sizes = sizes_of(name, 3)
    combination = make(name, sizes, terms=("coverage", "markov"))
    sum((context**2).sum() for context, _ in walk(combination, memories(sizes))).backward()
    for parameter_name, parameter in combination.named_parameters():
        assert parameter.grad is not None, parameter_name
        assert parameter.grad.abs().sum() > 0, parameter_name


@each_kind
def test_gradients_are_derivatives_through_all_steps(name: str) -> None:
    sizes = sizes_of(name, 2)
    combination, read = make(name, sizes, terms=("coverage", "markov")), memories(sizes)

    def function() -> Tensor:
        return sum(
            ((context * noise(*context.shape, seed=t)).sum() for t, (context, _) in enumerate(walk(combination, read))),
            start=torch.zeros(()),
        )

    assert_derivative(function, combination.parameters())


@final
class Undeclared(AlignmentScore):
    """`e_tj = w . s_t + u . h_j`, which does not say that u is of the states."""

    def __init__(self, query_size: int, state_size: int, features: int = 0) -> None:
        super().__init__(query_size, state_size, features)
        self.query = torch.nn.Linear(query_size, 1)
        self.state = torch.nn.Linear(state_size, 1)

    def keys(self, states: Tensor, mask: Tensor) -> Tensor:
        return cast(Tensor, self.state(states))

    def energies(self, query: Tensor, keys: Tensor) -> Tensor:
        return cast(Tensor, self.query(query)) + keys.transpose(1, 2)


@pytest.mark.parametrize("sentinel", ["", ", sentinel"])
def test_a_score_that_declares_nothing_is_the_same_for_all_sources(
    sentinel: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is forgotten fails with sources of several sizes, and the contract tells what is not of the states."""
    monkeypatch.setitem(SCORES, "undeclared", Undeclared)
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        list(walk(make(f"flat{sentinel}", (3, 4), "undeclared"), memories((3, 4))))
    monkeypatch.setattr(Undeclared, "of_states", ("state",))
    assert_what_is_of_the_query_is_shared(sentinel, "undeclared")
    monkeypatch.setattr(Undeclared, "of_states", ("state", "query"))
    with pytest.raises(AssertionError):
        assert_what_is_of_the_query_is_shared(sentinel, "undeclared")


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("sentinel", ["", ", sentinel"])
def test_flat_shares_what_does_not_depend_on_the_source(sentinel: str, score: str) -> None:
    assert_what_is_of_the_query_is_shared(sentinel, score)


def assert_what_is_of_the_query_is_shared(sentinel: str, score: str) -> None:
    """What is made of the query and of terms: a change for one source changes the energies of both."""
    sizes = (3, 3) if score in SAME_SIZE else (3, 4)
    combination = make(f"flat{sentinel}", sizes, score, terms=("position",))
    scores = [cast(GlobalAttention, attention).score for attention in combination.attentions]
    features = noise(1, 1, 3, 3, seed=7)

    def energies(number: int) -> Tensor:
        part, source = scores[number], noise(1, 3, sizes[number], seed=number)
        keys = part.keys(source, torch.ones(1, 3, dtype=torch.bool))
        return part(noise(1, 1, QUERY, seed=8), keys, features)

    names = {name for name, _ in scores[0].named_parameters()}
    keys = scores[0].keys(noise(1, 3, sizes[0]), torch.ones(1, 3, dtype=torch.bool)).sum()
    keys = keys + sum(0 * parameter.sum() for parameter in scores[0].parameters())
    reading = {
        name
        for name, gradient in zip(
            names, torch.autograd.grad(keys, list(map(scores[0].get_parameter, names))), strict=True
        )
        if gradient.any()
    }
    shared = {name for name in names if name.partition(".")[0] not in scores[0].of_states}
    assert "feature_map.weight" in shared
    assert names - shared <= reading, "these parts read no states"
    assert len({name.partition(".")[0] for name in names - shared}) == len(scores[0].of_states)
    for name in sorted(names):
        before = [energies(number) for number in range(2)]
        with torch.no_grad():
            scores[0].get_parameter(name).add_(0.3)
        changed = [not torch.equal(energies(number), old) for number, old in enumerate(before)]
        assert changed == [True, name in shared], name


@pytest.mark.parametrize(
    ("name", "sizes", "score", "message"),
    [
        ("sum", (3, 4), "additive", "adds contexts of sizes 3, 4: they must be equal"),
        ("flat, shared", (3, 3), "dot", "use score: additive or bilinear"),
    ],
)
def test_what_does_not_fit_is_said(name: str, sizes: tuple[int, ...], score: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make(name, sizes, score)


@pytest.mark.spec("C3", "C4")
@pytest.mark.parametrize("name", [name for name in KINDS if KINDS[name]])
def test_the_context_begins_as_the_sum_of_what_is_seen(name: str) -> None:
    """Turned and cut to its size, and no smaller, where nothing is preferred yet."""
    torch.manual_seed(0)
    scores = [AdditiveScore(QUERY, size) for size in (6, 5, QUERY)]
    attentions = [GlobalAttention(score, Softmax(), []) for score in scores[:2]]
    alone = scores[2:] if kind_of(name) == "flat" else []
    combination = components.build(COMBINATIONS, Spec(kind_of(name), KINDS[name]), attentions, QUERY, EMBEDDING, *alone)
    number = 2 + KINDS[name]["sentinel"]
    projections = list(cast(Sequence[Any], combination.values))
    assert len(projections) == number
    for projection in projections:
        square = projection.weight @ projection.weight.T
        torch.testing.assert_close(square, number**2 * torch.eye(QUERY), atol=1e-4, rtol=0)


@pytest.mark.spec("C4")
@pytest.mark.parametrize("sentinel", [False, True])
def test_hierarchical_begins_with_all_sources_alike(sentinel: bool) -> None:
    """A start that prefers some has been seen to end at one source alone, before any had been learned to be read."""
    attentions = [GlobalAttention(AdditiveScore(QUERY, size), Softmax(), []) for size in SIZES[:2]]
    combination = components.build(
        COMBINATIONS, Spec("hierarchical", {"sentinel": sentinel}), attentions, QUERY, EMBEDDING
    ).double()
    prepared_sources = combination.prepare(memories(SIZES[:2]))
    weights = combination(make_query(), prepared_sources, combination.start(prepared_sources)).history.weights
    for source in combination.by_source(weights, prepared_sources):
        torch.testing.assert_close(source.sum(1), torch.full((BATCH,), 1 / (2 + sentinel)).double())
