"""The softmax over the vocabulary: the chunked loss against torch's own, and what it does without gradients."""

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from dragoman.data.vocabulary import SymbolTable
from dragoman.model.output import softmax
from dragoman.model.output.output import Readout
from dragoman.model.output.softmax import SoftmaxOutput, row_maxima
from dragoman.model.output.table import OUTPUTS

ROWS, FEATURES, SYMBOLS = 23, 6, 11  # with chunks of five rows: four whole ones and a rest


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(softmax, "ENTRIES", 5 * SYMBOLS + 3)
    monkeypatch.setattr("dragoman.model.output.output.ROWS", 5)


def make_output(
    smoothing: float = 0.0, dtype: torch.dtype = torch.float64, table: nn.Parameter | None = None
) -> SoftmaxOutput:
    torch.manual_seed(1)
    output = SoftmaxOutput(FEATURES, SymbolTable.sized(SYMBOLS), table, label_smoothing=smoothing).to(dtype)
    with torch.no_grad():
        output.bias.normal_()
    return output


def data(rows: int = ROWS, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor]:
    torch.manual_seed(2)
    return torch.randn(rows, FEATURES, dtype=dtype, requires_grad=True), torch.randint(0, SYMBOLS, (rows,))


def plain(output: SoftmaxOutput, features: Tensor, targets: Tensor, smoothing: float) -> Tensor:
    logits = features @ output.weight.T + output.bias
    return functional.cross_entropy(logits, targets, reduction="sum", label_smoothing=smoothing)


def gradients(loss: Tensor, output: SoftmaxOutput, features: Tensor) -> list[Tensor]:
    return list(torch.autograd.grad(loss, [features, output.weight, output.bias]))


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.6])
@pytest.mark.parametrize("rows", [1, 5, ROWS])
def test_loss_and_gradients_are_those_of_torch(smoothing: float, rows: int) -> None:
    output, (features, targets) = make_output(smoothing), data(rows)
    loss = output.loss(Readout(features), targets)
    right = plain(output, features, targets, smoothing)
    assert loss.symbols == rows
    torch.testing.assert_close(loss.total, right, rtol=0, atol=1e-9)
    for gradient, wanted in zip(
        gradients(loss.total, output, features), gradients(right, output, features), strict=True
    ):
        torch.testing.assert_close(gradient, wanted, rtol=0, atol=1e-9)


def test_the_loss_stays_finite_where_the_reference_is_as_good_as_impossible() -> None:
    output, (features, targets) = make_output(), data()
    with torch.no_grad():
        output.bias[int(targets[0])] = -2000.0
    loss = output.loss(Readout(features), targets).total
    torch.testing.assert_close(loss, plain(output, features, targets, 0.0), rtol=1e-12, atol=0)


def test_gradients_are_scaled_by_what_comes_after_the_loss() -> None:
    output, (features, targets) = make_output(0.1), data()
    halved = gradients(output.loss(Readout(features), targets).total * 0.5, output, features)
    for half, whole in zip(
        halved, gradients(output.loss(Readout(features), targets).total, output, features), strict=True
    ):
        torch.testing.assert_close(2 * half, whole)


def test_the_loss_of_nothing_is_zero() -> None:
    output, (features, targets) = make_output(0.1), data(0)
    loss = output.loss(Readout(features), targets)
    assert (loss.total.item(), loss.symbols) == (0.0, 0)
    assert all(not gradient.any() for gradient in gradients(loss.total, output, features))


@pytest.mark.parametrize("multiple", [1, 4, 64])
def test_under_bfloat16_products_are_rough_and_the_loss_is_float32(
    multiple: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(softmax, "MULTIPLE", multiple)
    output, (features, targets) = make_output(0.1, torch.float32), data(dtype=torch.float32)
    right = plain(output, features, targets, 0.1)
    with torch.autocast("cpu", torch.bfloat16):
        loss = output.loss(Readout(features), targets).total
    assert loss.dtype is torch.float32
    torch.testing.assert_close(loss, right, rtol=0.01, atol=0)
    for gradient, wanted in zip(gradients(loss, output, features), gradients(right, output, features), strict=True):
        assert gradient.dtype is torch.float32
        assert (gradient - wanted).norm() < 0.02 * wanted.norm()


def test_few_numbers_of_rows_in_bfloat16(monkeypatch: pytest.MonkeyPatch) -> None:
    """23 rows in portions of 4, the last with a row of zeros: a single shape for each of the three products."""
    monkeypatch.setattr(softmax, "MULTIPLE", 4)
    output, (features, targets) = make_output(dtype=torch.float32), data(dtype=torch.float32)
    with torch.profiler.profile(record_shapes=True) as profile, torch.autocast("cpu", torch.bfloat16):
        output.loss(Readout(features), targets)
    events = [event for event in profile.events() or [] if event.name in ("aten::mm", "aten::addmm")]
    shapes = [tuple(tuple(size) for size in event.input_shapes if len(size) == 2) for event in events]
    assert set(shapes) == {((4, 6), (6, 11)), ((4, 11), (11, 6)), ((11, 4), (4, 6))}
    assert len(shapes) == 3 * 6


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("shift", [0.0, -9.0])
def test_row_maxima_are_those_of_torch(dtype: torch.dtype, shift: float) -> None:
    """Also where all numbers are negative, or one is not a number."""
    x = (torch.randn(6, 50, generator=torch.Generator().manual_seed(1)) + shift).to(dtype)
    x[1], x[2, 3], x[3, 4], x[4, 5] = -3.0, float("nan"), float("inf"), float("-inf")
    torch.testing.assert_close(row_maxima(x), x.amax(-1), rtol=0, atol=0, equal_nan=True)


def test_evaluation_does_not_smooth() -> None:
    output, (features, targets) = make_output(0.3), data()
    trained = output.loss(Readout(features), targets).total
    output.eval()
    assessed = output.loss(Readout(features), targets).total
    torch.testing.assert_close(assessed, plain(output, features, targets, 0.0))
    assert abs((trained - assessed).item()) > 0.1
    picked = output.log_probs(Readout(features)).gather(1, targets.unsqueeze(1))
    torch.testing.assert_close(assessed, -picked.sum())


@pytest.mark.parametrize("context", [torch.no_grad, torch.inference_mode])
def test_the_loss_is_the_same_without_gradients(context: type[torch.no_grad]) -> None:
    output, (features, targets) = make_output(0.1), data()
    with_gradients = output.loss(Readout(features), targets).total
    with context():
        loss = output.loss(Readout(features), targets).total
    assert not loss.requires_grad
    assert loss.item() == with_gradients.item()


def test_frozen_weights_still_pass_gradients_on_to_the_features() -> None:
    output, (features, targets) = make_output(), data()
    right = plain(output, features, targets, 0.0)
    (wanted,) = torch.autograd.grad(right, [features])
    output.requires_grad_(False)
    (gradient,) = torch.autograd.grad(output.loss(Readout(features), targets).total, [features])
    torch.testing.assert_close(gradient, wanted)


def test_log_probabilities_are_the_log_softmax_in_float32_or_better() -> None:
    output, (features, _) = make_output(), data()
    log_probs = output.log_probs(Readout(features))
    torch.testing.assert_close(log_probs.exp().sum(1), torch.ones(ROWS, dtype=torch.float64))
    torch.testing.assert_close(log_probs, torch.log_softmax(features @ output.weight.T + output.bias, 1))
    with torch.autocast("cpu", torch.bfloat16):
        assert make_output(dtype=torch.float32).log_probs(Readout(features.detach().float())).dtype is torch.float32


def test_references_are_judged_by_the_log_softmax_a_chunk_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    output, (features, targets) = make_output(smoothing=0.1), data()
    whole = output.log_probs(Readout(features))
    largest, log_probs = 0, output.log_probs

    def watched(readout: Readout) -> Tensor:
        nonlocal largest
        largest = max(largest, len(readout.features))
        return log_probs(readout)

    monkeypatch.setattr(output, "log_probs", watched)
    targets[3] = whole[3].argmax()
    judged = output.score_targets(Readout(features), targets)
    torch.testing.assert_close(judged.log_probs, whole[torch.arange(ROWS), targets])
    assert judged.correct.tolist() == (whole.argmax(1) == targets).tolist()
    assert judged.correct[3]
    assert largest == 5


def test_a_tied_table_is_the_weight() -> None:
    table = nn.Parameter(torch.randn(SYMBOLS, FEATURES, dtype=torch.float64))
    output, (features, targets) = make_output(table=table), data()
    assert output.weight is table
    output.loss(Readout(features), targets).total.backward()
    assert table.grad is not None


def test_a_table_of_another_size_is_refused() -> None:
    with pytest.raises(ValueError, match=r"size 4.*size 6"):
        make_output(table=nn.Parameter(torch.zeros(SYMBOLS, 4)))


def test_the_table_of_outputs_names_it() -> None:
    assert OUTPUTS["softmax"] is SoftmaxOutput
