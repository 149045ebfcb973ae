"""Trackers get the configuration and every figure of a training, and can neither stop nor change it."""

import json
import random
import sys
import time
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from dragoman.configuration.components import Spec
from dragoman.errors import UserError, missing_library
from dragoman.run.folder import RunFolder
from dragoman.training import session
from dragoman.training.loggers import LOGGERS, LoggedRun, Logger, LoggerGroup, flat
from tests import toy
from tests.training import trackers

LIBRARIES = {"tensorboard": "torch.utils.tensorboard", "wandb": "wandb", "mlflow": "mlflow", "trackio": "trackio"}
FIGURES = {"train/loss": 2.5, "valid/en-de/bleu": 12.0}


@pytest.fixture
def run(tmp_path: Path) -> LoggedRun:
    return LoggedRun("runs/toy", "0123456789abcdef", RunFolder(tmp_path), {"seed": 1, "data": {"dev": "d"}}, 4)


@pytest.fixture
def calls() -> list[Any]:
    return []


@pytest.fixture
def fakes(monkeypatch: pytest.MonkeyPatch, calls: list[Any]) -> Callable[[str], None]:
    """Install an imitation of a library."""
    contents = trackers.contents(calls)

    def install(kind: str) -> None:
        module = ModuleType(LIBRARIES[kind])
        vars(module).update(contents[kind])
        monkeypatch.setitem(sys.modules, module.__name__, module)

    return install


def track(logger: Logger, run: LoggedRun, *, completed: bool = True) -> None:
    logger.begin(run)
    logger.log(5, FIGURES)
    logger.end(completed)


def test_tensorboard_gets_every_figure(run: LoggedRun, fakes: Callable[[str], None], calls: list[Any]) -> None:
    fakes("tensorboard")
    track(LOGGERS["tensorboard"](), run)
    assert calls == [("open", str(run.folder.path), 5), *((name, value, 5) for name, value in FIGURES.items()), "close"]


@pytest.mark.parametrize(("offline", "mode"), [(True, "offline"), (False, None)])
def test_wandb_gets_the_configuration_and_the_figures(
    offline: bool, mode: str | None, run: LoggedRun, fakes: Callable[[str], None], calls: list[Any]
) -> None:
    fakes("wandb")
    track(LOGGERS["wandb"](entity="us", offline=offline), run, completed=False)
    begun: dict[str, Any] = {
        "project": "dragoman",
        "entity": "us",
        "mode": mode,
        "name": run.name,
        "id": run.id,
        "resume": "allow",
    }
    begun |= {"config": run.config, "reinit": "create_new", "settings": "console off"}
    assert calls == [begun, (FIGURES, 5), ("finish", {"exit_code": 1})]


def test_mlflow_gets_the_configuration_once_and_the_figures(
    run: LoggedRun, fakes: Callable[[str], None], calls: list[Any]
) -> None:
    fakes("mlflow")
    run = run._replace(config={f"key{number}": "v" * 600 for number in range(101)})
    track(LOGGERS["mlflow"](uri="http://localhost"), run, completed=False)
    figures = [("a", name, value, 5) for name, value in FIGURES.items()]
    assert [call for call in calls if call[0] != "a" or len(call) == 4] == [
        ("client", "http://localhost"),
        ("experiment", "dragoman"),
        ("create", "7", "runs/toy", {"dragoman.run": run.id}),
        *figures,
    ]
    parameters = [call[1] for call in calls if isinstance(call[1], list)]
    assert [len(part) for part in parameters] == [100, 1]
    assert parameters[0][0] == ("key0", "v" * 500)
    assert calls[-1] == ("a", "KILLED")
    calls.clear()
    track(LOGGERS["mlflow"](), run)  # resumed
    assert calls == [("client", None), ("a", "RUNNING"), *figures, ("a", "FINISHED")]


@pytest.mark.parametrize(("step", "resume"), [(0, "never"), (4, "allow")])
def test_trackio_gets_the_configuration_and_the_figures(
    step: int, resume: str, run: LoggedRun, fakes: Callable[[str], None], calls: list[Any]
) -> None:
    fakes("trackio")
    track(LOGGERS["trackio"](project="mine", space="us/mine"), run._replace(step=step))
    begun = {"project": "mine", "space_id": "us/mine", "name": run.name, "config": run.config, "resume": resume}
    assert calls == [{**begun, "embed": False}, (FIGURES, 5), ("finish", {})]


def test_the_keys_of_a_configuration_are_dotted() -> None:
    config = {"seed": 1, "data": {"train": ["a", "b"], "dev": "c"}, "search": {"kind": "beam", "size": None}}
    expected = [("seed", "1"), ("data.train", '["a", "b"]'), ("data.dev", "c"), ("search.kind", "beam")]
    assert list(flat(config)) == [*expected, ("search.size", "null")]


def test_a_run_keeps_its_id_until_another_one_begins_in_its_folder(tmp_path: Path) -> None:
    config, folder = toy.config(toy.corpus(tmp_path), tmp_path / "run", {}), RunFolder(tmp_path / "run")
    folder.path.mkdir()

    def identifier(begun: str) -> str:
        folder.mark.write_text(json.dumps({"program": "dragoman", "begun": begun}), "utf-8")
        return LoggedRun.of(folder, config, 0).id

    assert identifier("today") == identifier("today") != identifier("tomorrow")
    assert LoggedRun.of(folder, config, 3)[2:] == (folder, {**LoggedRun.of(folder, config, 3).config}, 3)
    assert LoggedRun.of(folder, config, 3).name == str(tmp_path / "run")


@pytest.mark.parametrize("kind", LOGGERS)
def test_a_missing_library_is_reported_before_anything_is_read(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, LIBRARIES[kind], None)
    config = toy.config(toy.corpus(tmp_path), tmp_path / "run", {"training.loggers": kind})
    with pytest.raises(UserError) as raised:
        session.train(config, quiet=True)
    assert str(raised.value) == str(missing_library(kind, kind))
    assert not (tmp_path / "run").exists()


class Unreliable(Logger):
    """A tracker whose methods fail from a call on, and that draws a random number and prints in each."""

    def __init__(self, fails_at: str, calls: list[str]) -> None:
        self._fails_at, self._calls = fails_at, calls

    def _count(self, name: str) -> None:
        self._calls.append(name)
        sys.stdout.write(f"a line of a library {random.random()}\n")
        if name == self._fails_at:
            raise ConnectionError("no route\nto the host")

    def begin(self, run: LoggedRun) -> None:
        self._count("begin")

    def log(self, step: int, values: Mapping[str, float]) -> None:
        self._count("log")

    def end(self, completed: bool) -> None:
        self._count("end")


@pytest.mark.parametrize("fails_at", ["begin", "log", "end"])
def test_a_tracker_that_fails_is_left_out_with_a_warning(
    fails_at: str, run: LoggedRun, capsys: pytest.CaptureFixture[str]
) -> None:
    calls: list[str] = []
    sound: list[str] = []
    warnings: list[str] = []
    random.seed(5)
    expected = random.random()
    random.seed(5)
    group = LoggerGroup([("wandb", Unreliable(fails_at, calls)), ("mlflow", Unreliable("", sound))], warnings.append)
    group.begin(run)
    group.log(1, FIGURES)
    group.log(2, FIGURES)
    group.end(completed=True)
    group.end(completed=True)
    whole = ["begin", "log", "log", "end"]
    assert (calls, sound) == (whole[: whole.index(fails_at) + 1], whole)
    assert warnings == [
        "training.loggers: wandb failed and gets no more figures (no route); metrics.jsonl has them all"
    ]
    assert random.random() == expected
    output = capsys.readouterr()
    assert output.out == ""
    assert "a line of a library" in output.err


def test_a_training_logs_all_its_rows_and_goes_on_without_a_tracker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also in a run of two directions, of which each has a tracker of its own."""
    rows: dict[str, list[str]] = {}
    ends: list[bool] = []

    class Recorder(Logger):
        def begin(self, run: LoggedRun) -> None:
            self.rows = rows.setdefault(run.name, [])
            assert run.config["training"]["loggers"] == ["recorder", "unreliable"]

        def log(self, step: int, values: Mapping[str, float]) -> None:
            self.rows += values

        def end(self, completed: bool) -> None:
            ends.append(completed)

    monkeypatch.setitem(LOGGERS, "recorder", Recorder)
    monkeypatch.setitem(LOGGERS, "unreliable", lambda: Unreliable("begin", []))
    options = {"training.steps": 2, "training.objective": "agreement"}
    corpus = toy.corpus(tmp_path)
    plain = session.train(toy.config(corpus, tmp_path / "plain", options))
    assert rows == {}
    options |= {"training.loggers": [Spec("recorder"), Spec("unreliable")]}
    folder = session.train(toy.config(corpus, tmp_path / "run", options))
    assert capsys.readouterr().err.count("training.loggers: unreliable failed") == 1
    assert ends == [True, True]
    for name, part in ((str(folder.path), folder), (str(folder.reverse.path), folder.reverse)):
        lines = [json.loads(line) for line in part.metrics.read_text("utf-8").splitlines()]
        assert rows[name] == [figure for line in lines for figure in line if "/" in figure and "weights" not in figure]
        assert rows[name]
    assert folder.weights().read_bytes() == plain.weights().read_bytes()


# The libraries themselves, where they are installed.


@pytest.fixture
def local(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, in which libraries write without a network."""
    place = tmp_path / "local"
    place.mkdir()
    monkeypatch.chdir(place)
    monkeypatch.setenv("TRACKIO_DIR", str(place / "trackio"))
    monkeypatch.setenv("WANDB_SILENT", "true")
    return place


def test_tensorboard_itself(run: LoggedRun) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    track(LOGGERS["tensorboard"](), run)
    events = EventAccumulator(str(run.folder.path)).Reload()
    assert {tag: [(event.step, event.value) for event in events.Scalars(tag)] for tag in FIGURES} == {
        tag: [(5, value)] for tag, value in FIGURES.items()
    }


@pytest.mark.slow
def test_wandb_itself(run: LoggedRun, local: Path) -> None:
    pytest.importorskip("wandb")
    one, two = (LOGGERS["wandb"](offline=True) for _ in range(2))
    one.begin(run)
    track(two, run._replace(name="runs/toy/reverse", id="reverse"))  # while the first one goes on
    one.log(5, FIGURES)
    one.end(completed=True)
    until = time.monotonic() + 30  # another process writes the files
    sizes = dict[str, int]()
    while time.monotonic() < until and (len(sizes) < 2 or min(sizes.values()) < 500):
        time.sleep(0.1)
        sizes = {path.name: path.stat().st_size for path in local.rglob("run-*.wandb")}
    assert sizes.keys() == {f"run-{run.id}.wandb", "run-reverse.wandb"}
    assert min(sizes.values()) >= 500


@pytest.mark.slow
def test_mlflow_itself(run: LoggedRun, local: Path) -> None:
    mlflow = pytest.importorskip("mlflow")
    pytest.importorskip("sqlalchemy")
    for completed in (False, True):  # interrupted and resumed
        track(LOGGERS["mlflow"](uri="sqlite:///mlflow.db"), run, completed=completed)
    client = mlflow.MlflowClient(tracking_uri="sqlite:///mlflow.db")
    (logged,) = client.search_runs([client.get_experiment_by_name("dragoman").experiment_id])
    assert (logged.info.run_name, logged.info.status) == (run.name, "FINISHED")
    assert (logged.data.params, logged.data.metrics) == ({"seed": "1", "data.dev": "d"}, FIGURES)
    assert client.get_metric_history(logged.info.run_id, "train/loss")[0].step == 5


@pytest.mark.slow
def test_trackio_itself(run: LoggedRun, local: Path) -> None:
    pytest.importorskip("trackio")
    storage = import_module("trackio.sqlite_storage").SQLiteStorage
    for step in (0, 4):
        track(LOGGERS["trackio"](), run._replace(step=step))
    logs = storage.get_logs("dragoman", run.name)
    assert [(row["step"], row["train/loss"]) for row in logs] == [(5, 2.5), (5, 2.5)]
