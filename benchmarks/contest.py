"""Processes measured side by side: one round of each in turn, so that a slower machine slows all of them."""

import json
import os
import statistics
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from benchmarks.jobs import Job

ROOT = Path(__file__).resolve().parent.parent
PATIENCE = 20  # seconds that a process has to end when asked to
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")


@dataclass(frozen=True)
class Contender:
    """A program that does a job: its name, and the interpreter and module that speak the protocol of `rounds.py`."""

    name: str
    python: str
    module: str
    job: Job
    environment: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Figures:
    """Medians over rounds: target tokens (ends included) and sentences per wall second and per processor second; peak
    memory in bytes.
    """

    tokens: float
    tokens_cpu: float
    sentences: float
    sentences_cpu: float
    peak: int

    @classmethod
    def of(cls, rounds: Sequence[dict[str, float]]) -> "Figures":
        """Return the figures of the rounds that `Rounds.end` reported."""

        def rate(amount: str, seconds: str) -> float:
            return statistics.median(round_figures[amount] / round_figures[seconds] for round_figures in rounds)

        return cls(
            rate("tokens", "seconds"),
            rate("tokens", "cpu_seconds"),
            rate("sentences", "seconds"),
            rate("sentences", "cpu_seconds"),
            int(max(round_figures["peak"] for round_figures in rounds)),
        )


class ContenderFailedError(Exception):
    """The process of a contender ended by itself; the message is the last line of its output."""


class Process:
    """A running contender."""

    def __init__(self, contender: Contender, errors: IO[str]) -> None:
        """`errors` is an empty file for its standard error."""
        self._errors = errors
        threads = dict.fromkeys(THREADS, str(contender.job.threads))
        self._process = subprocess.Popen(
            [contender.python, "-W", "ignore", "-m", contender.module, str(contender.job)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            cwd=ROOT,
            env=os.environ | threads | contender.environment,
        )

    def answer(self) -> dict[str, float]:
        """Return its next answer: empty when it is ready for its first round, then the figures of a round."""
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            self._errors.seek(0)
            error_lines = self._errors.read().strip().splitlines()
            raise ContenderFailedError(error_lines[-1] if error_lines else f"exit status {self._process.wait()}")
        answer: dict[str, float] = json.loads(line)
        return answer

    def round(self) -> dict[str, float]:
        """Run one more round and return its figures."""
        assert self._process.stdin
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return self.answer()

    def close(self) -> None:
        """Ask the process to end, and make sure that it does."""
        try:
            self._process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()


def measure(contenders: Sequence[Contender], rounds: int) -> dict[str, Figures | str]:
    """Return the figures of each contender by name, or why there are none. They warm up one after another."""
    rounds_of: dict[str, list[dict[str, float]]] = {}
    failed: dict[str, str] = {}
    with ExitStack() as stack:
        ready: dict[str, Process] = {}
        for contender in contenders:
            errors = stack.enter_context(tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace"))
            process = Process(contender, errors)
            stack.callback(process.close)
            try:
                process.answer()
                ready[contender.name], rounds_of[contender.name] = process, []
            except ContenderFailedError as error:
                failed[contender.name] = str(error)
        for _ in range(rounds):
            for name, process in ready.items():
                if name not in failed:
                    try:
                        rounds_of[name].append(process.round())
                    except (ContenderFailedError, BrokenPipeError) as error:
                        failed[name] = str(error)
    return {
        contender.name: failed[contender.name] if contender.name in failed else Figures.of(rounds_of[contender.name])
        for contender in contenders
    }
