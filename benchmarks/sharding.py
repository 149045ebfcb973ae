"""What a second worker of `translate --shards` is worth: `make sharding-table` (extra `ray`).

A run from English to French (`--run`, such as that of `dragoman demo`) translates sentences of the phrasebook by greedy
search with one worker, with two, and with two of which one is killed as soon as there is a shard. The outputs have to
be the same to the last byte, or the status is 1. Seconds are those of the whole command, with what Ray needs to start.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console

from benchmarks.prepared import write
from benchmarks.trainings import markdown, run_command
from dragoman.errors import UserError
from phrasebook import corpus

WORKER = "ray::MapWorker"
OURS = "RAY_ADDRESS"  # names a cluster that is not of this machine alone


def translated(
    run: Path, source: Path, output: Path, options: argparse.Namespace, workers: int, *, kill: bool
) -> float:
    """Translate a file with this many workers. Return the seconds that it took."""
    command = [sys.executable, "-m", "dragoman", "translate", str(run), str(source), "-o", str(output)]
    command += ["--search", "greedy", "--shards", str(options.shards), "--workers", str(workers), "--threads", "1"]
    environment = {name: value for name, value in os.environ.items() if name != OURS}
    began = time.monotonic()
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        if kill:
            killed(process, Path(f"{output}.shards"))
        assert process.stderr
        errors = process.stderr.read()
    if process.returncode:
        raise UserError(errors.strip())
    return time.monotonic() - began


def killed(process: subprocess.Popen[str], folder: Path) -> None:
    """Kill a worker as soon as there is a shard."""
    while not list(folder.glob("0*")):
        if process.poll() is not None:
            return  # it tells why
        time.sleep(0.1)
    there = workers(process.pid)
    if not there:
        raise UserError("all was translated before a worker could be killed; use more --lines")
    os.kill(there[0], signal.SIGKILL)


def workers(above: int) -> list[int]:
    """Return the workers that a process has started, as Linux tells."""
    parents: dict[int, int] = {}
    worker_ids: list[int] = []
    for process_folder in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(process_folder.name)] = int((process_folder / "stat").read_text().rpartition(")")[2].split()[1])
            if (process_folder / "cmdline").read_text().startswith(WORKER):
                worker_ids.append(int(process_folder.name))
        except OSError:
            continue  # it has ended

    def below(process: int) -> bool:
        return process == above or (process in parents and below(parents[process]))

    return sorted(filter(below, worker_ids))


def run(options: argparse.Namespace, console: Console) -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = folder / "many.en"
        write(source, (sample.english.text for sample in corpus.sample(options.lines, 3, "train")))
        lines, whole, first = list[tuple[str, ...]](), b"", 0.0
        for count, kill in ((1, False), (2, False), (2, True)):
            output = folder / f"{count}.{kill}.fr"
            seconds = translated(options.run, source, output, options, count, kill=kill)
            whole, first = whole or output.read_bytes(), first or seconds
            same = "yes" if output.read_bytes() == whole else "NO"
            lines.append((f"{count}{', one killed' if kill else ''}", f"{seconds:.0f}", f"{first / seconds:.2f}", same))
            console.print(lines[-1])
    markdown(("workers", "seconds", "times as fast", "same output"), *lines)
    return int(any(line[-1] == "NO" for line in lines))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sharding", description=__doc__)
    parser.add_argument("--run", type=Path, required=True, help="run folder")
    parser.add_argument("--lines", type=int, default=200_000)
    parser.add_argument("--shards", type=int, default=40)
    return run_command(run, parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main())
