"""The state of all random generators, kept while code runs that may draw from them."""

import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch


@contextmanager
def kept_random_state() -> Iterator[None]:
    """Restore the states of the global generators of Python, NumPy and torch (on the CPU and on GPUs in use)."""
    python, numpy = random.getstate(), np.random.get_state()
    # Without the initialization of CUDA, which a training on the CPU must not pay for.
    devices = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else ()  # type: ignore[no-untyped-call]
    try:
        with torch.random.fork_rng(devices):
            yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)
