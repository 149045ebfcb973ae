"""How long a batch takes: learned from the batches of a service, and used to plan the next ones."""

from typing import Final

OVERHEAD: Final = 1_000  # symbols: what a batch is assumed to cost beside its own where batches are of one size
FIRST: Final = 0.0005  # seconds a symbol, until batches have been measured
FORGET: Final = 0.9  # weight of what was learned before, at each new batch
PRIOR: Final = 0.1  # weight of the assumed overhead: that of so many batches
JUMP: Final = 4.0  # a batch counts as at most so many times slower or faster than expected
FIRST_SIZE: Final = 100  # symbols of a batch of which no estimate is needed
FIRST_WEIGHT: Final = 0.1  # of the first estimate, in batches
LEAST: Final = 0.02  # share of the mean time of a symbol that is never taken for overhead
GROWTH: Final = 4.0  # how many times larger than the last ones a batch may be
EFFICIENCY: Final = 0.97  # of the throughput of one batch of all that wait


class BatchTime:
    """The seconds of a batch of x symbols as a + b x, by recursive least squares with forgetting.

    Errors are weighted by size, and clipped, so that one interruption does not count for much. Batches
    of one size cannot tell a from b; a weak prior, a = OVERHEAD b, decides then. It errs towards larger batches, which
    soon show b: with small ones, a prior would be confirmed by the batches that it leads to.
    """

    def __init__(self) -> None:
        self.overhead, self.rate = FIRST_SIZE * FIRST, FIRST
        self._largest = float(FIRST_SIZE)  # symbols of the last batches
        # Sums over batches of 1, u u, u v, v v, u t, v t, where u = 1 / w, v = x / w and t = seconds / w with
        # w = x + FIRST_SIZE: errors grow with the batch. They begin with a batch that took as long as expected.
        self._sums = [0.0] * 6
        self._add(FIRST_SIZE, self.seconds(FIRST_SIZE))
        self._sums = [FIRST_WEIGHT * value for value in self._sums]

    def seconds(self, symbols: int) -> float:
        """The expected seconds of a batch."""
        return self.overhead + self.rate * symbols

    def within(self, seconds: float) -> float:
        """The symbols whose time, without the overhead of the batch, is so many seconds, or as long as the overhead."""
        return self._reached(max(seconds, self.overhead) / self.rate)

    def efficient(self, waiting: int) -> float:
        """The least symbols of a batch that has EFFICIENCY of the throughput of one batch of all that wait: the least S
        with S / (a + b S) >= EFFICIENCY N / (a + b N).
        """
        rest = (1 - EFFICIENCY) * self.rate * waiting
        return self._reached(EFFICIENCY * waiting * self.overhead / (self.overhead + rest))

    def learn(self, symbols: int, seconds: float) -> None:
        """Update the estimate with a batch that was measured."""
        self._largest = max(symbols, FORGET * self._largest, FIRST_SIZE)
        expected = self.seconds(symbols)
        self._sums = [FORGET * value for value in self._sums]
        self._add(symbols, min(max(seconds, expected / JUMP), expected * JUMP))
        self._solve()

    def _reached(self, symbols: float) -> float:
        """So many symbols, or as many as the estimate can be relied on for."""
        return min(symbols, GROWTH * self._largest)

    def _add(self, symbols: int, seconds: float) -> None:
        weight = 1 / (symbols + FIRST_SIZE)
        u, v, t = weight, weight * symbols, weight * seconds
        values = (1.0, u * u, u * v, v * v, u * t, v * t)
        self._sums = [total + value for total, value in zip(self._sums, values, strict=True)]

    def _solve(self) -> None:
        """Solve the normal equations, with a >= 0 and b > 0."""
        count, uu, uv, vv, ut, vt = self._sums
        prior = PRIOR * vv / count  # of the squared difference of b and a / OVERHEAD
        aa, ab, bb = uu + prior / OVERHEAD**2, uv - prior / OVERHEAD, vv + prior
        determinant = aa * bb - ab * ab
        overhead, rate = (bb * ut - ab * vt) / determinant, (aa * vt - ab * ut) / determinant
        mean = vt / vv  # seconds a symbol if there were no overhead
        if overhead < 0:
            overhead, rate = 1e-6, mean
        elif rate < LEAST * mean:
            rate = LEAST * mean
            overhead = (ut - rate * uv) / uu
        self.overhead, self.rate = overhead, rate
