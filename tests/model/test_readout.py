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


@pytest.mark.spec("J14")
def test_linear_is_the_same_without_tanh() -> None:
    """`W [s_t; c_t] + b`."""
    features = shaken(READOUTS["linear"](SIZES))
    p = loops.numbers(features)
    state, context = (loops.array(part[1, 3]) for part in PARTS[:2])
    expected = loops.times(p["mix.weight"], loops.join(state, context)) + p["mix.bias"]
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


@pytest.mark.spec("J10")
@pytest.mark.parametrize("norm", ["standard", "marian", "nematus"])
@pytest.mark.parametrize(("kind", "inputs"), [("tanh", 2), ("deep", 3)])
def test_each_input_of_a_mixture_can_be_normalized_apart(kind: str, inputs: int, norm: str) -> None:
    """`tanh(sum_i norm(W_i x_i, b_i))`."""
    features = shaken(READOUTS[kind](SIZES._replace(norm=norm)))
    p, total = loops.numbers(features), loops.array(torch.zeros(5))
    for number, part in enumerate(PARTS[:inputs]):
        name = f"mix.maps.{number}"
        products = loops.times(p[f"{name}.weight"], loops.array(part[1, 3]))
        total = total + loops.projected(p, f"{name}.norm", norm, products, p[f"{name}.bias"])
    assert features(*PARTS)[1, 3].tolist() == pytest.approx(loops.tanh(total).tolist(), abs=1e-12)


def test_what_is_not_mixed_is_not_normalized() -> None:
    with pytest.raises(ValueError, match="readout_norm requires readout: tanh or deep"):
        READOUTS["concat"](SIZES._replace(norm="marian"))
