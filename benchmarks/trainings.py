"""Trainings in processes of their own, some at a time."""

import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from rich.console import Console


def apart(module: str, tasks: Mapping[str, Sequence[str]], workers: int, console: Console) -> None:
    """Run `python -m MODULE ARGUMENTS` for each task, so many at a time; tell which is done, or of what it failed."""

    def work(task: str) -> None:
        command = [sys.executable, "-m", module, *tasks[task]]
        done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
        said = done.stderr.strip().splitlines()
        console.print(f"{task}: failed: {said[-1] if said else ''}" if done.returncode else task)

    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(work, tasks))
