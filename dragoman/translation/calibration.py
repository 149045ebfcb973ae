"""Calibrated confidence: a temperature at which a model is as sure of its symbols as it is right (Guo et al. 2017)."""

import math
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from dragoman.data.batch import Batch
from dragoman.errors import UserError
from dragoman.evaluation.reliability import Reliability
from dragoman.model.predictor import Predictor
from dragoman.model.shapes import Float
from dragoman.search.tempered import log_partition
from dragoman.translation.json_record import Recorded
from dragoman.translation.json_values import Schema

COLDEST, WARMEST = 0.1, 10.0
CLOSE = 1e-6  # relative change of the temperature at which it is found


class Measured(NamedTuple):
    """References under teacher forcing at one temperature T, `softmax(logits / T)`: the mean negative log-likelihood of
    a symbol in nats, its first two derivatives by 1 / T, and how often the most probable symbol was right.
    """

    loss: float
    slope: float
    curvature: float
    reliability: Reliability


class BinSchema(Schema):
    """The predictions of a bin of confidence."""

    predictions: int = Field(ge=0)
    confidence: float
    accuracy: float


class Fit(Schema):
    """How a temperature fits the references: -log P of a symbol in nats, and the expected calibration error."""

    loss: float
    error: float
    bins: list[BinSchema]

    @classmethod
    def of(cls, measured: Measured) -> "Fit":
        bins = [BinSchema(**entry._asdict()) for entry in measured.reliability.bins]
        return cls(loss=measured.loss, error=measured.reliability.error, bins=bins)


class Calibration(Recorded):
    """The temperature of a run's weights, and how well the development set is predicted at temperature 1 (`before`) and
    at this one (`after`). `sha256` is that of the weights.
    """

    command: ClassVar[str] = "calibrate"

    temperature: float = Field(ge=COLDEST, le=WARMEST)
    weights: str
    sha256: str
    sentences: int
    symbols: int
    before: Fit
    after: Fit


@torch.inference_mode()
def measure(model: Predictor[Any], batches: Iterable[Batch], temperature: float) -> Measured:
    """The references of these batches as the model predicts them at a temperature, step by step as a search sees them.
    Symbols that it cannot predict at all are left out. UserError if no symbol is left.
    """
    sums, reliability = np.zeros(4), Reliability.of(np.zeros(0), np.zeros(0))
    for batch in batches:
        ids, mask = batch.target.labels, batch.target.mask
        state, symbols = model.begin(batch.sources), torch.full_like(ids[:, 0], model.start_id)
        for target, real in zip(ids.unbind(1), mask.unbind(1), strict=True):
            step = model.predict(symbols, state)
            target_log_probs = step.of_rows(target.unsqueeze(1)).squeeze(1)
            rows = real & target_log_probs.isfinite()
            right = (step.at(step.log_probs.argmax(1)) == target)[rows]
            best, *parts = _tempered(step.log_probs[rows].double(), target_log_probs[rows].double(), temperature)
            sums += [float(rows.sum()), *(float(part.sum()) for part in parts)]
            reliability = reliability.plus(Reliability.of(best.cpu().numpy(), right.double().cpu().numpy()))
            symbols, state = target, step.state
    if not sums[0]:
        raise UserError("no tokens to calibrate with")
    loss, slope, curvature = (sums[1:] / sums[0]).tolist()
    return Measured(loss, slope, curvature, reliability)


def _tempered(
    log_probs: Float[Tensor, "N C"], target_log_probs: Float[Tensor, "N"], temperature: float
) -> tuple[Float[Tensor, "N"], ...]:
    """Return for each row at this temperature: the largest probability, -log P of the target symbol, and the first two
    derivatives of this loss by 1 / T, which are mean log P less log P of the target, and the variance of log P.
    """
    total = log_partition(log_probs, 1 / temperature)
    chances = (log_probs / temperature - total.unsqueeze(1)).exp()
    finite = log_probs.nan_to_num(neginf=0.0)  # where the probability is 0
    mean = (chances * finite).sum(1)
    variance = (chances * (finite - mean.unsqueeze(1)).square()).sum(1)
    return chances.amax(1), total - target_log_probs / temperature, mean - target_log_probs, variance


def fit(measured: Callable[[float], Measured], measurement: Measured) -> tuple[float, Measured]:
    """The temperature from COLDEST to WARMEST with the least loss, and what was measured there. `measurement` is that
    at temperature 1, from which the search begins.

    The loss is convex in 1 / T, so that Newton's method finds where its slope is 0; a step that leaves the interval in
    which the slope changes its sign is replaced by the interval's middle.
    """
    low, high, sharpness = 1 / WARMEST, 1 / COLDEST, 1.0
    while measurement.slope != 0:
        low, high = (sharpness, high) if measurement.slope < 0 else (low, sharpness)
        newton = sharpness - measurement.slope / measurement.curvature if measurement.curvature > 0 else math.nan
        following = newton if low < newton < high else math.sqrt(low * high)
        if abs(following - sharpness) <= CLOSE * sharpness:
            break
        sharpness, measurement = following, measured(1 / following)
    return 1 / sharpness, measurement
