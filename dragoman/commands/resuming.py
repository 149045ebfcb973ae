"""Long outputs: what was written of them is not lost, and gone on behind; a terminal shows how far they are."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TypeVar

from rich.console import Console
from rich.progress import Progress, ProgressColumn, Task
from rich.text import Text

from dragoman.commands.lines import is_typed
from dragoman.data.features import FORMS
from dragoman.errors import UserError
from dragoman.files import is_special, lines_in, partial, shown

Item = TypeVar("Item")


def kept(files: Sequence[Path | None], *, resume: bool) -> int | None:
    """How many lines an earlier command, which did not end, has left of each of these files (None: standard output);
    None where the first is no file to leave any in.

    UserError where there are such lines, but not to be gone on behind, or not of all files.
    """
    beside = [path for path in files if path is not None and str(path) != "-" and not is_special(path)]
    if resume and len(beside) < len(files):
        raise UserError("--resume: goes on with files; name one with -o, and one for all else that is written")
    if not beside or beside[0] is not files[0]:
        return None
    parts = [partial(path) for path in beside]
    begun = [part for part in parts if part.exists() and part.stat().st_size]
    missing = [part for part in parts if not part.exists()]
    if begun and not resume:
        told = f"{lines_in(begun[0]):,} lines of a command that did not end"
        raise UserError(f"{begun[0]}: has {told}; go on behind them with --resume, or remove it")
    if begun and missing:
        raise UserError(f"--resume: {begun[0]} is there, but not {missing[0]}; give the options of the first time")
    return min(map(lines_in, parts)) if begun else 0


@contextmanager
def left_behind(path: Path | None, more: str) -> Iterator[None]:
    """What ends a command tells how many lines of the file were written, and `more`."""
    try:
        yield
    except (UserError, KeyboardInterrupt) as error:
        if path and (part := partial(path)).is_file() and (count := lines_in(part)):
            error.args = ("; ".join([*map(str, error.args), f"{count:,} lines are in {part}{more}"]),)
        raise


def done_before(lines: Iterator[Item], count: int, source: Path, target: Path) -> Iterator[Item]:
    """The first lines. UserError where there are not as many: something else was translated then."""
    found = 0
    for line in islice(lines, count):
        yield line
        found += 1
    if found < count:
        raise UserError(f"--resume: {partial(target)} has {count:,} lines, but {shown(source)} has {found:,}")


class _Lines(ProgressColumn):
    """Lines that are done, of how many if that is known, and how many a second."""

    def render(self, task: Task) -> Text:
        total = f" of {task.total:,.0f}" if task.total is not None else ""
        speed = f", {task.speed:,.1f} lines/s" if task.speed else ""
        return Text(f"{task.completed:,.0f}{total} lines{speed}")


@contextmanager
def progress(source: Path, target: Path | None, done: int = 0) -> Iterator[Callable[[int], None]]:
    """To be called with how many more lines are done. Standard error tells it where that is a terminal, nobody types
    the lines, and none are written there.
    """
    written = (target is not None and str(target) != "-") or not sys.stdout.isatty()
    told = sys.stderr.isatty() and written and not is_typed(source)
    with Progress(_Lines(), console=Console(stderr=True), transient=True, disable=not told) as bar:
        task = bar.add_task("", total=_count(source) if told else None, completed=done)
        yield lambda lines: bar.advance(task, lines)


def _count(source: Path) -> int | None:
    """The lines of a plain file, which are quickly counted."""
    return lines_in(source) if source.is_file() and source.suffix not in (".gz", *FORMS) else None
