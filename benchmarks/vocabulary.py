"""Training with large target vocabularies by each output: `python -m benchmarks.vocabulary`.

Each measurement is a process of its own on one core, which makes some updates of architecture A (embeddings not tied,
10,000 source symbols) on random sentences, whose target symbols have frequencies by Zipf's law: loss, gradients,
clipping and the step of Adam, as training makes them. Outputs take turns; figures are medians over rounds. Rates are of
processor time, so that other work on the machine counts little; that of `partitioned` has its share of the time in
which portions are found.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import count, islice
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from rich.console import Console

from benchmarks import architecture
from benchmarks.contest import ROOT, THREADS
from benchmarks.rounds import peak_memory
from dragoman import devices
from dragoman.configuration.components import Spec
from dragoman.configuration.config import DeviceConfig
from dragoman.data.batch import Batch, pad_tokens
from dragoman.data.batch import TokenBatch as Symbols
from dragoman.data.batching import split_portions
from dragoman.data.vocabulary import EOS, SPECIALS, SymbolTable
from dragoman.model import build
from dragoman.training.objectives.teacher_forcing import force_targets

SOURCE, LENGTH, SENTENCES = 10_000, 25, 80  # symbols; words of a sentence; sentences of a batch
OUTPUTS = ("softmax", "nce", "partitioned", "classes", "huffman", "adaptive")  # the others copy, or spell
CORPUS = 100_000_000  # words, of which the frequencies are
ROWS = 200  # batches in which a portion is found, at most


class Figures(NamedTuple):
    """Target symbols per processor second, and the peak memory in bytes."""

    rate: float
    memory: float


def table(symbols: int) -> SymbolTable:
    """Return symbols of which the one of rank r occurs in proportion to `1 / (r + 2.7)` (Zipf and Mandelbrot)."""
    shares = 1 / (np.arange(1, symbols - len(SPECIALS) + 1) + 2.7)
    counts = (CORPUS * shares / shares.sum()).astype(int).tolist()
    return SymbolTable(SymbolTable.sized(symbols).spellings, (0, 0, 0, CORPUS // LENGTH, *counts))


def targets(symbols: SymbolTable, generator: np.random.Generator) -> Iterator[npt.NDArray[np.int64]]:
    """Yield the words of one batch after the other (SENTENCES, LENGTH)."""
    ends = np.cumsum(symbols.counts[len(SPECIALS) :])
    for _ in count():
        drawn = generator.integers(ends[-1], size=(SENTENCES, LENGTH))
        yield np.searchsorted(ends, drawn, "right") + len(SPECIALS)


def batches(symbols: SymbolTable, portion: int | None) -> tuple[float, list[Batch]]:
    """Return random batches, and the processor seconds for each of them that it takes to find the portions of an output
    that is trained by portions.
    """
    generator = np.random.default_rng(1)
    sentences_of_batch, batch_list = list(islice(targets(symbols, generator), ROWS)), list[tuple[Any, Any]]()
    began = time.process_time()
    batch_list += (
        [(sentence, None) for sentence in sentences_of_batch]
        if portion is None
        else split_portions(sentences_of_batch, _distinct, portion)
    )
    seconds = (time.process_time() - began) / ROWS
    return seconds, [_batch(generator, words).within(of_portion) for words, of_portion in batch_list]


def _batch(generator: np.random.Generator, words: npt.NDArray[np.int64]) -> Batch:
    source = generator.integers(len(SPECIALS), SOURCE, size=words.shape)
    read, written = (_sentences(side) for side in (source, words))
    return Batch((read,), written, np.arange(len(words)))


def _sentences(words: npt.NDArray[np.int64]) -> Symbols:
    return pad_tokens(list(np.pad(words, ((0, 0), (0, 1)), constant_values=EOS)))


def _distinct(words: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return np.union1d(words, [EOS])


def work(output: Spec, symbols: int, updates: int) -> Figures:
    """Measure training with this output in this process, after one update to warm up."""
    torch.manual_seed(1)
    device = devices.choose(DeviceConfig(name="cpu", threads=1))
    vocabulary, model = table(symbols), architecture.model(architecture.Sizes())
    model = model.model_copy(update={"output": output, "embedding": model.embedding.model_copy(update={"tie": "none"})})
    learner = build.build(model, (SymbolTable.sized(SOURCE),), vocabulary).train()
    optimizer = torch.optim.Adam(learner.parameters(), fused=True)
    begun, done = 0.0, 0
    finding, batch_list = batches(vocabulary, learner.output.portion)
    for number, batch in enumerate(batch_list[: updates + 1]):
        if number == 1:
            begun = time.process_time()
        optimizer.zero_grad()
        with device.autocast():
            loss = force_targets(learner, batch).loss
        loss.total.backward()  # type: ignore[no-untyped-call]
        for parameter in learner.parameters():
            if parameter.grad is not None:
                parameter.grad.div_(loss.symbols)
        torch.nn.utils.clip_grad_norm_(learner.parameters(), 1.0)
        optimizer.step()
        done += loss.symbols if number else 0
    return Figures(done / (time.process_time() - begun + updates * finding), peak_memory())


def measured(output: str, symbols: int, updates: int) -> Figures:
    """Measure in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.vocabulary", "--only", output]
    done = subprocess.run(
        [*command, "--symbols", str(symbols), "--updates", str(updates)],
        cwd=ROOT,
        env={**os.environ, **dict.fromkeys(THREADS, "1")},
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    return Figures(*json.loads(done.stdout))


def rows(outputs: Sequence[str], sizes: Sequence[int], rounds: int, updates: int) -> Iterator[str]:
    """Yield the rows of the table."""
    yield "| target symbols | output | symbols/s | of the full softmax's | memory, GB |"
    yield "|---|---|---|---|---|"
    for symbols in sizes:
        figures_by_output: dict[str, list[Figures]] = {}
        for _ in range(rounds):
            for output in outputs:
                figures_by_output.setdefault(output, []).append(measured(output, symbols, updates))
        medians = {
            output: Figures(*map(statistics.median, zip(*figures_list, strict=True)))
            for output, figures_list in figures_by_output.items()
        }
        for output, (rate, memory) in medians.items():
            ratio = f"{rate / medians['softmax'].rate:.1f}"
            yield f"| {symbols:,} | `{output}` | {rate:,.0f} | {ratio} | {memory / 1e9:.1f} |"


def parsed(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.vocabulary", description=__doc__.partition("\n")[0])
    parser.add_argument("--symbols", nargs="+", type=int, default=[50_000, 200_000], help="target symbols")
    parser.add_argument("--rounds", type=int, default=3, help="number of rounds for medians")
    parser.add_argument("--updates", type=int, default=3, help="updates of a measurement")
    parser.add_argument("--only", choices=OUTPUTS, help="measure this output in this process, and print JSON")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> None:
    options = parsed(arguments)
    if options.only:
        sys.stdout.write(json.dumps(work(Spec(options.only), options.symbols[0], options.updates)))
        return
    console = Console(highlight=False, markup=False, soft_wrap=True)
    for row in rows(OUTPUTS, options.symbols, options.rounds, options.updates):
        console.print(row)


if __name__ == "__main__":
    main()
