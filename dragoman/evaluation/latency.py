"""Latency: how far a translation stays behind a source that is still arriving."""

from collections.abc import Sequence


def average_lagging(read: Sequence[int], source: int, *, corrected: bool = True) -> float:
    """`AL = 1/tau sum_(t=1..tau) (g(t) - (t - 1) / r)`, in source words (Ma et al. 2019).

    `read` holds g(t) for each target word, the source words read when it was written; `source` is |x|. tau is the first
    t with `g(t) = |x|`, or the last one where there is none. `corrected` for lengths, r = |y| / |x|; otherwise r = 1.
    ValueError where there is no word on either side.
    """
    if not read or not source:
        raise ValueError("a sentence without words lags behind nothing")
    tau = next((t for t, words in enumerate(read, start=1) if words == source), len(read))
    ratio = len(read) / source if corrected else 1.0
    return sum(words - t / ratio for t, words in enumerate(read[:tau])) / tau
