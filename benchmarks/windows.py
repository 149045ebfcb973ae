"""Cost of a decoder step with attention to the whole source, and to a window: `python -m benchmarks.windows`.

Processor time of architecture A without its encoder and output layer, on one thread. A training step includes its share
of the work done once for a source: the keys, and the sum of their gradients.
"""

import argparse
import statistics
import time
from collections.abc import Callable

import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor

from benchmarks import architecture
from benchmarks.architecture import Sizes
from dragoman.configuration.components import Spec
from dragoman.model import build
from dragoman.model.memory import Memory
from dragoman.model.seq2seq import Seq2Seq

WINDOWS = ("none", "monotonic", "predictive")
STEPS = 30


def parsed(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.windows", description=__doc__)
    parser.add_argument("--lengths", nargs="+", type=int, default=[50, 150, 500, 1500, 5000], help="of the source")
    parser.add_argument("--sentences", type=int, default=1, help="sentences in a batch")
    parser.add_argument("--rounds", type=int, default=3, help="number of rounds for medians")
    parser.add_argument("--tiny", action="store_true", help="use a tiny model, to try this program")
    return parser.parse_args(arguments)


def decode(model: Seq2Seq, memory: Memory, words: Tensor) -> float:
    """Return the seconds of the steps of a search."""
    with torch.inference_mode():
        state = model.start((memory,))
        began = time.process_time()
        for now in words.unbind(1):
            state = model.step(now, state).state
        return time.process_time() - began


def train(model: Seq2Seq, memory: Memory, words: Tensor) -> float:
    """Return the seconds of the steps over a reference and of their gradients."""
    began = time.process_time()
    model.unroll(model.start((memory,)), words).features.sum().backward()  # type: ignore[no-untyped-call]
    return time.process_time() - began


def milliseconds(work: Callable[[Seq2Seq, Memory, Tensor], float], rounds: int, *parts: object) -> float:
    """Return the milliseconds of a step: the median of `rounds` rounds after one to warm up."""
    return 1000 * statistics.median([work(*parts) for _ in range(rounds + 1)][1:]) / STEPS  # type: ignore[arg-type]


def main(arguments: list[str] | None = None) -> None:
    options = parsed(arguments)
    torch.set_num_threads(1)
    torch.manual_seed(1)
    sizes = architecture.Sizes(8, 4, 8, 50) if options.tiny else Sizes(symbols=100)
    table = Table(
        "window", "source", "decoding, ms a step", "training, ms a step", title=f"{options.sentences} a batch"
    )
    words = torch.randint(4, sizes.symbols, (options.sentences, STEPS))
    for kind in WINDOWS:
        section = architecture.model(sizes)
        attention = section.attention.model_copy(update={"window": Spec(kind)})
        section = section.model_copy(update={"attention": attention})
        model = build.build(section, (sizes.symbols,), sizes.symbols)
        for length in options.lengths:
            states = torch.randn(options.sentences, length, 2 * sizes.encoder, requires_grad=True)
            final = ((torch.zeros(options.sentences, 2 * sizes.encoder),),)
            memory = Memory(states, torch.ones(states.shape[:2], dtype=torch.bool), final)
            times = [milliseconds(work, options.rounds, model, memory, words) for work in (decode, train)]
            table.add_row(kind, f"{length:,}", *(f"{milliseconds_taken:.2f}" for milliseconds_taken in times))
    Console().print(table)


if __name__ == "__main__":
    main()
