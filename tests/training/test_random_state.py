"""Random numbers that are drawn in between change none that come later."""

import random
from contextlib import suppress

import numpy as np
import torch

from dragoman.training.random_state import kept_random_state


def draw() -> tuple[float, float, float]:
    return random.random(), float(np.random.random()), float(torch.rand(()))


def seed() -> None:
    random.seed(1)
    np.random.seed(1)
    torch.manual_seed(1)


def test_the_states_are_restored_even_after_an_error() -> None:
    seed()
    expected = draw()
    seed()
    with suppress(ZeroDivisionError), kept_random_state():
        assert draw() == expected
        raise ZeroDivisionError
    with kept_random_state():
        seed()
        draw()
    assert draw() == expected
