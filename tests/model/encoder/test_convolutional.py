"""The convolutional encoder: its equation, padding, positions."""

import math
from typing import Any

import numpy as np
import pytest
import torch

from dragoman.configuration.components import Spec, find_problems
from dragoman.model.encoder.convolutional import ConvolutionalEncoder
from dragoman.model.encoder.table import ENCODERS
from tests.builders import noise, shaken
from tests.model import loops

INPUTS, SIZE, PLACES = 3, 2, 6
LENGTHS = (6, 2)
MASK = torch.tensor([[place < length for place in range(PLACES)] for length in LENGTHS])


def make(**options: Any) -> ConvolutionalEncoder:
    return shaken(ConvolutionalEncoder(INPUTS, size=SIZE, **options)).eval()


@pytest.mark.spec("A8")
@pytest.mark.parametrize(
    "options", [{"longest": 4}, {"layers": 1, "width": 4}, {"layers": 2, "positions": "none"}], ids=str
)
def test_a_layer_adds_a_gated_convolution_of_the_one_below(options: dict[str, Any]) -> None:
    """Whatever stands at padded positions."""
    encoder, embedded = make(**options), noise(2, PLACES, INPUTS)
    states = encoder(embedded.masked_fill(~MASK.unsqueeze(2), 1e6), MASK).states
    p = loops.numbers(encoder)
    for row, length in enumerate(LENGTHS):
        words = loops.array(embedded[row, :length])
        if "positions.table.table" in p:
            words = words + [
                p["positions.table.table"][min(j, len(p["positions.table.table"]) - 1)] for j in range(length)
            ]
        expected = np.array([loops.times(p["first.weight"], word) + p["first.bias"] for word in words])
        for layer in range(options.get("layers", 4)):
            kernel, bias = p[f"layers.{layer}.kernel.weight"], p[f"layers.{layer}.kernel.bias"]
            read = loops.convolved(kernel, bias, expected)
            for j in range(length):
                gated = [read[j, k] * loops.sigmoid(read[j, SIZE + k]) for k in range(SIZE)]
                expected[j] = (expected[j] + gated) * math.sqrt(0.5)
        assert states[row, :length].flatten().tolist() == pytest.approx(expected.ravel().tolist(), abs=1e-12)


def test_every_parameter_gets_a_gradient_and_padding_none() -> None:
    encoder, embedded = make(longest=4), noise(2, PLACES, INPUTS).requires_grad_()
    encoder(embedded, MASK).states[MASK].square().sum().backward()
    assert embedded.grad is not None
    assert torch.equal(embedded.grad.abs().sum(-1) > 0, MASK)
    assert all(parameter.grad is not None and parameter.grad.abs().sum() > 0 for parameter in encoder.parameters())


def test_dropout_is_for_training_alone() -> None:
    encoder, embedded = make(dropout=0.5), noise(2, PLACES, INPUTS)
    assert torch.equal(encoder(embedded, MASK).states, encoder(embedded, MASK).states)
    assert not torch.equal(encoder.train()(embedded, MASK).states, encoder(embedded, MASK).states)


@pytest.mark.parametrize("options", [{"width": 0}, {"layers": 0}, {"positions": "sine"}, {"longest": 0}], ids=str)
def test_faulty_options_are_refused(options: dict[str, Any]) -> None:
    (problem,) = find_problems(ENCODERS, Spec("convolutional", options), ("model", "encoder"))
    assert problem.path[-1] in options
