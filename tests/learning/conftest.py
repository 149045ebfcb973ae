"""Training takes thousands of steps of the same shapes, which the other tests check: here that is switched off."""

from collections.abc import Iterator

import jaxtyping
import pytest


@pytest.fixture(autouse=True)
def _shapes_unchecked() -> Iterator[None]:
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)
