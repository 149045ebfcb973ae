"""Tables whose rows are trainings, each in its own process, some in parallel, continued where they stopped."""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from rich.console import Console

from benchmarks.prepared import Row, write
from dragoman.configuration.config import Config
from dragoman.errors import UserError
from dragoman.files.reading import read_lines
from dragoman.training import session


class Table(NamedTuple):
    """A table's module, its rows for given options, and the defaults of its options. `epochs` is None if each row has
    its own. The groups of rows in `first` are trained before the others, one group after the other. `flags` are further
    options, with their help.
    """

    module: str
    about: str
    rows: Callable[[argparse.Namespace], list[Row]]
    folder: str
    data: str
    epochs: int | None
    first: tuple[tuple[str, ...], ...] | Callable[[argparse.Namespace], tuple[tuple[str, ...], ...]] = ()
    flags: Mapping[str, str] = MappingProxyType({})


def main(
    table: Table,
    work: Callable[[Row, argparse.Namespace], None],
    show: Callable[[list[Row], argparse.Namespace], None],
    arguments: list[str] | None,
) -> int:
    """Run the command of a table: `work` trains a row and writes `result(row, options)`, `show` prints the results so
    far.
    """
    parser = argparse.ArgumentParser(prog=f"python -m {table.module}", description=table.about)
    parser.add_argument("--folder", type=Path, default=Path(table.folder), help="output folder")
    parser.add_argument("--data", type=Path, default=Path(table.data), help="folder of the corpus")
    if table.epochs:
        parser.add_argument("--epochs", type=int, default=table.epochs, help="epochs")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="only these rows")
    parser.add_argument("--workers", type=int, default=2, help="number of parallel trainings, with one thread each")
    for flag, about in table.flags.items():
        parser.add_argument(flag, action="store_true", help=about)
    parser.add_argument("--row", metavar="NAME", help=argparse.SUPPRESS)  # one of those trainings

    def run(options: argparse.Namespace, console: Console) -> int:
        rows = table.rows(options)
        names = [row.name for row in rows]
        chosen = [row for row in rows if not options.only or row.name in options.only]
        if not set(options.only or ()) <= set(names):
            raise UserError(f"--only: expected some of {'; '.join(names)}")
        if options.row:  # this process is one of the trainings
            work(next(row for row in chosen if row.name == options.row), options)
            return 0
        rest = ["--folder", str(options.folder), "--data", str(options.data)]
        rest += ["--epochs", str(options.epochs)] if table.epochs else []
        rest += [flag for flag in table.flags if vars(options)[flag.removeprefix("--").replace("-", "_")]]
        keep_options(options.folder, data=options.data, **({"epochs": options.epochs} if table.epochs else {}))
        failed = 0
        todo = [row.name for row in chosen if not result(row, options).is_file()]
        first = table.first(options) if callable(table.first) else table.first
        remaining = [name for name in todo if not any(name in group for group in first)]
        for group in (*first, remaining):
            wave = [name for name in todo if name in group]
            failed += apart(table.module, {name: ["--row", name, *rest] for name in wave}, options.workers, console)
        if done := [row for row in chosen if result(row, options).is_file()]:
            show(done, options)
        return int(failed > 0)

    return run_command(run, parser.parse_args(arguments))


def run_command(run: Callable[[argparse.Namespace, Console], int], options: argparse.Namespace) -> int:
    """Run a command, which may show its progress; a UserError is reported in a line."""
    console = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)
    try:
        return run(options, console)
    except UserError as error:
        console.print(str(error))
        return 1


def keep_options(folder: Path, **options_by_name: Any) -> None:
    """Note the options by which the rows in a folder are made; those that are None are not noted. Raises UserError if
    rows there were begun with others.
    """
    set_options = {name: value for name, value in options_by_name.items() if value is not None}
    options = {name: str(value.resolve() if isinstance(value, Path) else value) for name, value in set_options.items()}
    path = folder / "options.json"
    if not path.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        write(path, [json.dumps(options)])
        return
    before = json.loads("\n".join(read_lines(path)))
    if changed := [f"--{name} {before[name]}" for name in options if before.get(name, options[name]) != options[name]]:
        raise UserError(f"{folder}: was begun with {' '.join(changed)}; choose another --folder, or remove it")


def result(row: Row, options: argparse.Namespace) -> Path:
    """Return the path of a row's result."""
    path: Path = options.folder / f"{row.slug}.json"
    return path


def trained(row: Row, config: Config, options: argparse.Namespace) -> tuple[Path, float]:
    """Train a row. Return its run folder and the minutes of processor time, those of interrupted trainings included."""
    spent: Path = options.folder / f"{row.slug}.minutes"
    minutes = float(next(read_lines(spent))) if spent.is_file() else 0.0
    began = time.process_time()
    try:
        run = session.train(config, quiet=True)
    finally:
        minutes += (time.process_time() - began) / 60
        write(spent, [str(minutes)])
    return run.path, minutes


def markdown(*lines: Iterable[str]) -> None:
    """Print a table as Markdown, starting with its header."""
    shown = Console(width=200, highlight=False, markup=False, soft_wrap=True)
    for number, line in enumerate(lines):
        cells = list(line)
        shown.print("| " + " | ".join(cells) + " |")
        if not number:
            shown.print("|" + "---|" * len(cells))


def apart(module: str, tasks: Mapping[str, Sequence[str]], workers: int, console: Console) -> int:
    """Run `python -m MODULE ARGUMENTS` for each task, `workers` at a time; report which is done or why it failed, and
    return the number of failures.
    """

    def work(task: str) -> bool:
        command = [sys.executable, "-m", module, *tasks[task]]
        done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
        errors = done.stderr.strip().splitlines()
        console.print(f"{task}: failed: {errors[-1] if errors else ''}" if done.returncode else task)
        return done.returncode != 0

    with ThreadPoolExecutor(workers) as pool:
        return sum(pool.map(work, tasks))
