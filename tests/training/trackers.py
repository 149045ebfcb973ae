"""The libraries of trackers, with exactly the functions and arguments that are called; each call is recorded."""

import sys
from types import SimpleNamespace
from typing import Any

Calls = list[Any]


class SummaryWriter:
    """The writer of TensorBoard."""

    def __init__(self, calls: Calls, log_dir: str, *, purge_step: int) -> None:
        self._calls = calls
        calls.append(("open", log_dir, purge_step))

    def add_scalar(self, tag: str, scalar_value: float, global_step: int) -> None:
        self._calls.append((tag, scalar_value, global_step))

    def close(self) -> None:
        self._calls.append("close")


class TrackedRun:
    """A run of W&B or trackio."""

    def __init__(self, calls: Calls, options: dict[str, Any]) -> None:
        self._calls = calls
        calls.append(options)

    def log(self, data: dict[str, Any], *, step: int) -> None:
        self._calls.append((data, step))

    def finish(self, **options: Any) -> None:
        self._calls.append(("finish", options))


class MlflowClient:
    """The client of MLflow, with a server that has no experiment at first."""

    def __init__(self, calls: Calls, runs: dict[str, list[Any]], *, tracking_uri: str | None) -> None:
        self._calls, self._runs = calls, runs
        calls.append(("client", tracking_uri))

    def get_experiment_by_name(self, name: str) -> Any:
        return SimpleNamespace(experiment_id="7") if self._runs else None

    def create_experiment(self, name: str) -> str:
        self._calls.append(("experiment", name))
        return "7"

    def search_runs(self, experiment_ids: list[str], filter_string: str) -> list[Any]:
        return self._runs.get(filter_string, [])

    def create_run(self, experiment_id: str, *, run_name: str, tags: dict[str, str]) -> Any:
        self._calls.append(("create", experiment_id, run_name, tags))
        created = SimpleNamespace(info=SimpleNamespace(run_id="a"))
        self._runs[f"tags.`dragoman.run` = '{tags['dragoman.run']}'"] = [created]
        return created

    def update_run(self, run_id: str, *, status: str) -> None:
        self._calls.append((run_id, status))

    def log_batch(self, run_id: str, *, params: list[Any]) -> None:
        self._calls.append((run_id, [(param.key, param.value) for param in params]))

    def log_metric(self, run_id: str, key: str, value: float, *, step: int) -> None:
        self._calls.append((run_id, key, value, step))

    def set_terminated(self, run_id: str, status: str) -> None:
        self._calls.append((run_id, status))


def contents(calls: Calls) -> dict[str, dict[str, Any]]:
    """Return what each library has."""
    runs = dict[str, list[Any]]()

    def init(**options: Any) -> TrackedRun:
        sys.stdout.write("initialized\n")  # as trackio does
        return TrackedRun(calls, options)

    def param(key: str, value: str) -> Any:
        return SimpleNamespace(key=key, value=value)

    def client(tracking_uri: str | None = None) -> MlflowClient:
        return MlflowClient(calls, runs, tracking_uri=tracking_uri)

    def writer(log_dir: str, *, purge_step: int) -> SummaryWriter:
        return SummaryWriter(calls, log_dir, purge_step=purge_step)

    return {
        "tensorboard": {"SummaryWriter": writer},
        "wandb": {"init": init, "Settings": lambda *, console: f"console {console}"},
        "mlflow": {"MlflowClient": client, "entities": SimpleNamespace(Param=param)},
        "trackio": {"init": init},
    }
