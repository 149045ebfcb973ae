"""All tests of learning are slow."""

import pytest


@pytest.hookimpl(tryfirst=True)  # before those that are not asked for are left out
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.nodeid.startswith("tests/learning/"):
            item.add_marker(pytest.mark.slow)
