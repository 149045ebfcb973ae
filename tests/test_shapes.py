"""That shapes are checked while tests run, and how often."""

from collections.abc import Mapping
from typing import Any

import jaxtyping
import pytest
import torch
from jaxtyping import Float

from dragoman.model.attention.scores import DotScore
from tests.shapes import CALLS, Test, has_shape

RIGHT, WRONG = torch.zeros(1, 1, 2), torch.zeros(2)


def test_a_wrong_shape_is_told_in_the_first_calls_of_a_test() -> None:
    score = DotScore(2, 2)
    for _ in range(CALLS):
        with pytest.raises(jaxtyping.TypeCheckError, match="energies"):
            score.energies(WRONG, RIGHT)
    with pytest.raises(RuntimeError):  # torch's
        score.energies(WRONG, RIGHT)
    Test.number += 1
    with pytest.raises(jaxtyping.TypeCheckError):
        score.energies(WRONG, RIGHT)


@pytest.mark.parametrize(
    ("annotation", "watched"),
    [
        (Float[torch.Tensor, "B T"], True),
        (Mapping[str, tuple[int, Float[torch.Tensor, "B"] | None]], True),
        ('Float[Tensor, "B"]', True),
        (torch.Tensor, False),
        (Mapping[str, int], False),
    ],
)
def test_functions_with_a_shape_are_checked(annotation: Any, watched: bool) -> None:
    def function(argument: object) -> None:
        pass

    function.__annotations__["argument"] = annotation
    assert has_shape(function) == watched
