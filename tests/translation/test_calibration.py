"""The temperature of a model: where the loss of the references is least; the file that keeps it."""

import random
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from dragoman.configuration.components import Spec, build
from dragoman.data.batch import Batch
from dragoman.errors import UserError
from dragoman.evaluation.reliability import Reliability
from dragoman.files.reading import compute_sha256
from dragoman.search.table import SEARCHES
from dragoman.translation.calibration import COLDEST, WARMEST, Calibration, Fit, Measured, fit, measure
from tests.builders import SYMBOLS, build_model, pairs, sentences
from tests.golden import Golden

MODEL = build_model(seed=5, spread=1.5)


@cache
def batches(count: int = 30) -> tuple[Batch, ...]:
    """References drawn from the model at temperature 1.7: it is surer of its own symbols than of these."""
    drawn = random.Random(1)
    texts = [[drawn.randrange(4, SYMBOLS) for _ in range(drawn.randint(1, 4))] for _ in range(count)]
    search = build(SEARCHES, Spec("sample", {"temperature": 1.7, "length_ratio": 0, "length_margin": 5}))
    symbols = [list(best.symbols) for (best,) in search(MODEL, (sentences(*texts),), seeds=range(count))]
    return tuple(pairs(texts[first : first + 6], symbols[first : first + 6]) for first in range(0, count, 6))


def loss(temperature: float) -> float:
    """-log softmax(logits / T) of each symbol, in a plain loop over teacher-forced steps."""
    total, count = 0.0, 0
    for batch in batches():
        state, symbols = MODEL.begin(batch.sources), torch.full_like(batch.target.ids[:, 0], MODEL.start_id)
        for column in range(batch.target.ids.size(1)):
            step = MODEL.predict(symbols, state)
            symbols, state = batch.target.ids[:, column], step.state
            for row, symbol in enumerate(symbols.tolist()):
                if batch.target.mask[row, column]:
                    total -= torch.log_softmax(step.log_probs[row] / temperature, 0)[symbol].item()
                    count += 1
    return total / count


@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
def test_what_is_measured_is_the_loss_and_its_derivatives(temperature: float) -> None:
    """By 1 / T, as finite differences tell."""
    measured, small = measure(MODEL, batches(), temperature), 1e-4
    assert measured.loss == pytest.approx(loss(temperature))
    low, high = (measure(MODEL, batches(), 1 / (1 / temperature + change)) for change in (-small, small))
    assert measured.slope == pytest.approx((high.loss - low.loss) / (2 * small), abs=1e-6)
    assert measured.curvature == pytest.approx((high.slope - low.slope) / (2 * small), abs=1e-5)


def test_confidence_is_the_largest_probability_and_right_is_what_has_it() -> None:
    reliability = measure(MODEL, batches(), 2.0).reliability
    confidences, right = list[float](), list[bool]()
    for batch in batches():
        state, symbols = MODEL.begin(batch.sources), torch.full_like(batch.target.ids[:, 0], MODEL.start_id)
        for target, mask in zip(batch.target.ids.T, batch.target.mask.T, strict=True):
            step = MODEL.predict(symbols, state)
            best = torch.softmax(step.log_probs / 2.0, 1).max(1)
            confidences += best.values[mask].tolist()
            right += (best.indices == target)[mask].tolist()
            symbols, state = target, step.state
    expected = Reliability.of(np.array(confidences), np.array(right, np.float64))
    for one, other in zip(reliability, expected, strict=True):
        np.testing.assert_allclose(one, other)
    assert reliability.error == pytest.approx(expected.error)


def test_the_temperature_has_the_least_loss() -> None:
    """Its slope is 0, and no temperature beside it is better."""
    temperatures = list[float]()

    def measured(temperature: float) -> Measured:
        temperatures.append(temperature)
        return measure(MODEL, batches(), temperature)

    temperature, measurement = fit(measured, measured(1.0))
    assert temperatures.count(1.0) == 1
    assert len(temperatures) < 12
    assert abs(measurement.slope) < 1e-6
    assert measurement.loss == pytest.approx(loss(temperature))
    assert measurement.loss < min(loss(0.97 * temperature), loss(1.03 * temperature), loss(1.0))
    assert 1.3 < temperature < 2.2


@pytest.mark.parametrize(("slope", "end"), [(-1.0, COLDEST), (1.0, WARMEST)])
@pytest.mark.parametrize("curvature", [0.0, 1e-9, 1e9])
def test_it_stays_within_its_limits(slope: float, end: float, curvature: float) -> None:
    """However the loss falls there."""
    nothing = Reliability.of(np.zeros(0), np.zeros(0))
    measurement = Measured(0.0, slope, curvature, nothing)
    temperature, _ = fit(lambda temperature: measurement, measurement)
    assert COLDEST <= temperature <= WARMEST
    if curvature < 1:
        assert temperature == pytest.approx(end, rel=1e-4)


@pytest.mark.parametrize("best", [0.5, 1.0, 2.0])
def test_it_stops_where_the_slope_is_0(best: float) -> None:
    """A loss that is quadratic in 1 / T, which the first step of Newton's method solves."""
    temperatures = list[float]()

    def measured(temperature: float) -> Measured:
        temperatures.append(temperature)
        slope = 1 / temperature - 1 / best
        return Measured(slope**2 / 2, slope, 1.0, Reliability.of(np.zeros(0), np.zeros(0)))

    temperature, measurement = fit(measured, measured(1.0))
    assert (temperature, measurement.slope) == (best, 0.0)
    assert temperatures == [1.0, *([best] if best != 1.0 else [])]


def test_without_symbols_there_is_nothing_to_measure() -> None:
    with pytest.raises(UserError, match="no tokens"):
        measure(MODEL, [], 1.0)


def make_calibration(**changes: Any) -> Calibration:
    fit_of_batches = Fit.of(measure(MODEL, batches(6), 1.0))
    values = {"temperature": 1.25, "weights": "model.safetensors", "sha256": "00", "sentences": 3, "symbols": 9}
    return Calibration(**{**values, "before": fit_of_batches, "after": fit_of_batches, **changes})


def test_the_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "calibration.json"
    make_calibration().write(path)
    assert Calibration.read(path) == make_calibration()
    assert sum(batch.predictions for batch in make_calibration().before.bins) == sum(
        int(batch.target.mask.sum()) for batch in batches(6)
    )


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        '{"temperature": 1}',
        '{"program": "dragoman", "version": 2}',
        '{"program": "dragoman", "version": 1, "temperature": 0.0}',
        '{"program": "dragoman", "version": 1, "temperature": "hot"}',
    ],
)
def test_what_is_no_calibration_is_told(text: str, tmp_path: Path, golden: Golden) -> None:
    path = tmp_path / "calibration.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UserError) as error:
        Calibration.read(path)
    assert str(error.value).startswith(f"{path}: ")
    golden(str(error.value))


def test_a_digest_tells_weights_apart(tmp_path: Path) -> None:
    for name, text in (("one", "a"), ("other", "b"), ("same", "a")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    one, other, same = (compute_sha256(tmp_path / name) for name in ("one", "other", "same"))
    assert one == same != other
