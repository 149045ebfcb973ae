"""Numbers as JSON has them."""

import numpy as np
from numpy.typing import NDArray

PLACES = 6  # decimals of every number


def rounded(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Numbers as they are written: NaN becomes 0, and what is infinite the largest number that there is."""
    return np.nan_to_num(values).round(PLACES) + 0.0  # 0.0, never -0.0
