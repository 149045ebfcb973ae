"""Two processes that train together, against one that trains alone."""

import os
import socket
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.distributed as dist

from dragoman.model.weights import read_tensors
from dragoman.run.folder import RunFolder, describe_weights
from dragoman.training import session
from dragoman.training.workers import Workers
from tests import toy
from tests.training import worker

ALIKE = [name for name in worker.RUNS if name != "whole"]  # whose dropout would differ


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The toy language with a second corpus, `more`, and a run to start from, `start`."""
    folder = toy.corpus(tmp_path_factory.mktemp("corpus"))
    toy.write(folder, "more", toy.pairs(20, 4, 3))
    session.train(toy.config(folder, folder / "start", {"training.steps": 1}), quiet=True)
    return folder


@pytest.fixture(scope="module")
def together(corpus: Path, tmp_path_factory: pytest.TempPathFactory, repository: Path) -> Path:
    """The folder with the runs of `worker.RUNS` as two workers made them."""
    folder = tmp_path_factory.mktemp("together")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "tests.training.worker", str(corpus), str(folder), str(port)]
    common = {"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "OMP_NUM_THREADS": "1"}
    processes = [
        subprocess.Popen(
            command,
            cwd=repository,
            env={**os.environ, **common, "RANK": rank, "LOCAL_RANK": rank},
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in ("0", "1")
    ]
    messages = [process.communicate(timeout=240)[1] for process in processes]
    assert [process.returncode for process in processes] == [0, 0], "\n".join(messages)
    return folder


@pytest.fixture(scope="module")
def alone(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, of one worker, as far as no dropout makes them differ."""
    folder = tmp_path_factory.mktemp("alone")
    for name in ALIKE:
        session.train(worker.config(corpus, folder, name), callbacks=worker.CALLBACKS.get(name, []), quiet=True)
    return folder


def state(folder: Path) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    return read_tensors(RunFolder(folder).last_state)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.spec("D8")] * (name == "portions")) for name in ALIKE]
)
@pytest.mark.slow
def test_gradients_are_those_of_one_worker_with_the_whole_batch(name: str, together: Path, alone: Path) -> None:
    """The optimizer's first moments are sums of gradients. In `single` a worker's share of each batch is empty."""
    saved_state, wanted = state(together / name)[0], state(alone / name)[0]
    moments = [key for key in wanted if key.endswith("/exp_avg")]
    assert moments
    for key in moments:
        torch.testing.assert_close(saved_state[key], wanted[key], rtol=1e-4, atol=1e-6)
        assert wanted[key].any()


@pytest.mark.parametrize("name", ALIKE)
@pytest.mark.slow
def test_what_is_used_and_what_it_is_compared_with_are_those_of_one_worker(
    name: str, together: Path, alone: Path
) -> None:
    """The weights to use, by how they were chosen and mixed with those of the start, and the baselines."""
    runs = [RunFolder(folder / name) for folder in (together, alone)]
    (tensors, chosen), (wanted, as_alone) = (read_tensors(run.weights()) for run in runs)
    assert describe_weights(chosen) == describe_weights(as_alone)
    assert (chosen.keys() & {"init_interpolation", "worse_with_start"} != set()) == (name == "start")
    assert tensors.keys() == wanted.keys()
    for key, tensor in wanted.items():
        torch.testing.assert_close(tensors[key], tensor, rtol=1e-3, atol=1e-4)
    baselines = [run.proof["baselines"] for run in runs]
    assert baselines[0] == baselines[1]
    assert bool(baselines[0]) == (name != "noise")


@pytest.mark.parametrize("name", worker.RUNS)
@pytest.mark.slow
def test_all_workers_end_with_the_same_weights(name: str, together: Path) -> None:
    first, second = state(together / name)[0], read_tensors(together / name / "other.safetensors")[0]
    assert all(torch.equal(first[f"weights/model.{key}"], tensor) for key, tensor in second.items())


@pytest.mark.slow
def test_the_run_is_finished_once(together: Path) -> None:
    folder = RunFolder(together / "whole")
    assert state(folder.path)[1]["epoch"] == 2
    rows = folder.metrics.read_text("utf-8").splitlines()
    assert [row.count("final/loss") for row in rows] == [0, 0, 1]
    assert folder.card.is_file()


@pytest.mark.skipif(sys.platform != "linux", reason="names of threads are read from /proc")
@pytest.mark.parametrize("name", worker.RUNS)
@pytest.mark.slow
def test_a_run_that_has_ended_leaves_no_thread_of_its_connections(name: str, together: Path) -> None:
    """One that runs while the interpreter ends can abort the process: torch keeps a group for ever that exists when
    some of its modules are imported, which making an optimizer does.
    """
    assert "gloo" in (together / name / "within.txt").read_text("utf-8")
    assert "gloo" not in (together / name / "after.txt").read_text("utf-8")


@pytest.mark.slow
def test_losses_are_sums_over_all_workers(together: Path, alone: Path) -> None:
    (saved_state, wanted) = (state(folder / "single")[1] for folder in (together, alone))
    assert saved_state["loss"] == pytest.approx(wanted["loss"], rel=1e-4)
    assert saved_state["parts"] == pytest.approx(wanted["parts"], rel=1e-4)
    assert len(saved_state["parts"]) == 2
    assert saved_state["symbols"] == wanted["symbols"]


def test_shares_are_a_partition(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "3")
    shares = []
    for rank in range(3):
        monkeypatch.setenv("RANK", str(rank))
        workers = Workers()
        assert workers.leads == (rank == 0)
        shares.append(workers.shard(np.arange(7)).tolist())
    assert sorted(row for share in shares for row in share) == list(range(7))
    assert {len(share) for share in shares} == {2, 3}


def test_nobody_gives_up_while_the_leader_prepares_validates_or_finishes(monkeypatch: pytest.MonkeyPatch) -> None:
    """torch's own limit is half an hour."""
    timeouts: list[timedelta] = []
    monkeypatch.setattr(dist, "init_process_group", lambda backend, *, timeout: timeouts.append(timeout))
    monkeypatch.setattr(dist, "destroy_process_group", lambda: None)
    monkeypatch.setenv("WORLD_SIZE", "2")
    with Workers():
        assert timeouts >= [timedelta(days=1)]


def test_alone_everything_is_as_it_was() -> None:
    with Workers() as workers:
        tensor = torch.tensor([1.0, 2.0])
        workers.all_reduce([tensor])
        workers.barrier()
        assert tensor.tolist() == [1.0, 2.0]
        assert workers.broadcast("value") == "value"
        assert workers.shard(np.arange(4)).tolist() == [0, 1, 2, 3]
        assert workers.leads
