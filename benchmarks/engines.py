"""The speed of engines for the same Transformer: `python -m benchmarks.engines` (extras `onnx` and `ctranslate2`).

A Transformer of 3 + 3 layers, 256 wide, with random weights translates random sentences as long as those of Multi30k,
in 8-bit integers on one thread. Its positions make every translation end after 13 symbols, so that all searches do the
same work. The engines take turns with a few sentences each; the table has milliseconds of the processor a sentence
(medians of rounds) and the medians of ratios.
"""

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import torch
from rich.console import Console

from benchmarks import guard_worker, provenance
from benchmarks.guard_worker import WORKS, Jobs, Work
from benchmarks.trainings import markdown, run_command
from dragoman.data.vocabulary import EOS
from dragoman.model.weights import read_tensors, write_tensors

ENGINES = {"onnx": ["--onnx"], "ctranslate2": ["--ctranslate2"]}  # by the options of `export`
LENGTH = 13  # symbols of a translation, its end included
TURN = 8  # sentences of a turn with single sentences
LOUD = 2000.0  # size of the position at which a translation ends: nothing else is heard there
MODEL = "Transformer that ends"
TABLE = "source_encoders.0.embedding.table"  # the weights of all embeddings and of the output


def prepare(folder: Path, scale: float) -> tuple[Jobs, Path]:
    """Make the run and its exports. Return what made it, and its folder."""
    guard_worker.MODELS[MODEL] = guard_worker.TRANSFORMER.replace("hidden: 1024}", "hidden: 1024, positions: learned}")
    jobs, run = Jobs(folder, scale), folder / "run"
    guard_worker.command("train", str(jobs.config(MODEL, run, 1, "greedy")))
    end_at(run / "model.safetensors", LENGTH - 1)
    for options in ENGINES.values():
        guard_worker.command("export", str(run), *options, "--quantization", "int8")
    return jobs, run


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


def measure(jobs: Jobs, run: Path, work: Work, rounds: int) -> dict[str, list[float]]:
    """Return the milliseconds of the processor a sentence, of each round, for each engine. One round warms up."""
    texts = sorted(jobs.texts[: jobs.count(work.sentences)], key=len)
    size = TURN if work.rows == 1 else work.rows
    turns = [texts[begin : begin + size] for begin in range(0, len(texts), size)]
    search = {"kind": "greedy"} if work.beam == 1 else {"kind": "beam", "size": work.beam}
    times: dict[str, list[float]] = {engine: [] for engine in ENGINES}
    for number in range(rounds + 1):
        seconds = dict.fromkeys(ENGINES, 0.0)
        for place, turn in enumerate(turns):
            batches = [turn] if work.rows > 1 else [[text] for text in turn]
            for engine in sorted(ENGINES, reverse=bool((number + place) % 2)):
                translator = guard_worker.load(run, engine)
                began = time.process_time()
                for batch in batches:
                    translator.translate(batch, search=search, details=False)
                seconds[engine] += time.process_time() - began
        if number:
            for engine in ENGINES:
                times[engine].append(seconds[engine] / len(texts) * 1e3)
    return times


def run(options: argparse.Namespace, console: Console) -> int:
    with tempfile.TemporaryDirectory() as name:
        jobs, folder = prepare(Path(name), options.scale)
        rows = []
        for work in WORKS:
            times = measure(jobs, folder, work, options.rounds)
            ratio = statistics.median(map(lambda one, other: other / one, *times.values()))
            rows.append([str(work), *(f"{statistics.median(own):.2f}" for own in times.values()), f"{ratio:.2f}"])
    console.print(provenance.of().processor)
    markdown(["", *ENGINES, "speed"], *rows)
    return 0


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.engines", description=__doc__)
    parser.add_argument("--rounds", type=int, default=7, help="number of rounds for medians")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the sentences of a round")
    return run_command(run, parser.parse_args(arguments))


if __name__ == "__main__":
    raise SystemExit(main())
