"""Ctrl-C: the first one asks, the second one interrupts."""

import signal
import threading

import pytest

from dragoman.errors import Terminated
from dragoman.training.workers import SignalHandler


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_asks_and_the_second_interrupts(number: signal.Signals) -> None:
    with SignalHandler() as stop:
        assert not stop.requested
        signal.raise_signal(number)
        assert stop.requested
        with pytest.raises(KeyboardInterrupt) as interrupted:
            signal.raise_signal(number)
    assert isinstance(interrupted.value, Terminated) == (number == signal.SIGTERM)
    assert isinstance(stop.interruption("saved"), Terminated) == (number == signal.SIGTERM)


def test_signals_go_where_they_went_before() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with SignalHandler():
        assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] != before
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


def test_outside_of_the_main_thread_somebody_else_handles_them() -> None:
    entered: list[bool] = []

    def enter() -> None:
        with SignalHandler() as stop:
            entered.append(stop.requested)

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert entered == [False]
