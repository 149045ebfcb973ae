"""Arguments of the Python interface: wrong ones are reported by name, before something fails because of them."""

import math
from numbers import Integral, Real
from pathlib import Path
from reprlib import repr as shortened
from typing import TypeVar

Value = TypeVar("Value")


def checked(value: Value, name: str, *kinds: type) -> Value:
    """The same value. TypeError unless it is of one of these kinds."""
    if not isinstance(value, kinds):
        names = ["None" if kind is type(None) else kind.__name__ for kind in kinds]
        raise unexpected(value, name, " or ".join(names))
    return value


def path(value: str | Path, name: str) -> Path:
    """The value as a Path. TypeError unless it is a str or a Path."""
    return Path(checked(value, name, str, Path))


def whole(value: object, name: str, least: int | None = None) -> int:
    """The value, which may be one of numpy's, as an int. TypeError if it is no whole number, ValueError if it is below
    the `least`.
    """
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise unexpected(value, name, "a whole number")
    if least is not None and value < least:
        raise ValueError(f"{name}: expected at least {least}, found {value}")
    return int(value)


def number(value: object, name: str) -> float:
    """The value, which may be one of numpy's, as a float. TypeError if it is no number, ValueError if it is NaN."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise unexpected(value, name, "a number")
    if math.isnan(value):
        raise ValueError(f"{name}: expected a number, found {value}")
    return float(value)


def unexpected(value: object, name: str, expected: str) -> TypeError:
    """What is raised for a value of a wrong type."""
    actual = shortened(value) if isinstance(value, str | int | float | None) else type(value).__name__
    return TypeError(f"{name}: expected {expected}, found {actual}")
