"""The state of training in one file, so that a killed run resumes exactly."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from dragoman.errors import UserError
from dragoman.model.weights import fill, read_note, read_tensors, weights, write_tensors
from dragoman.training.moving_average import MovingAverage
from dragoman.training.progress import Progress

WEIGHTS, OPTIMIZER, AVERAGE = "weights/", "optimizer/", "average/"


def save(
    path: Path,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    progress: Progress,
    average: MovingAverage | None = None,
) -> None:
    """Save the weights with persistent buffers and their moving average, the optimizer's tensors and the progress.

    Nothing else is needed: the batches of an epoch and the random numbers of a step are functions of the seed.
    """
    tensors = {WEIGHTS + name: tensor for name, tensor in weights(model).items()}
    # By the names of parameters: the order in which an optimizer numbers them depends on what is frozen.
    for name, parameter in model.named_parameters():
        for key, value in optimizer.state.get(parameter, {}).items():
            tensors[f"{OPTIMIZER}{name}/{key}"] = value
    if average:
        tensors |= {AVERAGE + name: tensor for name, tensor in average.tensors.items()}
    write_tensors(path, tensors, progress.to_json())


def load(
    path: Path, model: nn.Module, optimizer: torch.optim.Optimizer, average: MovingAverage | None = None
) -> Progress:
    """Restore everything that `save` wrote. UserError for a file of another model."""
    tensors, note = read_tensors(path)
    weight_tensors = {name.removeprefix(WEIGHTS): value for name, value in tensors.items() if name.startswith(WEIGHTS)}
    fill(model, weight_tensors, path)
    states: dict[str, dict[str, Tensor]] = {}
    for name, value in tensors.items():
        if name.startswith(OPTIMIZER):
            parameter, _, key = name.removeprefix(OPTIMIZER).rpartition("/")
            states.setdefault(parameter, {})[key] = value
    _restore(optimizer, dict(model.named_parameters()), states, path)
    if average:
        _restore_average(average, tensors, path)
    return _progress(path, note)


def _restore(
    optimizer: torch.optim.Optimizer,
    parameters: Mapping[str, nn.Parameter],
    states: Mapping[str, Mapping[str, Tensor]],
    path: Path,
) -> None:
    """Restore the optimizer's tensors. A parameter that has had no gradient yet has none."""
    # All parameters have the same tensors (Adam: two moments and a step); another optimizer has others.
    keys = next(iter(states.values()), {}).keys()
    for name, state in states.items():
        target = parameters.get(name)
        if (
            target is None
            or state.keys() != keys
            or any(tensor.shape not in ((), target.shape) for tensor in state.values())
        ):
            raise UserError(f"{path}: the optimizer's state belongs to another model ({name})")
        optimizer.state[target] = {
            # Adam's `step` is a float32 count on the device, whatever type the weights have.
            key: value.to(target.device, value.dtype if key == "step" else target.dtype)
            for key, value in state.items()
        }


def _restore_average(average: MovingAverage, tensors: Mapping[str, Tensor], path: Path) -> None:
    for name, tensor in average.tensors.items():
        saved = tensors.get(AVERAGE + name)
        if saved is None or saved.shape != tensor.shape:
            raise UserError(f"{path}: the moving average belongs to another model ({name})")
        tensor.copy_(saved)


def progress(path: Path) -> Progress:
    """The progress stored in a saved state."""
    return _progress(path, read_note(path))


def _progress(path: Path, note: Any) -> Progress:
    try:
        return Progress.from_json(note)
    except UserError as error:
        raise UserError(f"{path}: {error}") from error
