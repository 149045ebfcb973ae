"""Training takes thousands of steps of the same shapes, which the other tests check: here that is switched off.

It takes its time, too: all tests of learning are slow.
"""

from collections.abc import Iterator
from pathlib import Path

import jaxtyping
import pytest


@pytest.hookimpl(tryfirst=True)  # before those that are not asked for are left out
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.slow)


@pytest.fixture(autouse=True)
def _shapes_unchecked() -> Iterator[None]:
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)
