"""Learning-rate schedules against their formulas."""

import math

import pytest

from dragoman.configuration.components import Spec, build
from dragoman.training.optimizer import SCHEDULES, Constant, Cosine, InverseSquareRoot, Plateau, Schedule

ENDLESS = 10**9  # steps that training takes
YES, NO = True, False


def make_schedule(kind: str, **options: float) -> Schedule:
    return build(SCHEDULES, Spec(kind, options), 100)


@pytest.mark.parametrize("kind", SCHEDULES)
def test_rises_linearly_while_it_warms_up(kind: str) -> None:
    schedule = make_schedule(kind, warmup=10)
    assert [schedule(step, []) for step in (1, 5, 9)] == pytest.approx([0.1, 0.5, 0.9])
    assert schedule(10, []) == pytest.approx(1.0)


@pytest.mark.parametrize("kind", SCHEDULES)
def test_is_a_function_of_its_arguments_alone(kind: str) -> None:
    schedule = make_schedule(kind, warmup=3)
    history = [True, False, False, False, True]
    points = [(step, history[:count]) for step in (1, 2, 3, 50, 7) for count in (0, 3, 5)]
    first = [schedule(*point) for point in points]
    assert [schedule(*point) for point in reversed(points)] == first[::-1]
    assert all(0.0 <= factor <= 1.0 for factor in first)


def test_constant_stays_at_one() -> None:
    assert {Constant(ENDLESS)(step, []) for step in (1, 10, 10**6)} == {1.0}


def test_inverse_square_root_falls_with_the_root_of_the_step() -> None:
    schedule = InverseSquareRoot(ENDLESS, warmup=16)
    assert [schedule(step, []) for step in (16, 64, 1600)] == pytest.approx([1.0, 0.5, 0.1])


def test_cosine_goes_from_one_to_its_floor_and_stays_there() -> None:
    schedule = Cosine(ENDLESS, steps=110, warmup=10, floor=0.2)
    assert schedule(60, []) == pytest.approx(0.6)
    assert schedule(35, []) == pytest.approx(0.2 + 0.8 * (1 + math.cos(math.pi / 4)) / 2)
    assert [schedule(step, []) for step in (110, 500)] == pytest.approx([0.2, 0.2])


def test_cosine_ends_with_training_unless_told_otherwise() -> None:
    with_steps, by_itself = Cosine(ENDLESS, steps=110, warmup=10, floor=0.2), Cosine(110, warmup=10, floor=0.2)
    assert [with_steps(step, []) for step in range(1, 120)] == [by_itself(step, []) for step in range(1, 120)]


def test_a_cosine_that_only_warms_up_has_no_end_to_divide_by() -> None:
    assert [Cosine(4, warmup=4)(step, []) for step in (2, 4, 9)] == [0.5, 1.0, 0.0]


@pytest.mark.parametrize(
    ("kind", "options", "length", "words"),
    [
        ("cosine", {"steps": 2415}, 6440, ("steps: 2,415", "6,440", "last 4,025 have 0 % of")),
        ("cosine", {"steps": 80, "floor": 0.5}, 100, ("steps: 80", "100", "last 20 have 50 % of")),
        ("cosine", {"steps": 100}, 50, ("steps: 100", "50", "falls to 50 %")),
        ("cosine", {"warmup": 400}, 200, ("warmup: 400", "200", "rises, to 50 %")),
        ("plateau", {"warmup": 400}, 100, ("warmup: 400", "100", "to 25 %")),
        ("inverse_square_root", {}, 1000, ("warmup: 4,000", "1,000", "to 25 %")),
        ("constant", {"warmup": 8}, 8, ("warmup: 8", "to 100 %")),
    ],
)
def test_says_what_does_not_fit_the_length_of_training(
    kind: str, options: dict[str, float], length: int, words: tuple[str, ...]
) -> None:
    (line,) = build(SCHEDULES, Spec(kind, options), length).warnings(0)
    for word in words:
        assert word in line


@pytest.mark.parametrize("kind", SCHEDULES)
def test_says_nothing_where_all_fits(kind: str) -> None:
    assert not list(make_schedule(kind, warmup=10).warnings(0))
    assert not list(make_schedule(kind, warmup=10).warnings(100))
    assert not list(Cosine(1000, steps=1010).warnings(0))  # symbols make batches whose number is not known exactly


@pytest.mark.parametrize("kind", SCHEDULES)
def test_a_warmup_below_1_is_a_share_of_the_training(kind: str) -> None:
    share, steps = (build(SCHEDULES, Spec(kind, {"warmup": warmup}), 1000) for warmup in (0.064, 64))
    assert [share(step, []) for step in range(1, 1001)] == [steps(step, []) for step in range(1, 1001)]
    assert share(64, []) == 1.0 > share(63, [])


def test_a_warmup_below_1_is_a_share_of_the_steps_of_a_cosine() -> None:
    assert Cosine(ENDLESS, steps=100, warmup=0.5).warmup == 50


@pytest.mark.parametrize("kind", ["constant", "inverse_square_root", "plateau"])
def test_says_that_a_warmup_is_stretched_when_training_is(kind: str) -> None:
    schedule = build(SCHEDULES, Spec(kind, {"warmup": 0.1}), 5000)
    (line,) = schedule.warnings(1000)
    assert "500 steps now" in line
    assert "previously 100;" in line
    assert not list(schedule.warnings(5000))
    assert not list(build(SCHEDULES, Spec(kind, {"warmup": 100}), 5000).warnings(1000))
    assert not list(Cosine(5000, steps=5000, warmup=0.1).warnings(1000))
    assert len(list(Cosine(5000, warmup=0.1).warnings(1000))) == 2


def test_an_inverse_square_root_of_a_short_share_has_a_rate() -> None:
    assert InverseSquareRoot(10, warmup=0.01)(4, []) == 0.5


def test_says_that_a_cosine_is_stretched_when_training_is() -> None:
    (line,) = Cosine(300).warnings(100)
    assert "300" in line
    assert "100" in line
    assert not list(Cosine(300, steps=300).warnings(100))


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
    assert Plateau(ENDLESS, factor=0.5, patience=2)(100, improved) == 0.5**cuts


def test_plateau_has_a_floor() -> None:
    assert Plateau(ENDLESS, factor=0.1, patience=1, floor=0.05)(100, [YES, NO, NO, NO]) == 0.05
