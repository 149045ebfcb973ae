"""The file of messages has those of tests that ask for it, and a test fails where its message is another."""

import re
from pathlib import Path

import pytest

from tests import golden as messages
from tests.golden import Golden


def test_every_message_is_of_a_test_that_asks_for_it(repository: Path) -> None:
    for test in messages.read():
        path, _, name = test.partition("::")
        assert re.search(rf"^def {name}\([^)]*golden: Golden", (repository / path).read_text("utf-8"), re.MULTILINE), (
            test
        )


def test_another_wording_is_noticed(golden: Golden, request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--golden") or request.config.getoption("--any-wording"):
        pytest.skip("nothing is compared")
    golden("is as it was written down", "this one")
    with pytest.raises(AssertionError, match="wording"):
        golden("is another", "this one")
    with pytest.raises(AssertionError, match="wording"):
        golden("is not there")
