"""How far training has come: ranking of validations, waiting, and the way through JSON."""

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dragoman.errors import UserError
from dragoman.training.progress import VERSION, Progress, ValidationRecord, peak_memory
from tests.golden import Golden


def after(values: list[float], *, higher: bool, keep: int = 3, losses: list[float] | None = None) -> Progress:
    """Validations at steps 10, 20, 30, ..., of equal losses unless they are given."""
    progress = Progress()
    for value, loss in zip(values, losses or [1.0] * len(values), strict=True):
        progress.step += 10
        progress.record(ValidationRecord(value, loss, progress.step), higher, keep)
    return progress


def ranked(progress: Progress) -> list[tuple[float, int]]:
    return [(validation.value, validation.step) for validation in progress.best]


def test_keeps_the_best_few_the_best_first() -> None:
    values = [3.0, 1.0, 5.0, 4.0, 2.0]
    assert ranked(after(values, higher=True)) == [(5.0, 30), (4.0, 40), (3.0, 10)]
    assert ranked(after(values, higher=False)) == [(1.0, 20), (2.0, 50), (3.0, 10)]


@pytest.mark.parametrize("higher", [True, False])
def test_of_equal_ones_the_earlier_is_better(higher: bool) -> None:
    progress = after([7.0, 7.0, 7.0, 7.0], higher=higher)
    assert ranked(progress) == [(7.0, 10), (7.0, 20), (7.0, 30)]
    assert progress.improvements(higher) == [True, False, False, False]


@pytest.mark.parametrize("higher", [True, False])
def test_of_equal_values_that_of_the_lower_loss_is_better(higher: bool) -> None:
    """As BLEU is 0 for long on a small corpus."""
    progress = after([0.0, 0.0, 0.0, 0.0], losses=[4.0, 3.0, 3.5, 2.0], higher=higher)
    assert ranked(progress) == [(0.0, 40), (0.0, 20), (0.0, 30)]
    assert progress.improvements(higher) == [True, True, False, True]
    assert progress.waited(higher) == 0


def test_the_loss_decides_nothing_else() -> None:
    progress = after([1.0, 2.0, 2.0], losses=[3.0, 9.0, 9.5], higher=True)
    assert progress.improvements(True) == [True, True, False]
    assert ranked(progress) == [(2.0, 20), (2.0, 30), (1.0, 10)]


def test_no_worse_is_as_good() -> None:
    def as_good(one: tuple[float, float], other: tuple[float, float], higher: bool = True) -> bool:
        return ValidationRecord(*one, 1).as_good_as(ValidationRecord(*other, 2), higher)

    assert as_good((2.0, 9.0), (1.0, 1.0))
    assert as_good((1.0, 1.0), (1.0, 1.0))
    assert as_good((0.0, 1.0), (0.0, 2.0))
    assert not as_good((0.0, 2.0), (0.0, 1.0))
    assert not as_good((0.9, 1.0), (1.0, 9.0))
    assert not as_good((math.nan, 1.0), (1.0, 9.0))
    assert as_good((0.9, 1.0), (1.0, 1.0), higher=False)


def test_what_is_not_a_number_is_the_worst() -> None:
    progress = after([math.nan, 2.0, math.nan, 3.0], higher=False)
    assert ranked(progress)[:2] == [(2.0, 20), (3.0, 40)]
    assert progress.improvements(False) == [False, True, False, False]


def test_counts_the_validations_since_the_best() -> None:
    values = [3.0, 5.0, 5.0, 4.0]
    assert [after(values[:n], higher=True).waited(True) for n in range(5)] == [0, 0, 0, 1, 2]
    assert [after(values[:n], higher=False).waited(False) for n in range(5)] == [0, 0, 1, 2, 3]


def test_improvement_is_over_all_before() -> None:
    assert after([1.0, 3.0, 2.0, 2.5, 4.0], higher=True).improvements(True) == [True, True, False, False, True]


def test_notes_when_it_was_validated() -> None:
    assert Progress().last_validation == -1
    assert after([1.0, 2.0], higher=True).last_validation == 20


def test_counts_epochs_as_people_do() -> None:
    inside, between = Progress(epoch=2, position=5), Progress(epoch=2, position=0)
    assert (inside.epochs_begun, between.epochs_begun) == (3, 2)


def test_comes_back_from_json_as_it_was() -> None:
    progress = after([0.1, 1 / 3, 2e-17], higher=True)
    progress.loss, progress.symbols, progress.skipped = math.pi * 1e5, 12.0, 3
    assert Progress.from_json(json.loads(json.dumps(progress.to_json()))) == progress


def test_of_another_version_of_dragoman_it_does_not_go_on(golden: Golden) -> None:
    values = Progress().to_json()
    assert Progress.from_json({**values, "of another version": 1}) == Progress()
    without = [
        {name: value for name, value in values.items() if name != missing} for missing in ("version", "position")
    ]
    for state in (*without, {**values, "version": VERSION + 1}):
        with pytest.raises(UserError) as raised:
            Progress.from_json(state)
        golden(str(raised.value))


@pytest.mark.parametrize("values", [[], None, 3, "text", {}, {"step": 1}])
def test_what_is_no_progress_is_told(values: Any, golden: Golden) -> None:
    with pytest.raises(UserError) as raised:
        Progress.from_json(values)
    golden(str(raised.value))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("step", "3"),
        ("step", -1),
        ("step", 1.5),
        ("step", True),
        ("step", 10**30),
        ("position", None),
        ("seconds", math.nan),
        ("loss", math.inf),
        ("parts", 1.0),
        ("parts", ["1"]),
        ("best", 3),
        ("best", [1]),
        ("best", [[1.0, 2.0]]),
        ("best", [[1.0, math.nan, 4]]),
        ("best", []),  # and validations
        ("validations", []),  # and best ones
        ("validations", [[1.0, 1.0, 99]]),  # after the step at which it is
        ("validations", {"a": 1}),
    ],
)
def test_wrong_values_are_told_in_a_line(name: str, value: Any, golden: Golden) -> None:
    values = json.loads(json.dumps(after([1.0], higher=True).to_json()))
    assert Progress.from_json(values).step == 10
    with pytest.raises(UserError) as error:
        Progress.from_json({**values, name: value})
    golden(str(error.value))
    assert "\n" not in str(error.value)


@pytest.mark.slow
def test_memory_is_that_of_the_process() -> None:
    pytest.importorskip("resource")
    before = peak_memory()
    held = bytearray(before)
    assert peak_memory() > 1.5 * before > 20e6, len(held)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux")
def test_memory_is_not_that_of_the_program_that_began_the_process() -> None:
    code = "from dragoman.training.progress import peak_memory; print(peak_memory())"
    held = bytearray(500_000_000)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) < len(held)
