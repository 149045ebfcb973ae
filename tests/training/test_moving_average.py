"""The exponential moving average of the weights."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from dragoman.configuration.config import Config
from dragoman.errors import UserError
from dragoman.model.weights import read_tensors, weights, write_tensors
from dragoman.training import session
from dragoman.training.checkpoint import AVERAGE, WEIGHTS
from dragoman.training.moving_average import MovingAverage
from dragoman.training.progress import ValidationRecord
from dragoman.training.trainer import first_steps
from dragoman.training.training import Training
from tests.builders import noise

Made = Callable[..., Config]
MOVING = {"training.moving_average": 0.9, "training.steps": 6}


class Part(nn.Module):
    """A parameter, a floating-point buffer and a counter."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(noise(3))
        self.scale: Tensor
        self.register_buffer("scale", noise(2, seed=1))
        self.steps: Tensor
        self.register_buffer("steps", torch.tensor(0))


@pytest.mark.parametrize("decay", [0.5, 0.15, 0.9999])
def test_the_average_is_the_recurrence(decay: float) -> None:
    """By hand, for a parameter and a buffer; the second and the third decay are reached early and never."""
    part = Part()
    average = MovingAverage(part, decay)
    wanted = {"weight": part.weight.detach().clone(), "scale": part.scale.clone()}
    for step in range(1, 9):
        with torch.no_grad():
            part.weight.copy_(noise(3, seed=10 + step))
            part.scale.copy_(noise(2, seed=30 + step))
            part.steps += 1
        kept = min(decay, (1 + step) / (10 + step))
        for name, tensor in wanted.items():
            tensor.copy_(kept * tensor + (1 - kept) * weights(part)[name])
        average.update(step)
    assert average.tensors.keys() == wanted.keys()
    for name, tensor in wanted.items():
        torch.testing.assert_close(average.tensors[name], tensor, rtol=0, atol=1e-12)


def test_in_its_place_the_module_has_the_average_and_afterwards_its_own_weights() -> None:
    part = Part()
    average = MovingAverage(part, 0.5)
    with torch.no_grad():
        part.weight.add_(1)
        part.steps += 1
    average.update(1)
    before = {name: tensor.clone() for name, tensor in weights(part).items()}
    with suppress(KeyboardInterrupt), average.swapped_in():
        assert torch.equal(part.weight, average.tensors["weight"])
        assert int(part.steps) == 1
        raise KeyboardInterrupt
    assert all(torch.equal(tensor, before[name]) for name, tensor in weights(part).items())
    assert not torch.equal(part.weight, average.tensors["weight"])


@pytest.mark.slow
@pytest.mark.parametrize("objective", ["teacher_forcing", "agreement"])
def test_what_is_validated_and_kept_is_the_average(objective: str, make_config: Made) -> None:
    folder = session.train(make_config({**MOVING, "training.objective": objective}), quiet=True)
    state, _ = read_tensors(folder.last_state)
    kept, _ = read_tensors(folder.weights("model-last"))
    for name, tensor in kept.items():
        assert torch.equal(tensor, state[f"{AVERAGE}model.{name}"])
    assert any(not torch.equal(tensor, state[f"{WEIGHTS}model.{name}"]) for name, tensor in kept.items())
    if objective == "agreement":
        back, _ = read_tensors(folder.reverse.weights("model-last"))
        assert all(torch.equal(tensor, state[f"{AVERAGE}objective.reverse.{name}"]) for name, tensor in back.items())


@pytest.mark.slow
def test_training_itself_goes_its_way_as_without(make_config: Made, tmp_path: Path) -> None:
    states = []
    for name, options in (("with", MOVING), ("without", {"training.steps": 6})):
        config = make_config({**options, "training.patience": None}).model_copy(update={"run": str(tmp_path / name)})
        tensors, _ = read_tensors(session.train(config, quiet=True).last_state)
        states.append({key: tensor for key, tensor in tensors.items() if not key.startswith(AVERAGE)})
    assert states[0].keys() == states[1].keys()
    assert all(torch.equal(state, states[1][key]) for key, state in states[0].items())


@pytest.mark.slow
def test_a_share_of_the_start_is_mixed_into_the_average(
    make_config: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ValidationRecord, "as_good_as", lambda *arguments: True)
    start = session.train(make_config(), quiet=True)
    options = {
        **MOVING,
        "training.init_from": str(start.path),
        "training.init_interpolation": 0.25,
        "training.average_checkpoints.count": 1,
    }
    config = make_config({**options, "training.metric": "loss"}).model_copy(update={"run": str(tmp_path / "next")})
    folder = session.train(config, quiet=True)
    tensors, note = read_tensors(folder.weights())
    best, began = (read_tensors(folder.weights(name))[0] for name in ("model-best", "model-start"))
    assert note["init_interpolation"] == 0.25
    for name, tensor in tensors.items():
        torch.testing.assert_close(tensor, 0.75 * best[name] + 0.25 * began[name])
    for name, initial in began.items():
        assert torch.equal(initial, read_tensors(start.weights())[0][name])


def test_it_begins_with_the_weights_of_the_start(
    make_config: Made, tmp_path: Path, assembled: Callable[..., Training]
) -> None:
    start = session.train(make_config(), quiet=True)
    config = make_config({**MOVING, "training.init_from": str(start.path)}).model_copy(
        update={"run": str(tmp_path / "next")}
    )
    run = assembled(config)
    assert run.average
    for name, tensor in weights(run.model).items():
        assert torch.equal(run.average.tensors[f"model.{name}"], tensor)


def test_a_skipped_step_does_not_count(
    make_config: Made, assembled: Callable[..., Training], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = assembled(make_config(MOVING))
    assert run.average
    run.progress.step, run.progress.skipped = 5, 2
    steps = list[int]()
    monkeypatch.setattr(run.average, "update", steps.append)
    assert len(list(first_steps(run, 2))) == 2
    assert steps == [4, 5]


@pytest.mark.slow
def test_a_state_without_the_average_is_told(make_config: Made) -> None:
    folder = session.train(make_config(MOVING), quiet=True)
    tensors, note = read_tensors(folder.last_state)
    gone = next(name for name in tensors if name.startswith(AVERAGE))
    write_tensors(folder.last_state, {name: tensor for name, tensor in tensors.items() if name != gone}, note)
    with pytest.raises(UserError, match=r"last\.safetensors: the moving average belongs to another model"):
        session.train(make_config({**MOVING, "training.steps": 7}), quiet=True)
