"""Two commits side by side: rounds in turns, ratios, rows that are measured again, and the exit status."""

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks import provenance, speed_guard
from benchmarks.guard_worker import Jobs
from benchmarks.speed_guard import WORKER, Row, Worker, checkout, knows_keys, main, measure, parsed
from dragoman.errors import UserError


class Commit:
    """Answers with these seconds, round after round, and notes who was asked when."""

    def __init__(self, name: str, seconds: Sequence[float | str], log: list[str]) -> None:
        self.name = name
        self.jobs = ["one"] if name == "checkout" else ["one", "two"]
        self._seconds = iter(seconds)
        self._log = log

    def round(self, job: str) -> dict[str, Any]:
        self._log.append(self.name)
        seconds = next(self._seconds)
        return {"failed": seconds} if isinstance(seconds, str) else {"seconds": seconds}

    def close(self) -> None:
        self._log.append(f"{self.name} closed")


def test_a_ratio_is_the_median_of_the_ratios_of_rounds() -> None:
    row = Row("job", [1.0, 2.0, 4.0], [2.0, 2.0, 2.0])
    assert row.ratio == 1.0
    assert not row.slower
    assert Row("job", [1.0], [0.949]).slower
    assert not Row("job", [1.0], [0.951]).slower
    assert Row("job", failed="no such command").ratio is None


def pair(*commits: Commit) -> dict[str, Worker]:
    """These commits, in the order in which they are asked."""
    names = {"a": "this commit", "b": "the other commit"}
    return {names[commit.name]: commit for commit in commits}  # type: ignore[misc]


def test_pairs_take_turns_in_either_order_and_their_first_rounds_warm_up() -> None:
    log: list[str] = []
    row = Row("one")
    first = pair(Commit("a", [9.0, 1.0, 2.0], log), Commit("b", [9.0, 4.0, 5.0], log))
    second = pair(Commit("b", [9.0, 7.0, 8.0], log), Commit("a", [9.0, 3.0, 6.0], log))
    measure(row, [first, second], 4)
    assert log == ["a", "b", "b", "a"] * 3
    assert (row.these, row.other) == ([1.0, 3.0, 2.0, 6.0], [4.0, 7.0, 5.0, 8.0])


def test_the_order_of_a_pair_cancels_out() -> None:
    """The process that comes first is faster by a tenth in every round, and the commits are equally fast."""
    row = Row("one")
    pairs = [pair(Commit("a", [0.9] * 3, []), Commit("b", [1.0] * 3, []))]
    pairs.append(pair(Commit("b", [0.9] * 3, []), Commit("a", [1.0] * 3, [])))
    measure(row, pairs, 4)
    assert row.ratio == pytest.approx(1.0, abs=0.01)


def test_a_job_that_a_commit_cannot_do_is_named_and_does_not_count() -> None:
    row = Row("one")
    measure(row, [pair(Commit("a", [1.0], []), Commit("b", ["no such command"], []))], 2)
    assert row.failed == "the other commit: no such command"
    assert not row.slower


@pytest.mark.parametrize(("later", "status"), [(1.0, 0), (2.0, 1)])
def test_the_status_is_1_for_a_row_that_stays_slower(
    later: float, status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A round that was slow by chance is outvoted when its row is measured again."""
    seconds = {"checkout": [1.0] * 99, "here": [1.0, 2.0, *[later] * 99]}  # of each process
    log: list[str] = []

    def worker(root: Path, *_: object) -> Commit:
        name = "checkout" if root.name == "checkout" else "here"
        return Commit(name, seconds[name], log)

    @contextmanager
    def checkout(commit: str, folder: Path) -> Iterator[Path]:
        assert commit == "HEAD"
        yield folder

    monkeypatch.setattr(speed_guard, "Worker", worker)
    monkeypatch.setattr(speed_guard, "checkout", checkout)
    monkeypatch.setattr(speed_guard, "git", lambda *words: "1a2b3c4")
    monkeypatch.setattr(provenance, "_git", lambda *words: "")
    file = tmp_path / "figures.json"
    assert main(["--against", "HEAD", "--rounds", "2", "--only", "on", "e", "--json", str(file)]) == status
    output = capsys.readouterr()
    assert "1a2b3c4" in output.out
    assert "two" not in output.err
    (row,) = provenance.read(file)["rows"]
    assert (row["job"], row["these"], len(row["other"])) == ("one", [2.0, 2.0, *[later] * 4], 6)
    assert sorted(log[-4:]) == ["checkout closed"] * 2 + ["here closed"] * 2
    assert main(["--against", "HEAD", "--rounds", "2", "--only", "two"]) == 0
    assert "two: the other commit: its worker does not know this job\n" in capsys.readouterr().err


def test_an_unknown_commit_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--against", "no-such-commit"]) == 1
    assert capsys.readouterr().err.count("\n") == 1


def test_a_gpu_that_is_not_there_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert main(["--against", "HEAD", "--device", "cuda"]) == 1
    assert capsys.readouterr().err == "--device: cuda is not available to torch\n"


def test_a_gpu_does_the_jobs_that_need_no_other_engine(tmp_path: Path) -> None:
    jobs, on_gpu = (list(Jobs(tmp_path, 1.0, device).by_name) for device in ("cpu", "cuda"))
    assert on_gpu == [job for job in jobs if ", int8, " not in job and ", onnx, " not in job]
    config = Jobs(tmp_path, 0.001, "cuda").config("GRU", tmp_path / "run", 1, "greedy")
    assert "device: {name: cuda, threads: 1}\n" in config.read_text("utf-8")


@pytest.mark.parametrize(("own", "knows", "copied"), [(False, False, True), (True, True, True), (True, False, False)])
def test_a_commit_that_knows_todays_keys_gets_todays_worker(
    own: bool, knows: bool, copied: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, repository: Path
) -> None:
    worker = tmp_path / WORKER
    worker.parent.mkdir()
    if own:
        worker.write_text("its own", "utf-8")
    monkeypatch.setattr(speed_guard, "git", lambda *words: "")
    monkeypatch.setattr(speed_guard, "knows_keys", lambda folder: knows)
    with checkout("HEAD", tmp_path) as folder:
        assert (folder / WORKER).read_text("utf-8") == (
            (repository / WORKER).read_text("utf-8") if copied else "its own"
        )


@pytest.mark.slow
def test_a_commit_knows_todays_keys_if_it_accepts_a_configuration(tmp_path: Path, repository: Path) -> None:
    assert knows_keys(repository)
    program = tmp_path / "dragoman" / "__main__.py"
    program.parent.mkdir()
    program.with_name("__init__.py").touch()
    program.write_text("raise SystemExit('model.decoder.input_feeding: unknown key')", "utf-8")
    assert not knows_keys(tmp_path)


@pytest.mark.slow
def test_an_older_worker_that_knows_no_gpu_is_one_line(tmp_path: Path) -> None:
    worker = tmp_path / WORKER
    worker.parent.mkdir()
    (worker.parent / "__init__.py").touch()  # otherwise Python prefers the package of this checkout
    worker.write_text("""print('{"jobs": []}')""", "utf-8")
    with (tmp_path / "errors").open("w+") as errors, pytest.raises(UserError, match=r"^--device: "):
        Worker(tmp_path, tmp_path, 1.0, min(os.sched_getaffinity(0)), errors, "cuda")


@pytest.mark.parametrize("rounds", ["0", "-2", "3"])
def test_rounds_are_an_even_number(rounds: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as raised:
        parsed(["--against", "HEAD", "--rounds", rounds])
    assert raised.value.code == 2
    assert capsys.readouterr().err.endswith("--rounds must be an even number, at least 2\n")


@pytest.mark.slow
def test_a_worker_does_its_jobs(tmp_path: Path, repository: Path) -> None:
    """The least of each kind, with the code of this checkout; one that cannot be done is answered, too."""
    with (tmp_path / "errors").open("w+") as errors:
        worker = Worker(repository, tmp_path, 0.002, min(os.sched_getaffinity(0)), errors)
        assert worker.jobs == list(Jobs(tmp_path, 1.0).by_name)
        assert len(worker.jobs) == 46
        for job in (
            "small, .po of 2,000 strings",
            "small, service with 8 clients",
            "SSRU, torch, greedy, batches of 1",
            "imported, int8, beam 5, batches of 64",
        ):
            answer = worker.round(job)
            assert answer.get("seconds", 0.0) > 0, json.dumps(answer)
        assert "KeyError" in worker.round("another")["failed"]
        worker.close()
