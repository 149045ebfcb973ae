"""Weight gradients formed after the loop are those that autograd adds up step by step."""

from contextlib import nullcontext

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from dragoman.model import linear, unrolled
from dragoman.model.decoder import rnn_decoder as decoder_rnn
from dragoman.model.decoder.timing import TIMINGS
from dragoman.model.recurrent import CELLS
from dragoman.model.seq2seq import Seq2Seq
from dragoman.training.objectives.teacher_forcing import force_targets
from tests.builders import BATCH as PLAIN
from tests.builders import build_model, copied
from tests.model.test_build import each_decoder, of_parts

BATCH = copied(PLAIN)


def gradients(model: Seq2Seq) -> list[Tensor]:
    """Of the loss and of the attention, so that no weight is without one that could have one."""
    torch.manual_seed(1)
    forced = force_targets(model, BATCH)
    loss = forced.loss.total + (forced.weights**2).sum()
    slopes = torch.autograd.grad(loss, list(model.parameters()), allow_unused=True)
    return [torch.zeros(()) if gradient is None else gradient for gradient in slopes]


def assert_equal_without_loop(model: Seq2Seq, monkeypatch: pytest.MonkeyPatch, name: object) -> None:
    fast = gradients(model)
    with monkeypatch.context() as plain:
        for module in (unrolled, decoder_rnn):
            plain.setattr(module, "deferred_weight_gradients", nullcontext)
        for one, other in zip(fast, gradients(model), strict=True):
            torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-9, msg=lambda text: f"{name}: {text}")


@each_decoder
def test_gradients_are_those_of_the_plain_loop(parts: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """For every two of cell, score, timing, feed and read-out."""
    assert_equal_without_loop(build_model(**of_parts(parts)), monkeypatch, parts)


@pytest.mark.parametrize("attend", TIMINGS)
def test_those_of_an_external_memory_too(attend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = build_model(decoder={"attend": attend, "input_feeding": "attentional", "external_memory": 3})
    assert_equal_without_loop(model, monkeypatch, attend)


@pytest.mark.parametrize("cell", sorted(CELLS))
def test_deep_layers_with_layer_normalization_and_dropout_too(cell: str, monkeypatch: pytest.MonkeyPatch) -> None:
    part = {
        "cell": cell,
        "layers": 2,
        "residual": True,
        "layer_norm": "standard",
        "dropout": 0.3,
        "recurrent_dropout": 0.3,
    }
    model = build_model(encoder=part, decoder={**part, "attend": "between"}).train()
    assert_equal_without_loop(model, monkeypatch, cell)


def test_the_weight_is_multiplied_once_for_all_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twelve steps leave one product of the size of the weight, not twelve."""
    weight, steps = torch.randn(5, 3, requires_grad=True), torch.randn(12, 2, 3)
    with linear.deferred_weight_gradients():
        outputs = [linear.linear(step, weight) for step in steps.unbind()]
    with torch.profiler.profile(record_shapes=True) as profile:
        torch.stack(outputs).square().sum().backward()
    products = [event.input_shapes for event in profile.events() or [] if event.name == "aten::mm"]
    assert products == [[[5, 24], [24, 3]]]
    full = torch.randn(5, 3)
    full.copy_(weight.detach())
    expected = 2 * functional.linear(steps, full).flatten(0, 1).t() @ steps.flatten(0, 1)
    torch.testing.assert_close(weight.grad, expected)


def test_outputs_and_gradients_of_parts_of_a_weight() -> None:
    weight, bias = (torch.randn(*size, dtype=torch.float64, requires_grad=True) for size in ((6, 5), (6,)))
    x = torch.randn(3, 2, 2, dtype=torch.float64, requires_grad=True)
    with linear.deferred_weight_gradients():
        ys = [linear.linear(step, weight, bias, columns=(1, 3)) for step in x.unbind()]
        ys += [linear.linear(step, weight, bias, rows=(2, 4), columns=(3, 5)).repeat(1, 3) for step in x.unbind()]
    fast = torch.autograd.grad(torch.stack(ys).pow(3).sum(), (weight, bias, x))
    first = functional.linear(x, weight[:, 1:3], bias)
    second = functional.linear(x, weight[2:4, 3:5], bias[2:4]).repeat(1, 1, 3)
    plain = torch.autograd.grad(torch.cat([first, second]).pow(3).sum(), (weight, bias, x))
    for one, other in zip(fast, plain, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)


def test_under_autocast_products_are_in_its_precision_and_gradients_in_that_of_the_weight() -> None:
    weight, x = torch.randn(4, 8, requires_grad=True), torch.randn(2, 8, requires_grad=True)
    with torch.autocast("cpu", torch.bfloat16), linear.deferred_weight_gradients():
        y = linear.linear(x, weight)
    assert y.dtype == torch.bfloat16
    y.float().sum().backward()
    assert weight.grad is not None
    assert x.grad is not None
    assert weight.grad.dtype == x.grad.dtype == torch.float32
    torch.testing.assert_close(weight.grad, x.detach().sum(0).expand(4, 8), rtol=0.02, atol=0.02)


def test_without_gradients_nothing_is_kept() -> None:
    weight = torch.randn(4, 4, requires_grad=True)
    with torch.no_grad(), linear.deferred_weight_gradients():
        assert linear.is_default_backend()
        assert not linear.linear(torch.randn(2, 4), weight).requires_grad


def test_a_backward_pass_leaves_nothing_to_the_next() -> None:
    """The first asks for the input's gradient alone."""
    weight, x = torch.randn(4, 4, requires_grad=True), torch.randn(2, 4, requires_grad=True)
    with linear.deferred_weight_gradients():
        loss = linear.linear(x, weight).square().sum()
    torch.autograd.grad(loss, x, retain_graph=True)
    (gradient,) = torch.autograd.grad(loss, weight)
    torch.testing.assert_close(gradient, 2 * functional.linear(x, weight).t() @ x)


def test_of_a_frozen_weight_nothing_is_kept() -> None:
    weight, x = torch.randn(4, 4), torch.randn(2, 4, requires_grad=True)
    backend = linear._Loop()
    with linear.use_backend(backend):
        linear.linear(x, weight).sum().backward()
    (used,) = backend.maps.values()
    assert used.steps._value is None
    assert x.grad is not None


def test_weights_that_come_and_go_are_told_apart() -> None:
    """Each may lie where the one before lay."""
    x = torch.randn(2, 8)
    with linear.deferred_weight_gradients():
        for _ in range(20):
            weight = torch.randn(8, 8)
            torch.testing.assert_close(linear.linear(x, weight), x @ weight.t())
            del weight


def test_autocast_leaves_float64_alone() -> None:
    weight, x = torch.randn(4, 4).double().requires_grad_(), torch.randn(2, 4).double()
    with torch.autocast("cpu", torch.bfloat16), linear.deferred_weight_gradients():
        assert linear.linear(x, weight).dtype == torch.float64
