"""Learning-rate schedules against their formulas."""

import math

import pytest

from dragoman.components import Spec, build, problems
from dragoman.training.schedule import SCHEDULES, Constant, Cosine, InverseSquareRoot, Plateau, Schedule

OPTIONS = {"cosine": {"steps": 100}}
YES, NO = True, False


def made(kind: str, **options: float) -> Schedule:
    return build(SCHEDULES, Spec(kind, {**OPTIONS.get(kind, {}), **options}))


@pytest.mark.parametrize("kind", SCHEDULES)
def test_rises_linearly_while_it_warms_up(kind: str) -> None:
    schedule = made(kind, warmup=10)
    assert [schedule(step, []) for step in (1, 5, 9)] == pytest.approx([0.1, 0.5, 0.9])
    assert schedule(10, []) == pytest.approx(1.0)


@pytest.mark.parametrize("kind", SCHEDULES)
def test_is_a_function_of_its_arguments_alone(kind: str) -> None:
    schedule = made(kind, warmup=3)
    history = [True, False, False, False, True]
    points = [(step, history[:known]) for step in (1, 2, 3, 50, 7) for known in (0, 3, 5)]
    first = [schedule(*point) for point in points]
    assert [schedule(*point) for point in reversed(points)] == first[::-1]
    assert all(0.0 <= factor <= 1.0 for factor in first)


def test_constant_stays_at_one() -> None:
    assert {Constant()(step, []) for step in (1, 10, 10**6)} == {1.0}


def test_inverse_square_root_falls_with_the_root_of_the_step() -> None:
    schedule = InverseSquareRoot(warmup=16)
    assert [schedule(step, []) for step in (16, 64, 1600)] == pytest.approx([1.0, 0.5, 0.1])


def test_cosine_goes_from_one_to_its_floor_and_stays_there() -> None:
    schedule = Cosine(steps=110, warmup=10, floor=0.2)
    assert schedule(60, []) == pytest.approx(0.6)
    assert schedule(35, []) == pytest.approx(0.2 + 0.8 * (1 + math.cos(math.pi / 4)) / 2)
    assert [schedule(step, []) for step in (110, 500)] == pytest.approx([0.2, 0.2])


def test_cosine_must_be_told_how_many_steps() -> None:
    assert [problem.path for problem in problems(SCHEDULES, Spec("cosine"), ())] == [("steps",)]


@pytest.mark.parametrize(
    ("improved", "cuts"),
    [
        ([], 0),
        ([YES], 0),
        ([YES, NO], 0),
        ([YES, NO, NO], 1),
        ([YES, NO, NO, NO], 1),
        ([YES, NO, NO, NO, NO], 2),
        ([YES, NO, YES, NO], 0),
        ([YES, NO, NO, YES, NO, NO], 2),
    ],
)
def test_plateau_cuts_after_every_few_validations_without_improvement(improved: list[bool], cuts: int) -> None:
    assert Plateau(factor=0.5, patience=2)(100, improved) == 0.5**cuts


def test_plateau_has_a_floor() -> None:
    assert Plateau(factor=0.1, patience=1, floor=0.05)(100, [YES, NO, NO, NO]) == 0.05
