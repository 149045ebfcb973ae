"""That shapes are checked while tests run, and how often."""

import jaxtyping
import pytest
import torch

from dragoman.model.attention.scores import Dot
from tests.shapes import CALLS, Test

RIGHT, WRONG = torch.zeros(1, 1, 2), torch.zeros(2)


def test_a_wrong_shape_is_told_in_the_first_calls_of_a_test() -> None:
    score = Dot(2, 2)
    for _ in range(CALLS):
        with pytest.raises(jaxtyping.TypeCheckError, match="energies"):
            score.energies(WRONG, RIGHT)
    with pytest.raises(RuntimeError):  # torch's
        score.energies(WRONG, RIGHT)
    Test.number += 1
    with pytest.raises(jaxtyping.TypeCheckError):
        score.energies(WRONG, RIGHT)


def test_what_is_no_shape_is_checked_too() -> None:
    with pytest.raises(jaxtyping.TypeCheckError):
        Dot("2", 2)  # type: ignore[arg-type]
