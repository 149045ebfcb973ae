"""Progress of a long command, shown in a terminal."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import Progress, ProgressColumn, Task
from rich.text import Text

from dragoman.cli.streams import is_watched
from dragoman.corpus.features import FORMS
from dragoman.files.writing import lines_in


class _Counts(ProgressColumn):
    """A column with what is done, such as lines, its total if known, and how many a second."""

    def __init__(self, what: str) -> None:
        super().__init__()
        self._what = what

    def render(self, task: Task) -> Text:
        total = f" of {task.total:,.0f}" if task.total is not None else ""
        speed = f", {task.speed:,.1f} {self._what}/s" if task.speed else ""
        return Text(f"{task.completed:,.0f}{total} {self._what}{speed}")


@contextmanager
def progress(source: Path, target: Path | None, done: int = 0) -> Iterator[Callable[[int], None]]:
    """Yield a function to call with the number of further lines done, which is shown if somebody watches."""
    visible = is_watched(source, target)
    with _shown(_Counts("lines"), visible, _count(source) if visible else None, done) as advance:
        yield advance


@contextmanager
def passes(total: int) -> Iterator[Callable[[], None]]:
    """Yield a function to call after each of so many passes over a corpus, during which nothing is written."""
    with _shown(_Counts("passes"), sys.stderr.isatty(), total) as advance:
        yield lambda: advance(1)


@contextmanager
def sentences(total: int) -> Iterator[Callable[[int], None]]:
    """Yield a function to call with the number of further sentences translated, before any is written."""
    with _shown(_Counts("sentences"), sys.stderr.isatty(), total) as advance:
        yield advance


@contextmanager
def _shown(column: ProgressColumn, visible: bool, total: int | None, done: int = 0) -> Iterator[Callable[[int], None]]:
    with Progress(column, console=Console(stderr=True), transient=True, disable=not visible) as bar:
        task = bar.add_task("", total=total, completed=done)
        yield lambda more: bar.advance(task, more)


def _count(source: Path) -> int | None:
    """Count the lines of a plain file, which is quick."""
    return lines_in(source) if source.is_file() and source.suffix not in (".gz", *FORMS) else None
