"""The encoder of regions, against its equation."""

from typing import Any

import numpy as np
import pytest
import torch

from dragoman.model.encoder.projection import ProjectionEncoder
from dragoman.model.memory import StateShape
from tests.builders import noise, shaken
from tests.model import loops

INPUTS, PLACES = 3, 4
LENGTHS = (4, 2)
MASK = torch.tensor([[place < length for place in range(PLACES)] for length in LENGTHS])


@pytest.mark.spec("C10")
@pytest.mark.spec("C12")
@pytest.mark.parametrize("size", [None, 5])
def test_each_region_is_mapped_by_itself_and_their_mean_is_what_a_decoder_starts_from(size: int | None) -> None:
    """`h_j = W v_j + b`, or v_j; whatever stands at padded places."""
    encoder, regions = shaken(ProjectionEncoder(INPUTS, size=size)).eval(), noise(2, PLACES, INPUTS)
    memory = encoder(regions.masked_fill(~MASK.unsqueeze(2), 1e6), MASK)
    assert (encoder.size, encoder.state_shape) == (size or INPUTS, StateShape(1, size or INPUTS, 1))
    p = loops.numbers(encoder)
    for row, length in enumerate(LENGTHS):
        expected = loops.array(regions[row, :length])
        if size:
            expected = np.array([loops.times(p["map.weight"], v) + p["map.bias"] for v in expected])
        np.testing.assert_allclose(loops.array(memory.states[row, :length]), expected, atol=1e-12)
        mean = loops.mix([1 / length] * length, expected)
        ((final,),) = memory.final
        np.testing.assert_allclose(loops.array(final[row]), mean, atol=1e-12)


def test_dropout_hides_numbers_of_regions_in_training_alone() -> None:
    encoder, regions = ProjectionEncoder(INPUTS, dropout=0.5), torch.ones(2, 400, INPUTS)
    mask = torch.ones(2, 400, dtype=torch.bool)
    states = encoder(regions, mask).states
    assert set(states.unique().tolist()) == {0.0, 2.0}
    assert float((states == 0).float().mean()) == pytest.approx(0.5, abs=0.05)
    assert torch.equal(encoder.eval()(regions, mask).states, regions)


def test_a_region_does_not_depend_on_others() -> None:
    encoder: Any = ProjectionEncoder(INPUTS, size=2)
    assert not encoder.reads_ahead
