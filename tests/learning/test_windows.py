"""What windows are for."""

from typing import Any

import pytest

from tests.learning.test_learning import accuracy, copy, learn

PLAIN: dict[str, Any] = {"bridge": "zero", "decoder": {"attend": "between", "readout": "deep"}}


@pytest.mark.spec("B10")
def test_a_window_that_moves_on_copies_sentences_longer_than_it_has_seen() -> None:
    """Twice as long as in training; without a window nothing says where to look."""
    local = learn(copy, (3, 6), 200, {**PLAIN, "attention": {"window": {"kind": "monotonic", "width": 1}}})
    assert accuracy(local, copy, (9, 12)) >= 0.8
    assert accuracy(learn(copy, (3, 6), 200, PLAIN), copy, (9, 12)) <= 0.3
