"""The state of training in one file, so that a killed run resumes exactly; and the weights that are kept."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from dragoman.configuration.config import TrainingConfig
from dragoman.errors import UserError
from dragoman.evaluation.metrics.table import higher_is_better
from dragoman.model.seq2seq import Seq2Seq
from dragoman.model.weights import average_weights, load_weights, read_note, read_tensors, weights, write_tensors
from dragoman.run.folder import RunFolder
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
    load_weights(model, weight_tensors, path)
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
            raise UserError(f"{path}: the optimizer state belongs to another model ({name})")
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
    """Return the progress stored in a saved state."""
    return _progress(path, read_note(path))


def _progress(path: Path, note: Any) -> Progress:
    try:
        return Progress.from_json(note)
    except UserError as error:
        raise UserError(f"{path}: {error}") from error


@dataclass(frozen=True)
class Selection:
    """The weight files of a run folder; the settings say how many validations have one, and which."""

    folder: RunFolder
    settings: TrainingConfig

    def keep(self, model: Seq2Seq, progress: Progress) -> None:
        """Write the weights after a validation as the last ones, and among those to average if they are."""
        tensors, note = weights(model), {"step": progress.step}
        # Weights before the state that ranks them: killed between the two, a run finds more files, never fewer.
        write_tensors(self.folder.weights("model-last"), tensors, note)
        if progress.step in self._steps(progress):
            write_tensors(self.folder.checkpoint(progress.step), tensors, note)
        if progress.step == progress.best[0].step:
            write_tensors(self.folder.weights("model-best"), tensors, note)

    def there(self, progress: Progress) -> list[int]:
        """Return the steps whose weights are kept, the best first. A run that goes on with other settings has not kept
        all.
        """
        return [step for step in self._steps(progress) if self.folder.checkpoint(step).is_file()]

    def _steps(self, progress: Progress) -> list[int]:
        settings = self.settings
        return progress.steps_to_keep(
            settings.average_checkpoints.count, settings.average_checkpoints.of, higher_is_better(settings.metric)
        )

    def prune(self, progress: Progress) -> None:
        """Remove weights that are no longer to be averaged."""
        # After the new ones are written, and by name: other files in the folder are not ours.
        keep = {self.folder.checkpoint(step) for step in self._steps(progress)}
        for path in self.folder.checkpoint(0).parent.glob(f"step-{'[0-9]' * 8}.safetensors"):
            if path not in keep:
                path.unlink()

    def write_mean(self, steps: Sequence[int]) -> None:
        """Write the mean of the weights of these validations as the weights to use."""
        tensors = average_weights([self.folder.checkpoint(step) for step in steps])
        note = {"mean of steps": sorted(steps), "of": self.settings.average_checkpoints.of}
        write_tensors(self.folder.weights("model"), tensors, note)

    def write_start(self, model: Seq2Seq) -> None:
        """Write the weights that training begins with."""
        write_tensors(self.folder.weights("model-start"), weights(model), {"step": 0})

    def mix_with_start(self, share: float) -> None:
        """Put a share of the weights that training began with into those to use."""
        path = self.folder.weights("model")
        tensors = average_weights([path, self.folder.weights("model-start")], [1 - share, share])
        write_tensors(path, tensors, {"init_interpolation": share, **read_note(path)})

    def load(self, model: Seq2Seq) -> Seq2Seq:
        """Load the weights to use into the model."""
        path = self.folder.weights("model")
        load_weights(model, read_tensors(path)[0], path)
        return model

    def write_best(self, step: int, why: Mapping[str, Any]) -> None:
        """Write the best single weights, of this step, as the weights to use."""
        kept = [self.folder.weights("model-best"), self.folder.checkpoint(step), self.folder.weights("model-last")]
        # Training may have been killed after a better validation, before its state was saved.
        best = next((path for path in kept if path.is_file() and read_note(path).get("step") == step), kept[0])
        tensors, note = read_tensors(best)
        write_tensors(self.folder.weights("model"), tensors, {**note, **why})
