"""From a configuration to a trained run folder: check, assemble, resume, train, finish."""

import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import torch

from dragoman import components, devices, sections
from dragoman import config as configuration
from dragoman.components import Problem
from dragoman.config import Config, TextConfig
from dragoman.data.dataset import Dataset
from dragoman.errors import UserError
from dragoman.evaluation.metrics import METRICS
from dragoman.files import alone, write_atomically
from dragoman.model import build
from dragoman.run import RunFolder
from dragoman.search.searches import SEARCHES
from dragoman.text.units import UNITS
from dragoman.training import card, checkpoint
from dragoman.training.journal import Journal, Silence
from dragoman.training.objectives.objectives import OBJECTIVES
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
FREE = {("run",), ("device",), ("search",)} | {
    ("training", name) for name in ("epochs", "steps", "save_every", "patience", "skip_limit", "average")
}

# What a run folder holds before the first save.
BEGUN = re.compile(
    r"config\.yaml|metrics\.jsonl|(source|target)\..*|data|checkpoints|model-(best|last)\..*|events\..*|\..*\.part"
)


# Where the configuration names parts, one or several, beside those of the model.
TABLES: dict[components.Path, Mapping[str, Any]] = {
    ("text", "source", "unit"): UNITS,
    ("text", "target", "unit"): UNITS,
    ("training", "objective"): OBJECTIVES,
    ("training", "optimiser"): OPTIMISERS,
    ("training", "schedule"): SCHEDULES,
    ("training", "search"): SEARCHES,
    ("search",): SEARCHES,
    ("metrics",): METRICS,
}


def problems(config: Config) -> list[Problem]:
    """What cannot work in these parts."""
    found: list[Problem] = []
    for path, table in TABLES.items():
        named = sections.specs(config, path)
        found += [each for place, spec in named.items() for each in components.problems(table, spec, place)]
    if not found:
        try:
            components.build(SCHEDULES, config.training.schedule)
        except ValueError as error:
            found.append(Problem(("training", "schedule"), str(error)))
        found += _joint(config.text)
        found += _learnable(config)
    return found


def _learnable(config: Config) -> Iterator[Problem]:
    """An objective may need parts of a model, and a part an objective."""
    if not build.problems(config):
        with torch.device("meta"):
            model = build.build(config.model, 8, 8)
        try:
            components.build(OBJECTIVES, config.training.objective).check(model)
        except ValueError as error:
            yield Problem(("training", "objective"), str(error))


def _joint(text: TextConfig) -> Iterator[Problem]:
    """One inventory for both languages needs one way to make it; letter case and dropout may differ."""
    if text.joint:
        source, target = text.source, text.target
        ways = []
        for unit in (source.unit, target.unit):
            whole = components.complete(UNITS, unit)
            ways.append({name: value for name, value in whole.options.items() if name != UNITS[unit.kind].choosing})
        if source.unit.kind != target.unit.kind or ways[0] != ways[1]:
            found = f"{target.unit} differs from text.source.unit: {source.unit}"
            yield Problem(("text", "target", "unit"), f"{found}; text.joint needs equal ones (or joint: false)")
        elif UNITS[source.unit.kind].whole_words and source.tokeniser != target.tokeniser:
            found = f"'{target.tokeniser}' differs from text.source.tokeniser: '{source.tokeniser}'"
            yield Problem(("text", "target", "tokeniser"), f"{found}; text.joint needs equal ones for whole words")


CHECKS = (build.problems, problems)


def load_config(path: str | Path, overrides: dict[str, str] | None = None) -> Config:
    """A configuration checked to the last option; UserError with a line for each problem."""
    return configuration.load(path, overrides or {}, checks=CHECKS)


def complete(config: Config) -> Config:
    """The same configuration with every option of every part spelled out."""
    config = sections.completed(config, TABLES)
    return sections.replaced(config, ("model",), build.complete(config.model))


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
            stack.enter_context(_opened(folder, config))
        journal = stack.enter_context(Journal(folder, quiet=quiet) if workers.leads else Silence(folder))
        run = assemble(config, folder, workers, journal, Stop())
        steps = _steps(run)
        if run.progress.step:
            journal.say(f"{folder.path}: going on from step {run.progress.step:,}")
        journal.say(f"{run.device}; {sum(p.numel() for p in run.model.parameters()):,} parameters; {run.data.report}")
        journal.open(run.progress, steps)
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
    data = Dataset.prepare(config.data, config.text, config.seed, folder.path, keep_units=folder.last_state.is_file())
    if workers.leads:
        workers.wait()
    torch.manual_seed(config.seed)
    model = build.build(config.model, len(data.source.vocabulary), len(data.target.vocabulary)).to(device.torch_device)
    objective = components.build(OBJECTIVES, config.training.objective).to(device.torch_device)
    parameters = [*model.parameters(), *objective.parameters()]
    run = Training(
        config,
        folder,
        data,
        model,
        objective,
        components.build(OPTIMISERS, config.training.optimiser, parameters),
        components.build(SCHEDULES, config.training.schedule),
        device,
        workers,
        journal,
        Validator(config, data, device, folder),
        Selection(folder),
        stop,
        Progress(),
    )
    if folder.last_state.is_file():
        run.progress = checkpoint.load(folder.last_state, run.learner, run.optimiser)
        run.saved = run.progress.step
    return run


def finish(run: Training) -> None:
    """Choose the weights to use (the mean of the best, if it is no worse on the development set); write the card."""
    settings = run.config.training
    best = run.progress.best[: settings.average]
    run.selection.write_mean([step for _, step in best])
    found = run.validator(run.selection.load(run.model))
    run.journal.say(f"mean of the best {len(best)}  {found}")
    if not run.validator.as_good(found.values[settings.metric], best[0][0]):
        run.selection.write_best()
        found = run.validator(run.selection.load(run.model))
    run.validator.write(found)
    run.journal.row(run.progress, {f"final/{name}": value for name, value in found.values.items()})
    card.write(run.folder, run.config, run.data, run.model, run.progress, found)


@contextmanager
def _opened(folder: RunFolder, config: Config) -> Iterator[None]:
    """The run folder, made or of the same run. A new one in which nothing was saved does not stay after a failure."""
    new = not folder.path.exists()
    if folder.last_state.is_file():
        _check_same(folder, config)
    elif not new:
        if not folder.path.is_dir():
            raise UserError(f"{folder.path}: is a file; choose another folder with --run")
        strange = sorted(path.name for path in folder.path.iterdir() if not BEGUN.fullmatch(path.name))
        if strange:
            raise UserError(
                f"{folder.path}: exists and is not a run folder (it holds {strange[0]}); choose another with --run"
            )
    with alone(folder.path, f"{folder.path}: another process is training this run"):
        with write_atomically(folder.config) as file:
            file.write(configuration.dump(config))
        try:
            yield
        except BaseException:
            if new and not folder.last_state.is_file():
                shutil.rmtree(folder.path, ignore_errors=True)
            raise


def _check_same(folder: RunFolder, config: Config) -> None:
    """That the folder's training was begun with these options, as far as they matter."""
    old = complete(load_config(folder.config))
    changed = [key for key in sections.differences(old, config) if key not in FREE and key[:1] not in FREE]
    if changed:
        others = len(changed) - 1
        more = f" and {others} other option{'s' * (others > 1)}" if others else ""
        raise UserError(
            f"{folder.path}: was begun with another {'.'.join(map(str, changed[0]))}{more}; choose another folder "
            "with --run, or remove this one"
        )


def _steps(run: Training) -> int:
    """How many steps training takes, about, unless it stops early."""
    settings = run.config.training
    limits = [settings.steps] if settings.steps else []
    if settings.epochs:
        limits.append(settings.epochs * epoch_plan(run, 0).count())
    return min(limits)
