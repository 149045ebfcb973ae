"""Gradient times input, beside finite differences of log P, in float64."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch import Tensor

from dragoman.data.batch import Batch
from dragoman.model.encoder.source_encoder import SourceEncoder
from dragoman.model.predictor import Predictor
from dragoman.model.saliency import compute_saliency
from dragoman.search.ensemble import Ensemble
from tests.builders import BATCH, build_model, copied, pairs, sentences
from tests.model.test_regions import batch as batch_of_both
from tests.model.test_regions import make

STEP = 1e-6
MODELS: dict[str, Mapping[str, Any]] = {
    "bidirectional": {},
    "two layers": {"encoder": {"layers": 2, "cell": "lstm"}},
    "forward": {"encoder": {"direction": "forward"}},
    "convolutional": {"encoder": {"kind": "convolutional"}, "bridge": "mean"},
    "self-attention": {"encoder": {"kind": "self_attention", "heads": 1}, "bridge": "mean"},
    "sparsemax": {"normalizer": "sparsemax"},
    "linear chain": {"normalizer": "linear_chain"},
    "hard": {"normalizer": "hard"},
    "hard, of order 1": {
        "normalizer": {"kind": "hard", "order": 1},
        "decoder": {"attend": "after", "input_feeding": "none"},
    },
    "no attention": {"score": "none", "decoder": {"attend": "after"}},
    "pointer": {"output": {"kind": "pointer"}},
    "pointer generator": {"output": {"kind": "pointer_generator"}},
    "classes": {"output": {"kind": "classes"}},
    "hybrid": {"output": {"kind": "hybrid"}},
}


@contextmanager
def scaled(source_encoder: SourceEncoder, position: int, factor: float) -> Iterator[None]:
    """What a source_encoder's encoder reads at a position, times a factor."""

    def change(_: torch.nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        vectors = inputs[0].clone()
        vectors[:, position] *= factor
        return (vectors, *inputs[1:])

    handle = source_encoder.encoder.register_forward_pre_hook(change)
    try:
        yield
    finally:
        handle.remove()


def differences(model: Predictor[Any], source_encoder: SourceEncoder, batch: Batch, positions: int) -> Tensor:
    """`d log P(y_t) / d c` at c = 1, where the vector at position j is c times itself: gradient times input."""
    columns = []
    for position in range(positions):
        values = []
        for factor in (1 + STEP, 1 - STEP):
            with torch.no_grad(), scaled(source_encoder, position, factor):
                values.append(model.score(batch).log_probs)
        columns.append((values[0] - values[1]) / (2 * STEP))
    return torch.stack(columns, 2)


def assert_derivative(model: Predictor[Any], source_encoders: Sequence[SourceEncoder], batch: Batch) -> None:
    result = compute_saliency(model, source_encoders, batch)
    torch.testing.assert_close(result.scored.log_probs, model.score(batch).log_probs.detach())
    assert not result.scored.log_probs.requires_grad
    for source_encoder, maps in zip(source_encoders, result.maps, strict=True):
        expected = differences(model, source_encoder, batch, maps.size(2))
        torch.testing.assert_close(maps, expected, atol=1e-7, rtol=1e-5)
        assert maps.abs().max() > 1e-7


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_it_is_the_derivative_whatever_the_model(name: str) -> None:
    model = build_model(**MODELS[name])
    assert_derivative(model, model.source_encoders, copied(BATCH) if "pointer" in name else BATCH)


SECOND = sentences([5], [6, 6, 7, 8], [4, 4])


@pytest.mark.slow
def test_of_several_sources() -> None:
    """A sentence may lack one; where it does, nothing comes from there."""
    model = build_model(sources=2, combination={"kind": "flat", "sentinel": True})
    lacking = SECOND._replace(mask=SECOND.mask & torch.tensor([[True], [False], [True]]))
    batch = BATCH._replace(sources=(*BATCH.sources, lacking))
    assert_derivative(model, model.source_encoders, batch)
    assert (compute_saliency(model, model.source_encoders, batch).maps[1][1] == 0).all()


@pytest.mark.slow
def test_of_an_ensemble() -> None:
    """By what each member reads."""
    models = [build_model(seed=1), build_model(seed=2, score="bilinear")]
    batch = BATCH._replace(sources=(*BATCH.sources, SECOND))
    source_encoders = [source_encoder for model in models for source_encoder in model.source_encoders]
    assert_derivative(Ensemble(models, [1, 1]), source_encoders, batch)


@pytest.mark.parametrize("attended", [True, False])
def test_of_regions(attended: bool) -> None:
    """Of those, too, that only start the decoder."""
    model = make(attended=attended)
    assert_derivative(model, model.source_encoders, batch_of_both())


def test_what_comes_later_and_padding_do_nothing() -> None:
    """A row alone has the map that it has in its batch, and no word of the reference is explained by padding."""
    model = build_model()
    together = compute_saliency(model, model.source_encoders, BATCH).maps[0]
    real = BATCH.target.mask.unsqueeze(2) & BATCH.sources[0].mask.unsqueeze(1)
    assert (together[~real] == 0).all()
    for row, (source, target) in enumerate([([4, 5, 6], [5, 4]), ([7], [6, 7, 8, 4]), ([8, 4], [8])]):
        (alone,) = compute_saliency(model, model.source_encoders, pairs([source], [target])).maps
        torch.testing.assert_close(together[row, : alone.size(1), : alone.size(2)], alone[0])


def test_nothing_is_left_behind() -> None:
    """Neither gradients nor hooks, whatever happens."""
    model = build_model()
    compute_saliency(model, model.source_encoders, BATCH)
    with pytest.raises(IndexError):
        compute_saliency(model, model.source_encoders, pairs([[99]], [[5]]))
    assert all(parameter.grad is None for parameter in model.parameters())
    assert not any(source_encoder.encoder._forward_pre_hooks for source_encoder in model.source_encoders)
