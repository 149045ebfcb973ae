"""The training state: what is saved comes back bit for bit, and nothing else passes for it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from dragoman.configuration.components import Spec, build
from dragoman.errors import UserError
from dragoman.model.weights import read_tensors, write_tensors
from dragoman.training import checkpoint
from dragoman.training.optimizer import OPTIMIZERS
from dragoman.training.progress import Progress, ValidationRecord
from tests.golden import Golden

FOUND = ValidationRecord(0.1, 2.0, 0)
Trained = tuple[nn.Module, torch.optim.Optimizer, Progress]


def model(size: int = 3, bias: bool = True) -> nn.Sequential:
    torch.manual_seed(5)
    return nn.Sequential(nn.Linear(4, size, bias=bias), nn.Tanh(), nn.Linear(size, 2))


def trained(kind: str = "adam", steps: int = 3) -> Trained:
    net = model()
    optimizer = build(OPTIMIZERS, Spec(kind), net.parameters())
    for _ in range(steps):
        optimizer.zero_grad()
        net(torch.randn(5, 4)).square().sum().backward()
        optimizer.step()
    return net, optimizer, Progress(step=steps, best=[FOUND], validations=[FOUND], loss=1 / 3)


def fresh(kind: str = "adam") -> tuple[nn.Sequential, torch.optim.Optimizer]:
    net = model()
    return net, build(OPTIMIZERS, Spec(kind), net.parameters())


@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_weights_moments_and_progress_come_back_bit_for_bit(kind: str, tmp_path: Path) -> None:
    net, optimizer, progress = trained(kind)
    checkpoint.save(tmp_path / "state", net, optimizer, progress)
    again, other = fresh(kind)
    assert checkpoint.load(tmp_path / "state", again, other) == progress
    for one, two in zip(net.parameters(), again.parameters(), strict=True):
        assert torch.equal(one, two)
        assert optimizer.state[one].keys() == other.state[two].keys() == {"step", "exp_avg", "exp_avg_sq"}
        for key, value in optimizer.state[one].items():
            assert torch.equal(value, other.state[two][key])
            assert value.dtype == other.state[two][key].dtype


@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_the_next_step_is_the_same(kind: str, tmp_path: Path) -> None:
    net, optimizer, progress = trained(kind)
    checkpoint.save(tmp_path / "state", net, optimizer, progress)
    again, other = fresh(kind)
    checkpoint.load(tmp_path / "state", again, other)
    inputs = torch.randn(5, 4)
    for one, its in ((net, optimizer), (again, other)):
        its.zero_grad()
        one(inputs).square().sum().backward()
        its.step()
    assert all(torch.equal(one, two) for one, two in zip(net.parameters(), again.parameters(), strict=True))


def test_a_state_before_the_first_step_has_no_moments(tmp_path: Path) -> None:
    net, optimizer, _ = trained(steps=0)
    checkpoint.save(tmp_path / "state", net, optimizer, Progress())
    again, other = fresh()
    assert checkpoint.load(tmp_path / "state", again, other) == Progress()
    assert not other.state


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-7])


def scribble(path: Path) -> None:
    path.write_text("not a state", encoding="utf-8")


def empty(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize("spoil", [truncate, scribble, empty, Path.unlink])
def test_a_damaged_file_is_named(spoil: Callable[[Path], Any], tmp_path: Path) -> None:
    path = tmp_path / "state"
    checkpoint.save(path, *trained())
    spoil(path)
    with pytest.raises(UserError) as error:
        checkpoint.load(path, *fresh())
    assert str(error.value).startswith(f"{path}: ")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("other", [model(size=4), model(bias=False)])
def test_the_state_of_another_model_is_refused(other: nn.Module, tmp_path: Path, golden: Golden) -> None:
    path = tmp_path / "state"
    checkpoint.save(path, *trained())
    with pytest.raises(UserError) as raised:
        checkpoint.load(path, other, build(OPTIMIZERS, Spec("adam"), other.parameters()))
    golden(str(raised.value))


def renamed(name: str, tensor: torch.Tensor) -> dict[str, torch.Tensor]:
    return {name.replace("optimizer/0.bias", "optimizer/0.scale"): tensor}


def without_a_moment(name: str, tensor: torch.Tensor) -> dict[str, torch.Tensor]:
    return {} if name == "optimizer/0.bias/exp_avg" else {name: tensor}


def shortened(name: str, tensor: torch.Tensor) -> dict[str, torch.Tensor]:
    return {name: tensor[1:] if name == "optimizer/0.bias/exp_avg" else tensor}


@pytest.mark.parametrize("change", [renamed, without_a_moment, shortened])
def test_moments_of_other_parameters_are_refused(
    change: Callable[[str, torch.Tensor], dict[str, torch.Tensor]], tmp_path: Path, golden: Golden
) -> None:
    path = tmp_path / "state"
    checkpoint.save(path, *trained())
    tensors, note = read_tensors(path)
    changed: dict[str, torch.Tensor] = {}
    for name, tensor in tensors.items():
        changed |= change(name, tensor)
    write_tensors(path, changed, note)
    with pytest.raises(UserError) as raised:
        checkpoint.load(path, *fresh())
    golden(str(raised.value))


def test_a_parameter_without_a_gradient_so_far_has_no_moments(tmp_path: Path) -> None:
    """And gets them from its first one on, as if nothing had been saved between."""
    nets = [model() for _ in range(2)]
    optimizers = [build(OPTIMIZERS, Spec("adam"), net.parameters()) for net in nets]
    for step in range(4):
        if step == 2:  # one goes on by a file
            checkpoint.save(tmp_path / "state", nets[0], optimizers[0], Progress(step=2))
            nets[0], optimizers[0] = fresh()
            checkpoint.load(tmp_path / "state", nets[0], optimizers[0])
        inputs = torch.randn(5, 4)
        for net, optimizer in zip(nets, optimizers, strict=True):
            optimizer.zero_grad()
            net(inputs).square().sum().backward()
            if step < 3:
                net[2].bias.grad = None
            optimizer.step()
    for one, other in zip(*(net.parameters() for net in nets), strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize("note", [{}, {"step": 1}, {**Progress().to_json(), "best": [1]}])
def test_weights_without_the_state_of_training_are_refused(note: Any, tmp_path: Path, golden: Golden) -> None:
    path = tmp_path / "state"
    net, optimizer, progress = trained()
    checkpoint.save(path, net, optimizer, progress)
    write_tensors(path, read_tensors(path)[0], note)
    with pytest.raises(UserError) as raised:
        checkpoint.load(path, *fresh())
    golden(str(raised.value))


def test_no_pickle_is_read(tmp_path: Path, golden: Golden) -> None:
    path = tmp_path / "state"
    torch.save({"weights": torch.zeros(3)}, path)
    with pytest.raises(UserError) as raised:
        checkpoint.load(path, *fresh())
    golden(str(raised.value))
