"""Features: what the output layer reads."""

import pytest
import torch

from dragoman.model.readout import READOUTS, ReadoutSizes
from tests.builders import noise, shaken
from tests.model import loops

SIZES = ReadoutSizes(state=3, context=2, embedding=4, features=5)
PARTS = (noise(2, 6, 3), noise(2, 6, 2, seed=1), noise(2, 6, 4, seed=2))  # state, context, embedding (B, T, ...)


@pytest.mark.spec("B7")
def test_concat_joins_state_and_context() -> None:
    features = READOUTS["concat"](SIZES)
    assert features.size == 5
    assert torch.equal(features(*PARTS), torch.cat(PARTS[:2], -1))


@pytest.mark.spec("B8")
def test_tanh_is_the_attentional_vector() -> None:
    """`tanh(W [s_t; c_t] + b)`."""
    features = shaken(READOUTS["tanh"](SIZES))
    state, context = (loops.array(part[1, 3]) for part in PARTS[:2])
    expected = loops.mixture(loops.numbers(features), state, context)
    assert features(*PARTS)[1, 3].tolist() == pytest.approx(expected.tolist(), abs=1e-12)


def test_deep_reads_the_embedding_too() -> None:
    """`tanh(W [s_t; c_t; E y_(t-1)] + b)`."""
    features = shaken(READOUTS["deep"](SIZES))
    expected = loops.mixture(loops.numbers(features), *(loops.array(part[0, 5]) for part in PARTS))
    assert features(*PARTS)[0, 5].tolist() == pytest.approx(expected.tolist(), abs=1e-12)


@pytest.mark.parametrize("kind", sorted(READOUTS))
def test_every_features(kind: str) -> None:
    """All steps at once are each step; the size is reported; every parameter gets a gradient."""
    features = shaken(READOUTS[kind](SIZES))
    outputs = features(*PARTS)
    assert outputs.shape == (2, 6, features.size)
    for t in range(6):
        assert torch.allclose(features(*(part[:, t] for part in PARTS)), outputs[:, t])
    if list(features.parameters()):
        outputs.sum().backward()
    for parameter in features.parameters():
        assert parameter.grad is not None
        assert parameter.grad.abs().sum() > 0
