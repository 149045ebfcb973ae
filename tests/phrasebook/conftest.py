"""The sentences that the tests of the phrasebook read."""

from __future__ import annotations

import pytest

from dragoman.phrasebook.corpus import sample
from dragoman.phrasebook.realise import Triple


@pytest.fixture(scope="session")
def train() -> list[Triple]:
    return list(sample(10_000, 1, "train"))


@pytest.fixture(scope="session")
def test_split() -> list[Triple]:
    return list(sample(600, 1, "test"))


@pytest.fixture(scope="session")
def dev() -> list[Triple]:
    return list(sample(600, 1, "dev"))


@pytest.fixture(scope="session")
def compositional() -> list[Triple]:
    return list(sample(3_000, 1, "compositional"))


@pytest.fixture(scope="session")
def everything(
    train: list[Triple], dev: list[Triple], test_split: list[Triple], compositional: list[Triple]
) -> list[Triple]:
    return train + dev + test_split + compositional
