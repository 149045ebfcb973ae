"""Callbacks see every step and validation, and change nothing but the end, and that only if they say so."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import dragoman
from dragoman.model.weights import read_tensors
from dragoman.run.folder import RunFolder
from dragoman.training import session
from dragoman.training.callbacks import Callback, TrainingEnd, TrainingStep, ValidationScores
from tests import toy
from tests.training.test_resuming import result

DROPOUT: dict[str, Any] = {
    "training.epochs": None,
    "training.steps": 12,
    "training.validate_every": 5,
    "training.save_every": 4,
}
DROPOUT |= {"model.encoder": {"kind": "rnn", "size": 12, "dropout": 0.3}}
Train = Callable[..., RunFolder]


class Recorder(Callback):
    """Records all facts, and draws random numbers in between."""

    def __init__(self) -> None:
        self.steps = list[TrainingStep]()
        self.validations = list[ValidationScores]()
        self.ends = list[TrainingEnd]()

    def on_step(self, step: TrainingStep) -> None:
        self._draw()
        self.steps.append(step)

    def on_validation(self, validation: ValidationScores) -> None:
        self._draw()
        self.validations.append(validation)

    def on_end(self, end: TrainingEnd) -> None:
        self.ends.append(end)

    def _draw(self) -> None:
        random.seed(random.random())
        np.random.seed(np.random.randint(1000))
        torch.manual_seed(int(torch.randint(1000, ())))


class Stopper(Callback):
    """Ends a training at a step or after a validation."""

    may_stop = True

    def __init__(self, step: int = 0, validation: int = 0) -> None:
        self._step, self._validation = step, validation

    def on_step(self, step: TrainingStep) -> bool:
        return step.step == self._step

    def on_validation(self, validation: ValidationScores) -> bool:
        return validation.step == self._validation


@pytest.fixture
def train(corpus: Path, tmp_path: Path) -> Train:
    def trained(name: str, *callbacks: Callback, **options: Any) -> RunFolder:
        changes = DROPOUT | {f"training.{key}": value for key, value in options.items()}
        return session.train(toy.config(corpus, tmp_path / name, changes), callbacks=callbacks, quiet=True)

    return trained


def test_results_are_equal_with_and_without_callbacks(train: Train) -> None:
    recorder = Recorder()
    results, states = [], []
    for name, callbacks in (("plain", []), ("observed", [recorder])):
        np.random.seed(1)
        results.append(result(train(name, *callbacks)))
        states.append(np.random.random())
    assert results[0] == results[1]
    assert states[0] == states[1], "nor does it change what the program draws"
    assert [step.step for step in recorder.steps] == list(range(1, 13))


def test_the_facts_are_those_of_the_training(train: Train) -> None:
    recorder = Recorder()
    folder = train("run", recorder)
    history = folder.history
    assert [validation.step for validation in recorder.validations] == list(history.validation) == [5, 10, 12]
    for validation in recorder.validations:
        assert dict(validation.values) == pytest.approx(dict(history.validation[validation.step]))
    assert recorder.validations[0].best
    assert all(0 < step.loss < 10 and step.gradient_norm > 0 and not step.skipped for step in recorder.steps)
    assert {step.learning_rate for step in recorder.steps} == {0.01}
    assert [step.epoch for step in recorder.steps] == [1] * 4 + [2] * 4 + [3] * 4
    per_epoch = [sum(step.target_symbols for step in recorder.steps if step.epoch == epoch) for epoch in (1, 2, 3)]
    assert len({*per_epoch}) == 1
    (end,) = recorder.ends
    assert isinstance(end, TrainingEnd)
    assert tuple(end) == (folder, 12, history.final, ("steps",))
    with pytest.raises(TypeError):
        end.values["bleu"] = 100.0  # type: ignore[index]
    with pytest.raises(TypeError):
        recorder.validations[0].values["bleu"] = 100.0  # type: ignore[index]


def test_a_finished_training_calls_nothing(train: Train) -> None:
    recorder = Recorder()
    train("run")
    train("run", recorder)
    assert (recorder.steps, recorder.validations, recorder.ends) == ([], [], [])


def lengthless(run: RunFolder) -> dict[str, Any]:
    """The result without the planned number of steps."""
    contents = result(run)
    contents["checkpoints/last.safetensors"][1].pop("length")
    return contents


@pytest.mark.parametrize(("stopper", "step"), [(Stopper(step=7), 7), (Stopper(validation=5), 5)], ids=["step", "valid"])
def test_a_callback_that_may_stop_ends_a_training_as_a_limit_does(stopper: Stopper, step: int, train: Train) -> None:
    recorder = Recorder()
    stopped, limited = train("stopped", stopper, recorder), train("limited", steps=step)
    assert lengthless(stopped) == lengthless(limited)
    assert (recorder.ends[0].step, recorder.ends[0].reasons) == (step, ("callback",))
    assert dragoman.load(stopped.path).translate(["one two"])
    assert lengthless(train("stopped")) == lengthless(train("limited")), "it goes on if it is called again"


def test_a_callback_that_may_not_stop_cannot(train: Train) -> None:
    class Stubborn(Stopper):
        may_stop = False

    with pytest.raises(TypeError, match=r"^Stubborn\.on_step: returned True, which requires may_stop = True$"):
        train("run", Stubborn(step=3))


def test_a_value_that_is_no_answer_is_an_error(train: Train) -> None:
    class Verbose(Stopper):
        def on_step(self, step: TrainingStep) -> Any:
            return "stop"

    with pytest.raises(TypeError, match=r"^Verbose\.on_step: expected a bool or None, found 'stop'$"):
        train("run", Verbose())


def test_the_scores_of_two_directions_are_apart(train: Train) -> None:
    recorder = Recorder()
    folder = train("both", recorder, objective="agreement", steps=2, validate_every=None)
    (validation,) = recorder.validations
    for prefix, part in (("", folder), ("reverse/", folder.reverse)):
        for name, value in part.history.validation[2].items():
            assert validation.values[prefix + name] == pytest.approx(value)


def test_a_skipped_step_is_reported(train: Train, meddle: Any) -> None:
    recorder = Recorder()
    meddle({2: lambda loss, model: loss._replace(total=loss.total * float("nan"))})
    train("run", recorder, steps=3)
    assert [step.skipped for step in recorder.steps] == [False, True, False]


def test_weights_are_those_of_the_whole_training(train: Train) -> None:
    """A callback cannot reach the model, and gets no tensors."""
    recorder = Recorder()
    tensors, _ = read_tensors(train("run", recorder).weights())
    assert tensors
    assert not any(isinstance(fact, torch.Tensor) for step in recorder.steps for fact in step)
