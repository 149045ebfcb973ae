"""Which pairs make a batch, in which order, and batches made ahead of their use."""

import queue
import threading
from collections.abc import Generator, Iterable
from contextlib import suppress
from typing import Literal, TypeVar

import numpy as np
import numpy.typing as npt

POOL_BATCHES = 100  # pairs of similar length are sought among so many batches' worth
MOST_SYMBOLS = 1 << 20  # longer sentences are sorted as if they had this many

Item = TypeVar("Item")
Numbers = npt.NDArray[np.int64]


def plan(
    lengths_source: Numbers,
    lengths_target: Numbers,
    size: int,
    unit: Literal["sentences", "tokens"],
    seed: int,
    epoch: int,
) -> list[Numbers]:
    """The batches of one epoch as arrays of rows: every row in exactly one batch, in an order of the seed's.

    Rows are shuffled and cut into pools of about a hundred batches; within a pool, rows of similar lengths
    come together, which keeps padding low while every epoch makes other batches. At last the batches
    themselves are shuffled.

    A batch of `size` sentences has that many rows, the last one fewer. A batch of `size` tokens is filled
    while its rows times its longest sentence, source or target, is at most `size`; a single longer pair is a
    batch of its own. Hence padding counts as tokens.
    """
    generator = np.random.default_rng([seed, epoch])
    rows = generator.permutation(len(lengths_target))
    longer = np.maximum(lengths_source, lengths_target)
    pool = POOL_BATCHES * size
    if unit == "tokens":
        pool = int(pool / max(1.0, float(longer.mean()) if len(longer) else 1.0)) + 1
    rows = rows[_similar(lengths_source[rows], lengths_target[rows], pool)]
    batches = _by_sentences(rows, size) if unit == "sentences" else _by_tokens(rows, longer[rows], size)
    return [batches[index] for index in generator.permutation(len(batches))]


def _similar(source: Numbers, target: Numbers, pool: int) -> Numbers:
    """The order that sorts each pool by length, to and fro, so that neighbours never differ much."""
    group = np.arange(len(source)) // pool
    first = np.minimum(np.maximum(source, target), MOST_SYMBOLS - 1)
    second = np.minimum(np.minimum(source, target), MOST_SYMBOLS - 1)
    first = np.where(group % 2, MOST_SYMBOLS - 1 - first, first)
    second = np.where(first % 2, MOST_SYMBOLS - 1 - second, second)
    key = (group * MOST_SYMBOLS + first) * MOST_SYMBOLS + second
    return np.argsort(key, kind="stable")  # other sorts order equal keys by the processor's features


def _by_sentences(rows: Numbers, size: int) -> list[Numbers]:
    return [rows[begin : begin + size] for begin in range(0, len(rows), size)]


def _by_tokens(rows: Numbers, lengths: Numbers, size: int) -> list[Numbers]:
    batches = []
    begin = 0
    while begin < len(rows):
        most = max(1, size // max(1, int(lengths[begin])))
        longest = np.maximum.accumulate(lengths[begin : begin + most])
        fitting = int(np.count_nonzero(longest * np.arange(1, len(longest) + 1) <= size))
        batches.append(rows[begin : begin + max(1, fitting)])
        begin += max(1, fitting)
    return batches


def prefetch(items: Iterable[Item], ahead: int) -> Generator[Item, None, None]:
    """The same items, made by one background thread that stays at most `ahead` of their use.

    An exception of the iterator is raised here, where it would have been. Closing the generator (or leaving
    it to be collected) ends the thread as soon as the item in the making is done.
    """
    made: queue.Queue[tuple[Item] | BaseException | None] = queue.Queue(ahead)
    stopped = threading.Event()

    def work() -> None:
        try:
            for item in items:
                made.put((item,))
                if stopped.is_set():
                    return
            made.put(None)
        except BaseException as error:
            made.put(error)

    thread = threading.Thread(target=work, name="prefetch", daemon=True)
    thread.start()
    try:
        while (result := made.get()) is not None:
            if isinstance(result, BaseException):
                raise result
            yield result[0]
    finally:
        stopped.set()
        while thread.is_alive():  # it may be waiting for room
            with suppress(queue.Empty):
                made.get(timeout=0.01)
        thread.join()
