"""Values that functions share within one backward pass."""

from collections.abc import Callable
from typing import Generic, TypeVar

from dragoman.torch_internals import backward_pass

T = TypeVar("T")


class WithinPass(Generic[T]):
    """A value that is discarded when another backward pass begins: a pass for only some of the gradients may never
    reach the function that takes it.
    """

    def __init__(self) -> None:
        self._value: T | None = None
        self._pass = -1

    def get(self, make: Callable[[], T]) -> T:
        """The value of the current pass, made on first use."""
        number = backward_pass()
        if self._value is None or self._pass != number:
            self._value, self._pass = make(), number
        return self._value

    def take(self) -> T | None:
        """Remove and return the value of the current pass, None if it has none."""
        value = self._value if self._pass == backward_pass() else None
        self._value = None
        return value
