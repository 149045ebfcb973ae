"""What a measured process does: it warms up, says that it is ready, and works a round whenever it is asked for one.

This module is imported by the interpreters of other toolkits too and needs the standard library alone. Standard
output carries the answers; whatever else the process prints goes to standard error.
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
    """Answers the process that asks: a line `{}` when ready, then one with the figures of each round."""

    def __init__(self, peak: Callable[[], int] | None = None) -> None:
        """`peak` tells the most memory (bytes) that was in use so far; by default, of this process."""
        self._answers = os.fdopen(os.dup(1), "w")
        os.dup2(2, 1)
        self._peak = peak or peak_memory
        self._amounts = {"tokens": 0, "sentences": 0}
        self._began = (0.0, 0.0)

    def wait(self) -> None:
        """Ready for a round: returns when one is asked for, and ends the process when none is wanted any more."""
        self._answer({})
        self._begin()

    def count(self, tokens: int, sentences: int) -> None:
        """An update or a batch of a round is done."""
        for name, amount in zip(self._amounts, (tokens, sentences), strict=True):
            self._amounts[name] += amount

    def end(self) -> None:
        """The round is done: its figures go out, and the next one begins when it is asked for."""
        wall, cpu = (now - before for now, before in zip(_now(), self._began, strict=True))
        self._answer({**self._amounts, "seconds": wall, "cpu_seconds": cpu, "peak": self._peak()})
        self._begin()

    def repeat(self, work: Callable[[], None]) -> NoReturn:
        """Once to warm up, then a round of `work`, which counts what it does, whenever one is asked for."""
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

    def _answer(self, found: dict[str, float]) -> None:
        print(json.dumps(found), file=self._answers, flush=True)


class Updates:
    """Rounds of so many updates in a training loop that is somebody else's, after the first `warm` ones."""

    def __init__(self, rounds: Rounds, warm: int, each: int) -> None:
        self._rounds = rounds
        self._left = warm
        self._each = each
        self._warm = True

    def done(self, tokens: int, sentences: int) -> None:
        """To be called after each update with its target tokens (end symbols included)."""
        self._left -= 1
        if not self._warm:
            self._rounds.count(tokens, sentences)
        if self._left == 0:
            (self._rounds.wait if self._warm else self._rounds.end)()
            self._warm, self._left = False, self._each


def _now() -> tuple[float, float]:
    """Wall seconds, and processor seconds of all threads of this process."""
    return time.perf_counter(), time.process_time()


def peak_memory() -> int:
    """The most memory that this process has held, in bytes."""
    try:  # getrusage counts what the parent held when it started this process
        status = Path("/proc/self/status").read_text(encoding="ascii")
        return int(status.split("VmHWM:")[1].split()[0]) * 1024
    except (OSError, IndexError):
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
