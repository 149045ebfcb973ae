"""From a configuration to a trained run folder: check, assemble, resume, train, finish."""

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import torch

from dragoman import components, devices
from dragoman import config as configuration
from dragoman.components import Problem, Spec
from dragoman.config import Config
from dragoman.data.dataset import Dataset
from dragoman.errors import UserError
from dragoman.evaluation.metrics import METRICS
from dragoman.files import write_atomically
from dragoman.model import build
from dragoman.run import RunFolder
from dragoman.search.searches import SEARCHES
from dragoman.text.units import UNITS
from dragoman.training import card, checkpoint
from dragoman.training.journal import Journal, Silence
from dragoman.training.objective import OBJECTIVES
from dragoman.training.optimiser import OPTIMISERS
from dragoman.training.progress import Progress
from dragoman.training.schedule import SCHEDULES
from dragoman.training.selection import Selection
from dragoman.training.stopping import Stop
from dragoman.training.trainer import Training, epoch_plan
from dragoman.training.trainer import train as train_to_the_end
from dragoman.training.validation import Validator
from dragoman.training.workers import Workers

# Options that may change when a run goes on; every other change would make it another run.
FREE = {("run",), ("device",), ("search",), ("metrics",)} | {
    ("training", name) for name in ("epochs", "steps", "save_every", "patience", "skip_limit", "average")
}


def problems(config: Config) -> list[Problem]:
    """What cannot work in the parts that training names."""
    training = config.training
    places: list[tuple[tuple[str | int, ...], Any, Spec]] = [
        (("text", "source", "unit"), UNITS, config.text.source.unit),
        (("text", "target", "unit"), UNITS, config.text.target.unit),
        (("training", "objective"), OBJECTIVES, training.objective),
        (("training", "optimiser"), OPTIMISERS, training.optimiser),
        (("training", "schedule"), SCHEDULES, training.schedule),
        (("training", "search"), SEARCHES, training.search),
        (("search",), SEARCHES, config.search),
        *((("metrics", number), METRICS, metric) for number, metric in enumerate(config.metrics)),
    ]
    return [each for path, table, spec in places for each in components.problems(table, spec, path)]


CHECKS = (build.problems, problems)


def load_config(path: str | Path, overrides: dict[str, str] | None = None) -> Config:
    """A configuration checked to the last option; UserError with a line for each problem."""
    return configuration.load(path, overrides or {}, checks=CHECKS)


def complete(config: Config) -> Config:
    """The same configuration with every option of every part spelled out."""

    def language(side: configuration.LanguageConfig) -> configuration.LanguageConfig:
        return side.model_copy(update={"unit": components.complete(UNITS, side.unit)})

    text, training = config.text, config.training
    sides = {"source": language(text.source), "target": language(text.target)}
    parts = {
        "objective": components.complete(OBJECTIVES, training.objective),
        "optimiser": components.complete(OPTIMISERS, training.optimiser),
        "schedule": components.complete(SCHEDULES, training.schedule),
        "search": components.complete(SEARCHES, training.search),
    }
    return config.model_copy(
        update={
            "text": text.model_copy(update=sides),
            "model": build.complete(config.model),
            "training": training.model_copy(update=parts),
            "search": components.complete(SEARCHES, config.search),
            "metrics": tuple(components.complete(METRICS, metric) for metric in config.metrics),
        }
    )


def train(config: Config, *, quiet: bool = False) -> RunFolder:
    """Train the run that `config` describes, or go on with it, to its end; the folder then holds the finished model.

    Under torchrun every worker calls this. UserError for what the user can mend; KeyboardInterrupt after Ctrl-C,
    with everything saved.
    """
    config = complete(config)
    folder = RunFolder(Path(config.run))
    with ExitStack() as stack:
        workers = stack.enter_context(Workers())
        if workers.leads:
            _open(folder, config)
        journal = stack.enter_context(Journal(folder, quiet=quiet) if workers.leads else Silence(folder))
        run = assemble(config, folder, workers, journal, stack.enter_context(Stop()))
        resumed, steps = run.progress.step, _steps(run)
        if resumed:
            journal.say(f"{folder.path}: going on from step {resumed:,}")
        journal.say(f"{run.device}; {sum(p.numel() for p in run.model.parameters()):,} parameters; {run.data.report}")
        journal.open(resumed, steps, run.progress.epoch)
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
    data = Dataset.prepare(config.data, config.text, config.seed, folder.path)
    if workers.leads:
        workers.wait()
    torch.manual_seed(config.seed)
    model = build.build(config.model, len(data.source_vocabulary), len(data.target_vocabulary)).to(device.torch_device)
    optimiser = components.build(OPTIMISERS, config.training.optimiser, model.parameters())
    exists = folder.last_state.is_file()
    progress = checkpoint.load(folder.last_state, model, optimiser) if exists else Progress()
    return Training(
        config,
        folder,
        data,
        model,
        components.build(OBJECTIVES, config.training.objective),
        optimiser,
        components.build(SCHEDULES, config.training.schedule),
        device,
        workers,
        journal,
        Validator(config, data, device, folder),
        Selection(folder),
        stop,
        progress,
    )


def finish(run: Training) -> None:
    """Choose the weights to use (the mean of the best, if it is no worse on the development set); write the card."""
    run.selection.write_mean(run.progress)
    mean = run.validator(run.selection.load(run.model))
    best = run.progress.best[0][0]
    metric = run.config.training.metric
    run.journal.say(f"mean of the best {len(run.progress.best)}  {mean}")
    if not run.validator.as_good(mean.values[metric], best):
        run.selection.write_best()
        mean = run.validator(run.selection.load(run.model))
    run.validator.write(mean)
    run.journal.row(
        run.progress.step,
        run.progress.epoch,
        run.progress.seconds,
        {f"final/{name}": value for name, value in mean.values.items()},
    )
    card.write(run.folder, run.config, run.data, run.model, run.progress, mean)


def _open(folder: RunFolder, config: Config) -> None:
    """Make the run folder, or check that the one that is there is of the same run."""
    if not folder.config.is_file():
        if folder.path.is_dir() and any(folder.path.iterdir()):
            raise UserError(
                f"{folder.path}: exists and is not a run folder (no config.yaml); choose another with --run"
            )
        if folder.path.exists() and not folder.path.is_dir():
            raise UserError(f"{folder.path}: is a file; choose another folder with --run")
    else:
        old = complete(load_config(folder.config))
        changed = [key for key in configuration.differences(old, config) if key not in FREE and key[:1] not in FREE]
        if changed:
            key = ".".join(map(str, changed[0]))
            raise UserError(
                f"{folder.path}: holds a run with another configuration ({key} and {len(changed) - 1} other "
                "options differ); choose another folder with --run, or remove this one"
            )
    with write_atomically(folder.config) as file:
        file.write(configuration.dump(config))


def _steps(run: Training) -> int:
    """How many steps training takes, about, unless it stops early."""
    settings = run.config.training
    limits = [settings.steps] if settings.steps else []
    if settings.epochs:
        limits.append(settings.epochs * len(epoch_plan(run, 0)))
    return min(limits)
