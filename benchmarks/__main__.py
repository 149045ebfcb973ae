"""Tokens per second of training and decoding, on random data of the shape of Multi30k: `make bench`.

Architecture A: bidirectional GRU of 256 a direction, decoder of 512 with additive attention and input feeding,
embeddings of 256, 10,000 joint symbols, 80 sentences a batch. Each figure is the median of several rounds in one
process; compare ratios of one run, since machines differ and are shared.
"""

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from dragoman import devices
from dragoman.components import Spec
from dragoman.config import AttentionConfig, DeviceConfig, EmbeddingConfig, ModelConfig
from dragoman.data.batch import Batch, pad
from dragoman.data.vocabulary import EOS, SPECIALS
from dragoman.model import build
from dragoman.search.beam import Beam
from dragoman.search.greedy import Greedy

SYMBOLS = 10_000
ROUNDS = 7
MODEL = ModelConfig(
    embedding=EmbeddingConfig(size=256, tie="all"),
    encoder=Spec("rnn", {"cell": "gru", "size": 256, "dropout": 0.2}),
    attention=AttentionConfig(score=Spec("additive")),
    decoder=Spec("rnn", {"cell": "gru", "size": 512, "feed": "attentional", "features": "tanh", "dropout": 0.2}),
)


def sentences(count: int, generator: np.random.Generator) -> list[list[int]]:
    """Random ids with lengths like Multi30k's (mean 14, from 4 to 35 symbols), each ending with EOS."""
    lengths = np.clip(generator.normal(14, 4, count).round().astype(int), 4, 35)
    return [[*generator.integers(len(SPECIALS), SYMBOLS, length).tolist(), EOS] for length in np.sort(lengths)]


def median_rate(work: Callable[[], int]) -> float:
    """Tokens per second over the rounds; `work` returns how many tokens it handled."""
    work()
    rates = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        tokens = work()
        rates.append(tokens / (time.perf_counter() - begin))
    return statistics.median(rates)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=0, help="processor threads (0 = all)")
    parser.add_argument("--precision", choices=["float32", "bfloat16"], default="float32")
    options = parser.parse_args()
    device = devices.choose(DeviceConfig(threads=options.threads, precision=options.precision))
    torch.manual_seed(1)
    generator = np.random.default_rng(1)
    model = build.build(MODEL, SYMBOLS, SYMBOLS).to(device.torch_device)
    optimiser = torch.optim.Adam(model.parameters(), fused=True)
    batch = Batch((pad(sentences(80, generator)),), pad(sentences(80, generator)), np.arange(80))
    batch = batch.to(device.torch_device)

    def train() -> int:
        model.train()
        with device.autocast():
            unrolled = model(batch)
            loss = model.output.loss(unrolled.features[batch.target.mask], batch.target.ids[batch.target.mask])
        loss.total.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        optimiser.zero_grad()
        return loss.symbols

    table = Table("work", "target tokens/s", title=str(device), title_justify="left")
    table.add_row("train, 80 sentences a batch", f"{median_rate(train):,.0f}")
    model.eval()
    for search, name in ((Greedy(length_ratio=1.0, length_margin=0), "greedy"), (Beam(length_ratio=1.0), "beam 5")):
        for rows in (1, 64):
            source = pad(sentences(rows, generator)).to(device.torch_device)

            def decode(search: Greedy | Beam = search, source: object = source) -> int:
                found = search(model, (source,))  # type: ignore[arg-type]
                return sum(len(best[0].symbols) + 1 for best in found)

            table.add_row(f"{name}, {rows} sentence{'s' * (rows > 1)} a batch", f"{median_rate(decode):,.0f}")
    Console().print(table)


if __name__ == "__main__":
    main()
