"""Composition and order of batches, and prefetching."""

import queue
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal, TypeVar

import numpy as np
import numpy.typing as npt

POOL_BATCHES = 100  # batches per pool, within which pairs are sorted by length
MOST_SYMBOLS = 1 << 20  # longer sentences are sorted as if they had this length
ROUNDS = 6  # of the shuffling network
MIXED = 1  # distinguishes the seeds of a mixture from those of a plan

Item = TypeVar("Item")
Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class CorpusMixture:
    """Sampling of consecutive parts of a corpus, each in proportion to its weight.

    An epoch still has as many rows as the corpus. Each part is traversed repeatedly, reshuffled each time, continuing
    where the previous epoch ended: no row is repeated before all others of its part have been drawn.
    """

    sizes: tuple[int, ...]
    weights: tuple[float, ...]

    @classmethod
    def tempered(cls, sizes: tuple[int, ...], temperature: float) -> "CorpusMixture":
        """Return a part of n rows is drawn in proportion to `n^(1/T)` (Arivazhagan et al. 2019, "Massively multilingual
        neural machine translation in the wild").
        """
        counts = np.array(sizes, np.float64)
        return cls(sizes, tuple(((counts / counts.max()) ** (1 / temperature)).tolist()))

    @property
    def quotas(self) -> Numbers:
        """The number of rows of each part in an epoch; they sum to the size of the corpus."""
        weights = np.array(self.weights, np.float64)
        # Rounded as sums, so that the quotas add up to the size of the corpus.
        ends = np.rint(np.cumsum(weights) / weights.sum() * sum(self.sizes)).astype(np.int64)
        quotas: Numbers = np.diff(ends, prepend=0)
        return quotas

    def rows(self, places: Numbers, seed: int, epoch: int) -> Numbers:
        """Return the rows at these places of an epoch, in which the rows of each part are consecutive."""
        ends = np.cumsum(self.quotas)
        parts = np.searchsorted(ends, places, "right")
        rows = np.empty_like(places)
        begin = 0
        for part, (size, quota, end) in enumerate(zip(self.sizes, self.quotas, ends, strict=True)):
            here = np.flatnonzero(parts == part)
            # Where this epoch goes on in the endless sequence of the part: how many times it is through, and where.
            rounds, rest = np.divmod(places[here] - (end - quota) + epoch * quota, size)
            for number in np.unique(rounds):
                now = rounds == number
                rows[here[now]] = begin + permute_rows(rest[now], size, seed, part, int(number), MIXED)
            begin += size
        return rows


@dataclass(frozen=True)
class BatchPlan:
    """The batches of one epoch as arrays of rows: every row (with a `mixture`, every row that it draws in this epoch)
    is in exactly one batch, in an order determined by the seed.

    Rows are shuffled and split into pools of about a hundred batches; within a pool, rows of similar length are
    batched together, which keeps padding low while batches differ between epochs; then the pool's batches are
    shuffled. Pools are made on demand, so that neither time nor memory grows with the corpus.

    `sources` and `target` (N + 1,) are the offsets of the sentences in a column. A batch of `size` sentences has that
    many rows, the last one fewer. A batch of `size` symbols is filled while its number of rows times its longest
    sentence, of any source or the target, is at most `size`; a single longer pair is a batch of its own. Hence padding
    counts as symbols. If this rule changes, so must the version of training states (training/progress.py), which
    count batches.
    """

    sources: tuple[Numbers, ...]
    target: Numbers
    size: int
    type: Literal["sentences", "tokens"]
    seed: int
    epoch: int
    mixture: CorpusMixture | None = None

    def batches(self, begin: int = 0) -> Iterator[Numbers]:
        """Yield the batches from number `begin` on."""
        for pool in range(self._pools):
            # All pools but the last have so many batches: a resumed epoch skips them without making them.
            if self.type == "sentences" and begin >= POOL_BATCHES and pool + 1 < self._pools:
                begin -= POOL_BATCHES
                continue
            batches = self._pool(pool)
            if begin < len(batches):
                order = permute_rows(np.arange(len(batches)), len(batches), self.seed, self.epoch, pool + 1)
                yield from (batches[index] for index in order[begin:])
            begin = max(0, begin - len(batches))

    def count(self) -> int:
        """Return the number of batches; for batches of symbols, an estimate from the first pool."""
        if self.type == "sentences":
            return -(-self._rows // self.size)  # rounded up: the last batch has fewer
        first = self._pool(0) if self._rows else []
        return round(len(first) * self._rows / max(1, sum(map(len, first))))

    @property
    def _rows(self) -> int:
        return len(self.target) - 1

    @property
    def _pool_rows(self) -> int:
        rows = POOL_BATCHES * self.size
        if self.type == "sentences":
            return rows
        # As many rows as have about a hundred batches of tokens, by the mean length of the longest side.
        return int(rows * self._rows / max(1, self._rows, *(side[-1] for side in (*self.sources, self.target)))) + 1

    @property
    def _pools(self) -> int:
        """The number of pools; the last also takes the remaining rows, fewer than another pool."""
        return max(1, self._rows // self._pool_rows) if self._rows else 0

    def _pool(self, pool: int) -> list[Numbers]:
        """Return the batches of a pool by length."""
        begin = pool * self._pool_rows
        end = begin + self._pool_rows if pool + 1 < self._pools else self._rows
        # The permutation of the whole corpus, computed at these places alone.
        rows = permute_rows(np.arange(begin, end), self._rows, self.seed, self.epoch)
        if self.mixture:
            rows = self.mixture.rows(rows, self.seed, self.epoch)
        *sources, target = (offsets[rows + 1] - offsets[rows] for offsets in (*self.sources, self.target))
        source = np.maximum.reduce(sources)  # the longest source counts
        order = _by_length(source, target)
        rows = rows[order]
        if self.type == "sentences":
            return [rows[begin : begin + self.size] for begin in range(0, len(rows), self.size)]
        return _by_symbols(rows, np.maximum(source, target)[order], self.size)


def split_portions(
    batches: Iterable[Numbers], symbols: Callable[[Numbers], Numbers], most: int
) -> Iterator[tuple[Numbers, Numbers]]:
    """Yield each batch with the distinct symbols of its portion: as many adjacent batches as have `most` symbols
    together, but at least one (Jean et al. 2015). `symbols` has those of a batch.
    """
    portion: list[Numbers] = []
    portion_symbols = np.empty(0, np.int64)
    for rows in batches:
        batch_symbols = symbols(rows)
        # Sorted, as an output that looks symbols up in their portion needs it.
        together = np.union1d(portion_symbols, batch_symbols)
        if portion and len(together) > most:
            yield from ((batch, portion_symbols) for batch in portion)
            portion, together = [], batch_symbols
        portion.append(rows)
        portion_symbols = together
    yield from ((batch, portion_symbols) for batch in portion)


def permute_rows(places: Numbers, count: int, *seeds: int) -> Numbers:
    """Return the images of these places under a permutation of range(`count`), without a table of all.

    A Feistel network permutes the numbers below a power of four; results of `count` or more are permuted again (Black &
    Rogaway 2002, "Ciphers with arbitrary finite domains", cycle walking).
    """
    half = np.uint64((max(2, count - 1).bit_length() + 1) // 2)  # bits
    keys = np.random.SeedSequence(seeds).generate_state(ROUNDS, np.uint64)
    images = places.astype(np.uint64)
    outside = np.arange(len(images))
    # The power of four is at most four times `count`: however large the corpus, few rounds are expected.
    while len(outside):
        left, right = np.divmod(images[outside], np.uint64(1) << half)
        for key in keys:
            # One half, hashed, is added to the other: a permutation whatever the hash, since it can be undone.
            left, right = right, left ^ (_hash_numbers(right ^ key) >> (np.uint64(64) - half))
        images[outside] = (left << half) | right
        outside = outside[images[outside] >= count]
    return images.astype(np.int64)


def _hash_numbers(numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Hash numbers so that every bit of a result depends on all bits of its input (the finalizer of SplitMix64, Steele
    et al. 2014).
    """
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))


def _by_length(source: Numbers, target: Numbers) -> Numbers:
    """Return the order that sorts by the longer side, then by the shorter side alternately up and down, so that
    neighbors differ little.
    """
    first = np.minimum(np.maximum(source, target), MOST_SYMBOLS - 1)
    second = np.minimum(np.minimum(source, target), MOST_SYMBOLS - 1)
    second = np.where(first % 2, MOST_SYMBOLS - 1 - second, second)
    return np.argsort(first * MOST_SYMBOLS + second, kind="stable")  # other sorts depend on the processor


def _by_symbols(rows: Numbers, lengths: Numbers, size: int) -> list[Numbers]:
    """Return batches of rows that are sorted by these lengths, ascending."""
    batches = []
    begin = 0
    while begin < len(rows):
        # The first is the shortest, so no more rows than these can fit.
        candidate_lengths = lengths[begin : begin + max(1, size // max(1, int(lengths[begin])))]
        # Rows are sorted: the last of a batch is its longest, and rows times its length rise with each row.
        fitting = int(np.count_nonzero(candidate_lengths * np.arange(1, len(candidate_lengths) + 1) <= size))
        batches.append(rows[begin : begin + max(1, fitting)])
        begin += max(1, fitting)
    return batches


def prefetch(items: Iterable[Item], ahead: int) -> Generator[Item, None, None]:
    """Yield the same items, produced by one background thread at most `ahead` items in advance.

    An exception of the iterator is raised here, at its place among the items. Closing the generator (or garbage
    collection) ends the thread once the current item is done.
    """
    # In a tuple: an item may itself be None, which is the end here, or an exception.
    results: queue.Queue[tuple[Item] | BaseException | None] = queue.Queue(ahead)
    stopped = threading.Event()

    def work() -> None:
        try:
            # numpy and torch let the training thread run while they work on the next batches.
            for item in items:
                results.put((item,))
                if stopped.is_set():
                    return
            results.put(None)
        except BaseException as error:
            results.put(error)

    thread = threading.Thread(target=work, name="prefetch", daemon=True)
    thread.start()
    try:
        while (result := results.get()) is not None:
            if isinstance(result, BaseException):
                raise result
            yield result[0]
    finally:
        stopped.set()
        while thread.is_alive():  # the queue may be full
            with suppress(queue.Empty):
                results.get(timeout=0.01)
        thread.join()
