"""The time of batches, as it is learned."""

import random

import pytest

from dragoman.serving.batch_time import FIRST_SIZE, GROWTH, OVERHEAD, BatchTime


@pytest.mark.parametrize(("overhead", "rate"), [(0.25, 0.0001), (0.02, 0.0003), (0.3, 0.003), (2.0, 0.01)])
def test_both_are_learned_from_batches_of_different_sizes(overhead: float, rate: float) -> None:
    time_of, generator = BatchTime(), random.Random(1)
    for number in range(200):
        symbols = generator.choice([20, 60, 60, 300, 2_000])
        seconds = (overhead + rate * symbols) * generator.uniform(0.9, 1.1)
        time_of.learn(symbols, 30 * seconds if number == 150 else seconds)  # once the machine was busy
    assert time_of.overhead == pytest.approx(overhead, rel=0.25)
    for symbols in (60, 2_000):
        assert time_of.seconds(symbols) == pytest.approx(overhead + rate * symbols, rel=0.15)


def test_a_machine_that_becomes_slower_is_noticed_within_some_batches() -> None:
    time_of = BatchTime()
    for slowness, count in ((1, 50), (10, 25), (1, 50)):
        for number in range(count):
            symbols = 100 * (1 + number % 5)
            time_of.learn(symbols, slowness * (0.02 + 0.0003 * symbols))
        assert time_of.seconds(300) == pytest.approx(slowness * 0.11, rel=0.3)


def test_batches_of_one_size_are_taken_to_have_an_overhead() -> None:
    """Or those of single texts would stay so for ever."""
    time_of = BatchTime()
    for _ in range(100):
        time_of.learn(60, 0.255)
    assert time_of.seconds(60) == pytest.approx(0.255, rel=0.02)
    assert time_of.overhead == pytest.approx(OVERHEAD * time_of.rate, rel=0.1)
    assert time_of.efficient(32 * 60) > 4 * 60


@pytest.mark.parametrize(("times", "least"), [({100: 1.0, 1_000: 0.5}, "rate"), ({100: 1.0, 1_000: 50.0}, "overhead")])
def test_neither_is_negative(times: dict[int, float], least: str) -> None:
    time_of = BatchTime()
    for _ in range(100):
        for symbols, seconds in times.items():
            time_of.learn(symbols, seconds)
    assert 0 < getattr(time_of, least) < 0.002
    assert time_of.seconds(100) > 0


def test_what_is_efficient_has_nearly_the_throughput_of_all() -> None:
    time_of = BatchTime()
    for _ in range(100):
        for symbols in (100, 10_000):
            time_of.learn(symbols, 0.3 + 0.003 * symbols)
    for waiting in (200, 2_000, 20_000):
        enough = time_of.efficient(waiting)
        of_all = waiting / time_of.seconds(waiting)
        assert enough / time_of.seconds(round(enough)) == pytest.approx(0.97 * of_all, rel=0.01)
    assert time_of.within(0.2) == pytest.approx(time_of.overhead / time_of.rate)
    assert time_of.within(3.0) == pytest.approx(1_000, rel=0.05)


def test_batches_grow_step_by_step() -> None:
    time_of = BatchTime()
    assert time_of.within(100.0) == GROWTH * FIRST_SIZE
    time_of.learn(1_000, 0.1)
    assert time_of.within(100.0) == GROWTH * 1_000
