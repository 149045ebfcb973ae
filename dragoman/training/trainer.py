"""The training loop."""

import math
import zlib
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, nullcontext
from itertools import islice
from statistics import fmean

import torch

from dragoman.configuration.config import TrainingConfig
from dragoman.configuration.messages import figure
from dragoman.data.batch import Batch
from dragoman.data.batching import prefetch
from dragoman.errors import UserError
from dragoman.evaluation.metrics.table import higher_is_better
from dragoman.training import checkpoint
from dragoman.training.callbacks import TrainingStep, ValidationScores, read_only
from dragoman.training.gradients import GradientSums, compute_gradients
from dragoman.training.plan import plan_batches
from dragoman.training.progress import Progress, ValidationRecord, peak_memory
from dragoman.training.training import Training
from dragoman.training.validation import Validation

AHEAD = 8  # batches prepared in advance
LOG_EVERY = 50  # steps between two rows of metrics
HOPELESS = 1000  # times the loss of a uniform guess: training was seen to recover from 24 times
STUCK = 4  # validations after which a loss should have fallen


def train(run: Training) -> None:
    """Train until the configured end, saving and validating on the way.

    Batches are a function of (seed, epoch) and random numbers of (seed, step, worker), so a killed run resumes exactly
    from its last saved state. KeyboardInterrupt after Ctrl-C, with the state saved. UserError if the loss is no longer
    finite; the saved state is then one with a finite loss.
    """
    progress, settings = run.progress, run.config.training
    while not _has_ended(run):
        for batches in _rest_of_epoch(run):  # a resumed run begins within its epoch
            interrupted = _update(run, batches)
            if settings.validate_every and progress.step % settings.validate_every == 0:
                _validate(run)
            if interrupted:
                # Weights that gave a non-finite loss may be ruined: then the last saved state is kept.
                if not progress.skipped_in_a_row:
                    _save(run)
                raise _interrupted(run)
            if _has_ended(run):
                break
        else:
            # Only at the end of an epoch that no limit has cut short.
            progress.epoch, progress.position = progress.epoch + 1, 0
            if not settings.validate_every and progress.last_validation != progress.step:
                _validate(run)
    if progress.last_validation != progress.step:
        _validate(run)
    _save(run)
    # All workers must raise: if one raised alone, the others would wait for it at the next reduction.
    late = torch.tensor([float(run.stop.requested)])  # during the last validation
    run.workers.all_reduce([late])
    if late:
        raise _interrupted(run)


def first_steps(run: Training, most: int) -> Iterator[Sequence[Batch]]:
    """Make the first steps of an epoch without validation; yield the batches of each step after it."""
    with closing(_rest_of_epoch(run)) as steps:
        for batches in islice(steps, most):
            _update(run, batches)
            yield batches


def _interrupted(run: Training) -> KeyboardInterrupt:
    saved = f"everything up to step {run.saved_step:,} is saved" if run.saved_step else "nothing is saved yet"
    return run.stop.interruption(f"{saved}; repeat the command to resume")


def _diverged(run: Training, reason: str) -> UserError:
    saved = f"the state of step {run.saved_step:,} is saved" if run.saved_step else "nothing is saved"
    return UserError(
        f"{run.folder.path}: {reason} (step {run.progress.step:,}); {saved}. "
        "Start another run (--run) with a lower training.optimizer.learning_rate or training.clip_norm"
    )


def reached_limits(progress: Progress, settings: TrainingConfig) -> list[str]:
    """Return the limits that have been reached and end training: functions of the progress alone, so a resumed run
    agrees.
    """
    waited = progress.waited(higher_is_better(settings.metric))
    at = {"patience": waited, "steps": progress.step, "epochs": progress.epoch}
    limits = {name: getattr(settings, name) for name in at}
    return [name for name, limit in limits.items() if limit is not None and at[name] >= limit]


def _has_ended(run: Training) -> bool:
    return run.callbacks.stopped or bool(reached_limits(run.progress, run.config.training))


def _rest_of_epoch(run: Training) -> Generator[Sequence[Batch], None, None]:
    """Yield this worker's share of the batches of each remaining step of the epoch, prepared ahead by another thread.
    The last step has the batches that remain.
    """
    epoch = run.progress.epoch
    # A portion is a part of the epoch that sampled outputs are normalized over; usually there is only one, None.
    rest = plan_batches(run.config, run.data, epoch, run.progress.position, run.model.output.portion)
    batches = (run.data.batch(run.workers.shard(rows), epoch).within(portion) for rows, portion in rest)
    if graphs := run.graphs:
        # Checked for each batch: the first recording may find that this model cannot be captured in graphs.
        batches = (batch.rounded() if graphs.possible else batch for batch in batches)
    with closing(prefetch(batches, AHEAD)) as ahead:
        while step_batches := list(islice(ahead, run.config.training.batch.accumulate)):
            yield [batch.to(run.device.torch_device) for batch in step_batches]


def _update(run: Training, batches: Sequence[Batch]) -> bool:
    """Make one step: the gradient of the mean loss of its global batches, clipped and applied.

    Returns whether any worker was asked to stop.
    """
    progress, settings = run.progress, run.config.training
    # Seeded at each step, so a resumed run draws the same numbers; not by `hash`, which is salted.
    torch.manual_seed(zlib.crc32(f"{run.config.seed}:{progress.step}:{run.workers.rank}".encode()))
    sums = compute_gradients(run, batches)
    finite = math.isfinite(sums.loss) and math.isfinite(sums.norm)
    if finite and progress.step % settings.save_every == 0 and progress.step != run.saved_step:
        # One step late: only now is it known that the last update left a finite loss.
        _save(run)
    progress.step, progress.position = progress.step + 1, progress.position + len(batches)
    if finite:
        progress.skipped_in_a_row = 0
        improvements = progress.improvements(higher_is_better(settings.metric))
        # A function of the progress, never of the last rate: resuming is exact.
        rate = run.optimizer.defaults["lr"] * run.schedule(progress.step, improvements)
        for group in run.optimizer.param_groups:
            group["lr"] = rate
        run.optimizer.step()
        # `symbols` is what the objective divides its loss by, usually the target symbols; these measure the speed.
        progress.loss, progress.symbols = progress.loss + sums.loss, progress.symbols + sums.symbols
        progress.target_symbols += sums.target_symbols
        before = progress.parts or [0.0] * len(sums.parts)
        progress.parts = [old + new for old, new in zip(before, sums.parts, strict=True)]
    else:
        progress.skipped, progress.skipped_in_a_row = progress.skipped + 1, progress.skipped_in_a_row + 1
    # After the save above: changes of buffers here belong to the next state.
    run.objective.after_step(finite)
    if finite and run.average:
        # Skipped steps do not count: they leave the weights unchanged.
        run.average.update(progress.step - progress.skipped)
    run.heap.release()  # memory that the C library keeps would let a long training grow
    run.journal.step(progress)
    if progress.step % LOG_EVERY == 0:
        _log(run, sums.norm)
    if progress.skipped_in_a_row >= settings.max_nonfinite_steps:
        raise _diverged(run, f"the loss was not finite for {settings.max_nonfinite_steps} steps in a row")
    _report_step(run, sums, finite)
    return sums.interrupted


def _report_step(run: Training, sums: GradientSums, finite: bool) -> None:
    """Call the callbacks after a step."""
    if not run.callbacks.callbacks:
        return
    if run.workers.leads:
        progress, rate = run.progress, run.optimizer.param_groups[0]["lr"]
        loss, symbols = sums.loss / sums.symbols, int(sums.target_symbols)
        step = TrainingStep(progress.step, progress.epochs_begun, loss, rate, sums.norm, symbols, not finite)
        run.callbacks.on_step(step)
    _agree_to_stop(run)


def _agree_to_stop(run: Training) -> None:
    """Let all workers end if a callback of the leader ends the training."""
    if run.callbacks.may_stop:
        run.callbacks.stopped = run.workers.broadcast(run.callbacks.stopped)


def _log(run: Training, norm: float) -> None:
    """Write a row of the measurements since the last one."""
    progress = run.progress
    _count_time(run)
    metrics: dict[str, float] = {}
    if progress.symbols:  # at least one step was not skipped
        metrics["train/loss"] = progress.loss / progress.symbols
        for name, part in zip(run.objective.parts, progress.parts, strict=True):
            metrics[f"train/{name}"] = part / progress.symbols
        metrics["train/symbols_per_second"] = progress.target_symbols / progress.updating
    metrics["train/learning_rate"] = run.optimizer.param_groups[0]["lr"]
    metrics["train/gradient_norm"] = norm
    if progress.skipped:
        metrics["train/skipped"] = progress.skipped
    for direction in run.directions:
        direction.journal.row(progress, metrics)
    # Sums start again after each row; they are saved with the progress, so a resumed row is complete.
    progress.loss = progress.symbols = progress.target_symbols = progress.updating = 0.0
    progress.parts = []


def _count_time(run: Training) -> None:
    """Count the time since the last call as spent on updates, and record the peak memory."""
    run.progress.memory = max(run.progress.memory, peak_memory())
    seconds = run.clock.seconds()
    run.progress.updating += seconds
    run.progress.seconds += seconds


def _validate(run: Training) -> None:
    """Validate on the development set, keep the weights if they are among the best, and save."""
    progress, settings = run.progress, run.config.training
    values = dict[str, float]()
    _count_time(run)
    # The average of the weights is what will be used, so it is measured and kept.
    with run.average.swapped_in() if run.average else nullcontext():
        # One worker validates, and all receive its result: they must agree on when to end.
        validated = run.workers.broadcast(_try_validation(run, values) if run.workers.leads else "")
        if isinstance(validated, str):
            raise _diverged(run, validated)
        progress.record(validated, higher_is_better(settings.metric), settings.average_checkpoints.count)
        if run.workers.leads:
            for direction in run.directions:
                direction.selection.keep(direction.model, progress)
    # After exactly STUCK validations: the hint is printed once, early in the training.
    first, *later = (validation.loss for validation in progress.validations)
    if len(later) == STUCK - 1 and min(later) >= first:
        run.journal.say(
            f"the loss on the development data has not improved in {STUCK} validations: the model may be too large for "
            "the training data (reduce sizes, raise dropout), or training.optimizer.learning_rate too high"
        )
    _save(run)
    if run.callbacks.callbacks and run.workers.leads:
        best = progress.improvements(higher_is_better(settings.metric))[-1]
        run.callbacks.on_validation(ValidationScores(progress.step, progress.epochs_begun, read_only(values), best))
    _agree_to_stop(run)


def _try_validation(run: Training, values: dict[str, float]) -> ValidationRecord | str:
    """Return the result on the development set, or the reason why the model can no longer be validated; add the
    `values` by name.
    """
    validations = []
    # One direction, or with the penalty `agreement` two opposite ones, each with a model of its own.
    for direction in run.directions:
        try:
            validation = direction.validator(direction.model)
        except UserError as error:  # raised by the search, which finds no probabilities: the corpus was checked before
            return str(error)
        if fault := _divergence(validation.values["loss"], len(direction.data.target.vocabulary)):
            return fault
        run.progress.seconds += run.clock.seconds()
        direction.journal.row(run.progress, {f"valid/{name}": value for name, value in validation.values.items()})
        run.journal.say(f"step {run.progress.step:>7,}  {run.named(direction)}{validation}")
        prefix = "" if direction is run else "reverse/"
        values |= {f"{prefix}{name}": value for name, value in validation.values.items()}
        validations.append(validation)
    return deciding_values(run, validations)


def _divergence(loss: float, symbols: int) -> str:
    """Return the reason why training cannot recover, judging by the development loss; empty if it can."""
    if not math.isfinite(loss):
        return "the loss on the development data was not finite"
    # The loss of a uniform distribution: a model far above it has diverged.
    guess = math.log(symbols)
    if loss <= HOPELESS * guess:
        return ""
    return f"the loss on the development data was {figure(loss)}; uniform guessing among {symbols:,} gives {guess:.2f}"


def deciding_values(run: Training, validations: Sequence[Validation]) -> ValidationRecord:
    """Return the deciding values of a validation in each direction: their mean if there are two."""
    value, loss = (
        fmean(validation.values[name] for validation in validations) for name in (run.config.training.metric, "loss")
    )
    return ValidationRecord(value, loss, run.progress.step)


def _save(run: Training) -> None:
    """Save the state to resume from; then remove older weights that are no longer among the best.

    Call it only if the last step was not skipped, or after a validation: an earlier state is better than one that
    has diverged.
    """
    _count_time(run)
    run.saved_step = run.progress.step
    if run.workers.leads:
        # The state first: weights that the saved state counts among the best must not be removed before.
        checkpoint.save(run.folder.last_state, run.trained_modules, run.optimizer, run.progress, run.average)
        for direction in run.directions:
            direction.selection.prune(run.progress)
