"""The end of training: choice of weights, their scores, the model card; and whether all files are complete."""

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import Any

from torch import Tensor

from dragoman.configuration.config import Config
from dragoman.configuration.messages import figure
from dragoman.data.preparation import STORE, is_current
from dragoman.errors import UserError
from dragoman.evaluation.metrics.table import higher_is_better
from dragoman.model import build
from dragoman.model.weights import read_note, read_tensors, write_tensors
from dragoman.run.folder import RunFolder, chosen_among, describe_weights
from dragoman.training import card, checkpoint, run_baselines
from dragoman.training.checkpoint import Selection
from dragoman.training.checks import complete, load_config
from dragoman.training.journal import TrainingLog
from dragoman.training.objectives.table import OBJECTIVES
from dragoman.training.progress import Progress, ValidationRecord
from dragoman.training.trainer import deciding_values, reached_limits
from dragoman.training.training import Training
from dragoman.training.validation import Validation

# Relative difference of scores below which the loss decides: the best of many validations may be better by chance.
METRIC_TOLERANCE = 0.02


def finish(run: Training) -> None:
    """Choose the weights to use (the mean of several, if it is no worse on the development set); write the card.

    The row of figures comes last, the run's own after that of its reverse: it marks a run as finished.
    """
    # Three times as large as the model, and no longer needed.
    run.optimizer.zero_grad()
    run.optimizer.state.clear()
    validations = _choose_weights(run)
    weights = describe_weights(read_note(run.folder.weights()))  # of the same steps in both directions
    for direction, validation in zip(run.directions, validations, strict=True):
        run.journal.say(f"{direction.folder.weights().name}: {weights}  {run.named(direction)}{validation}")
        loss, symbols = validation.values["loss"], len(direction.data.target.vocabulary)
        # An output that spells has losses of characters in it, which no guess among words has.
        if loss > (guess := math.log(symbols)) and not direction.model.output.spells:
            run.journal.say(
                f"the loss of the development data is {figure(loss)}: the model's probabilities are worse than a guess "
                f"among {symbols:,} symbols, whose loss is {guess:.2f}"
            )
        if missed := run_baselines.find_missed_baseline(direction, validation):
            run.journal.say(missed)
        direction.validator.write(validation)
        if not card.write(
            direction.folder, direction.config, direction.data, direction.model, run.progress, validation, weights
        ):
            run.journal.say(f"{direction.folder.card}: was edited, so it is not overwritten")
    # The run's own row marks it as finished, so it has to be the last thing written.
    for direction, validation in reversed(list(zip(run.directions, validations, strict=True))):
        figures = {**validation.values, "memory_gb": run.progress.memory / 1e9}
        direction.journal.row(run.progress, {f"final/{name}": value for name, value in figures.items()}, weights)


def _choose_weights(run: Training) -> list[Validation]:
    """Write the weights to use; returns their validation in each direction."""
    validations, settings = _write_mean_or_best(run), run.config.training
    if not any(settings.init_interpolation):
        return validations
    # Kept in memory, to be written again: a mixture takes the place of the weights that it is made from.
    alone = [read_tensors(direction.folder.weights()) for direction in run.directions]
    before, higher = deciding_values(run, validations), higher_is_better(settings.metric)
    mixtures = dict[float, list[Validation]]()
    for share in settings.init_interpolation:
        _write(run, alone, share=share)
        mixtures[share] = _validate_chosen(run)
    records = {share: deciding_values(run, validated) for share, validated in mixtures.items()}
    best = min(records, key=lambda share: records[share].rank(higher))
    after = records[best]
    # The weights before were chosen by the metric among many, which flatters them: where it is near, the loss decides.
    near = abs(after.value - before.value) <= METRIC_TOLERANCE * abs(before.value)
    if after.as_good_as(before, higher) or (near and after.loss <= before.loss):
        _write(run, alone, share=best)
        return mixtures[best]
    _write(run, alone, {"worse_with_start": {"share": best, **_figures(run, after)}})
    return validations


def _write(
    run: Training,
    chosen: Sequence[tuple[dict[str, Tensor], Any]],
    note: Mapping[str, Any] = MappingProxyType({}),
    share: float = 0.0,
) -> None:
    """Write these weights of each direction, with a share of those that training began with, as the weights to use, and
    load them.
    """
    for direction, (tensors, of) in zip(run.directions, chosen, strict=True):
        write_tensors(direction.folder.weights(), tensors, {**of, **note})
        if share:
            direction.selection.mix_with_start(share)
        direction.selection.load(direction.model)


def _write_mean_or_best(run: Training) -> list[Validation]:
    """Write the mean of the best or last weights, or the best ones where that is worse; return their validation in each
    direction.
    """
    settings, ranked = run.config.training, run.progress.best
    steps = _averaged_steps(run.selection, run.progress)
    if steps == [ranked[0].step]:
        note = {}
    else:
        for direction in run.directions:
            direction.selection.write_mean(steps)
        validations = _validate_chosen(run)
        mean = deciding_values(run, validations)
        # A mean of weights from different valleys can be far worse than each: it has to prove itself.
        if mean.as_good_as(ranked[0], higher_is_better(settings.metric)):
            return validations
        note = {"worse": steps, "of": settings.average_checkpoints.of, **_figures(run, mean)}
    for direction in run.directions:
        direction.selection.write_best(ranked[0].step, note)
    return _validate_chosen(run)


def _figures(run: Training, validated: ValidationRecord) -> dict[str, Any]:
    """Return the deciding values of a validation, for the note of weights."""
    return {"metric": run.config.training.metric, "value": validated.value, "loss": validated.loss}


def _averaged_steps(selection: Selection, progress: Progress) -> list[int]:
    """Return the steps of the validations whose weights are averaged."""
    return sorted(selection.there(progress)) or [progress.best[0].step]


def _validate_chosen(run: Training) -> list[Validation]:
    """Return the validation of the weights to use, in each direction."""
    return [direction.validator(direction.selection.load(direction.model)) for direction in run.directions]


def describe_finished(config: Config, folder: RunFolder) -> str:
    """Return the folder and the limits by which a complete training has ended; empty if there is more to do. UserError
    if another version wrote the folder.
    """
    folder.check_form()
    if not folder.last_state.is_file():
        return ""
    progress = checkpoint.progress(folder.last_state)
    limits = reached_limits(progress, config.training)
    if not progress.best:
        return ""
    steps = _averaged_steps(Selection(folder, config.training), progress)
    both = OBJECTIVES[config.training.objective.kind].both_directions
    if not limits or not all(_is_complete(part, progress, steps) for part in [folder, *([folder.reverse] * both)]):
        return ""
    at = ", ".join(f"training.{name}: {getattr(config.training, name)}" for name in limits)
    more = " ".join(f"--training.{name} N" for name in limits)
    return (
        f"{folder.path}: training has finished at {at} after {progress.step:,} steps. "
        f"To continue, raise it ({more}); to start again, choose another --run{_search_stays(config, folder)}"
        f"{_describe_changed_data(config, folder)}"
    )


def _describe_changed_data(config: Config, folder: RunFolder) -> str:
    """Return what to do about training files that were written since a finished run read them."""
    if not (folder.path / STORE).is_dir():  # removed, so that nothing is known
        return ""
    with suppress(UserError, OSError):  # a file that is missing, which a finished run does not need
        surfaces = any(build.unknown_word_needs(config.model))
        if is_current(config.data, config.text, config.seed, folder.path, surfaces=surfaces):
            return ""
        return ". The files of data.train have been modified since this model was trained"
    return ""


def _search_stays(config: Config, folder: RunFolder) -> str:
    """Return what to do about another search, or other constraints, than those of a finished run, which is left
    alone.
    """
    old, new = complete(load_config(folder.config)), complete(config)
    changed = [name for name in ("search", "constraints") if getattr(old, name) != getattr(new, name)]
    if not changed:
        return ""
    stay = "stay as they were; change them" if len(changed) > 1 else "stays as it was; change it"
    return f". {' and '.join(changed)} {stay} in {folder.config}"


def _is_complete(folder: RunFolder, progress: Progress, steps: Sequence[int]) -> bool:
    """Return whether the weights to use were chosen among these steps, and their figures were written after that."""
    if not all(path.is_file() for path in (folder.weights(), folder.validation, folder.card)):
        return False
    if chosen_among(read_note(folder.weights())) != list(steps):
        return False
    rows = TrainingLog(folder, quiet=True).rows()
    return bool(rows) and "final/loss" in rows[-1] and rows[-1]["step"] == progress.step
