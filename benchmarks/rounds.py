"""The protocol of a measured process: it warms up, reports that it is ready, and works one round for each request.

Interpreters of other toolkits import this module too, so it needs only the standard library. Answers are written to
standard output; everything else that the process prints goes to standard error.
"""

import json
import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn


class Rounds:
    """Answers to the measuring process: a line `{}` when ready, then one with the figures of each round."""

    def __init__(self, peak: Callable[[], int] | None = None) -> None:
        """`peak` returns the peak memory so far in bytes; by default, that of this process."""
        self._answers = os.fdopen(os.dup(1), "w")
        os.dup2(2, 1)
        self._peak = peak or peak_memory
        self._amounts = {"tokens": 0, "sentences": 0}
        self._began = (0.0, 0.0)

    def wait(self) -> None:
        """Wait for the next round: return when one is requested, and end the process when no more are."""
        self._answer({})
        self._begin()

    def count(self, tokens: int, sentences: int) -> None:
        """Count an update or a batch of a round."""
        for name, amount in zip(self._amounts, (tokens, sentences), strict=True):
            self._amounts[name] += amount

    def end(self) -> None:
        """End a round: report its figures, and start the next one when it is requested."""
        wall, cpu = (now - before for now, before in zip(_now(), self._began, strict=True))
        self._answer({**self._amounts, "seconds": wall, "cpu_seconds": cpu, "peak": self._peak()})
        self._begin()

    def repeat(self, work: Callable[[], None]) -> NoReturn:
        """Run `work`, which calls `count`, once to warm up and then once for each round requested."""
        work()
        self.wait()
        while True:
            work()
            self.end()

    def _begin(self) -> None:
        if not sys.stdin.readline():
            raise SystemExit
        self._amounts = dict.fromkeys(self._amounts, 0)
        self._began = _now()

    def _answer(self, answer: dict[str, float]) -> None:
        print(json.dumps(answer), file=self._answers, flush=True)


class Updates:
    """Rounds of `updates` updates in the training loop of another toolkit, after the first `warm` updates."""

    def __init__(self, rounds: Rounds, warm: int, count: int) -> None:
        self._rounds = rounds
        self._left = warm
        self._updates = count
        self._warm = True

    def done(self, tokens: int, sentences: int) -> None:
        """Call this after each update with its target tokens (end symbols included)."""
        self._left -= 1
        if not self._warm:
            self._rounds.count(tokens, sentences)
        if self._left == 0:
            (self._rounds.wait if self._warm else self._rounds.end)()
            self._warm, self._left = False, self._updates


def _now() -> tuple[float, float]:
    """Return wall seconds, and processor seconds of all threads of this process."""
    return time.perf_counter(), time.process_time()


def peak_memory() -> int:
    """Return the peak memory of this process in bytes."""
    try:  # getrusage includes what the parent held when it started this process
        status = Path("/proc/self/status").read_text(encoding="ascii")
        return int(status.split("VmHWM:")[1].split()[0]) * 1024
    except (OSError, IndexError):
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
