"""The sentences that the tests of the phrasebook read."""

from __future__ import annotations

import pytest

from phrasebook.corpus import sample
from phrasebook.realize import Triple

SIZES = {("train", 1): 10_000, ("train", 3): 2_000, ("dev", 1): 600, ("test", 1): 600, ("compositional", 1): 2_000}
Samples = dict[tuple[str, int], list[Triple]]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that read the samples as slow: sampling takes ten seconds."""
    for item in items:
        if isinstance(item, pytest.Function) and "samples" in item.fixturenames:
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def samples() -> Samples:
    """Triples by split and seed."""
    return {(split, seed): list(sample(size, seed, split)) for (split, seed), size in SIZES.items()}


@pytest.fixture(scope="session")
def train(samples: Samples) -> list[Triple]:
    return samples["train", 1]


@pytest.fixture(scope="session")
def more_train(samples: Samples) -> list[Triple]:
    return [*samples["train", 1], *samples["train", 3]]


@pytest.fixture(scope="session")
def dev(samples: Samples) -> list[Triple]:
    return samples["dev", 1]


@pytest.fixture(scope="session")
def test_split(samples: Samples) -> list[Triple]:
    return samples["test", 1]


@pytest.fixture(scope="session")
def compositional(samples: Samples) -> list[Triple]:
    return samples["compositional", 1]


@pytest.fixture(scope="session")
def everything(samples: Samples) -> list[Triple]:
    return [item for items in samples.values() for item in items]
