"""Cost of a short command on a machine that is busy: `python -m benchmarks.busy`.

A command translates some lines beside processes that do nothing but count, in three ways: as before (every step with a
thread for each core, which wait for each other by the default of OpenMP's runtime), as it is now, and as it is now on
one core. Wall and processor seconds are those of the whole process, medians over rounds, each of which runs every way
once.

The fair share: with `n` cores and `k` busy processes, a command that alone takes `w` seconds of wall time and `c` of
processor time has `p = c / w` running threads on average. If `k + p > n`, a fair scheduler gives each thread `n / (k +
p)` of a core, so that the command takes `w * max(1, (k + p) / n)`. `w` and `c` are those of the command as it is now,
alone.

Then training, with two threads and no busy processes, by the way in which threads wait for each other: in turns,
medians of target tokens per wall second. This needs a machine that does nothing else.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from rich.console import Console

from benchmarks import corpus
from benchmarks.__main__ import TINY
from benchmarks.architecture import Sizes
from benchmarks.contest import ROOT, Contender, Figures, measure
from benchmarks.jobs import Job
from dragoman import demo, threads
from dragoman.training import checks, session

WAITS: Mapping[str, dict[str, str]] = {
    "short": threads.WAITING,
    "none": dict.fromkeys(threads.WAITING, "0"),
    "the runtime's own": {"GOMP_SPINCOUNT": "300000", "KMP_BLOCKTIME": "200"},
}
BEFORE = "from dragoman import cli, devices; devices.SMALL = 0; cli.main()"
ONE_CORE = "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}); from dragoman import cli; cli.main()"
COUNTING = "import time\nend = time.monotonic() + 3600\nwhile time.monotonic() < end: pass"


class Way(NamedTuple):
    """A way to run the command: arguments of Python before those of the command, and environment variables."""

    program: Sequence[str]
    options: Sequence[str]
    environment: dict[str, str]


class Seconds(NamedTuple):
    """Wall and processor time of a process."""

    wall: float
    processor: float


def ways() -> dict[str, Way]:
    """Return the ways by name. Not every system lets a process choose its cores."""
    ways_by_name = {
        "before": Way(("-c", BEFORE), ("--threads", str(threads.cores())), WAITS["the runtime's own"]),
        "now": Way(("-m", "dragoman"), (), WAITS["short"]),
    }
    if hasattr(os, "sched_setaffinity"):
        ways_by_name["now, one core"] = Way(("-c", ONE_CORE), (), WAITS["short"])
    return ways_by_name


def fair(alone: Seconds, busy: int, cores: int) -> float:
    """Return the wall seconds of a fair share."""
    return alone.wall * max(1.0, (busy + alone.processor / alone.wall) / cores)


@contextmanager
def counting(count: int) -> Iterator[None]:
    """Run `count` busy processes in the meantime."""
    with ExitStack() as stack:
        for _ in range(count):
            process = stack.enter_context(subprocess.Popen([sys.executable, "-c", COUNTING]))
            stack.callback(process.kill)
        yield


def timed(way: Way, words: Sequence[str]) -> Seconds:
    """Run the command and return its times."""
    environment = {name: text for name, text in os.environ.items() if name != "OMP_NUM_THREADS"}
    spent, began = _children(), time.perf_counter()
    subprocess.run(
        [sys.executable, *way.program, *words, *way.options],
        cwd=ROOT,
        env=environment | way.environment,
        stdout=subprocess.DEVNULL,
        check=True,
    )
    return Seconds(time.perf_counter() - began, _children() - spent)


def _children() -> float:
    """Return the processor seconds of child processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def command(folder: Path, lines: int, *, tiny: bool) -> list[str]:
    """Return a command that translates some lines of the phrasebook with a briefly trained run, which is made in
    `folder`.
    """
    texts, run = folder / "corpus", folder / "run"
    path = demo.write_config(texts, run)
    demo.write_corpus(texts, {"train": 500 if tiny else 3000, "dev": 8, "test": lines})
    sizes = {"model.encoder.size": "8", "model.decoder.size": "8"} if tiny else {}
    session.train(checks.load_config(path, {"training.epochs": "1", **sizes}), quiet=True)
    return ["translate", str(run), str(texts / f"test.{demo.SOURCE}")]


def beside(words: Sequence[str], loads: Sequence[int], rounds: int) -> Iterator[str]:
    """Yield a row of the table for each way and number of busy processes."""
    seconds_by_key: dict[tuple[int, str], list[Seconds]] = {}
    for _ in range(rounds):
        for busy in loads:
            with counting(busy):
                for name, way in ways().items():
                    seconds_by_key.setdefault((busy, name), []).append(timed(way, words))
    medians = {key: Seconds(*map(statistics.median, zip(*times, strict=True))) for key, times in seconds_by_key.items()}
    yield f"| busy processes, {threads.cores()} cores | way | wall, s | processor, s | of a fair share |"
    yield "|---|---|---|---|---|"
    for (busy, name), times in medians.items():
        ratio = times.wall / fair(medians[0, "now"], busy, threads.cores())
        yield f"| {busy} | {name} | {times.wall:.1f} | {times.processor:.1f} | {ratio:.1f} |"


def training(folder: Path, rounds: int, *, tiny: bool) -> Iterator[str]:
    """Yield a row of the table for each way to wait."""
    sizes = TINY if tiny else Sizes()
    corpus.prepare(None, folder, sizes, pairs=64 if tiny else 8000)
    job = Job("train", sizes.batch, 2, str(folder / "symbols"), precision="bfloat16", warm=2 if tiny else 20)
    contenders = [Contender(name, sys.executable, "benchmarks.worker", job, waits) for name, waits in WAITS.items()]
    figures_by_name = measure(contenders, rounds)
    yield "| waiting | training, tokens/s | tokens/CPU-s |"
    yield "|---|---|---|"
    for name, ways_figures in figures_by_name.items():
        figures = (
            f"{ways_figures.tokens:,.0f} | {ways_figures.tokens_cpu:,.0f}"
            if isinstance(ways_figures, Figures)
            else f"{ways_figures} |"
        )
        yield f"| {name} | {figures} |"


def parsed(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.busy", description=__doc__.partition("\n")[0])
    parser.add_argument("--lines", type=int, default=20, help="number of lines to translate")
    parser.add_argument("--busy", nargs="+", type=int, default=[1, 2, 4], help="busy processes, besides none")
    parser.add_argument("--rounds", type=int, default=3, help="number of rounds for medians")
    parser.add_argument("--works", nargs="+", choices=("translate", "train"), default=("translate", "train"))
    parser.add_argument("--tiny", action="store_true", help="use tiny models, to try this program")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> None:
    options, console = parsed(arguments), Console(highlight=False, markup=False, soft_wrap=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if "translate" in options.works:
            words = command(folder / "demo", options.lines, tiny=options.tiny)
            console.print("\n".join(beside(words, sorted({0, *options.busy}), options.rounds)) + "\n")
        if "train" in options.works:
            (folder / "training").mkdir()
            console.print("\n".join(training(folder / "training", options.rounds, tiny=options.tiny)))


if __name__ == "__main__":
    main()
