"""What normalisers other than the softmax are for."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from dragoman.model.seq2seq import Seq2Seq
from tests.builders import pairs
from tests.learning.test_learning import accuracy, copy, draw, learn

CONDITIONAL: dict[str, Any] = {"decoder": {"attend": "between", "features": "deep"}}


def weights(model: Seq2Seq) -> Tensor:
    """Those of 50 copies of five words (50, 6, 6), the end symbol included."""
    words = draw(np.random.default_rng(3), 50, (5, 5))
    with torch.inference_mode():
        return model(pairs(words, words)).weights


def test_sparse_attention_learns_to_leave_words_out() -> None:
    """Most weights are exactly 0, where the softmax has none."""
    sparse = learn(copy, (3, 5), 200, {**CONDITIONAL, "normaliser": "entmax"})
    assert accuracy(sparse, copy, (3, 5)) >= 0.9
    assert weights(sparse).eq(0).double().mean() > 0.5
    soft = learn(copy, (3, 5), 20, {**CONDITIONAL, "normaliser": "softmax"})
    assert weights(soft).gt(0).all()
