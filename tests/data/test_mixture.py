"""Drawing parts of a corpus with other shares than their own."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.data.batching import BatchPlan, CorpusMixture

SIZES = (8_000, 1_500, 500)


def plan(temperature: float, epoch: int = 0, unit: str = "sentences", seed: int = 1) -> BatchPlan:
    """Of sentences of one word each."""
    offsets = np.arange(sum(SIZES) + 1)
    mixture = CorpusMixture.tempered(SIZES, temperature) if temperature > 1 else None
    return BatchPlan((offsets,), offsets, 50, unit, seed, epoch, mixture)  # type: ignore[arg-type]


def drawn(temperature: float, epoch: int = 0, unit: str = "sentences") -> list[int]:
    return [row for batch in plan(temperature, epoch, unit).batches() for row in batch.tolist()]


def parts(rows: list[int]) -> list[int]:
    """How many rows are of each part."""
    counts = Counter(np.searchsorted(np.cumsum(SIZES), rows, "right").tolist())
    return [counts[part] for part in range(len(SIZES))]


@pytest.mark.spec("E1")
@pytest.mark.parametrize("temperature", [1.0, 1.5, 5.0, 1e9])
@pytest.mark.parametrize("unit", ["sentences", "tokens"])
def test_shares_are_those_of_the_temperature_and_an_epoch_is_as_long(temperature: float, unit: str) -> None:
    rows = drawn(temperature, unit=unit)
    weights = np.array(SIZES) ** (1 / temperature)
    assert len(rows) == sum(SIZES)
    assert parts(rows) == pytest.approx(sum(SIZES) * weights / weights.sum(), abs=1)


@pytest.mark.spec("E1")
def test_no_row_comes_again_before_the_others_of_its_part() -> None:
    """Over epochs too: what is drawn from a part differs by one time at most."""
    rows = [row for epoch in range(4) for row in drawn(5.0, epoch)]
    counts = np.bincount(rows, minlength=sum(SIZES))
    begin = 0
    for size in SIZES:
        part = counts[begin : begin + size]
        assert part.max() - part.min() <= 1
        begin += size
    assert counts[-1] > 4


def test_each_time_in_another_order() -> None:
    small = [row for row in drawn(5.0) if row >= sum(SIZES[:2])]
    assert len(small) > 2 * SIZES[2]
    first, second = plan(5.0), plan(5.0, seed=2)
    assert [batch.tolist() for batch in first.batches()] == [batch.tolist() for batch in plan(5.0).batches()]
    assert [batch.tolist() for batch in first.batches()] != [batch.tolist() for batch in second.batches()]
    assert drawn(5.0, 0) != drawn(5.0, 1)


@pytest.mark.parametrize("unit", ["sentences", "tokens"])
def test_the_rest_of_an_epoch_is_the_epoch_from_there_on(unit: str) -> None:
    whole = [batch.tolist() for batch in plan(5.0, 3, unit).batches()]
    for begin in (1, 99, 100, 117, len(whole) - 1, len(whole)):
        assert [batch.tolist() for batch in plan(5.0, 3, unit).batches(begin)] == whole[begin:]


@pytest.mark.slow
@given(st.lists(st.integers(1, 300), min_size=1, max_size=5), st.floats(1, 100), st.integers(0, 5))
def test_any_sizes(sizes: list[int], temperature: float, epoch: int) -> None:
    mixture = CorpusMixture.tempered(tuple(sizes), temperature)
    assert mixture.quotas.sum() == sum(sizes)
    rows = mixture.rows(np.arange(sum(sizes)), 1, epoch)
    part_of_row = np.searchsorted(np.cumsum(sizes), rows, "right")
    assert np.bincount(part_of_row, minlength=len(sizes)).tolist() == mixture.quotas.tolist()


def test_weights_are_the_shares_whatever_the_sizes() -> None:
    """The small part comes again and again, the large one goes on in the next epoch where it was."""
    mixture = CorpusMixture(SIZES, (1.0, 3.0, 0.5))
    total = sum(SIZES)
    assert mixture.quotas.tolist() == pytest.approx([total / 4.5, total * 3 / 4.5, total * 0.5 / 4.5], abs=1)
    epochs = [mixture.rows(np.arange(total), 1, epoch).tolist() for epoch in range(4)]
    counts = np.bincount([row for rows in epochs[:3] for row in rows], minlength=total)
    assert set(counts[: SIZES[0]].tolist()) == {0, 1}, "6,667 of 8,000 in three epochs"
    assert set(counts[SIZES[0] : sum(SIZES[:2])].tolist()) <= {13, 14}
    fourth = np.bincount(epochs[3], minlength=total)
    assert (counts + fourth)[: SIZES[0]].min() == 1, "the rest of the first part, before any comes again"
