"""Ctrl-C requests training to stop after the current step, so that the saved state is complete."""

import signal
from types import FrameType, TracebackType
from typing import Any

from dragoman.errors import Terminated

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class SignalHandler:
    """While entered, the first Ctrl-C (or SIGTERM) sets `requested`; a second one interrupts at once."""

    def __init__(self) -> None:
        self.number: int | None = None  # the signal that requested it
        self._before: dict[int, Any] = {}

    @property
    def requested(self) -> bool:
        return self.number is not None

    def __enter__(self) -> "SignalHandler":
        for number in SIGNALS:
            try:
                self._before[number] = signal.signal(number, self._ask)
            except ValueError:  # not the main thread: signals are handled elsewhere
                break
        return self

    def _ask(self, number: int, frame: FrameType | None) -> None:
        # The second time: the step takes too long, and the user has asked again.
        if self.requested:
            raise self.interruption(number=number)
        self.number = number

    def interruption(self, *words: str, number: int | None = None) -> KeyboardInterrupt:
        """Return the exception for a signal, by default the one that requested it; Ctrl-C if another worker was
        asked.
        """
        number = number or self.number or signal.SIGINT
        return KeyboardInterrupt(*words) if number == signal.SIGINT else Terminated(number, *words)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
