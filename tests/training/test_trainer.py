"""One update: gradient, clipping, learning rate, rows of metrics, and losses that are not numbers."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from dragoman.configuration.config import Config
from dragoman.errors import UserError
from dragoman.model.output.output import Loss
from dragoman.model.seq2seq import Seq2Seq
from dragoman.model.weights import read_tensors, weights
from dragoman.run.folder import RunFolder
from dragoman.training import checkpoint, checks, trainer
from dragoman.training.gradients import compute_gradients as summed_gradients
from dragoman.training.journal import TrainingLog
from dragoman.training.objectives.objective import Objective
from dragoman.training.objectives.teacher_forcing import TeacherForcing
from dragoman.training.plan import epoch_plan
from dragoman.training.progress import ValidationRecord
from dragoman.training.trainer import train
from dragoman.training.training import Training
from tests import toy
from tests.builders import context
from tests.golden import Golden

Assembled = Callable[[Config], Training]
Meddle = Callable[[dict[int, Callable[[Loss, Seq2Seq], Loss]]], None]


@pytest.fixture
def run(corpus: Path, tmp_path: Path, assembled: Assembled) -> Callable[..., Training]:
    def assemble(**options: Any) -> Training:
        named = {f"training.{name}": value for name, value in {"epochs": None, "steps": 1, **options}.items()}
        return assembled(toy.config(corpus, tmp_path / "run", named))

    return assemble


def rows(run: Training) -> list[dict[str, Any]]:
    return [json.loads(line) for line in run.folder.metrics.read_text(encoding="utf-8").splitlines()]


def gradients(run: Training) -> list[torch.Tensor]:
    return [parameter.grad for parameter in run.model.parameters() if parameter.grad is not None]


def not_a_number(loss: Loss, model: Seq2Seq) -> Loss:
    return loss._replace(total=loss.total * math.nan)


def infinite(loss: Loss, model: Seq2Seq) -> Loss:
    return loss._replace(total=loss.total + math.inf)


def steep(loss: Loss, model: Seq2Seq) -> Loss:
    """The same loss with a gradient that is not a number."""
    return loss._replace(total=loss.total + torch.sqrt(0.0 * model.target_embedding.get_parameter("table").sum()))


def test_the_gradient_is_that_of_the_mean_loss_of_a_symbol(run: Callable[..., Training]) -> None:
    training = run(clip_norm=None)
    batch = training.data.batch(next(epoch_plan(training.config, training.data, 0).batches()), 0)
    loss = TeacherForcing(context())(training.model, batch)
    wanted = torch.autograd.grad(loss.total / loss.symbols, list(training.model.parameters()))
    train(training)
    for gradient, right in zip(gradients(training), wanted, strict=True):
        torch.testing.assert_close(gradient, right, rtol=1e-4, atol=1e-6)


@pytest.mark.spec("E1")
@pytest.mark.parametrize("temperature", [1, 5])
def test_pairs_are_drawn_by_the_temperature(tmp_path: Path, assembled: Assembled, temperature: float) -> None:
    """An epoch has n^(1/T) of a pair of n examples, in proportion; where T is 1 it has all."""
    words = {"pretokenizer": "whitespace", "tokenizer": "word"}
    pairs = toy.languages(tmp_path, train=200)[1:3]  # of 200 and of 100 examples
    options = {
        "run": str(tmp_path / "run"),
        "data": {"pairs": pairs, "temperature": temperature},
        "text": {"shared_vocabulary": True, "source": words, "target": words},
    }
    training = assembled(
        checks.load_config(tmp_path / "toy.yaml", {key: toy._yaml(option) for key, option in options.items()})
    )
    sizes = training.data.train.notes["parts"]
    assert sizes == [200, 100]
    rows = np.concatenate(list(epoch_plan(training.config, training.data, 0).batches()))
    counts = np.bincount(np.searchsorted(np.cumsum(sizes), rows, side="right"))
    shares = np.array(sizes) ** (1 / temperature)
    assert counts.tolist() == pytest.approx((300 * shares / shares.sum()).tolist(), abs=1)


@pytest.mark.spec("C14")
@pytest.mark.parametrize("join", [False, True])
def test_sources_are_hidden_in_training(tmp_path: Path, assembled: Assembled, join: bool) -> None:
    """Also where all are one sequence, which is then shorter."""
    folder = toy.corpus(tmp_path)
    for part in ("train", "dev"):
        (folder / f"{part}.other").write_text((folder / f"{part}.en").read_text("utf-8"), "utf-8")
    options = {"data.source": ["en", "other"], "data.concatenate_sources": join, "text.shared_vocabulary": join}
    seen = []
    for rate in (0.0, 0.6):
        config = toy.config(folder, tmp_path / f"run-{rate}", {**options, "training.source_dropout": rate})
        batch = assembled(config).data.batch(np.arange(60), 0)
        seen.append(np.array([source.mask.sum(1).tolist() for source in batch.sources]).sum(0))
    whole, masked = seen
    hidden = masked != whole
    assert 0.4 < hidden.mean() < 1
    assert (2 * masked[hidden] == whole[hidden]).all()  # one of two that are alike


def test_gradients_are_clipped_to_a_norm(run: Callable[..., Training], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trainer, "LOG_EVERY", 1)
    training = run(clip_norm=0.01)
    train(training)
    norm = math.sqrt(sum(float(gradient.square().sum()) for gradient in gradients(training)))
    assert norm == pytest.approx(0.01, rel=1e-3)
    assert rows(training)[0]["train/gradient_norm"] > 0.1  # as it was before


def test_the_learning_rate_is_that_of_the_schedule(
    run: Callable[..., Training], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trainer, "LOG_EVERY", 1)
    training = run(steps=5, schedule={"kind": "inverse_square_root", "warmup": 2})
    train(training)
    rates = [row["train/learning_rate"] for row in rows(training) if "train/learning_rate" in row]
    assert rates == pytest.approx([0.01 * min(step / 2, math.sqrt(2 / step)) for step in range(1, 6)])
    assert {group["lr"] for group in training.optimizer.param_groups} == {rates[-1]}


def test_validations_without_improvement_lower_the_rate_of_a_plateau(run: Callable[..., Training]) -> None:
    training = run(steps=3, schedule={"kind": "plateau", "patience": 1})
    training.progress.validations = [ValidationRecord(value, 1.0, 1) for value in (2.0, 1.0, 1.0)]
    train(training)
    assert training.optimizer.param_groups[0]["lr"] == pytest.approx(0.01 / 4)


def test_rows_of_metrics_tell_the_mean_loss_since_the_last(
    run: Callable[..., Training], meddle: Meddle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trainer, "LOG_EVERY", 2)
    seen: list[Loss] = []

    def note(loss: Loss, model: Seq2Seq) -> Loss:
        seen.append(Loss(loss.total.detach(), loss.symbols))
        return loss

    meddle(dict.fromkeys(range(1, 6), note))
    training = run(steps=5)
    train(training)
    logged = [row for row in rows(training) if "train/loss" in row]
    assert [(row["step"], row["epoch"]) for row in logged] == [(2, 1), (4, 1)]
    for row, pair in zip(logged, (seen[:2], seen[2:4]), strict=True):
        total, symbols = sum(float(loss.total) for loss in pair), sum(loss.symbols for loss in pair)
        assert row["train/loss"] == pytest.approx(total / symbols)
        assert row["train/symbols_per_second"] > 0
        assert "train/skipped" not in row
    assert [row["time"] for row in logged] == sorted(row["time"] for row in logged)


def test_the_speed_is_that_of_target_symbols(
    run: Callable[..., Training], meddle: Meddle, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the loss is divided by."""
    monkeypatch.setattr(trainer, "LOG_EVERY", 2)
    monkeypatch.setattr(trainer, "_count_time", lambda run: setattr(run.progress, "updating", 2.0))
    meddle(dict.fromkeys(range(1, 3), lambda loss, model: loss._replace(symbols=1)))
    training = run(steps=2)
    seen = list[int]()

    def counted(run: Training, batches: Any) -> Any:
        seen.extend(int(batch.target.mask.sum()) for batch in batches)
        return summed_gradients(run, batches)

    monkeypatch.setattr(trainer, "compute_gradients", counted)
    train(training)
    (row,) = (row for row in rows(training) if "train/loss" in row)
    assert row["train/symbols_per_second"] == sum(seen) / 2.0


@pytest.mark.parametrize("fault", [not_a_number, infinite, steep])
def test_a_step_that_is_not_finite_is_skipped_and_counted(
    fault: Any, run: Callable[..., Training], meddle: Meddle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trainer, "LOG_EVERY", 1)
    meddle({2: fault})
    kept: list[dict[str, torch.Tensor]] = []
    step = TrainingLog.step

    def look(journal: Any, progress: Any) -> None:
        kept.append({name: tensor.clone() for name, tensor in weights(training.model).items()})
        step(journal, progress)

    monkeypatch.setattr(TrainingLog, "step", look)
    training = run(steps=3)
    train(training)
    first, second, third = kept
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert any(not torch.equal(first[name], third[name]) for name in first)
    assert (training.progress.skipped, training.progress.skipped_in_a_row, training.progress.step) == (1, 0, 3)
    logged = [row for row in rows(training) if "train/learning_rate" in row]
    assert [row.get("train/skipped", 0) for row in logged] == [0, 1, 1]
    for figure in ("train/loss", "train/symbols_per_second"):
        assert [figure in row for row in logged] == [True, False, True]
    assert all(math.isfinite(value) for row in logged for value in row.values())


@pytest.mark.parametrize(("save_every", "step"), [(1, 2), (2, 2), (100, 0)])
def test_training_stops_after_too_many_of_them_with_the_last_state_that_had_a_finite_loss(
    save_every: int, step: int, run: Callable[..., Training], meddle: Meddle
) -> None:
    """Step 3 has one, and it is that of the weights before its update."""
    good: dict[str, torch.Tensor] = {}

    def remember(loss: Loss, model: Seq2Seq) -> Loss:
        good.update({f"weights/model.{name}": tensor.clone() for name, tensor in weights(model).items()})
        return loss

    meddle({3: remember, **dict.fromkeys(range(4, 9), not_a_number)})
    training = run(steps=20, max_nonfinite_steps=4, save_every=save_every, validate_every=100)
    with pytest.raises(UserError) as error:
        train(training)
    saved = f"the state of step {step} is saved" if step else "nothing is saved"
    assert str(error.value) == (
        f"{training.folder.path}: the loss was not finite for 4 steps in a row (step 7); {saved}. "
        "Start another run (--run) with a lower training.optimizer.learning_rate or training.clip_norm"
    )
    if step:
        tensors, note = read_tensors(training.folder.last_state)
        assert (note["step"], note["skipped"]) == (step, 0)
        assert all(torch.equal(tensors[name], tensor) for name, tensor in good.items())
    else:
        assert not training.folder.last_state.exists()


def test_states_are_saved_again_when_steps_are_no_longer_skipped(
    run: Callable[..., Training], meddle: Meddle, golden: Golden
) -> None:
    meddle(dict.fromkeys((2, 3, 6, 7, 8), not_a_number))
    training = run(steps=20, max_nonfinite_steps=3, save_every=1, validate_every=100)
    with pytest.raises(UserError) as raised:
        train(training)
    golden(str(raised.value))
    note = read_tensors(training.folder.last_state)[1]
    assert (note["step"], note["skipped"], note["skipped_in_a_row"]) == (4, 2, 0)


def ruin(model: Seq2Seq) -> None:
    """What an update can do whose own loss and gradient were fine."""
    for parameter in model.parameters():
        parameter.data.fill_(math.nan)


@pytest.mark.parametrize("steps", [8, 20])  # at the very end, or not
def test_a_model_that_cannot_be_validated_takes_the_place_of_no_other(
    steps: int, run: Callable[..., Training], monkeypatch: pytest.MonkeyPatch, golden: Golden
) -> None:
    training = run(steps=steps)
    whole, kept = training.validator.__call__, {}

    def ruined(validator: Any, model: Seq2Seq) -> Any:
        if training.progress.step == 8:
            kept.update({path: path.read_bytes() for path in training.folder.path.rglob("*.safetensors")})
            ruin(model)
        return whole(model)

    monkeypatch.setattr(type(training.validator), "__call__", ruined)
    with pytest.raises(UserError) as raised:
        train(training)
    golden(str(raised.value))
    assert kept == {path: path.read_bytes() for path in training.folder.path.rglob("*.safetensors")}


def test_a_validation_without_a_finite_loss_ends_training(
    run: Callable[..., Training], monkeypatch: pytest.MonkeyPatch, golden: Golden
) -> None:
    training = run(steps=4)
    whole = training.validator.__call__

    def measured(validator: Any, model: Seq2Seq) -> Any:
        validation = whole(model)
        return validation._replace(values={**validation.values, "loss": math.inf})

    monkeypatch.setattr(type(training.validator), "__call__", measured)
    with pytest.raises(UserError) as raised:
        train(training)
    golden(str(raised.value))
    assert not training.folder.metrics.exists()


def test_weights_that_validation_finds_sound_are_saved_though_the_last_step_was_skipped(
    run: Callable[..., Training], meddle: Meddle
) -> None:
    meddle({4: not_a_number})
    training = run(steps=4)
    train(training)
    saved = checkpoint.progress(training.folder.last_state)
    assert (saved.step, saved.skipped_in_a_row, saved.last_validation) == (4, 1, 4)


@pytest.mark.slow
def test_a_good_step_between_them_counts_anew(run: Callable[..., Training], meddle: Meddle) -> None:
    meddle(dict.fromkeys((1, 2, 4, 5), not_a_number))
    training = run(steps=6, max_nonfinite_steps=3)
    train(training)
    assert (training.progress.skipped, training.progress.step) == (4, 6)


@pytest.mark.slow
def test_random_numbers_are_those_of_seed_step_and_worker(
    run: Callable[..., Training], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No two workers drop the same, no two steps do, and the same step always does."""
    drawn: list[tuple[float, ...]] = []

    class Drawing(Objective):
        def forward(self, model: Seq2Seq, batch: Any) -> Loss:
            drawn.append(tuple(torch.rand(4).tolist()))
            return TeacherForcing(context())(model, batch)

    training = run(steps=2)
    monkeypatch.setattr(training, "objective", Drawing(context()))
    batch = training.data.batch(np.arange(4), 0)
    for rank in (0, 1, 2, 0):
        training.workers.rank, training.progress.step = rank, 0
        for _ in range(2):
            trainer._update(training, [batch])
    assert drawn[:2] == drawn[-2:]
    assert len(set(drawn)) == 6


def test_every_pair_is_seen_once_in_an_epoch(run: Callable[..., Training], monkeypatch: pytest.MonkeyPatch) -> None:
    training = run(epochs=1, steps=None)
    lines: list[int] = []

    class Noting(Objective):
        def forward(self, model: Seq2Seq, batch: Any) -> Loss:
            lines.extend(batch.rows.tolist())
            return TeacherForcing(context())(model, batch)

    monkeypatch.setattr(training, "objective", Noting(context()))
    train(training)
    assert sorted(lines) == list(range(60))


@pytest.mark.slow
def test_validates_at_the_end_of_epochs_or_every_few_steps(run: Callable[..., Training]) -> None:
    training = run(epochs=2, steps=None)
    train(training)
    assert [(row["step"], row["epoch"]) for row in rows(training)] == [(4, 1), (8, 2)]


@pytest.mark.slow
def test_validates_every_few_steps_and_at_the_end(run: Callable[..., Training]) -> None:
    training = run(epochs=2, steps=None, validate_every=3)
    train(training)
    assert [(row["step"], row["epoch"]) for row in rows(training)] == [(3, 1), (6, 2), (8, 2)]
    assert training.progress.best


def test_a_limit_of_steps_ends_training_in_an_epoch(run: Callable[..., Training]) -> None:
    training = run(epochs=9, steps=6)
    train(training)
    assert (training.progress.step, training.progress.epoch, training.progress.position) == (6, 1, 2)
    assert [row["step"] for row in rows(training)] == [4, 6]


@pytest.mark.slow
def test_stops_when_nothing_improves_any_more(run: Callable[..., Training]) -> None:
    training = run(
        epochs=30, steps=None, patience=2, metric="accuracy", optimizer={"kind": "adam", "learning_rate": 1e-12}
    )
    train(training)
    assert len({validation.value for validation in training.progress.validations}) == 1
    assert (training.progress.epoch, training.progress.step) == (3, 12)


@pytest.mark.slow
def test_what_is_saved_can_be_read_at_any_time(run: Callable[..., Training], monkeypatch: pytest.MonkeyPatch) -> None:
    """The best weights are on the disk before the state that counts on them, and go after it no longer does."""
    training = run(epochs=6, steps=None, **{"average_checkpoints.count": 1})
    save = checkpoint.save

    def checked(path: Path, *parts: Any) -> None:
        before = checkpoint.progress(path).best if path.is_file() else []
        save(path, *parts)
        after = checkpoint.progress(path).best
        assert all(RunFolder(training.folder.path).checkpoint(entry.step).is_file() for entry in [*before, *after])

    monkeypatch.setattr(checkpoint, "save", checked)
    train(training)
