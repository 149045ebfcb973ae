"""How many threads this process computes with, how they wait for each other, and which of torchrun's processes it is.
Nothing here imports torch, since how threads wait has to be settled before.
"""

import math
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

MOST_THREADS = 1024  # threads that can be asked for

# Between two products OpenMP's threads wait for the next one in a loop that takes a whole core for as long as it is not
# there: libgomp (torch on Linux) for milliseconds, the runtime of LLVM and Intel (elsewhere) for 200. Where somebody
# else needs the core, they keep it from the very thread that they wait for. 10,000 turns of the loop are 200 to 500
# microseconds: what comes later than that is worth sleeping for. The other runtime counts in whole milliseconds.
WAITING = {"GOMP_SPINCOUNT": "10000", "KMP_BLOCKTIME": "1"}

_QUOTA = ("cpu.max", "cpu.cfs_quota_us", "cpu.cfs_period_us")  # of version 2; of version 1, in two files
_asked = ContextVar("_asked", default=0)  # by the command that is running


def wait_briefly() -> None:
    """Have OpenMP's threads sleep where they would wait for long, unless the user says how they wait. The runtime
    reads it when it is loaded, which is with torch.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        for variable, length in WAITING.items():
            os.environ.setdefault(variable, length)


@contextmanager
def asked(count: int) -> Iterator[None]:
    """So many threads, whatever a configuration says, while a command runs: its `--threads`."""
    before = _asked.set(count)
    try:
        yield
    finally:
        _asked.reset(before)


def decide(configured: int, workers: int) -> int:
    """The number of threads for this process, one of so many `workers` on this machine. 0 is none `configured`."""
    return _asked.get() or configured or _from_environment(workers) or max(1, cores() // workers)


def _from_environment(workers: int) -> int:
    """The first number in OMP_NUM_THREADS, such as `4` or `4,2`; 0 where there is none (what cannot be read, OpenMP's
    runtime says itself). Torchrun sets 1 for several workers where the user has set nothing, so that is nobody's wish.
    """
    found = re.fullmatch(r"\s*(\d{1,9})\s*(,\s*\d+\s*)*", os.environ.get("OMP_NUM_THREADS", ""), re.ASCII)
    count = min(int(found[1]), MOST_THREADS) if found else 0
    return 0 if workers > 1 and count == 1 else count


def cores(root: Path = Path("/")) -> int:
    """How many this process may use: those that it may run on, or what its container has of them. Not every system
    tells the first, some only how many there are.
    """
    mine = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, math.ceil(min(mine, *_quotas(root), math.inf)))


def _quotas(root: Path) -> Iterator[float]:
    """Seconds of processor time by second of the control groups that this process is in, and of those around them."""
    for line in _read(root / "proc/self/cgroup").splitlines():
        controllers, _, path = line.partition(":")[2].partition(":")
        if controllers and "cpu" not in controllers.split(","):
            continue
        top = root / "sys/fs/cgroup" / ("cpu" if controllers else "")
        group = top / path.strip("/")  # in a container it may be told by a name that it has outside alone
        yield from (_quota(each) for each in (group, *group.parents) if each.is_relative_to(top))


def _quota(group: Path) -> float:
    told = " ".join(_read(group / name) for name in _QUOTA).split()
    try:
        time, period = map(int, told)
    except ValueError:  # `max`, or nothing
        return math.inf
    return time / period if time > 0 and period > 0 else math.inf


def _read(path: Path) -> str:
    try:
        return os.fsdecode(path.read_bytes())
    except OSError:
        return ""


@dataclass(frozen=True)
class Process:
    """This process among those that torchrun started: its number among all of them, and among those of its machine. A
    process that torchrun did not start is the only one.
    """

    rank: int
    count: int
    local_rank: int
    local_count: int

    @property
    def leads(self) -> bool:
        """It is the first of all."""
        return self.rank == 0


def process() -> Process:
    """This process."""
    names = {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1"}
    return Process(*(int(os.environ.get(name, alone)) for name, alone in names.items()))
