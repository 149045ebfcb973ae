"""What all tests share."""

from pathlib import Path

import hypothesis
import pytest
import torch

from tests import shapes

ROOT = Path(__file__).resolve().parent.parent
SHARED_DATA = ROOT.parent / "shared" / "data"

# The tests run side by side on the same cores; one thread each is the fastest, and the same everywhere.
torch.set_num_threads(1)

shapes.install()
hypothesis.settings.register_profile("dragoman", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.load_profile("dragoman")


def pytest_runtest_setup() -> None:
    shapes.Test.number += 1


@pytest.fixture(scope="session")
def repository() -> Path:
    """The folder that holds pyproject.toml."""
    return ROOT


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of corpora beside the repository; its tests are skipped where there is none."""
    if not SHARED_DATA.is_dir():
        pytest.skip("needs the corpora in ../shared/data, which are not part of the repository")
    return SHARED_DATA
