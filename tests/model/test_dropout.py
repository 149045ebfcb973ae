"""Dropout over sequences."""

import pytest
import torch

from dragoman.model.dropout import Dropout

ROWS, STEPS, UNITS = 40, 7, 50


@pytest.mark.parametrize("rate", [0.2, 0.5])
@pytest.mark.parametrize("variational", [False, True])
def test_what_is_kept_is_scaled_so_that_the_mean_stays(variational: bool, rate: float) -> None:
    torch.manual_seed(0)
    dropped = Dropout(rate, variational)(torch.ones(ROWS, STEPS, UNITS))
    kept = torch.tensor([0.0, 1 / (1 - rate)])
    assert torch.allclose(dropped.unique(), kept)
    assert dropped.mean().item() == pytest.approx(1.0, abs=0.08)


def test_a_variational_mask_is_shared_by_steps_and_not_by_sentences() -> None:
    torch.manual_seed(0)
    dropped = Dropout(0.5)(torch.ones(ROWS, STEPS, UNITS))
    assert torch.equal(dropped, dropped[:, :1].expand_as(dropped))
    assert len({tuple(row.tolist()) for row in dropped[:, 0]}) == ROWS


def test_a_plain_mask_differs_between_steps() -> None:
    torch.manual_seed(0)
    dropped = Dropout(0.5, variational=False)(torch.ones(1, STEPS, UNITS))
    assert len({tuple(step.tolist()) for step in dropped[0]}) == STEPS


@pytest.mark.parametrize("variational", [False, True])
def test_one_step_is_scaled_too(variational: bool) -> None:
    torch.manual_seed(0)
    dropout, units = Dropout(0.5, variational), torch.ones(ROWS, UNITS)
    mask = dropout.mask(units, UNITS)
    assert (mask is None) == (not variational)
    dropped = dropout.step(units, mask)
    assert dropped.unique().tolist() == [0.0, 2.0]
    assert torch.equal(dropped, dropout.step(units, mask)) == variational


@pytest.mark.parametrize("variational", [False, True])
def test_nothing_is_dropped_in_evaluation_or_at_rate_0(variational: bool) -> None:
    units = torch.randn(2, STEPS, UNITS)
    for dropout in (Dropout(0.5, variational).eval(), Dropout(0.0, variational)):
        assert torch.equal(dropout(units), units)
        assert dropout.mask(units[:, 0], UNITS) is None
        assert torch.equal(dropout.step(units[:, 0], None), units[:, 0])
