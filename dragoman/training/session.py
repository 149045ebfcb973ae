"""From a configuration to a trained run folder: assemble, resume, train, finish."""

from contextlib import ExitStack
from pathlib import Path
from statistics import fmean
from typing import Any

import torch

from dragoman import components, configuration, devices
from dragoman.config import Config
from dragoman.data.dataset import Dataset
from dragoman.data.language import Language
from dragoman.model import build
from dragoman.model.seq2seq import Seq2Seq
from dragoman.run import RunFolder
from dragoman.training import card, checkpoint
from dragoman.training.checks import CHECKS, complete
from dragoman.training.directions import reverse
from dragoman.training.folder import opened
from dragoman.training.journal import Journal, Silence
from dragoman.training.objectives.agreement import Agreement
from dragoman.training.objectives.objective import Objective
from dragoman.training.objectives.objectives import OBJECTIVES
from dragoman.training.objectives.penalties import PENALTIES
from dragoman.training.optimiser import OPTIMISERS
from dragoman.training.progress import Progress
from dragoman.training.schedule import SCHEDULES
from dragoman.training.selection import Selection
from dragoman.training.stopping import Stop
from dragoman.training.trainer import epoch_plan
from dragoman.training.trainer import train as train_to_the_end
from dragoman.training.training import Training
from dragoman.training.validation import Validation, Validator
from dragoman.training.workers import Workers


def train(config: Config, *, quiet: bool = False) -> RunFolder:
    """Train the run that `config` describes, or go on with it, to its end; the folder then holds the finished model.

    Under torchrun every worker calls this. UserError for what the user can mend; KeyboardInterrupt after Ctrl-C,
    with everything saved.
    """
    configuration.check(config, CHECKS)
    config = complete(config)
    folder = RunFolder(Path(config.run))
    with ExitStack() as stack:
        workers = stack.enter_context(Workers())
        if workers.leads:
            stack.enter_context(opened(folder, config))
        journal = Journal(folder, quiet=quiet) if workers.leads else Silence(folder)
        run = assemble(config, folder, workers, journal, Stop())
        steps = _steps(run)
        if run.progress.step:
            journal.say(f"{folder.path}: going on from step {run.progress.step:,}")
        sizes = [sum(parameter.numel() for parameter in each.model.parameters()) for each in run.directions]
        journal.say(f"{run.device}; {' and '.join(map('{:,}'.format, sizes))} parameters; {run.data.report}")
        for each in run.directions:
            stack.enter_context(each.journal).open(run.progress, steps)
        with run.stop:  # elsewhere nothing is lost by stopping at once
            train_to_the_end(run)
        if workers.leads:
            finish(run)
        workers.wait()
    return folder


def assemble(config: Config, folder: RunFolder, workers: Workers, journal: Journal, stop: Stop) -> Training:
    """All parts of a run, with the saved state in them if there is one."""
    device = devices.choose(config.device)
    if not workers.leads:
        workers.wait()  # until the leader has prepared the corpus
    data = Dataset.prepare(
        config.data,
        config.text,
        config.seed,
        folder.path,
        keep_units=folder.last_state.is_file(),
        source_dropout=config.training.source_dropout,
    )
    if workers.leads:
        workers.wait()
    torch.manual_seed(config.seed)
    model = build.build_for(config, data.sources, data.target).to(device.torch_device)
    objective = _objective(config, model, data).to(device.torch_device)
    parameters = [*model.parameters(), *objective.parameters()]
    run = Training(
        config,
        folder,
        data,
        model,
        journal,
        Validator(config, data, device, folder),
        Selection(folder),
        objective,
        components.build(OPTIMISERS, config.training.optimiser, parameters),
        components.build(SCHEDULES, config.training.schedule),
        device,
        workers,
        stop,
        Progress(),
    )
    if folder.last_state.is_file():
        run.progress = checkpoint.load(folder.last_state, run.learner, run.optimiser)
        run.saved = run.progress.step
    if isinstance(objective, Agreement):
        run.reverse = reverse(run, objective.reverse)
    return run


def _objective(config: Config, model: Seq2Seq, data: Dataset) -> Objective:
    training, parts = config.training, list[Any]()
    if OBJECTIVES[training.objective.kind] is Agreement:
        (source,) = data.sources
        assert isinstance(source, Language)
        parts.append(build.build_for(config, (data.target,), source))
    if training.penalties:
        size = model.readers[0].encoder.size
        parts.append({spec.kind: components.build(PENALTIES, spec, size) for spec in training.penalties})
    return components.build(OBJECTIVES, training.objective, *parts)


def finish(run: Training) -> None:
    """Choose the weights to use (the mean of the best, if it is no worse on the development set); write the card."""
    settings = run.config.training
    best = run.progress.best[: settings.average]
    for each in run.directions:
        each.selection.write_mean([step for _, step in best])
    found = _judged(run)
    for each, validation in zip(run.directions, found, strict=True):
        run.journal.say(f"mean of the best {len(best)}  {run.named(each)}{validation}")
    if not run.validator.as_good(fmean(validation.values[settings.metric] for validation in found), best[0][0]):
        for each in run.directions:
            each.selection.write_best()
        found = _judged(run)
    for each, validation in zip(run.directions, found, strict=True):
        each.validator.write(validation)
        each.journal.row(run.progress, {f"final/{name}": value for name, value in validation.values.items()})
        card.write(each.folder, each.config, each.data, each.model, run.progress, validation)


def _judged(run: Training) -> list[Validation]:
    """What the weights to use are worth, in each direction."""
    return [each.validator(each.selection.load(each.model)) for each in run.directions]


def _steps(run: Training) -> int:
    """How many steps training takes, about, unless it stops early."""
    settings = run.config.training
    limits = [settings.steps] if settings.steps else []
    if settings.epochs:
        limits.append(settings.epochs * epoch_plan(run, 0).count())
    return min(limits)
