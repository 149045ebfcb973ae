"""Noise-contrastive estimation against a plain loop and the softmax that it approaches; portions of the vocabulary."""

import math
from itertools import pairwise

import pytest
import torch
from torch import Tensor

from dragoman.configuration.components import Spec
from dragoman.model.output.output import Output, Readout
from dragoman.model.output.sampled import NoiseContrastive, Partitioned
from dragoman.model.output.softmax import SoftmaxOutput
from tests.model.output.test_outputs import COUNTS, FEATURES, SYMBOLS, data, make_output

DRAWS = 300


def nce(**options: object) -> NoiseContrastive:
    output = make_output(Spec("nce", options))
    assert isinstance(output, NoiseContrastive)
    return output


@pytest.mark.spec("D6")
@pytest.mark.parametrize("power", [0.0, 0.75, 1.0])
def test_the_loss_is_that_of_telling_references_from_shared_noise(power: float) -> None:
    output, (readout, targets) = nce(samples=7, power=power).train(), data()
    torch.manual_seed(5)
    loss = output.loss(readout, targets)
    torch.manual_seed(5)
    noise = torch.multinomial(output.q, 7, replacement=True)
    q = [(count + 1) ** power for count in COUNTS]
    total = 0.0

    def true(features: Tensor, symbol: Tensor) -> float:
        u = math.exp((output.weight[symbol] @ features + output.bias[symbol]).item())
        return u / (u + 7 * q[symbol] / sum(q))

    for features, target in zip(readout.features, targets, strict=True):
        total -= math.log(true(features, target)) + sum(math.log(1 - true(features, symbol)) for symbol in noise)
    assert loss.total.item() == pytest.approx(total, rel=1e-6)
    assert loss.symbols == len(targets)


def test_noise_is_drawn_from_the_smoothed_unigram_distribution() -> None:
    output = nce(power=0.5)
    expected = torch.tensor([(count + 1) ** 0.5 for count in COUNTS], dtype=torch.float64)
    torch.testing.assert_close(output.q, expected / expected.sum(), rtol=1e-6, atol=0)


def of_bias(output: Output, readout: Readout, target: Tensor) -> Tensor:
    (gradient,) = torch.autograd.grad(output.loss(readout, target).total, [output.get_parameter("bias")])
    return gradient


@pytest.mark.slow
@pytest.mark.spec("D6")
def test_the_gradient_approaches_that_of_the_softmax_as_noise_grows() -> None:
    """By a logit of a single row, which is that by its bias. In expectation it differs from `u - [w = y]` by
    `- u^2 / (u + k q)`, and at the reference y by `u / (u + k q)` more: where u is normalized, by O(1 / k).
    """
    readout, target, errors = data(1)[0], torch.tensor([3]), []
    full = make_output(Spec("softmax"))
    assert isinstance(full, SoftmaxOutput)
    for k in (1, 10, 100, 1000, 10_000):
        output = nce(samples=k).train()
        with torch.no_grad():
            output.bias.sub_(output.logits(readout.features).logsumexp(1))
            full.weight.copy_(output.weight)
            full.bias.copy_(output.bias)
        u, exact = output.logits(readout.features).detach().exp()[0], of_bias(full, readout, target)
        torch.manual_seed(k)
        gradients = torch.stack([of_bias(output, readout, target) for _ in range(DRAWS)])
        limit = u / (u + k * output.q)
        bias = (torch.arange(len(u)) == target) * limit - u * limit
        error, deviation = gradients.mean(0) - exact, gradients.std(0) / DRAWS**0.5
        assert ((error - bias).abs() <= 5 * deviation + 1e-12).all()
        assert (error.abs() <= bias.abs() + 5 * deviation).all()
        errors.append(error.norm().item())
    assert all(later < earlier / 2 for earlier, later in pairwise(errors))
    assert errors[-1] < 2e-3


@pytest.mark.slow
@pytest.mark.spec("D6")
def test_it_learns_the_distribution_and_its_normalizer() -> None:
    """Three contexts with distributions of their own: probabilities are nearly right as they are, without a sum."""
    torch.manual_seed(0)
    output, contexts = NoiseContrastive(3, SYMBOLS, samples=100, normalized=False).double().train(), torch.eye(3)
    wanted = torch.softmax(2 * torch.randn(3, len(SYMBOLS), dtype=torch.float64), 1)
    optimizer = torch.optim.Adam(output.parameters(), lr=0.05)
    rate = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 400)
    for _ in range(400):
        rows = torch.randint(0, 3, (200,))
        optimizer.zero_grad()
        targets = torch.multinomial(wanted[rows], 1).squeeze(1)
        loss = output.loss(Readout(contexts[rows].double()), targets)
        (loss.total / loss.symbols).backward()
        optimizer.step()
        rate.step()
    probabilities = output.eval().log_probs(Readout(contexts.double())).detach().exp()
    assert (probabilities - wanted).abs().max() < 0.05
    torch.testing.assert_close(probabilities.sum(1), torch.ones(3, dtype=torch.float64), rtol=0, atol=0.08)


def test_unnormalized_probabilities_begin_with_the_sum_of_one() -> None:
    output = NoiseContrastive(FEATURES, SYMBOLS, normalized=False).eval()
    assert output.log_probs(Readout(torch.zeros(1, FEATURES))).exp().sum().item() == pytest.approx(1.0)


def test_probabilities_that_are_not_normalized_are_those_of_the_logits_and_at_most_one() -> None:
    output, (readout, _) = nce(normalized=False).eval(), data()
    logits = readout.features @ output.weight.T + output.bias
    assert (logits > 0).any()
    torch.testing.assert_close(output.log_probs(readout), logits.clamp(max=0))
    torch.testing.assert_close(nce().eval().log_probs(readout), torch.log_softmax(logits, 1))


def test_it_ties_as_the_full_softmax_does() -> None:
    table = torch.nn.Parameter(torch.randn(len(SYMBOLS), FEATURES))
    output = NoiseContrastive(FEATURES, SYMBOLS, table)
    assert output.weight is table
    with pytest.raises(ValueError, match="size 4"):
        NoiseContrastive(FEATURES, SYMBOLS, torch.nn.Parameter(torch.zeros(len(SYMBOLS), 4)))


@pytest.mark.spec("D8")
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_in_training_the_softmax_is_over_the_symbols_of_the_portion(smoothing: float) -> None:
    output, (readout, _) = make_output(Spec("partitioned", {"label_smoothing": smoothing})).train(), data(5)
    assert isinstance(output, Partitioned)
    portion, targets = [2, 3, 7, 9], torch.tensor([9, 2, 2, 7, 9])
    loss = output.loss(readout._replace(portion=torch.tensor(portion)), targets)
    total = 0.0
    for features, target in zip(readout.features, targets.tolist(), strict=True):
        logits = {symbol: (output.weight[symbol] @ features + output.bias[symbol]).item() for symbol in portion}
        norm = math.log(sum(map(math.exp, logits.values())))
        of_all = sum(norm - logit for logit in logits.values()) / len(portion)
        total += (1 - smoothing) * (norm - logits[target]) + smoothing * of_all
    assert loss.total.item() == pytest.approx(total)
    loss.total.backward()
    assert output.weight.grad is not None
    assert output.weight.grad.any(1).nonzero().flatten().tolist() == portion


@pytest.mark.spec("D8")
def test_a_portion_of_everything_is_the_full_softmax() -> None:
    output, full, (readout, targets) = (
        make_output(Spec("partitioned")).train(),
        make_output(Spec("softmax")).train(),
        data(),
    )
    everything = readout._replace(portion=torch.arange(len(SYMBOLS)))
    expected = full.loss(readout, targets).total
    torch.testing.assert_close(output.loss(everything, targets).total, expected)
    torch.testing.assert_close(output.loss(readout, targets).total, expected)


def test_evaluation_knows_no_portion() -> None:
    output, (readout, targets) = make_output(Spec("partitioned", {"label_smoothing": 0.2})).eval(), data()
    expected = output.loss(readout, targets).total
    assert torch.equal(output.loss(readout._replace(portion=targets.unique()), targets).total, expected)
