"""Experiment trackers that receive the figures of a training, beside metrics.jsonl: one small interface for all."""

import hashlib
import json
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from contextvars import Context
from importlib import import_module
from typing import Any, NamedTuple

from dragoman.configuration import components, sections
from dragoman.configuration.config import Config
from dragoman.configuration.values import Text
from dragoman.errors import describe, missing_library
from dragoman.run.folder import RunFolder
from dragoman.training.random_state import kept_random_state

MLFLOW_BATCH = 100  # parameters that MLflow takes at once
MLFLOW_LENGTH = 500  # characters of a parameter that all versions of MLflow take


class LoggedRun(NamedTuple):
    """The facts of a run for its loggers: its `name`, an `id` that stays the same when it is resumed, its folder, the
    complete configuration as plain values, and the step from which it starts or is resumed.
    """

    name: str
    id: str
    folder: RunFolder
    config: Mapping[str, Any]
    step: int

    @classmethod
    def of(cls, folder: RunFolder, config: Config, step: int) -> "LoggedRun":
        """Return the facts of the run in this folder."""
        name = config.run.rstrip("/")
        # Another training into a folder of the same name began at another time, and is another run.
        digest = hashlib.sha256(f"{name} {folder.proof.get('begun')}".encode()).hexdigest()
        return cls(name, digest[:16], folder, sections.tree(config), step)


class Logger(ABC):
    """A tracker of one run. UserError from the constructor if its library is not installed; any exception of the
    methods is reported once and leaves the tracker out, while training goes on.

    A resumed run makes the steps since its saved state again, and logs their figures again.
    """

    @abstractmethod
    def begin(self, run: LoggedRun) -> None:
        """Begin or resume a run."""

    @abstractmethod
    def log(self, step: int, values: Mapping[str, float]) -> None:
        """Log finite figures of a step by name, such as `train/loss`, `valid/bleu` or, at the end, `final/bleu`."""

    @abstractmethod
    def end(self, completed: bool) -> None:
        """End the run; `completed` is false after an error or an interruption, after which it may be resumed."""


class TensorBoardLogger(Logger):
    """Event files in the run folder, for `tensorboard --logdir` (extra `tensorboard`)."""

    def __init__(self) -> None:
        self._library = _library("torch.utils.tensorboard", "tensorboard", "tensorboard")

    def begin(self, run: LoggedRun) -> None:
        # TensorBoard hides what it has of later steps.
        self._writer = self._library.SummaryWriter(str(run.folder.path), purge_step=run.step + 1)

    def log(self, step: int, values: Mapping[str, float]) -> None:
        for name, value in values.items():
            self._writer.add_scalar(name, value, step)

    def end(self, completed: bool) -> None:
        self._writer.close()


class WandbLogger(Logger):
    """Weights & Biases (extra `wandb`): a run of `project`, of the team or user `entity` if one is given. `offline`
    writes to the folder `wandb`, for `wandb sync`; otherwise the variable WANDB_MODE decides.
    """

    def __init__(self, *, project: Text = "dragoman", entity: Text | None = None, offline: bool = False) -> None:
        self._library = _library("wandb", "wandb", "wandb")
        self._options = {"project": project, "entity": entity, "mode": "offline" if offline else None}

    def begin(self, run: LoggedRun) -> None:
        self._run = self._library.init(
            **self._options,
            name=run.name,
            id=run.id,
            resume="allow",
            config=dict(run.config),
            reinit="create_new",  # a run of the program that trains stays as it is
            settings=self._library.Settings(console="off"),  # progress bars are no text to keep
        )

    def log(self, step: int, values: Mapping[str, float]) -> None:
        self._run.log(dict(values), step=step)

    def end(self, completed: bool) -> None:
        self._run.finish(exit_code=0 if completed else 1)


class MlflowLogger(Logger):
    """MLflow (extra `mlflow`): a run of `experiment`, at the tracking server or database `uri`, such as
    `http://localhost:5000` or `sqlite:///mlflow.db`; null = MLFLOW_TRACKING_URI, or MLflow's default, a local database.
    """

    def __init__(self, *, experiment: Text = "dragoman", uri: Text | None = None) -> None:
        self._library = _library("mlflow", "mlflow", "mlflow")
        self._experiment, self._uri = experiment, uri

    def begin(self, run: LoggedRun) -> None:
        # A client, since functions such as `mlflow.log_metric` would act on a run of the program that trains.
        self._client = self._library.MlflowClient(tracking_uri=self._uri)
        experiment = self._client.get_experiment_by_name(self._experiment)
        number = experiment.experiment_id if experiment else self._client.create_experiment(self._experiment)
        if begun := self._client.search_runs([number], f"tags.`dragoman.run` = '{run.id}'"):
            self._run = begun[0].info.run_id
            self._client.update_run(self._run, status="RUNNING")
            return
        self._run = self._client.create_run(number, run_name=run.name, tags={"dragoman.run": run.id}).info.run_id
        entities = self._library.entities
        parameters = [entities.Param(key, value[:MLFLOW_LENGTH]) for key, value in flat(run.config)]
        for start in range(0, len(parameters), MLFLOW_BATCH):
            self._client.log_batch(self._run, params=parameters[start : start + MLFLOW_BATCH])

    def log(self, step: int, values: Mapping[str, float]) -> None:
        for name, value in values.items():
            self._client.log_metric(self._run, name, value, step=step)

    def end(self, completed: bool) -> None:
        self._client.set_terminated(self._run, "FINISHED" if completed else "KILLED")


class TrackioLogger(Logger):
    """trackio (extra `trackio`): a run of `project`, kept on this machine, or in a `space` of Hugging Face."""

    def __init__(self, *, project: Text = "dragoman", space: Text | None = None) -> None:
        self._library = _library("trackio", "trackio", "trackio")
        self._options = {"project": project, "space_id": space}

    def begin(self, run: LoggedRun) -> None:
        # In a context of its own: `init` would end a run of the program that trains, or that of the other direction.
        self._run = Context().run(
            self._library.init,
            **self._options,
            name=run.name,
            config=dict(run.config),
            resume="allow" if run.step else "never",
            embed=False,
        )

    def log(self, step: int, values: Mapping[str, float]) -> None:
        self._run.log(dict(values), step=step)

    def end(self, completed: bool) -> None:
        self._run.finish()


def flat(config: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield the dotted keys of a configuration with their values as text, lists as JSON."""
    for name, value in config.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _library(module: str, name: str, extra: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise missing_library(name, extra) from error


LOGGERS: dict[str, Callable[..., Logger]] = {
    "tensorboard": TensorBoardLogger,
    "wandb": WandbLogger,
    "mlflow": MlflowLogger,
    "trackio": TrackioLogger,
}


class LoggerGroup:
    """The loggers of a run by kind. One that fails is left out from then on, and reported with `warn`."""

    def __init__(self, loggers: Sequence[tuple[str, Logger]] = (), warn: Callable[[str], None] = print) -> None:
        self._loggers, self._warn = list(loggers), warn

    @classmethod
    def of(cls, config: Config, warn: Callable[[str], None] = print) -> "LoggerGroup":
        """Return the loggers of a configuration. UserError if a library is not installed."""
        specs = config.training.loggers
        return cls([(spec.kind, components.build(LOGGERS, spec)) for spec in specs], warn)

    def begin(self, run: LoggedRun) -> None:
        self._call(lambda logger: logger.begin(run))

    def log(self, step: int, values: Mapping[str, float]) -> None:
        self._call(lambda logger: logger.log(step, values))

    def end(self, completed: bool) -> None:
        self._call(lambda logger: logger.end(completed))
        self._loggers = []

    def _call(self, call: Callable[[Logger], None]) -> None:
        for kind, logger in list(self._loggers):
            try:
                # Trackers print to standard output, and may draw names of runs from the generator of Python.
                with kept_random_state(), redirect_stdout(sys.stderr):
                    call(logger)
            except Exception as error:
                self._loggers.remove((kind, logger))
                self._warn(
                    f"training.loggers: {kind} failed and gets no more figures ({describe(error)}); "
                    "metrics.jsonl has them all"
                )
