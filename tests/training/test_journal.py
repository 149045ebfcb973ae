"""What training writes down: rows of metrics, figures for trackers, and lines for people."""

import json
import math
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from dragoman.errors import UserError
from dragoman.run.folder import RunFolder
from dragoman.training.journal import NullLog, TrainingLog
from dragoman.training.loggers import LOGGERS, LoggedRun, Logger
from dragoman.training.progress import Progress, ValidationRecord
from tests import toy

TRAIN = {"train/loss": 2.5, "train/symbols_per_second": 1000.0}
VALID = {"valid/loss": 2.0, "valid/bleu": 12.0}
FINAL = {"final/loss": 2.0, "final/bleu": 13.0}


def at(step: int, validated: int) -> Progress:
    return Progress(step=step, validations=[ValidationRecord(12.0, 2.0, validated)])


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return RunFolder(tmp_path)


def written(folder: RunFolder) -> None:
    """The rows of a run that was validated at its steps 4 and 8 and finished."""
    with TrainingLog(folder, quiet=True) as journal:
        journal.open(Progress(), 8)
        journal.row(Progress(step=2, position=2, seconds=1.234), TRAIN)
        journal.row(Progress(step=4, epoch=1, seconds=2.0), VALID)
        journal.row(Progress(step=6, epoch=1, position=2, seconds=3.0), TRAIN)
        journal.row(Progress(step=8, epoch=2, seconds=4.0), VALID)
        journal.row(Progress(step=8, epoch=2, seconds=5.0), FINAL)


def steps(folder: RunFolder) -> list[int]:
    return [json.loads(line)["step"] for line in folder.metrics.read_text("utf-8").splitlines()]


def test_a_row_has_step_epoch_and_time_before_its_figures(folder: RunFolder) -> None:
    written(folder)
    first, second = folder.metrics.read_text("utf-8").splitlines()[:2]
    assert first == '{"step": 2, "epoch": 1, "time": 1.23, "train/loss": 2.5, "train/symbols_per_second": 1000.0}'
    assert second == '{"step": 4, "epoch": 1, "time": 2.0, "valid/loss": 2.0, "valid/bleu": 12.0}'


@pytest.mark.parametrize(
    ("progress", "kept"),
    [
        (at(8, 8), [2, 4, 6, 8]),  # what was finished is finished again
        (at(8, 4), [2, 4, 6]),  # killed before the last validation was saved
        (at(7, 4), [2, 4, 6]),
        (at(4, 4), [2, 4]),
        (Progress(step=4), [2]),
        (Progress(), []),
    ],
)
def test_going_on_forgets_what_will_come_again(progress: Progress, kept: list[int], folder: RunFolder) -> None:
    written(folder)
    with TrainingLog(folder, quiet=True) as journal:
        journal.open(progress, 8)
    assert steps(folder) == kept


def test_a_half_written_last_line_is_not_a_row(folder: RunFolder) -> None:
    written(folder)
    folder.metrics.write_text(folder.metrics.read_text("utf-8")[:-30], encoding="utf-8")
    with TrainingLog(folder, quiet=True) as journal:
        journal.open(at(8, 8), 8)
        journal.row(Progress(step=9, epoch=2, position=1), TRAIN)
    assert steps(folder) == [2, 4, 6, 8, 9]


@pytest.mark.parametrize("line", ["[1, 2]", '{"loss": 2}', "half a ro", "17", pytest.param("[" * 100_000, id="deep")])
def test_a_line_that_is_not_ours_is_told(line: str, folder: RunFolder) -> None:
    written(folder)
    rows = folder.metrics.read_text("utf-8").splitlines()
    folder.metrics.write_text("\n".join([rows[0], line, *rows[1:]]), encoding="utf-8")
    with (
        TrainingLog(folder, quiet=True) as journal,
        pytest.raises(UserError, match=r"metrics\.jsonl:2: not a row of metrics"),
    ):
        journal.open(at(8, 8), 8)


def test_what_is_not_a_finite_number_is_left_out(folder: RunFolder) -> None:
    with TrainingLog(folder, quiet=True) as journal:
        journal.open(Progress(), 8)
        journal.row(
            Progress(step=3), {"train/loss": math.inf, "train/gradient_norm": math.nan, "train/learning_rate": 1.0}
        )
    assert folder.metrics.read_text("utf-8") == '{"step": 3, "epoch": 0, "time": 0.0, "train/learning_rate": 1.0}\n'


def test_a_full_disk_is_told(folder: RunFolder) -> None:
    folder.metrics.mkdir()
    with TrainingLog(folder, quiet=True) as journal, pytest.raises(UserError, match=r"metrics\.jsonl: cannot write"):
        journal.row(Progress(), TRAIN)


def test_trackers_get_every_figure_that_is_written(folder: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []

    class Tracker(Logger):
        def begin(self, run: LoggedRun) -> None:
            calls.append((run.folder, run.step))

        def log(self, step: int, values: Mapping[str, float]) -> None:
            calls.append((step, values))

        def end(self, completed: bool) -> None:
            calls.append(completed)

    monkeypatch.setitem(LOGGERS, "tracker", Tracker)
    config = toy.config(toy.corpus(folder.path / "corpus"), folder.path, {"training.loggers": "tracker"})
    for error in (None, KeyboardInterrupt()):
        with suppress(KeyboardInterrupt), TrainingLog(folder, quiet=True) as journal:
            journal.open(at(4, 4), 8, config)
            journal.row(Progress(step=6, epoch=1, position=2), {**VALID, "valid/ter": math.inf})
            if error:
                raise error
    assert calls == [(folder, 4), (6, VALID), True, (folder, 4), (6, VALID), False]


def test_lines_go_to_standard_error_unless_it_is_quiet(folder: RunFolder, capsys: pytest.CaptureFixture[str]) -> None:
    line = f"[bold] is text {'and a long line is one line ' * 9}."
    for quiet in (True, False):
        with TrainingLog(folder, quiet=quiet) as journal:
            journal.open(Progress(), 8)
            journal.step(Progress(step=1, position=1))
            journal.say(line + "\x1b[2J")
    assert capsys.readouterr() == ("", line + "\\x1b[2J\n")


def test_a_worker_that_does_not_lead_writes_and_says_nothing(
    folder: RunFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    with NullLog(folder) as journal:
        journal.open(Progress(), 8)
        journal.step(Progress(step=1))
        journal.row(Progress(step=2), TRAIN)
        journal.say("nothing")
    assert (list(folder.path.iterdir()), *capsys.readouterr()) == ([], "", "")


def test_without_a_terminal_a_line_tells_the_progress_now_and_then(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    progress = Progress(step=10, epoch=1)
    with TrainingLog(folder) as journal:
        journal.open(progress, 110)
        for _ in range(40):
            now += 1.0
            progress.step += 1
            progress.loss, progress.symbols = progress.loss + 6.0, progress.symbols + 4
            progress.target_symbols += 5
            journal.step(progress)
            if progress.step == 30:  # a row of metrics
                progress.loss = progress.symbols = progress.target_symbols = 0.0
    assert capsys.readouterr().err == "step      40 of 110  epoch 1  loss 1.5  5 symbols/s  0:01:10 left\n"


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, str]]:
    """What the cell of a notebook shows, one version after the other."""
    shown: list[dict[str, str]] = []

    class DisplayHandle:
        def update(self, bundle: dict[str, str], *, raw: bool) -> None:
            assert raw
            shown.append(bundle)

    def display(bundle: dict[str, str], *, raw: bool, display_id: bool) -> DisplayHandle:
        assert raw
        assert display_id
        shown.append(bundle)
        return DisplayHandle()

    module = ModuleType("IPython.display")
    vars(module).update(display=display)
    monkeypatch.setitem(sys.modules, "IPython", ModuleType("IPython"))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    return shown


def test_a_notebook_shows_one_bar_that_is_updated(
    folder: RunFolder,
    notebook: list[dict[str, str]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    progress = Progress(step=10, epoch=1)
    with TrainingLog(folder) as journal:
        journal.open(progress, 110)
        for _ in range(4):
            now += 0.3
            progress.step += 1
            progress.loss, progress.symbols = progress.loss + 6.0, progress.symbols + 4
            progress.target_symbols += 3
            journal.step(progress)
    assert [bundle["text/plain"] for bundle in notebook] == [
        "step 10 of 110",
        "step      12 of 110  epoch 1  loss 1.5  10 symbols/s  0:00:29 left",
        "step      14 of 110  epoch 1  loss 1.5  10 symbols/s  0:00:29 left",
        "step 14 of 110  epoch 1",
    ]
    assert notebook[0]["text/html"] == '<pre><progress value="10" max="110"></progress> step 10 of 110</pre>'
    assert capsys.readouterr() == ("", "")


def test_a_quiet_training_shows_no_bar_in_a_notebook(folder: RunFolder, notebook: list[dict[str, str]]) -> None:
    with TrainingLog(folder, quiet=True) as journal:
        journal.open(Progress(), 10)
        journal.step(Progress(step=1))
    assert notebook == []


def test_quiet_training_tells_no_progress(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    times = iter(range(0, 10_000, 100))
    monkeypatch.setattr(time, "monotonic", lambda: next(times))
    with TrainingLog(folder, quiet=True) as journal:
        journal.open(Progress(), 10)
        journal.step(Progress(step=1))
    assert capsys.readouterr().err == ""
