"""What functions leave to each other within one backward pass."""

from collections.abc import Callable
from typing import Generic, TypeVar

from dragoman.torch_internals import backward_pass

T = TypeVar("T")


class WithinPass(Generic[T]):
    """A value that is gone when another backward pass begins: a pass that was asked for some gradients alone may not
    have come to where it would have been taken.
    """

    def __init__(self) -> None:
        self._value: T | None = None
        self._pass = -1

    def get(self, make: Callable[[], T]) -> T:
        """The value of the pass that runs now, made where it has none yet."""
        number = backward_pass()
        if self._value is None or self._pass != number:
            self._value, self._pass = make(), number
        return self._value

    def take(self) -> T | None:
        """The value of the pass that runs now, if it has one; there is none afterwards."""
        value = self._value if self._pass == backward_pass() else None
        self._value = None
        return value
