"""The benchmark of large vocabularies: its batches, and its table."""

import numpy as np
import pytest

from benchmarks import vocabulary
from benchmarks.vocabulary import Figures
from dragoman.configuration.components import Spec
from dragoman.data.vocabulary import EOS


def test_frequencies_are_by_the_law_of_zipf_and_mandelbrot() -> None:
    counts = np.array(vocabulary.table(1000).counts[4:])
    assert counts.sum() == pytest.approx(vocabulary.CORPUS, rel=1e-4)
    assert counts[0] / counts[97] == pytest.approx(100.7 / 3.7, rel=1e-3)


def test_batches_are_of_their_portion() -> None:
    seconds, portions = vocabulary.batches(vocabulary.table(1000), 700)
    assert seconds > 0
    sizes = set()
    for batch in portions:
        assert batch.target.ids.shape == (vocabulary.SENTENCES, vocabulary.LENGTH + 1)
        assert batch.target.portion is not None
        assert set(batch.target.ids.flatten().tolist()) <= set(batch.target.portion.tolist())
        assert EOS in batch.target.portion
        sizes.add(len(batch.target.portion))
    assert max(sizes) <= 700
    _, (whole, *_) = vocabulary.batches(vocabulary.table(1000), None)
    assert whole.target.portion is None
    assert np.array_equal(whole.target.ids, portions[0].target.ids)


@pytest.mark.slow
def test_training_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vocabulary, "SENTENCES", 2)
    rate, memory = vocabulary.work(Spec("nce"), 300, 1)
    assert rate > 0
    assert memory > 1e7


def test_ratios_are_to_the_full_softmax(monkeypatch: pytest.MonkeyPatch) -> None:
    rates = {"softmax": [10.0, 30.0, 20.0], "nce": [50.0, 100.0, 70.0]}
    monkeypatch.setattr(vocabulary, "measured", lambda output, symbols, _: Figures(rates[output].pop(0), symbols * 1e6))
    table = list(vocabulary.rows(["softmax", "nce"], [5000], 3, 1))
    assert table[2:] == ["| 5,000 | `softmax` | 20 | 1.0 | 5.0 |", "| 5,000 | `nce` | 70 | 3.5 | 5.0 |"]
