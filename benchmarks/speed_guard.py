"""Compare the speed of this commit with another one: `make speed-guard AGAINST=COMMIT`.

Processes with the code of either commit and the libraries of this environment do the same jobs in turns on one core:
training, translating with every engine, scoring, a catalogue of messages, and a service; with `--device cuda`, the
jobs that a GPU can do, in wall seconds. There are two pairs of them, which take turns: this commit comes first in one,
the other commit in the other, because a process that starts and computes first is faster by some percent. A row's
ratio is the median over rounds of the other commit's seconds divided by this commit's: above 1, this commit is faster.
A row below the bound is measured again before it counts. The exit status is 1 if a row stays below the bound.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import IO, Any

import torch
from rich.console import Console
from rich.table import Table

from benchmarks import guard_worker, provenance
from benchmarks.contest import PATIENCE, ROOT, THREADS
from dragoman.errors import UserError

BOUND = 0.95
REPEATS = 2  # of a row that is below the bound
ORDERS = (("this commit", "the other commit"), ("the other commit", "this commit"))  # of the pairs of processes
WORKER = "benchmarks/guard_worker.py"


@dataclass
class Row:
    """The seconds of each round of a job, with this commit and with the other one; or why one of them has none."""

    job: str
    these: list[float] = field(default_factory=list)
    other: list[float] = field(default_factory=list)
    failed: str = ""

    @property
    def ratio(self) -> float | None:
        """How many times as fast this commit is as the other."""
        if self.failed or not self.these:
            return None
        return statistics.median(other / this for this, other in zip(self.these, self.other, strict=True))

    @property
    def slower(self) -> bool:
        return self.ratio is not None and self.ratio < BOUND


class Worker:
    """A process with the code of one commit (see guard_worker.py)."""

    def __init__(
        self, checkout: Path, folder: Path, scale: float, core: int, errors: IO[str], device: str = "cpu"
    ) -> None:
        environment = os.environ | dict.fromkeys(THREADS, "1") | {"PYTHONPATH": str(checkout)}
        self._errors = errors
        self._process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", "benchmarks.guard_worker", str(folder), str(scale), device],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            cwd=checkout,
            env=environment,
        )
        if hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(self._process.pid, {core})
        answer = self._answer()
        if answer.get("device", "cpu") != device:  # an older worker, which would measure the processor
            self.close()
            raise UserError(f"--device: the worker of the older commit does not know {device}")
        self.jobs: list[str] = answer["jobs"]

    def round(self, job: str) -> dict[str, Any]:
        """Do a round of a job and return the answer. Raises UserError if the process has ended."""
        assert self._process.stdin
        self._process.stdin.write(f"{job}\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            self._errors.seek(0)
            *_, last = self._errors.read().strip().splitlines() or ["no message"]
            raise UserError(f"the measured process ended: {last}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        try:
            self._process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()


def parsed(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed_guard", description=__doc__)
    parser.add_argument("--against", required=True, metavar="COMMIT", help="commit to compare with")
    parser.add_argument("--rounds", type=int, default=6, help="number of rounds for medians, half of them by each pair")
    parser.add_argument("--only", nargs="+", default=[], metavar="WORD", help="only jobs with all of these words")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the work of a round")
    parser.add_argument("--device", choices=tuple(guard_worker.ENGINES), default="cpu", help="where models compute")
    parser.add_argument("--core", type=int, help="processor to compute on (default: the last one)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to this file")
    options = parser.parse_args(arguments)
    if options.rounds < 2 or options.rounds % 2:
        parser.error("--rounds must be an even number, at least 2")
    return options


@contextmanager
def checkout(commit: str, folder: Path) -> Iterator[Path]:
    """Check a commit out into a folder for the length of the block. It gets the worker of this commit, unless it has
    its own, which alone knows the keys of configurations at that time.
    """
    git("worktree", "add", "--detach", "--quiet", str(folder), commit)
    try:
        if not (folder / WORKER).is_file() or knows_keys(folder):
            shutil.copy(ROOT / WORKER, folder / WORKER)
        yield folder
    finally:
        git("worktree", "remove", "--force", str(folder))


def knows_keys(checkout: Path) -> bool:
    """Whether the code of a commit accepts the first configuration of the worker of this one."""
    with tempfile.TemporaryDirectory() as name:
        config = guard_worker.Jobs(Path(name), 0.0).config("GRU", Path(name) / "run", 1, "greedy")
        done = subprocess.run(
            [sys.executable, "-m", "dragoman", "debug", "config", str(config)],
            capture_output=True,
            check=False,
            cwd=checkout,
            env=os.environ | {"PYTHONPATH": str(checkout)},
        )
    return done.returncode == 0


def git(*words: str) -> str:
    """Return the output of git. Raises UserError if it fails."""
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise UserError(f"git {words[0]}: {done.stderr.strip().splitlines()[-1]}")
    return done.stdout.strip()


def measure(row: Row, pairs: Sequence[dict[str, Worker]], rounds: int) -> None:
    """Add rounds to a row, the pairs of processes in turns. The first round of a pair warms up and does not count."""
    warm = 0 if row.these else len(pairs)
    for number in range(warm + rounds):
        seconds = {}
        for commit, worker in pairs[number % len(pairs)].items():
            answer = worker.round(row.job)
            if "failed" in answer:
                row.failed = f"{commit}: {answer['failed']}"
                return
            seconds[commit] = answer["seconds"]
        if number >= warm:
            row.these.append(seconds["this commit"])
            row.other.append(seconds["the other commit"])


def run(options: argparse.Namespace, console: Console) -> list[Row]:
    """Measure all jobs of both commits."""
    with (
        tempfile.TemporaryDirectory() as name,
        checkout(options.against, Path(name) / "checkout") as other,
        start_workers({"this commit": ROOT, "the other commit": other}, Path(name), options) as pairs,
    ):
        jobs_here, jobs_there = (pairs[0][commit].jobs for commit in ORDERS[0])
        rows = [Row(job) for job in jobs_here if all(word in job for word in options.only)]
        for row in rows:
            if row.job in jobs_there:
                measure(row, pairs, options.rounds)
            else:
                row.failed = "the other commit: its worker does not know this job"
            for _ in range(REPEATS):
                if row.slower:
                    measure(row, pairs, options.rounds)
            console.print(_line(row), highlight=False, markup=False, soft_wrap=True)
        return rows


@contextmanager
def start_workers(
    checkouts: dict[str, Path], folder: Path, options: argparse.Namespace
) -> Iterator[list[dict[str, Worker]]]:
    """Run the pairs of processes for the length of the block; yields them by commit, in the order of their start."""
    core = max(os.sched_getaffinity(0)) if options.core is None and hasattr(os, "sched_getaffinity") else options.core
    pairs: list[dict[str, Worker]] = []
    with ExitStack() as stack:
        for order in ORDERS:
            pairs.append({})
            for commit in order:
                worker_folder = Path(tempfile.mkdtemp(dir=folder))
                errors = stack.enter_context((worker_folder / "errors").open("w+"))
                pairs[-1][commit] = Worker(
                    checkouts[commit], worker_folder, options.scale, core or 0, errors, options.device
                )
                stack.callback(pairs[-1][commit].close)
        yield pairs


def _line(row: Row) -> str:
    return f"{row.job}: {row.failed or f'{row.ratio:.2f}'}"


def table(rows: Sequence[Row], against: str, origin: provenance.Provenance) -> Table:
    """The rows as a table."""
    title = f"{origin.commit[:7]}{' with changes' if origin.changed else ''} against {against}; {origin.processor}"
    shown = Table("job", "seconds", f"{against}", "ratio", "rounds", title=title)
    for row in rows:
        if row.failed:
            shown.add_row(row.job, "", "", row.failed, "")
        else:
            seconds = [f"{statistics.median(times):.2f}" for times in (row.these, row.other)]
            shown.add_row(row.job, *seconds, f"{row.ratio:.2f}{' <' if row.slower else ''}", str(len(row.these)))
    return shown


def main(arguments: list[str] | None = None) -> int:
    options, console = parsed(arguments), Console(stderr=True)
    try:
        if options.device == "cuda" and not torch.cuda.is_available():
            raise UserError("--device: cuda is not available to torch")
        against = git("rev-parse", "--short", f"{options.against}^{{commit}}")
        rows = run(options, console)
    except UserError as error:
        console.print(str(error), highlight=False, markup=False, soft_wrap=True)
        return 1
    origin = provenance.of()
    if options.device == "cuda":
        origin = replace(origin, processor=f"{origin.processor}, {torch.cuda.get_device_name()}")
    Console(width=None if sys.stdout.isatty() else 120).print(table(rows, against, origin))
    if options.json:
        provenance.write(
            options.json, {"against": against, "device": options.device, "rows": [asdict(row) for row in rows]}, origin
        )
    return int(any(row.slower for row in rows))


if __name__ == "__main__":
    sys.exit(main())
