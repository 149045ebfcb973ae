"""The plan of an epoch is a shuffled partition with little padding; prefetching changes nothing but the thread."""

import threading
import time
import tracemalloc
from collections.abc import Iterator
from itertools import islice
from typing import Literal

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.data.batching import POOL_BATCHES, BatchPlan, permute_rows, prefetch, split_portions

Unit = Literal["sentences", "tokens"]
Lengths = npt.NDArray[np.int64]


def corpus(pairs: int) -> tuple[Lengths, Lengths]:
    generator = np.random.default_rng(1)
    source = np.clip(generator.lognormal(2.8, 0.6, pairs), 1, 200).astype(np.int64)
    return source, np.maximum(1, source * generator.normal(1, 0.15, pairs)).astype(np.int64)


def planned(source: Lengths, target: Lengths, size: int, unit: Unit, seed: int = 1, epoch: int = 0) -> BatchPlan:
    return BatchPlan((offsets(source),), offsets(target), size, unit, seed, epoch)


def offsets(lengths: Lengths) -> Lengths:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


@given(
    lengths=st.lists(st.tuples(st.integers(1, 60), st.integers(1, 60))),
    size=st.integers(1, 100),
    unit=st.sampled_from(["sentences", "tokens"]),
    seed=st.integers(0, 2**32),
)
def test_every_pair_is_in_one_batch_of_the_right_size(
    lengths: list[tuple[int, int]], size: int, unit: Unit, seed: int
) -> None:
    source, target = (np.array([pair[side] for pair in lengths], np.int64) for side in (0, 1))
    plan = planned(source, target, size, unit, seed, epoch=3)
    batches = list(plan.batches())
    assert sorted(row for batch in batches for row in batch.tolist()) == list(range(len(lengths)))
    if unit == "sentences":
        assert sorted(map(len, batches), reverse=True)[:-1] == [size] * (len(batches) - 1)
        assert plan.count() == len(batches)
    for batch in batches if unit == "tokens" else []:
        longest = max(int(source[batch].max()), int(target[batch].max()))
        assert len(batch) == 1 or len(batch) * longest <= size


@pytest.mark.parametrize("size", [40, 49])
def test_a_batch_of_tokens_is_filled_to_the_last(size: int) -> None:
    """Ten sentences of ten symbols each: four of them are exactly forty."""
    lengths = np.full(10, 10)
    batches = planned(lengths, lengths, size, "tokens").batches()
    assert sorted(map(len, batches), reverse=True) == [4, 4, 2]


@pytest.mark.parametrize(("size", "unit"), [(80, "sentences"), (2000, "tokens")])
def test_there_is_little_padding(size: int, unit: Unit) -> None:
    lengths = corpus(50_000)
    plan = planned(*lengths, size, unit)
    batches = list(plan.batches())
    assert abs(plan.count() / len(batches) - 1) < 0.03
    for side in lengths:
        padded = sum(len(batch) * int(side[batch].max()) for batch in batches)
        assert side.sum() / padded > 0.85
    if unit == "tokens":
        full = [len(batch) * max(int(side[batch].max()) for side in lengths) for batch in batches]
        assert np.mean(full) > 0.9 * size


@pytest.mark.parametrize(("size", "unit"), [(64, "sentences"), (1000, "tokens")])
def test_a_plan_is_the_same_for_the_same_seed_and_epoch_alone(size: int, unit: Unit) -> None:
    lengths = corpus(5_000)

    def batches(seed: int, epoch: int) -> list[tuple[int, ...]]:
        return [tuple(batch.tolist()) for batch in planned(*lengths, size, unit, seed, epoch).batches()]

    assert batches(1, 0) == batches(1, 0)
    for other in (batches(1, 1), batches(2, 0)):
        shared = set(batches(1, 0)) & set(other)
        assert len(shared) < 0.2 * len(other)


@pytest.mark.parametrize(("size", "unit"), [(3, "sentences"), (60, "tokens")])
def test_the_rest_of_a_plan_is_the_plan_from_there_on(size: int, unit: Unit) -> None:
    plan = planned(*corpus(1_000), size, unit)
    batches = [batch.tolist() for batch in plan.batches()]
    assert len(batches) > 3 * POOL_BATCHES
    assert sorted(row for batch in batches for row in batch) == list(range(1_000))
    for begin in (0, 1, POOL_BATCHES, 2 * POOL_BATCHES + 7, len(batches) - 1, len(batches), len(batches) + 9):
        assert [batch.tolist() for batch in plan.batches(begin)] == batches[begin:]


def test_batches_are_not_in_order_of_length() -> None:
    source, target = corpus(50_000)
    means = [float(target[batch].mean()) for batch in planned(source, target, 80, "sentences").batches()]
    assert abs(np.corrcoef(means[1:], means[:-1])[0, 1]) < 0.15


@pytest.mark.slow
@pytest.mark.parametrize(("size", "unit"), [(80, "sentences"), (4000, "tokens")])
def test_a_million_pairs_take_a_moment_and_the_first_of_them_none(size: int, unit: Unit) -> None:
    plan = planned(*corpus(1_000_000), size, unit)
    tracemalloc.start()
    begun = list(islice(plan.batches(), 1)), plan.count()
    assert tracemalloc.get_traced_memory()[1] < 4e6  # bytes; the lengths of all pairs would be 16 MB
    tracemalloc.stop()
    assert len(begun[0]) == 1
    assert begun[1] > 5_000
    start = time.process_time()
    assert sum(map(len, plan.batches())) == 1_000_000
    assert time.process_time() - start < 5


@pytest.mark.slow
@pytest.mark.spec("D8")
@given(batches=st.lists(st.lists(st.integers(0, 30), min_size=1, max_size=12), max_size=30), most=st.integers(1, 40))
def test_portions_are_adjacent_batches_with_so_many_symbols_together(batches: list[list[int]], most: int) -> None:
    """By the definition: the first batch that would bring too many begins the next portion."""
    expected: list[list[int]] = []
    begin = 0
    for end in range(1, len(batches) + 1):
        if end == len(batches) or len(set().union(*batches[begin : end + 1])) > most:
            symbols = sorted(set().union(*batches[begin:end]))
            assert len(symbols) <= most or end == begin + 1
            expected += [symbols] * (end - begin)
            begin = end
    pairs = list(split_portions((np.array(batch) for batch in batches), np.unique, most))
    assert [rows.tolist() for rows, _ in pairs] == batches
    assert [symbols.tolist() for _, symbols in pairs] == expected
    assert all(set(batch) <= set(symbols) for batch, symbols in zip(batches, expected, strict=True))


@pytest.mark.slow
@given(count=st.integers(1, 3_000), seed=st.integers(0, 2**32))
def test_shuffling_moves_every_number_to_a_place_of_its_own(count: int, seed: int) -> None:
    places = np.arange(count)
    images = permute_rows(places, count, seed, 0)
    assert sorted(images.tolist()) == places.tolist()
    assert permute_rows(places[count // 2 :], count, seed, 0).tolist() == images[count // 2 :].tolist()


@pytest.mark.slow
def test_shuffling_is_as_good_as_chance() -> None:
    seeds = range(2_000)
    drawn = np.array([permute_rows(np.arange(10), 10, seed, 1) for seed in seeds])  # (seeds, 10)
    for column in drawn.T:
        counts = np.bincount(column, minlength=10)
        assert ((counts - 200) ** 2 / 200).sum() < 27.9  # chi-square with 9 degrees of freedom, p = 0.001
    neighbors = permute_rows(np.arange(100_000), 100_000, 1, 0)
    assert abs(np.corrcoef(neighbors[1:], neighbors[:-1])[0, 1]) < 0.01
    assert abs(np.corrcoef(neighbors, np.arange(100_000))[0, 1]) < 0.01


def wait_until(condition: object) -> None:
    deadline = time.perf_counter() + 5
    while not condition() and time.perf_counter() < deadline:  # type: ignore[operator]
        time.sleep(0.005)


def test_prefetched_items_are_the_same_in_order() -> None:
    assert list(prefetch(range(100), 3)) == list(range(100))
    assert list(prefetch([], 1)) == []
    assert list(prefetch([None, None], 1)) == [None, None]


def test_prefetching_stays_just_ahead_on_another_thread() -> None:
    threads: list[threading.Thread] = []

    def items() -> Iterator[int]:
        for number in range(100):
            threads.append(threading.current_thread())
            yield number

    ahead = prefetch(items(), 3)
    assert next(ahead) == 0
    wait_until(lambda: len(threads) >= 5)
    time.sleep(0.05)
    assert len(threads) == 5  # one taken, three waiting, one in hand
    assert set(threads) != {threading.current_thread()}
    ahead.close()


def test_an_exception_comes_in_its_turn() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise KeyError("trouble")

    ahead = prefetch(items(), 3)
    assert next(ahead) == 1
    with pytest.raises(KeyError, match="trouble"):
        next(ahead)
    with pytest.raises(StopIteration):
        next(ahead)


@pytest.mark.parametrize("taken", [0, 1, 3])
def test_closing_ends_the_thread(taken: int) -> None:
    def items() -> Iterator[int]:
        number = 0
        while True:
            yield number
            number += 1

    before = set(threading.enumerate())
    ahead = prefetch(items(), 2)
    assert [next(ahead) for _ in range(taken)] == list(range(taken))
    ahead.close()
    assert set(threading.enumerate()) == before
