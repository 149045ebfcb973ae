"""Greedy search while the source arrives."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch

from dragoman.data.vocabulary import EOS
from dragoman.model.seq2seq import Seq2Seq
from dragoman.search.greedy import Greedy
from dragoman.search.streaming import EmittedSymbol, WaitKPolicy, stream
from tests.builders import build_model, sentences

FORWARD: dict[str, Any] = {"encoder": {"direction": "forward"}, "bridge": "zero", "spread": 1.5}
SOURCES = [[4, 5, 6, 7, 8, 4], [8], [7, 6, 5]]
LIMIT = Greedy().limit
CPU = torch.device("cpu")


def written(model: Seq2Seq, parts: list[list[int]], k: int) -> list[EmittedSymbol]:
    return list(stream(WaitKPolicy(model, parts, LIMIT, CPU, k)))


def singly(source: list[int]) -> list[list[int]]:
    return [[symbol] for symbol in source]


@pytest.mark.spec("B12")
@pytest.mark.parametrize(
    ("k", "options"),
    [
        (1, {"seed": 1}),
        (100, {"seed": 1}),
        (2, {"seed": 2, "decoder": {"attend": "before", "input_feeding": "attentional", "cell": "lstm"}}),
        (1, {"seed": 3, "decoder": {"attend": "between", "layers": 2}, "encoder": {"layers": 2}}),
        (4, {"seed": 3, "decoder": {"attend": "between", "layers": 2}, "encoder": {"layers": 2}}),
    ],
)
def test_what_is_written_while_a_source_arrives_is_what_a_model_that_waits_writes(
    k: int, options: dict[str, Any]
) -> None:
    """The term `wait` over whole sources, and a model without it that is given no more than it shows."""
    settings = {**FORWARD, **options, "encoder": {**FORWARD["encoder"], **options.get("encoder", {})}}
    waits = build_model(terms={"kind": "wait", "k": k}, **settings)
    plain = build_model(**settings)
    for source in SOURCES:
        ((expected,),) = Greedy()(waits, (sentences(source),))
        for model in (waits, plain):
            steps = written(model, singly(source), k)
            assert tuple(hypothesis.symbol for hypothesis in steps) == expected.symbols
            assert [hypothesis.read for hypothesis in steps] == [min(t + k, len(source)) for t in range(len(steps))]


@pytest.mark.parametrize("options", [{"min_length_margin": 7}, {"min_length_ratio": 1.5}])
@pytest.mark.parametrize("k", [2, 100])
def test_what_is_written_is_as_long_as_it_is_at_least(options: dict[str, Any], k: int) -> None:
    greedy, waits = Greedy(**options), build_model(terms={"kind": "wait", "k": k}, seed=1, **FORWARD)
    with torch.no_grad():
        waits.get_parameter("output.bias")[EOS] += 9  # it would say nothing
    for source in SOURCES:
        ((expected,),) = greedy(waits, (sentences(source),))
        steps = [*stream(WaitKPolicy(waits, singly(source), greedy.limit, CPU, k))]
        assert tuple(hypothesis.symbol for hypothesis in steps) == expected.symbols
        (min_steps,) = greedy.limit.min_steps((sentences(source),))
        assert len(steps) >= min_steps


@pytest.mark.spec("B12")
def test_no_part_is_taken_before_it_is_needed() -> None:
    taken = 0

    def arriving() -> Iterator[list[int]]:
        nonlocal taken
        for part in ([4, 5], [6], [7, 8, 4], [5]):
            taken += 1
            yield part

    model = build_model(**FORWARD)
    for t, decided in enumerate(stream(WaitKPolicy(model, arriving(), LIMIT, CPU, 2))):
        assert decided.read == taken == [1, 2, 3, 3, 3, 4, 4][min(t, 6)]


@pytest.mark.spec("B12")
@pytest.mark.parametrize("direction", ["forward", "reversed", "bidirectional"])
def test_what_comes_later_changes_nothing_that_was_written_before_it_was_read(direction: str) -> None:
    """Whatever the encoder and the bridge read."""
    model = build_model(encoder={"direction": direction}, spread=2.0, seed=4)
    one, other = (written(model, singly([4, 5, 6, last, last, last]), 2) for last in (7, 8))
    early = [hypothesis for hypothesis in one if hypothesis.read <= 3]
    assert early
    assert other[: len(early)] == early


@pytest.mark.slow
@pytest.mark.spec("B12")
@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
def test_parts_of_several_symbols_are_seen_one_symbol_at_a_time(direction: str) -> None:
    for seed in range(8):
        model = build_model(encoder={"direction": direction}, bridge="zero", spread=2.0, seed=seed)
        together, alone = written(model, [[4, 5, 6], [7, 8]], 1), written(model, singly([4, 5, 6, 7, 8]), 1)
        assert [hypothesis.symbol for hypothesis in together] == [hypothesis.symbol for hypothesis in alone]


@pytest.mark.parametrize("parts", [[], [[]], [[], []]])
def test_nothing_is_written_of_nothing(parts: list[list[int]]) -> None:
    assert written(build_model(), parts, 3) == []


SELF = {"kind": "self_attention", "size": 4, "layers": 1, "heads": 2}


@pytest.mark.spec("B12")
@pytest.mark.parametrize(
    "options",
    [
        {"bridge": "none", "decoder": SELF},
        {"bridge": "mean", "encoder": SELF},
        {"bridge": "mean", "encoder": {"kind": "convolutional", "size": 4, "layers": 1}},
        {"attention": {"terms": ["position", "recurrent"], "window": {"kind": "predictive", "width": 1}}},
    ],
    ids=str,
)
def test_any_model_translates_what_is_still_arriving(options: dict[str, Any]) -> None:
    steps = written(build_model(**options), [[4], [5, 6], [7]], 1)
    assert [hypothesis.read for hypothesis in steps] == sorted(hypothesis.read for hypothesis in steps)


@pytest.mark.spec("B12")
@pytest.mark.parametrize("terms", [["wait"], ["wait", "coverage", "fertility", "markov"]], ids=str)
def test_a_model_that_has_learned_to_wait_does_so_while_its_source_arrives(terms: list[str]) -> None:
    """Symbol by symbol it says what it says of the whole source, of which it has been shown as much."""
    waiting: list[Any] = [{"kind": "wait", "k": 2}, *terms[1:]]
    options: dict[str, Any] = {"attention": {"terms": waiting}, "encoder": {"direction": "forward"}, "bridge": "zero"}
    model = build_model(**options, spread=1.5)
    for source in ([4, 5, 6, 7, 8], [8, 4], [7, 7, 5, 4]):
        ((expected,),) = Greedy()(model, (sentences(source),))
        steps = written(model, singly(source), 2)
        assert tuple(hypothesis.symbol for hypothesis in steps) == expected.symbols
