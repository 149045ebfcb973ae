"""What all tests share."""

import gc
import logging
import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import hypothesis
import pytest
import torch

from tests import browser as browsers
from tests import covering, shapes
from tests import golden as messages

ROOT = Path(__file__).resolve().parent.parent
SHARED_DATA = ROOT.parent / "shared" / "data"
SHARED_IMPORT = ROOT.parent / "shared" / "import"

shapes.install()
torch.set_num_threads(1)
os.environ["OMP_NUM_THREADS"] = "1"  # of commands whose configurations say nothing, too (see pytest_runtest_setup)
hypothesis.settings.register_profile("dragoman", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.load_profile("dragoman")
# pytest visits every logger that does not propagate six times per test, and torch has fifty of them without a handler.
for name in [name for name in logging.root.manager.loggerDict if name.startswith("torch")]:
    logging.getLogger(name).propagate = True
# No test cuts the power, and a small training would wait for a slow disk as long as it computes.
pytest.MonkeyPatch().setattr(os, "fsync", lambda descriptor: None)


TOLD = pytest.StashKey[messages.Messages]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--any-wording", action="store_true", help="compare no message with messages.json: it quotes libraries, too"
    )
    parser.addoption("--golden", action="store_true", help="write tests/messages.json anew (see tests/golden.py)")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[TOLD] = {}
    if config.getoption("--golden") and (config.getoption("numprocesses", None) or hasattr(config, "workerinput")):
        raise pytest.UsageError("--golden: one process sees all cases of a test; leave out -n")


def pytest_sessionfinish(session: pytest.Session) -> None:
    if session.config.getoption("--golden"):
        messages.write(session.config.stash[TOLD])


@cache
def wording() -> messages.Messages:
    return messages.read()


@pytest.fixture
def golden(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> messages.Golden:
    """Compares messages of this test with those in tests/messages.json."""
    test, _, parameters = request.node.nodeid.partition("[")
    folders = re.compile(rf"{re.escape(str(tmp_path_factory.getbasetemp()))}/[^/:' ]+")
    number = 0

    def compare(message: str, case: str | None = None) -> None:
        nonlocal number
        number += 1
        if case is None:
            case = parameters.removesuffix("]") + (f" #{number}" if number > 1 else "")
        message_text = folders.sub("FOLDER", message)
        if request.config.getoption("--golden"):
            request.config.stash[TOLD].setdefault(test, {})[case] = message_text
        elif not request.config.getoption("--any-wording"):
            assert message_text == wording().get(test, {}).get(case), "wording: see tests/golden.py"

    return compare


def pytest_runtest_setup() -> None:
    """Tests run side by side on the same cores, so that one thread each is fastest, whatever the test before has left:
    with two, small models take many times as long.
    """
    torch.set_num_threads(1)
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


@pytest.fixture(scope="session")
def shared_import() -> Path:
    """The folder of other programs' checkpoints beside the repository; its tests are skipped where there is none."""
    if not SHARED_IMPORT.is_dir():
        pytest.skip("needs the checkpoints in ../shared/import, which are not part of the repository")
    return SHARED_IMPORT


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[browsers.Browser]:
    """Chromium, for tests of pages; they are skipped where it is not."""
    yield from browsers.started(tmp_path_factory.mktemp("browser"))


@pytest.hookimpl(tryfirst=True)  # before those that are slow are left out
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    covering.mark_products(items)
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.slow)


def pytest_collection_finish() -> None:
    """Keep what all tests share (torch, thousands of items) out of every later search for garbage."""
    gc.collect()
    gc.freeze()
