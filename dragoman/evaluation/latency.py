"""Latency of simultaneous translation: how far a translation lags behind its source."""

from collections.abc import Sequence


def average_lagging(read: Sequence[int], source: int, *, corrected: bool = True) -> float:
    """`AL = 1/tau sum_(t=1..tau) (g(t) - (t - 1) / r)`, in source words (Ma et al. 2019).

    `read` holds g(t), the number of source words read before target word t was written; `source` is |x|. tau is the
    first t with `g(t) = |x|`, or the last t if there is none. With `corrected`, r = |y| / |x| accounts for lengths;
    otherwise r = 1. ValueError if a side has no words.
    """
    if not read or not source:
        raise ValueError("a sentence without words lags behind nothing")
    tau = next((t for t, words in enumerate(read, start=1) if words == source), len(read))
    ratio = len(read) / source if corrected else 1.0
    return sum(words - t / ratio for t, words in enumerate(read[:tau])) / tau
