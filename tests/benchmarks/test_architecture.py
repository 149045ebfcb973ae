"""The count of floating-point operations."""

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from benchmarks import architecture
from benchmarks.architecture import Sizes
from dragoman.data.batch import Batch, pad_tokens
from dragoman.data.vocabulary import SPECIALS
from dragoman.model import build
from dragoman.model.output.output import Readout

SIZES = Sizes(embedding=6, encoder=5, decoder=7, symbols=40, batch=3)


def test_operations_are_those_counted_by_hand() -> None:
    sizes = Sizes(embedding=1, encoder=1, decoder=2, symbols=10)
    encoder = 2 * 3 * 1 * 2 + 2 * 2  # two directions of three gates that read x and h; keys of 2 from states of 2
    decoder = 3 * 2 * (1 + 1 + 2) + 2 * 2 + (2 + 2) * 1 + 1 * 10  # three gates that read x, fed, s; query; features
    assert architecture.products(sizes, sources=3, targets=0, energies=0) == 2 * 3 * encoder
    assert architecture.products(sizes, sources=0, targets=5, energies=0) == 2 * 5 * decoder
    assert architecture.products(sizes, sources=0, targets=0, energies=15) == 2 * 15 * (2 + 2)  # v; a state of 2


@pytest.mark.slow
def test_operations_are_those_that_the_model_does() -> None:
    source, target, rows = 8, 9, SIZES.batch
    numbers = np.random.default_rng(1).integers(len(SPECIALS), SIZES.symbols, (rows, source + target))
    batch = Batch((pad_tokens(list(numbers[:, :source])),), pad_tokens(list(numbers[:, source:])), np.arange(rows))
    model = build.build(architecture.model(SIZES), (SIZES.symbols,), SIZES.symbols).eval()
    counter = FlopCounterMode(display=False)
    with torch.no_grad(), counter:
        model.output.log_probs(Readout(model(batch).features.flatten(0, 1)))
    bridge = 2 * rows * 2 * SIZES.encoder * SIZES.decoder
    counted = architecture.products(SIZES, rows * source, rows * target, rows * source * target)
    assert counter.get_total_flops() == pytest.approx(counted + bridge)
