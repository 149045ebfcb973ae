"""Logging during training: metrics.jsonl, experiment trackers, and a progress bar, or lines, on stderr; in a notebook
a bar below the cell.
"""

import json
import math
import time
from datetime import timedelta
from importlib import import_module
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from dragoman.configuration.config import Config
from dragoman.errors import UserError
from dragoman.files.reading import read_lines
from dragoman.files.writing import write_atomically
from dragoman.run.folder import RunFolder
from dragoman.text.normalizer import printable
from dragoman.training.loggers import LoggedRun, LoggerGroup
from dragoman.training.progress import Progress

EVERY = 30.0  # seconds between two lines of progress where there is no bar
REFRESH = 0.5  # seconds between two updates of the bar in a notebook


class ProgressLines:
    """Lines of progress for a log file, which has no progress bar."""

    def __init__(self, begun: int, steps: int, interval: float = EVERY) -> None:
        self._begun, self._steps, self._interval = begun, steps, interval
        self._since = self._printed = time.monotonic()
        self._loss, self._symbols, self._counted = math.nan, 0.0, 0.0

    def advance(self, progress: Progress) -> str:
        """Count a step. Return a line if the last one is old enough, otherwise nothing."""
        # The sums begin again at 0 after each row of metrics.
        more = progress.target_symbols - self._counted
        self._symbols += more if more >= 0 else progress.target_symbols
        self._counted = progress.target_symbols
        if progress.symbols:
            self._loss = progress.loss / progress.symbols
        now = time.monotonic()
        if now - self._printed < self._interval:
            return ""
        speed, left = self._symbols / (now - self._printed), max(0, self._steps - progress.step)
        seconds = left * (now - self._since) / max(1, progress.step - self._begun)
        self._printed, self._symbols = now, 0.0
        return (
            f"step {progress.step:>7,} of {self._steps:,}  epoch {progress.epochs_begun}  loss {self._loss:.4g}  "
            f"{speed:,.0f} symbols/s  {timedelta(seconds=round(seconds))} left"
        )


class NotebookBar:
    """A progress bar in the output of a notebook's cell, which is updated in place and needs no widgets."""

    def __init__(self, begun: int, steps: int) -> None:
        self._lines, self._steps = ProgressLines(begun, steps, REFRESH), steps
        # A notebook has IPython; the bundle is what every front end shows, as text where it shows no HTML.
        display = import_module("IPython.display").display
        self._handle = display(self._bundle(begun, f"step {begun:,} of {steps:,}"), raw=True, display_id=True)

    def advance(self, progress: Progress) -> None:
        """Count a step, and update the bar now and then."""
        if line := self._lines.advance(progress):
            self._handle.update(self._bundle(progress.step, line), raw=True)

    def end(self, progress: Progress) -> None:
        """Show where training ended."""
        line = f"step {progress.step:,} of {self._steps:,}  epoch {progress.epochs_begun}"
        self._handle.update(self._bundle(progress.step, line), raw=True)

    def _bundle(self, step: int, line: str) -> dict[str, str]:
        bar = f'<progress value="{step}" max="{max(1, self._steps)}"></progress>'
        return {"text/plain": line, "text/html": f"<pre>{bar} {line.strip()}</pre>"}


class TrainingLog:
    """Rows of numbers by step. A resumed run first drops the rows written after the state that it resumes from."""

    def __init__(self, folder: RunFolder, *, quiet: bool = False) -> None:
        self.folder = folder
        self.console = Console(stderr=True, quiet=quiet)
        self._bar = Bar(
            TextColumn("epoch {task.fields[epoch]}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("loss {task.fields[loss]}  {task.fields[speed]} symbols/s"),
            TimeRemainingColumn(compact=True),
            console=self.console,
            transient=True,
        )
        self._task: TaskID | None = None
        self._lines: ProgressLines | None = None
        self._notebook: NotebookBar | None = None
        self._last: Progress | None = None
        self._loggers = LoggerGroup()

    def __enter__(self) -> "TrainingLog":
        return self

    def open(self, progress: Progress, steps: int, config: Config | None = None) -> None:
        """Start at this progress, of about `steps` steps in all, with the loggers of the configuration."""
        # Steps after the saved state are made again, and would stand there twice.
        kept = [row for row in self.rows() if _behind(row, progress)]
        with write_atomically(self.folder.metrics) as file:
            file.writelines(json.dumps(row) + "\n" for row in kept)
        if config is not None:
            self._loggers = LoggerGroup.of(config, self.say)
            self._loggers.begin(LoggedRun.of(self.folder, config, progress.step))
        if self.console.quiet:
            pass
        elif self.console.is_jupyter:
            self._notebook = NotebookBar(progress.step, steps)
        elif self.console.is_interactive:
            self._bar.start()
        else:
            self._lines = ProgressLines(progress.step, steps)
        epoch = progress.epochs_begun
        self._task = self._bar.add_task("", total=steps, completed=progress.step, epoch=epoch, loss="-", speed="-")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar.live.is_started:
            self._bar.stop()
        if self._notebook and self._last:
            self._notebook.end(self._last)
        self._loggers.end(completed=kind is None)

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows of metrics.jsonl; a last line that a killed process left half-written is ignored."""
        if not self.folder.metrics.is_file():
            return []
        rows = []
        lines = list(read_lines(self.folder.metrics))
        for number, line in enumerate(lines, start=1):
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):
                if number == len(lines):
                    break
                row = None
            if not isinstance(row, dict) or not isinstance(row.get("step"), int):
                raise UserError(f"{self.folder.metrics}:{number}: not a row of metrics written by training")
            rows.append(row)
        return rows

    def step(self, progress: Progress) -> None:
        """Advance the progress bar or, where there is none, print a line now and then."""
        if self._lines and (line := self._lines.advance(progress)):
            self.say(line)
        if self._notebook:
            self._last = progress
            self._notebook.advance(progress)
        if self._task is not None:
            self._bar.update(self._task, completed=progress.step, epoch=progress.epochs_begun)

    def row(self, progress: Progress, figures: dict[str, float], weights: str = "") -> None:
        """Write figures such as train/loss or valid/bleu; values that are not finite are left out, as JSON has none.
        The final row is that of the `weights` to use.
        """
        figures = {name: value for name, value in figures.items() if math.isfinite(value)}
        head = {"step": progress.step, "epoch": progress.epochs_begun, "time": round(progress.seconds, 2)}
        try:
            with self.folder.metrics.open("a", encoding="utf-8") as file:
                file.write(json.dumps({**head, **figures, **({"final/weights": weights} if weights else {})}) + "\n")
        except OSError as error:
            raise UserError(f"{self.folder.metrics}: cannot write ({error.strerror or error})") from error
        self._loggers.log(progress.step, figures)
        if self._task is not None and "train/loss" in figures:
            speed = f"{figures['train/symbols_per_second']:,.0f}"
            self._bar.update(self._task, loss=f"{figures['train/loss']:.4g}", speed=speed)

    def say(self, message: str) -> None:
        """Print a line for the user."""
        self.console.print(printable(message), highlight=False, markup=False, soft_wrap=True)


class NullLog(TrainingLog):
    """The journal of a worker that does not lead: it writes and prints nothing."""

    def __init__(self, folder: RunFolder) -> None:
        super().__init__(folder, quiet=True)

    def open(self, progress: Progress, steps: int, config: Config | None = None) -> None:
        return

    def row(self, progress: Progress, figures: dict[str, float], weights: str = "") -> None:
        return


def _behind(row: dict[str, Any], progress: Progress) -> bool:
    """Return whether a row was written before this state; later rows will be written again."""
    if "final/loss" in row:
        return False
    return bool(row["step"] <= (progress.last_validation if "valid/loss" in row else progress.step))
