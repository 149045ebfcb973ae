"""The convolutional encoder learns, and what its positions are for."""

from typing import Any

import pytest

from tests.learning.test_learning import accuracy, learn, reverse


@pytest.mark.spec("A8")
def test_a_convolutional_encoder_needs_positions_to_reverse() -> None:
    """Without them, and with kernels of one word, it cannot tell the words of a sentence in order."""
    options: dict[str, Any] = {"bridge": "mean", "decoder": {"attend": "between", "readout": "deep"}}
    encoder = {"kind": "convolutional", "layers": 2, "size": 32}
    placed = learn(reverse, (3, 5), 200, {**options, "encoder": {**encoder, "longest": 10}})
    assert accuracy(placed, reverse, (3, 5)) >= 0.9
    bag = learn(reverse, (3, 5), 200, {**options, "encoder": {**encoder, "width": 1, "positions": "none"}})
    assert accuracy(bag, reverse, (3, 5)) <= 0.3
