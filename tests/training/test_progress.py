"""How far training has come: ranking of validations, waiting, and the way through JSON."""

import json
import math

import pytest

from dragoman.data.batching import VERSION
from dragoman.errors import UserError
from dragoman.training.progress import Progress


def after(values: list[float], *, higher: bool, keep: int = 3) -> Progress:
    """Validations at steps 10, 20, 30, ..."""
    progress = Progress()
    for value in values:
        progress.step += 10
        progress.note(value, higher, keep)
    return progress


def test_keeps_the_best_few_the_best_first() -> None:
    values = [3.0, 1.0, 5.0, 4.0, 2.0]
    assert after(values, higher=True).best == [(5.0, 30), (4.0, 40), (3.0, 10)]
    assert after(values, higher=False).best == [(1.0, 20), (2.0, 50), (3.0, 10)]


@pytest.mark.parametrize("higher", [True, False])
def test_of_equal_ones_the_earlier_is_better(higher: bool) -> None:
    progress = after([7.0, 7.0, 7.0, 7.0], higher=higher)
    assert progress.best == [(7.0, 10), (7.0, 20), (7.0, 30)]
    assert progress.improved(higher) == [True, False, False, False]


def test_what_is_not_a_number_is_the_worst() -> None:
    progress = after([math.nan, 2.0, math.nan, 3.0], higher=False)
    assert progress.best[:2] == [(2.0, 20), (3.0, 40)]
    assert progress.improved(False) == [False, True, False, False]


def test_counts_the_validations_since_the_best() -> None:
    values = [3.0, 5.0, 5.0, 4.0]
    assert [after(values[:n], higher=True).waited(True) for n in range(5)] == [0, 0, 0, 1, 2]
    assert [after(values[:n], higher=False).waited(False) for n in range(5)] == [0, 0, 1, 2, 3]


def test_improvement_is_over_all_before() -> None:
    assert after([1.0, 3.0, 2.0, 2.5, 4.0], higher=True).improved(True) == [True, True, False, False, True]


def test_notes_when_it_was_validated() -> None:
    assert Progress().validated == -1
    assert after([1.0, 2.0], higher=True).validated == 20


def test_counts_epochs_as_people_do() -> None:
    inside, between = Progress(epoch=2, position=5), Progress(epoch=2, position=0)
    assert (inside.epochs_begun, between.epochs_begun) == (3, 2)


def test_comes_back_from_json_as_it_was() -> None:
    progress = after([0.1, 1 / 3, 2e-17], higher=True)
    progress.loss, progress.symbols, progress.skipped = math.pi * 1e5, 12.0, 3
    assert Progress.from_json(json.loads(json.dumps(progress.to_json()))) == progress


def test_a_missing_number_is_an_error_and_an_odd_one_is_not() -> None:
    values = Progress().to_json()
    assert Progress.from_json({**values, "of another version": 1}) == Progress()
    del values["position"]
    with pytest.raises(KeyError):
        Progress.from_json(values)


def test_of_another_plan_the_position_means_nothing() -> None:
    values = Progress().to_json()
    del values["plan"]  # as in the first version
    for state in (values, {**values, "plan": VERSION + 1}):
        with pytest.raises(UserError, match=r"begun by another version of dragoman, .*; begin another run"):
            Progress.from_json(state)
