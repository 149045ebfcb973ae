"""What normalizers other than the softmax are for."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional

from dragoman.model.attention.normalizers import LinearChain
from dragoman.model.seq2seq import Seq2Seq
from tests.builders import pairs
from tests.learning.test_learning import accuracy, copy, draw, learn

CONDITIONAL: dict[str, Any] = {"decoder": {"attend": "between", "readout": "deep"}}


def weights(model: Seq2Seq) -> Tensor:
    """Those of 50 copies of five words (50, 6, 6), the end symbol included."""
    words = draw(np.random.default_rng(3), 50, (5, 5))
    with torch.inference_mode():
        return model(pairs(words, words)).weights


def test_sparse_attention_learns_to_leave_words_out() -> None:
    """Most weights are exactly 0, where the softmax has none."""
    sparse = learn(copy, (3, 5), 200, {**CONDITIONAL, "normalizer": "entmax"})
    assert accuracy(sparse, copy, (3, 5)) >= 0.9
    assert weights(sparse).eq(0).double().mean() > 0.5
    soft = learn(copy, (3, 5), 20, {**CONDITIONAL, "normalizer": "softmax"})
    assert weights(soft).gt(0).all()


def stretches(seed: int) -> tuple[Tensor, Tensor]:
    """Sentences of 12 words, of which stretches are meant (1) or not (0), and energies that say so unreliably."""
    generator = torch.Generator().manual_seed(seed)
    changes = torch.rand(64, 1, 12, generator=generator) < 0.15
    meant = (changes.cumsum(-1) % 2).float()
    return meant, 4 * meant - 2 + 3 * torch.randn(meant.shape, generator=generator)


@pytest.mark.spec("A10")
def test_a_chain_learns_that_words_are_meant_in_stretches() -> None:
    """Its theta takes from the neighbors what an energy alone does not say."""
    chain, alone = LinearChain(), LinearChain()
    optimizer = torch.optim.Adam(chain.parameters(), lr=0.1)
    for seed in range(40):
        meant, energies = stretches(seed)
        optimizer.zero_grad()
        functional.binary_cross_entropy(chain(energies), meant).backward()
        optimizer.step()
    meant, energies = stretches(100)
    wrong, wrong_alone = (
        ((normalizer(energies) > 0.5) != meant.bool()).float().mean() for normalizer in (chain, alone)
    )
    assert wrong < 0.75 * wrong_alone
    assert chain.theta[0, 0] + chain.theta[1, 1] > chain.theta[0, 1] + chain.theta[1, 0] + 1
