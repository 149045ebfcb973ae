"""The recurrent decoder step by step: unrolled or not, its state, its weights, its options."""

from typing import Any

import pytest
import torch

from dragoman.configuration.components import Spec, find_problems
from dragoman.data.vocabulary import BOS
from dragoman.model.decoder.rnn_decoder import RnnDecoder
from dragoman.model.decoder.table import DECODERS
from dragoman.model.decoder.timing import TIMINGS
from tests.builders import BATCH, build_model

SAMPLE: list[tuple[str, dict[str, Any]]] = [
    ("additive", {"attend": "after", "input_feeding": "attentional", "readout": "tanh", "cell": "lstm", "layers": 2}),
    (
        "additive",
        {"attend": "between", "input_feeding": "none", "readout": "deep", "cell": "gru", "layer_norm": "standard"},
    ),
    ("bilinear", {"attend": "before", "input_feeding": "context", "readout": "concat", "cell": "gru_an"}),
    ("dot", {"attend": "before", "input_feeding": "attentional", "readout": "deep", "cell": "rnn", "residual": True}),
    ("linear", {"attend": "between", "input_feeding": "context", "readout": "tanh", "cell": "lstm", "layers": 2}),
    ("bilinear", {"attend": "after", "input_feeding": "none", "readout": "deep", "cell": "gru", "layers": 2}),
    ("uniform", {"attend": "after", "input_feeding": "none", "readout": "concat", "cell": "gru"}),
    ("none", {"attend": "after", "input_feeding": "none", "readout": "concat", "cell": "lstm"}),
    ("none", {"attend": "after", "input_feeding": "attentional", "readout": "deep", "cell": "gru"}),
    ("additive", {"attend": "before", "input_feeding": "context", "cell": "gru_an", "layers": 2, "external_memory": 3}),
    ("none", {"cell": "lstm", "residual": True, "layers": 2, "layer_norm": "standard", "external_memory": 2}),
]


@pytest.mark.parametrize(("score", "options"), SAMPLE)
def test_unrolling_is_stepping(score: str, options: dict[str, Any]) -> None:
    model = build_model(score=score, decoder=options)
    unrolled = model(BATCH)
    state = model.start(model.encode(BATCH.sources))
    symbols = torch.full((3,), BOS)
    for t in range(BATCH.target.ids.size(1)):
        features, looked, state = model.step(symbols, state)
        assert torch.allclose(features, unrolled.features[:, t])
        assert torch.allclose(looked, unrolled.weights[:, t])
        symbols = BATCH.target.ids[:, t]


def test_a_step_leaves_the_state_it_was_given_alone() -> None:
    model = build_model(decoder={"attend": "before", "input_feeding": "attentional", "layers": 2})
    state = model.start(model.encode(BATCH.sources))
    one = model.step(torch.tensor([4, 5, 6]), state)
    model.step(torch.tensor([7, 7, 7]), one.state)
    again = model.step(torch.tensor([4, 5, 6]), state)
    assert torch.equal(one.features, again.features)


@pytest.mark.parametrize("attend", sorted(TIMINGS))
def test_the_weights_of_each_step_are_over_the_real_source(attend: str) -> None:
    weights = build_model(decoder={"attend": attend})(BATCH).weights
    mask = BATCH.sources[0].mask
    assert weights.shape == (3, 5, 4)
    assert torch.allclose(weights.sum(-1), torch.ones(3, 5).double())
    assert torch.equal(weights.gt(0), mask.unsqueeze(1).expand_as(weights))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"attend": "during"}, "expected one of before, after, between"),
        ({"input_feeding": "contex"}, "did you mean 'context'"),
        ({"readout": "tanhh"}, "did you mean 'tanh'"),
        ({"layer": 2}, "did you mean 'layers'"),
        ({"readout_size": 0}, "at least 1"),
        ({"size": "big"}, "whole number"),
    ],
)
def test_unknown_options_are_refused(options: dict[str, Any], message: str) -> None:
    (problem,) = find_problems(DECODERS, Spec("rnn", options), ("model", "decoder"))
    assert problem.path == ("model", "decoder", *options)
    assert message in problem.message


def test_the_table_of_decoders_names_it() -> None:
    assert DECODERS["rnn"] is RnnDecoder
