"""How far annotators agree: Krippendorff's alpha."""

from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias

import numpy as np
from jaxtyping import Float

Level: TypeAlias = Literal["nominal", "ordinal", "interval"]
Matrix: TypeAlias = Float[np.ndarray, "V V"]  # a row and a column for each value


def alpha(units: Iterable[Sequence[int]], level: Level) -> float | None:
    """Return Krippendorff's alpha (Krippendorff 2011, Computing Krippendorff's Alpha-Reliability), `1 - D_o / D_e`: 1
    if annotators always agree, 0 if as often as by chance. None if there is nothing to compare: no unit with two values
    or more, or the same value everywhere.

    `units` are the values that annotators gave to one thing each, from any number of annotators in any order.
    `D_o = sum_ck o_ck d_ck` and `D_e = sum_ck n_c n_k d_ck / (n - 1)`, where o has the pairs of values within units,
    each unit of m values weighing 1 / (m - 1), n_c are its sums and n their sum.
    """
    pairable = [unit for unit in units if len(unit) > 1]
    values = sorted({value for unit in pairable for value in unit})
    places = {value: place for place, value in enumerate(values)}
    pairs = np.zeros((len(values), len(values)))
    for unit in pairable:
        counts = np.bincount([places[value] for value in unit], minlength=len(values))
        pairs += (np.outer(counts, counts) - np.diag(counts)) / (len(unit) - 1)
    totals = pairs.sum(axis=0)
    distances = _distances(values, totals, level)
    expected = float((np.outer(totals, totals) * distances).sum())
    if not expected:
        return None
    return 1 - float((totals.sum() - 1) * (pairs * distances).sum() / expected)


def _distances(values: Sequence[int], totals: Float[np.ndarray, " V"], level: Level) -> Matrix:
    """The squared distances of values: whether they differ, by the number of values between them, or by their own."""
    match level:
        case "nominal":
            return 1 - np.eye(len(values))
        case "ordinal":  # d_ck = (n_c / 2 + the values between c and k + n_k / 2)^2
            ranks = totals.cumsum() - totals / 2
        case "interval":
            ranks = np.array(values, dtype=np.float64)
    squares: Matrix = np.subtract.outer(ranks, ranks) ** 2
    return squares
