"""The speed of engines for the same Transformer: `python -m benchmarks.engines` (extras `onnx` and `ctranslate2`).

A Transformer of 3 + 3 layers, 256 wide, with random weights translates random sentences as long as those of Multi30k,
in 8-bit integers on one thread. Its positions make every translation end after 13 symbols, so that all searches do the
same work. An SSRU decoder of two layers under the same encoder, for which CTranslate2 has no place, takes part with
ONNX Runtime; the limit of length ends its translations after 13 symbols. All take turns with a few sentences each; the
table has milliseconds of the processor a sentence (medians of rounds), and the speed relative to CTranslate2 (medians
of ratios).
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Sequence
from operator import truediv
from pathlib import Path
from typing import NamedTuple

import torch
from rich.console import Console

from benchmarks import guard_worker, provenance
from benchmarks.guard_worker import WORKS, Jobs, Work
from benchmarks.trainings import markdown, run_command
from dragoman.data.vocabulary import EOS
from dragoman.model.weights import read_tensors, write_tensors

ENGINES = {"onnx": ["--onnx"], "ctranslate2": ["--ctranslate2"]}  # with the options of `export`
LENGTH = 13  # symbols of a translation, its end included
TURN = 8  # sentences of a turn with single sentences
LOUD = 2000.0  # size of the position at which a translation ends: nothing else is heard there
MODEL = "Transformer that ends"
LIMIT = {"length_ratio": 0.0, "length_margin": LENGTH}  # of translations that do not end by themselves
TABLE = "source_encoders.0.embedding.table"  # the weights of all embeddings and of the output


class Contestant(NamedTuple):
    """A model with an engine, as a column of the table."""

    name: str
    run: Path
    engine: str
    limit: dict[str, float]  # options of the search

    def translate(self, texts: Sequence[str], rows: int, beam: int) -> float:
        """Return the processor's seconds."""
        translator = guard_worker.load(self.run, self.engine)
        search = {"kind": "greedy"} if beam == 1 else {"kind": "beam", "size": beam}
        began = time.process_time()
        for batch in (texts[first : first + rows] for first in range(0, len(texts), rows)):
            translator.translate(batch, search={**search, **self.limit}, details=False)
        return time.process_time() - began


def prepare(folder: Path, scale: float) -> tuple[Jobs, list[Contestant]]:
    """Make the runs and their exports. Return what made them, and the contestants; CTranslate2 is the last one."""
    guard_worker.MODELS[MODEL] = guard_worker.TRANSFORMER.replace("hidden: 1024}", "hidden: 1024, positions: learned}")
    jobs, transformer, ssru = Jobs(folder, scale), folder / "transformer", folder / "ssru"
    for model, run in ((MODEL, transformer), ("SSRU", ssru)):
        guard_worker.command("train", str(jobs.config(model, run, 1, "greedy")))
    end_at(transformer / "model.safetensors", LENGTH - 1)
    never_end(ssru / "model.safetensors")
    contestants = [Contestant("SSRU, onnx", ssru, "onnx", LIMIT)]
    contestants += [Contestant(f"Transformer, {engine}", transformer, engine, {}) for engine in ENGINES]
    for contestant in contestants:
        options = (*ENGINES[contestant.engine], "--quantization", "int8")
        guard_worker.command("export", str(contestant.run), *options)
    return jobs, contestants


def end_at(weights: Path, step: int) -> None:
    """Make translations end in this step, counted from 0, and in no other."""
    tensors, note = read_tensors(weights)
    size = tensors[TABLE].size(1)
    direction = torch.randn(size, generator=torch.Generator().manual_seed(1))
    direction = torch.nn.functional.normalize(direction - direction.mean(), dim=0)
    tensors["decoder.entry.positions.table.table"][step] = LOUD * direction
    # The last states have the length sqrt(size): a logit of 80 sqrt(size) there, and about -20 sqrt(size) elsewhere.
    tensors[TABLE][EOS] = 100 * direction
    tensors["output.bias"][EOS] = -20 * size**0.5
    write_tensors(weights, tensors, note)


def never_end(weights: Path) -> None:
    """Make translations as long as the search allows."""
    tensors, note = read_tensors(weights)
    tensors["output.bias"][EOS] = -1e4
    write_tensors(weights, tensors, note)


def measure(jobs: Jobs, contestants: Sequence[Contestant], work: Work, rounds: int) -> list[list[float]]:
    """Return the milliseconds of the processor a sentence, of each round, for each contestant. One round warms up."""
    texts = sorted(jobs.texts[: jobs.count(work.sentences)], key=len)
    size = TURN if work.rows == 1 else work.rows
    turns = [texts[begin : begin + size] for begin in range(0, len(texts), size)]
    times: list[list[float]] = [[] for _ in contestants]
    for number in range(rounds + 1):
        seconds = [0.0] * len(contestants)
        for place, turn in enumerate(turns):
            for index in sorted(range(len(contestants)), reverse=bool((number + place) % 2)):
                seconds[index] += contestants[index].translate(turn, work.rows, work.beam)
        if number:
            for own, total in zip(times, seconds, strict=True):
                own.append(total / len(texts) * 1e3)
    return times


def run(options: argparse.Namespace, console: Console) -> int:
    with tempfile.TemporaryDirectory() as name:
        jobs, contestants = prepare(Path(name), options.scale)
        rows = []
        for work in WORKS:
            times = measure(jobs, contestants, work, options.rounds)
            *onnx_times, ctranslate2 = times
            ratios = [statistics.median(map(truediv, ctranslate2, own)) for own in onnx_times]
            medians = [statistics.median(own) for own in times]
            rows.append([str(work), *(f"{figure:.2f}" for figure in (*medians, *ratios))])
    console.print(provenance.of().processor)
    names = [contestant.name for contestant in contestants]
    markdown(["", *names, *(f"{name}, relative" for name in names[:-1])], *rows)
    return 0


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.engines", description=__doc__)
    parser.add_argument("--rounds", type=int, default=7, help="number of rounds for medians")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the sentences of a round")
    return run_command(run, parser.parse_args(arguments))


if __name__ == "__main__":
    raise SystemExit(main())
