"""What every output of the table keeps."""

from itertools import pairwise

import pytest
import torch
from torch import Tensor

from dragoman.configuration.components import Spec, build
from dragoman.data.vocabulary import SymbolTable
from dragoman.model.output.hierarchical import AdaptiveSoftmax
from dragoman.model.output.output import Output, Readout
from dragoman.model.output.table import OUTPUTS
from tests.builders import noise, shaken
from tests.derivatives import assert_derivative

ROWS, FEATURES = 23, 6
COUNTS = (3, 0, 0, 23, 50, 7, 7, 1, 0, 12, 90)
SYMBOLS = SymbolTable(SymbolTable.sized(len(COUNTS)).spellings, COUNTS)
VARIANTS = [
    *(Spec(kind) for kind, output in OUTPUTS.items() if not (output.reads_source or output.spells)),
    Spec(
        "hybrid", {"size": 2, "characters": 3}
    ),  # what it spells: test_spelling.py; who read the source: test_copying.py
    Spec("classes", {"classes": 1}),
    Spec("classes", {"classes": 4}),
    Spec("classes", {"classes": 100}),
    Spec("adaptive", {"cutoffs": [2, 5, 9], "div_value": 1.5}),
]
for_variants = pytest.mark.parametrize("spec", VARIANTS, ids=str)


@pytest.fixture(autouse=True)
def _small_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.model.output.output.ROWS", 5)
    for module in ("softmax", "hierarchical"):
        monkeypatch.setattr(f"dragoman.model.output.{module}.ENTRIES", 5 * len(COUNTS) + 3)


def make_output(spec: Spec, seed: int = 0) -> Output:
    torch.manual_seed(seed)
    return shaken(build(OUTPUTS, spec, FEATURES, SYMBOLS, None), seed)


def data(rows: int = ROWS) -> tuple[Readout, Tensor]:
    numbers = torch.Generator().manual_seed(2)
    return Readout(noise(rows, FEATURES, seed=1)), torch.randint(0, len(COUNTS), (rows,), generator=numbers)


@for_variants
def test_probabilities_sum_to_one(spec: Spec) -> None:
    readout, _ = data()
    prediction = make_output(spec).eval().predict(readout)
    assert prediction.ids is None
    assert prediction.log_probs.shape == (ROWS, len(COUNTS))
    torch.testing.assert_close(prediction.log_probs.exp().sum(1), torch.ones(ROWS, dtype=torch.float64))


@for_variants
def test_it_begins_as_the_unigram_distribution(spec: Spec) -> None:
    """`(count + 1) / sum (count + 1)`; where clusters have no bias, their symbols share the sum of theirs."""
    output = build(OUTPUTS, spec, FEATURES, SYMBOLS, None).eval()
    probabilities = output.log_probs(Readout(torch.zeros(1, FEATURES)))[0].exp()
    expected = (torch.tensor(COUNTS) + 1) / (sum(COUNTS) + len(COUNTS))
    if isinstance(output, AdaptiveSoftmax):
        cutoffs = [0, *output.softmax.cutoffs]
        for first, last in pairwise(cutoffs[1:]):
            cluster = (output.ranks >= first) & (output.ranks < last)
            expected[cluster] = expected[cluster].mean()
    torch.testing.assert_close(probabilities, expected)


@for_variants
def test_in_evaluation_the_loss_is_that_of_the_probabilities(spec: Spec) -> None:
    output, (readout, targets) = make_output(spec).eval(), data()
    log_probs = output.log_probs(readout)
    expected = log_probs.gather(1, targets.unsqueeze(1)).squeeze(1)
    loss, scores = output.loss(readout, targets), output.score_targets(readout, targets)
    assert loss.symbols == ROWS
    torch.testing.assert_close(loss.total, -expected.sum())
    torch.testing.assert_close(scores.log_probs, expected)
    assert scores.correct.tolist() == (log_probs.argmax(1) == targets).tolist()


@for_variants
def test_the_gradient_of_the_loss_is_its_derivative(spec: Spec) -> None:
    output, (readout, targets) = make_output(spec).train(), data()
    features = readout.features.requires_grad_()

    def loss() -> Tensor:
        torch.manual_seed(3)
        return output.loss(Readout(features), targets).total

    assert_derivative(loss, [features, *output.parameters()])


@for_variants
def test_the_gradient_of_the_probabilities_is_their_derivative(spec: Spec) -> None:
    output, (readout, targets) = make_output(spec).train(), data()
    features = readout.features.requires_grad_()
    assert_derivative(
        lambda: output.score_targets(Readout(features), targets).log_probs.square().sum(),
        [features, *output.parameters()],
    )


@for_variants
@pytest.mark.parametrize("training", [True, False])
def test_the_loss_of_nothing_is_finite_and_has_gradients(spec: Spec, training: bool) -> None:
    output, (readout, targets) = make_output(spec).train(training), data(0)
    loss = output.loss(Readout(readout.features.requires_grad_()), targets)
    assert loss.symbols == 0
    assert loss.total.isfinite()
    loss.total.backward()
    assert all(part.grad is None or part.grad.isfinite().all() for part in output.parameters())


@for_variants
def test_under_bfloat16_losses_and_probabilities_are_float32_and_rough(spec: Spec) -> None:
    output, (readout, targets) = make_output(spec).float(), data()
    low = Readout(readout.features.bfloat16())
    torch.manual_seed(3)
    exact = output.loss(Readout(low.features.float()), targets).total
    wanted = output.log_probs(Readout(low.features.float()))
    torch.manual_seed(3)
    with torch.autocast("cpu", torch.bfloat16):
        loss, log_probs = output.loss(low, targets).total, output.log_probs(low)
    assert loss.dtype is log_probs.dtype is torch.float32
    torch.testing.assert_close(loss, exact, rtol=0.02, atol=0)
    torch.testing.assert_close(log_probs, wanted, rtol=0.02, atol=0.05)


@for_variants
def test_narrowed_outputs_are_normalized_over_their_symbols(spec: Spec) -> None:
    output, (readout, _) = make_output(spec).eval(), data()
    symbols = torch.tensor([9, 3, 4])
    narrow = output.restrict_to(symbols)
    if narrow is None:
        return
    prediction = narrow.predict(readout)
    assert prediction.ids is not None
    assert prediction.ids.tolist() == symbols.tolist()
    expected = torch.log_softmax(output.log_probs(readout)[:, symbols], 1)
    torch.testing.assert_close(prediction.log_probs, expected)


@for_variants
def test_what_is_saved_is_enough(spec: Spec) -> None:
    """For an output that was made for other counts."""
    output, (readout, _) = make_output(spec).eval(), data()
    symbols = SymbolTable(SYMBOLS.spellings, COUNTS[::-1])
    other = build(OUTPUTS, spec, FEATURES, symbols, None).double().eval()
    other.load_state_dict(output.state_dict())
    assert torch.equal(other.log_probs(readout), output.log_probs(readout))
