"""The number of threads of this process, how they wait for each other, and its rank among torchrun's processes.

This module does not import torch, since how threads wait must be set before torch is imported.
"""

import math
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

MOST_THREADS = 1024  # largest number that can be requested

# Between two matrix products, OpenMP's threads wait for the next one in a busy loop that occupies a whole core: libgomp
# (torch on Linux) for milliseconds, the runtime of LLVM and Intel (elsewhere) for 200 of them. If other processes need
# the core, the loop can block the very thread that it waits for. 10,000 iterations take 200 to 500 microseconds: for a
# longer wait it is better to sleep. The other runtime counts whole milliseconds.
WAITING = {"GOMP_SPINCOUNT": "10000", "KMP_BLOCKTIME": "1"}

_QUOTA = ("cpu.max", "cpu.cfs_quota_us", "cpu.cfs_period_us")  # of control groups, version 2; version 1 (two files)
_requested_count = ContextVar("_requested_count", default=0)  # the number that the running command requests; 0 = none


def wait_briefly() -> None:
    """Make OpenMP's threads sleep instead of waiting long in a loop, unless the user has set how they wait. Call this
    before torch is imported: the runtime reads the setting when it is loaded.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        for variable, length in WAITING.items():
            os.environ.setdefault(variable, length)


@contextmanager
def override_count(count: int) -> Iterator[None]:
    """Use `count` threads inside the block, whatever the configuration says (for a command's `--threads`)."""
    before = _requested_count.set(count)
    try:
        yield
    finally:
        _requested_count.reset(before)


def decide(configured: int, workers: int) -> int:
    """The number of threads for this process, one of `workers` on this machine; `configured` is 0 if not set.

    In order of precedence: the command's `--threads`, the configuration, OMP_NUM_THREADS, an equal share of the cores.
    """
    return _requested_count.get() or configured or _from_environment(workers) or max(1, cores() // workers)


def _from_environment(workers: int) -> int:
    """The first number in OMP_NUM_THREADS (such as `4` or `4,2`); 0 if it is not set or malformed, which OpenMP's
    runtime reports itself. With several workers 1 is ignored, since torchrun sets it if the user has set nothing.
    """
    match = re.fullmatch(r"\s*(\d{1,9})\s*(,\s*\d+\s*)*", os.environ.get("OMP_NUM_THREADS", ""), re.ASCII)
    count = min(int(match[1]), MOST_THREADS) if match else 0
    return 0 if workers > 1 and count == 1 else count


def cores(root: Path = Path("/")) -> int:
    """The number of cores that this process may use, limited by its affinity (on systems that report it) and by the
    quota of its container.
    """
    mine = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, math.ceil(min(mine, *_quotas(root), math.inf)))


def _quotas(root: Path) -> Iterator[float]:
    """Yield the quotas, in seconds of processor time per second, of this process's control groups and their parents."""
    for line in _read(root / "proc/self/cgroup").splitlines():
        controllers, _, path = line.partition(":")[2].partition(":")
        if controllers and "cpu" not in controllers.split(","):
            continue
        top = root / "sys/fs/cgroup" / ("cpu" if controllers else "")
        group = top / path.strip("/")  # in a container, this may be a path that exists only outside
        yield from (_quota(parent) for parent in (group, *group.parents) if parent.is_relative_to(top))


def _quota(group: Path) -> float:
    values = " ".join(_read(group / name) for name in _QUOTA).split()
    try:
        time, period = map(int, values)
    except ValueError:  # `max`, or no files
        return math.inf
    return time / period if time > 0 and period > 0 else math.inf


def _read(path: Path) -> str:
    try:
        return os.fsdecode(path.read_bytes())
    except OSError:
        return ""


@dataclass(frozen=True)
class Process:
    """The rank of this process among those that torchrun started, on all machines and on this one, and their numbers. A
    process that torchrun did not start is the only one.
    """

    rank: int
    count: int
    local_rank: int
    local_count: int

    @property
    def leads(self) -> bool:
        """Whether this is the first of all processes."""
        return self.rank == 0


def process() -> Process:
    """This process, from the environment variables that torchrun sets."""
    names = {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1"}
    return Process(*(int(os.environ.get(name, alone)) for name, alone in names.items()))
