"""Two commits side by side: rounds in turns, ratios, rows that are measured again, and the exit status."""

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from benchmarks import provenance, speed_guard
from benchmarks.guard_worker import Jobs
from benchmarks.speed_guard import Row, Worker, main, measure, parsed


class Commit:
    """Answers with these seconds, round after round, and notes who was asked when."""

    def __init__(self, name: str, seconds: Sequence[float | str], log: list[str]) -> None:
        self.name = name
        self.jobs = ["one", "two"]
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


def test_rounds_are_in_turns_and_the_first_one_warms_up() -> None:
    log: list[str] = []
    row = Row("one")
    measure(row, Commit("a", [9.0, 1.0, 2.0, 3.0], log), Commit("b", [9.0, 4.0, 5.0, 6.0], log), 2)  # type: ignore[arg-type]
    assert log == ["a", "b"] * 3
    assert (row.these, row.other) == ([1.0, 2.0], [4.0, 5.0])


def test_a_job_that_a_commit_cannot_do_is_named_and_does_not_count() -> None:
    row = Row("one")
    measure(row, Commit("a", [1.0], []), Commit("b", ["no such command"], []), 3)  # type: ignore[arg-type]
    assert row.failed == "the other commit: no such command"
    assert not row.slower


@pytest.mark.parametrize(("later", "status"), [(1.0, 0), (2.0, 1)])
def test_the_status_is_1_for_a_row_that_stays_slower(
    later: float, status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A round that was slow by chance is outvoted when its row is measured again."""
    seconds = {"checkout": [1.0] * 99, "here": [1.0, 2.0, *[later] * 99]}
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
    assert main(["--against", "HEAD", "--rounds", "1", "--only", "on", "e", "--json", str(file)]) == status
    output = capsys.readouterr()
    assert "1a2b3c4" in output.out
    assert "two" not in output.err
    (row,) = provenance.read(file)["rows"]
    assert (row["job"], row["these"], len(row["other"])) == ("one", [2.0, later, later], 3)
    assert log[-2:] == ["here closed", "checkout closed"]


def test_an_unknown_commit_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--against", "no-such-commit"]) == 1
    assert capsys.readouterr().err.count("\n") == 1


def test_rounds_are_at_least_one() -> None:
    with pytest.raises(SystemExit) as raised:
        parsed(["--against", "HEAD", "--rounds", "0"])
    assert raised.value.code == 2


@pytest.mark.slow
def test_a_worker_does_its_jobs(tmp_path: Path, repository: Path) -> None:
    """The least of each kind, with the code of this checkout; one that cannot be done is answered, too."""
    with (tmp_path / "errors").open("w+") as errors:
        worker = Worker(repository, tmp_path, 0.002, min(os.sched_getaffinity(0)), errors)
        assert worker.jobs == list(Jobs(tmp_path, 1.0).by_name)
        assert len(worker.jobs) == 30
        for job in ("small, .po of 2,000 strings", "small, service with 8 clients"):
            answer = worker.round(job)
            assert answer.get("seconds", 0.0) > 0, json.dumps(answer)
        assert "KeyError" in worker.round("another")["failed"]
        worker.close()
