"""Checks of arguments: what they let through."""

from pathlib import Path

import numpy as np
import pytest

from dragoman.configuration import arguments


def test_numbers_of_numpy_are_numbers() -> None:
    numbers = [arguments.whole(np.int64(3), "n"), arguments.number(np.float32(0.5), "n"), arguments.number(2, "n")]
    assert [(type(number), number) for number in numbers] == [(int, 3), (float, 0.5), (float, 2.0)]


def test_the_least_is_large_enough() -> None:
    assert arguments.whole(2, "n", 2) == 2
    with pytest.raises(ValueError, match=r"^n: expected at least 2, found 1$"):
        arguments.whole(1, "n", 2)


def test_true_is_no_number() -> None:
    for check in (arguments.whole, arguments.number):
        with pytest.raises(TypeError, match=r"^n: expected a (whole )?number, found True$"):
            check(True, "n")


def test_what_is_found_is_told_in_one_short_line() -> None:
    for value, pattern in (("a\n" * 99, r"'a\\na.{1,40}'"), (np.zeros((9, 9)), "ndarray"), (None, "None")):
        with pytest.raises(TypeError, match=rf"^n: expected bool or dict, found {pattern}$"):
            arguments.checked(value, "n", bool, dict)


def test_a_path_may_be_a_text() -> None:
    assert arguments.path("a/b", "path") == arguments.path(Path("a/b"), "path") == Path("a/b")
