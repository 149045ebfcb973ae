"""Callbacks from Python: functions of a user that are called with read-only facts while `dragoman.train` trains."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import ClassVar, NamedTuple

from dragoman.configuration.arguments import unexpected
from dragoman.run.folder import RunFolder
from dragoman.training.random_state import kept_random_state


class TrainingStep(NamedTuple):
    """A step that has been made: its number from 1, the epoch from 1, the mean loss (nats per symbol) of its batches
    before the update, the learning rate, the norm of the gradient before clipping, the number of target symbols, and
    whether the update was skipped because the loss or the gradient was not finite.
    """

    step: int
    epoch: int
    loss: float
    learning_rate: float
    gradient_norm: float
    target_symbols: int
    skipped: bool


class ValidationScores(NamedTuple):
    """A validation after a step: the loss and the scores by name, as in `training.metric` (with `data.pairs` also
    `en-de/bleu`; with two directions those of the second begin with `reverse/`), and whether it is the best up to now.
    """

    step: int
    epoch: int
    values: Mapping[str, float]
    best: bool


class TrainingEnd(NamedTuple):
    """The end of a training: its run folder, complete, the number of steps, the scores of the weights to use, and the
    reasons: the limits that were reached (`steps`, `epochs`, `patience`), or `callback`.
    """

    folder: RunFolder
    step: int
    values: Mapping[str, float]
    reasons: tuple[str, ...]


class Callback:
    """Base class of callbacks. Each method does nothing by default.

    Callbacks do not change results: what they draw from the global random generators of Python, NumPy and torch does
    not change what training draws. Only a class that sets `may_stop = True` may end a training: `on_step` and
    `on_validation` return True for that, and training then validates, chooses weights and finishes as at a limit such
    as `training.steps`. Training that is called again goes on from there. TypeError if another class returns True.

    With several workers, only the methods of the leader's callbacks are called. An exception ends the training.
    """

    may_stop: ClassVar[bool] = False

    def on_step(self, step: TrainingStep) -> bool | None:
        """Called after each step."""

    def on_validation(self, validation: ValidationScores) -> bool | None:
        """Called after each validation."""

    def on_end(self, end: TrainingEnd) -> None:
        """Called when training is complete; not after an interruption or an error, nor if it was complete before."""


class CallbackGroup:
    """The callbacks of a training, and whether one of them has ended it."""

    def __init__(self, callbacks: Sequence[Callback] = ()) -> None:
        self.callbacks = tuple(callbacks)
        self.may_stop = any(callback.may_stop for callback in self.callbacks)
        self.stopped = False

    def on_step(self, step: TrainingStep) -> None:
        self._call(lambda callback: callback.on_step(step), "on_step")

    def on_validation(self, validation: ValidationScores) -> None:
        self._call(lambda callback: callback.on_validation(validation), "on_validation")

    def on_end(self, end: TrainingEnd) -> None:
        for callback in self.callbacks:
            callback.on_end(end)

    def _call(self, call: Callable[[Callback], bool | None], method: str) -> None:
        with kept_random_state():
            for callback in self.callbacks:
                returned = call(callback)
                if returned is not None and not isinstance(returned, bool):
                    raise unexpected(returned, f"{type(callback).__name__}.{method}", "a bool or None")
                if returned and not callback.may_stop:
                    raise TypeError(
                        f"{type(callback).__name__}.{method}: returned True, which requires may_stop = True"
                    )
                self.stopped |= bool(returned)


def read_only(values: Mapping[str, float]) -> Mapping[str, float]:
    """Return a copy that cannot be changed."""
    return MappingProxyType(dict(values))
