"""Scheduled sampling: what the decoder reads, and how often that is the reference."""

from collections import Counter
from math import exp

import pytest
import torch

from dragoman.data.batch import Batch
from dragoman.data.vocabulary import BOS, PAD, UNK
from dragoman.model.seq2seq import Seq2Seq
from dragoman.training.objectives.scheduled_sampling import ScheduledSampling
from dragoman.training.objectives.teacher_forcing import TeacherForcing, force_targets
from tests.builders import BATCH, build_model, context, pairs

MODELS = {
    "after": build_model(),
    "before": build_model(decoder={"attend": "before"}, start_symbol="eos"),
    "feeding": build_model(decoder={"input_feeding": "attentional", "cell": "lstm"}, encoder={"cell": "lstm"}),
}


def greedily(model: Seq2Seq, batch: Batch) -> torch.Tensor:
    """What the decoder reads of its own predictions alone, through the step that search uses."""
    state, symbols, steps = model.begin(batch.sources), torch.full_like(batch.target.ids[:, 0], model.start_id), []
    for _ in range(batch.target.ids.size(1)):
        prediction = model.predict(symbols, state)
        prediction.log_probs[:, [PAD, BOS]] = float("-inf")
        symbols, state = prediction.log_probs.argmax(1), prediction.state
        steps.append(symbols)
    return torch.stack(steps, 1)


@pytest.mark.spec("G2")
@pytest.mark.parametrize(
    ("decay", "expected"),
    [
        ("inverse_sigmoid", [10 / 11, 10 / (10 + exp(0.5)), 10 / (10 + exp(4))]),
        ("linear", [1.0, 0.5, 0.0]),
        ("exponential", [1.0, exp(-0.5), exp(-4)]),
    ],
)
def test_the_reference_is_read_less_and_less(decay: str, expected: list[float]) -> None:
    objective = ScheduledSampling(context(), decay=decay, k=10.0)  # type: ignore[arg-type]
    for updates, probability in zip((0, 5, 40), expected, strict=True):
        objective.updates.fill_(updates)
        assert objective.probability == pytest.approx(probability)
    for updated in (True, False, True):
        objective.after_step(updated)
    assert int(objective.updates) == 42
    assert ScheduledSampling(context(), decay="linear", k=10.0, least=0.3).probability == 1
    objective = ScheduledSampling(context(), decay=decay, k=10.0, least=0.3)  # type: ignore[arg-type]
    objective.updates.fill_(10**9)
    assert objective.probability == 0.3


@pytest.mark.spec("G2")
@pytest.mark.parametrize("name", MODELS)
def test_the_loss_is_that_of_the_reference_after_what_was_read(name: str) -> None:
    """The model's best predictions, then; its own loss differs from that of teacher forcing."""
    model = MODELS[name]
    objective = ScheduledSampling(context(), decay="linear", k=1.0, predictions="best")
    with torch.no_grad():
        assert objective(model, BATCH).total == TeacherForcing(context())(model, BATCH).total
        objective.after_step(True)
        loss = objective(model, BATCH)
        read = greedily(model, BATCH)
        expected = force_targets(model, BATCH, lambda *_: read).loss
    assert float(loss.total) == pytest.approx(float(expected.total), abs=1e-9)
    assert loss.symbols == int(BATCH.target.mask.sum())
    assert not torch.equal(read, BATCH.target.ids)
    assert float(loss.total) != pytest.approx(float(force_targets(model, BATCH).loss.total.detach()), abs=1e-3)


@pytest.mark.spec("G2")
def test_predictions_are_drawn_after_what_was_read_before() -> None:
    """The second symbol is drawn given the first one, whichever that is."""
    model = build_model(spread=2.0)
    many = pairs([[4, 5]] * 4000, [[6, 7]] * 4000)
    objective = ScheduledSampling(context(), decay="linear", k=1.0, least=0.5)
    objective.after_step(True)
    torch.manual_seed(0)
    with torch.no_grad():
        read = objective._mixed(model, model.begin(many.sources), many.target)
        first = model.predict(torch.full((1,), model.start_id), model.begin(pairs([[4, 5]], [[6, 7]]).sources))
        probable = first.log_probs[0].softmax(0)
        probable[[PAD, BOS]] = 0
        probable /= probable.sum()
        counts = Counter(read[:, 0].tolist())
        for symbol in range(len(probable)):
            share = 0.5 * float(probable[symbol]) + 0.5 * (symbol == 6)
            assert counts[symbol] / 4000 == pytest.approx(share, abs=0.03)
        drawn_symbol = int(probable.argmax())
        second = model.predict(torch.tensor([drawn_symbol]), first.state).log_probs[0].softmax(0)
        second[[PAD, BOS]] = 0
        second /= second.sum()
        after = read[read[:, 0] == drawn_symbol][:, 1].tolist()
        for symbol in range(len(second)):
            share = 0.5 * float(second[symbol]) + 0.5 * (symbol == 7)
            assert after.count(symbol) / len(after) == pytest.approx(share, abs=0.05)


@pytest.mark.spec("G2")
def test_no_gradient_passes_through_what_was_read() -> None:
    model = MODELS["after"]
    objective = ScheduledSampling(context(), decay="linear", k=1.0, predictions="best")
    objective.after_step(True)
    loss = objective(model, BATCH).total
    read = greedily(model, BATCH)
    expected = force_targets(model, BATCH, lambda *_: read).loss.total
    for one, two in zip(
        *(torch.autograd.grad(total, list(model.parameters())) for total in (loss, expected)), strict=True
    ):
        torch.testing.assert_close(one, two, rtol=0, atol=1e-9)


@pytest.mark.spec("G2")
def test_a_word_of_the_source_that_the_vocabulary_lacks_is_read_as_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a model that copies predicts it."""
    objective, model = ScheduledSampling(context(), decay="linear", k=1.0), MODELS["after"]
    objective.after_step(True)
    monkeypatch.setattr(objective, "choose", lambda prediction: torch.full((len(BATCH.rows),), 99))
    with torch.no_grad():
        read = objective._mixed(model, model.begin(BATCH.sources), BATCH.target)
        assert (read[:, :-1] == UNK).all()
        unknown = force_targets(model, BATCH, lambda *_: read).loss
        assert float(objective(model, BATCH).total) == pytest.approx(float(unknown.total))
