"""Linear maps with 8-bit integers: near the plain ones, and each row by itself."""

import os
import subprocess
import sys

import pytest
import torch
from torch import nn

from dragoman.devices import KIND_VARIABLE, PROCESSORS
from dragoman.model import int8
from dragoman.model.int8 import Int8
from dragoman.model.linear import Linear, linear, use_backend
from tests.builders import BATCH, build_model


@pytest.mark.parametrize("largest", [127, 63])
def test_it_is_the_plain_product_of_what_was_rounded(largest: int) -> None:
    torch.manual_seed(0)
    weight, bias, x = nn.Parameter(torch.randn(6, 40)), nn.Parameter(torch.randn(6)), torch.randn(3, 40)
    way = Int8(nn.ParameterList([weight]))
    way.largest = min(way.largest, largest)
    with use_backend(way), torch.no_grad():
        product = linear(x, weight, bias)
    rounded_weight, rounded_x = round_rows(weight, way.largest), round_rows(x, 127)
    torch.testing.assert_close(product, rounded_x @ rounded_weight.t() + bias, rtol=1e-5, atol=1e-5)
    error = (product - (x @ weight.t() + bias)).std() / product.std()
    assert 1e-4 < error < 2.5 / way.largest, "rounded, and not by more than these bits"


def round_rows(matrix: torch.Tensor, largest: int) -> torch.Tensor:
    """Round the rows of a matrix to integers up to the largest one, times a scale of each."""
    scales = matrix.abs().amax(1, keepdim=True) / largest
    return (matrix / scales).round() * scales


@pytest.mark.parametrize("kind", PROCESSORS)
def test_weights_have_the_bits_of_the_kind_of_processor(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KIND_VARIABLE, kind)
    monkeypatch.setattr(int8, "_is_exact", lambda: True)  # as on a processor of this kind
    layer = Linear(40, 8)
    way = Int8(layer)
    with use_backend(way), torch.no_grad():
        layer(torch.randn(2, 40))
    (rounded,) = way.rounded.values()
    assert rounded.integers.abs().amax() == (63 if kind == "avx2" else 127)


@pytest.mark.parametrize("shape", [(1, 40), (5, 40), (2, 3, 40)])
def test_rows_do_not_depend_on_each_other(shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    layer = Linear(40, 8)
    way = Int8(layer)
    x = torch.randn(*shape) * torch.logspace(-3, 3, shape[0]).view(-1, *[1] * (len(shape) - 1))
    with use_backend(way), torch.no_grad():
        together = layer(x)
        alone = torch.stack([layer(row.unsqueeze(0)).squeeze(0) for row in x])
    assert together.shape == (*shape[:-1], 8)
    assert torch.equal(together, alone)


def test_rows_and_columns_of_a_weight_are_rounded_apart() -> None:
    torch.manual_seed(0)
    weight, bias = nn.Parameter(torch.randn(8, 6)), nn.Parameter(torch.randn(8))
    x = torch.randn(2, 2)
    with use_backend(Int8(nn.ParameterList([weight]))), torch.no_grad():
        parts = [linear(x, weight, bias, rows=(4, 8), columns=(first, first + 2)) for first in (0, 2, 4)]
    for first, part in zip((0, 2, 4), parts, strict=True):
        torch.testing.assert_close(part, x @ weight[4:, first : first + 2].t() + bias[4:], rtol=0.05, atol=0.05)


def test_zeros_give_the_bias() -> None:
    bias = torch.tensor([1.0, -2.0, 0.5])
    zeros, ones = (nn.Parameter(fill(3, 4)) for fill in (torch.zeros, torch.ones))
    with use_backend(Int8(nn.ParameterList([zeros, ones]))), torch.no_grad():
        assert torch.equal(linear(torch.ones(1, 4), zeros, bias), bias.unsqueeze(0))
        assert torch.equal(linear(torch.zeros(1, 4), ones, bias), bias.unsqueeze(0))


def test_weights_that_are_not_the_models_are_used_as_they_are() -> None:
    way = Int8(Linear(4, 3))
    with use_backend(way):
        for seed in range(3):  # each may lie where the one before lay
            torch.manual_seed(seed)
            weight, x = torch.randn(3, 4), torch.randn(2, 4)
            torch.testing.assert_close(linear(x, weight), x @ weight.t())
    assert not way.rounded


@pytest.mark.slow
def test_without_instructions_for_it_sums_are_as_right() -> None:
    """A processor that adds pairs of products in 16 bits: torch's library is set to do the same."""
    program = """if True:
        import torch
        from dragoman.model.int8 import Int8, _is_exact
        from dragoman.model.linear import Linear, use_backend
        torch.manual_seed(0)
        layer, x = Linear(512, 64), torch.rand(4, 512)
        with torch.no_grad(), use_backend(Int8(layer)):
            rounded = layer(x)
        wanted = layer(x)
        print(_is_exact(), float((rounded - wanted).std() / wanted.std()))
    """
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "ONEDNN_MAX_CPU_ISA": "AVX2"},
        check=True,
        capture_output=True,
        text=True,
    )
    _, error = done.stdout.split()
    assert float(error) < 0.03


def test_a_whole_model_stays_close() -> None:
    model = build_model(encoder={"size": 8}, decoder={"size": 8}, embedding={"size": 8}).float()
    way = Int8(model)
    with torch.no_grad():
        plain = model.score(BATCH).log_probs
        with use_backend(way):
            rounded = model.score(BATCH).log_probs
    assert len(way.rounded) > 8
    assert 0 < (plain - rounded).abs().max() < 0.3
