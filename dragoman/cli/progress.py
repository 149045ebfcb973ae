"""Progress of a long output, shown in a terminal."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import Progress, ProgressColumn, Task
from rich.text import Text

from dragoman.cli.streams import is_typed
from dragoman.corpus.features import FORMS
from dragoman.files import lines_in


class _Lines(ProgressColumn):
    """A column with the lines done, their total if known, and lines per second."""

    def render(self, task: Task) -> Text:
        total = f" of {task.total:,.0f}" if task.total is not None else ""
        speed = f", {task.speed:,.1f} lines/s" if task.speed else ""
        return Text(f"{task.completed:,.0f}{total} lines{speed}")


@contextmanager
def progress(source: Path, target: Path | None, done: int = 0) -> Iterator[Callable[[int], None]]:
    """Yield a function to call with the number of further lines done. Progress is shown on standard error if that is a
    terminal, nobody types the lines, and none are written there.
    """
    written = (target is not None and str(target) != "-") or not sys.stdout.isatty()
    told = sys.stderr.isatty() and written and not is_typed(source)
    with Progress(_Lines(), console=Console(stderr=True), transient=True, disable=not told) as bar:
        task = bar.add_task("", total=_count(source) if told else None, completed=done)
        yield lambda lines: bar.advance(task, lines)


def _count(source: Path) -> int | None:
    """Count the lines of a plain file, which is quick."""
    return lines_in(source) if source.is_file() and source.suffix not in (".gz", *FORMS) else None
