"""The sentences that the tests of the phrasebook read."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from phrasebook.realise import Sentence, Triple

# Another process samples them: here every call is checked for the types of its arguments, which is slow.
SIZES = {("train", 1): 10_000, ("train", 3): 2_000, ("dev", 1): 600, ("test", 1): 600, ("compositional", 1): 2_000}
PROGRAM = """
import json, sys
from phrasebook.corpus import sample
for split, seed, size in json.load(sys.stdin):
    for item in sample(size, seed, split):
        links = [[source, target, sorted(pairs)] for (source, target), pairs in item.links.items()]
        print(json.dumps([split, seed, *item[:3], item.construction, links]))
"""
Samples = dict[tuple[str, int], list[Triple]]


@pytest.fixture(scope="session")
def printed(repository: Path) -> str:
    """What the program prints."""
    wanted = json.dumps([(split, seed, size) for (split, seed), size in SIZES.items()])
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM], input=wanted, capture_output=True, text=True, check=True, cwd=repository
    )
    return run.stdout


@pytest.fixture(scope="session")
def samples(printed: str) -> Samples:
    """Triples by split and seed."""
    found: Samples = {key: [] for key in SIZES}
    for line in printed.splitlines():
        split, seed, *said, construction, links = json.loads(line)
        english, french, german = (Sentence(text, tuple(words)) for text, words in said)
        gold = {(source, target): frozenset(map(tuple, pairs)) for source, target, pairs in links}
        found[split, seed].append(Triple(english, french, german, construction, gold))
    return found


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
