"""How fast an imported model is fine-tuned, beside Hugging Face: `python -m benchmarks.finetuning MODEL PAIRS`.

MODEL is a MarianMT folder of Hugging Face, PAIRS a bilingual file. The same model is trained on the same pairs with as
many sentences in a batch, in turns, by dragoman and by the trainer of the interpreter `--python` (transformers,
datasets, accelerate), in float32 and in bfloat16. Tokens are target tokens, end symbols included.
"""

import argparse
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from benchmarks.contest import Contender, Figures, measure
from benchmarks.jobs import Job
from benchmarks.prepared import write
from benchmarks.trainings import markdown, run_command
from dragoman.configuration import config_file
from dragoman.corpus import formats
from dragoman.corpus.examples import read_pairs
from dragoman.interop import imported_run, table
from dragoman.training import starting

PEER = "benchmarks.peers.huggingface"
PRECISIONS = ("float32", "bfloat16")


def parsed(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.finetuning", description=__doc__)
    parser.add_argument("model", type=Path, help="MarianMT folder")
    parser.add_argument("pairs", type=Path, help="bilingual file")
    parser.add_argument("--python", default=sys.executable, help="interpreter that has the trainer")
    parser.add_argument("--rows", type=int, default=32, help="sentences in a batch")
    parser.add_argument("--threads", type=int, default=1, help="threads")
    parser.add_argument("--rounds", type=int, default=3, help="number of rounds for medians")
    parser.add_argument("--updates", type=int, default=10, help="updates of a round")
    return parser.parse_args(arguments)


def prepare(model: Path, pairs: Path, folder: Path) -> Job:
    """Write the configuration of the training and the files of the job into a folder. Return the job of a training in
    float32.
    """
    source, target = formats.find_languages(str(pairs)).names
    names = (source, target)
    run = folder / "imported"
    foreign = table.read(model.absolute(), [], "huggingface", names)
    imported_run.write(foreign, run, names, "")
    same = {"run": str(folder / "run"), "data.dev": str(pairs)}
    config = starting.configure(str(run), [str(pairs)], same).config
    write(folder / "config.yaml", [config_file.dump(config)])
    corpus = folder / "corpus"
    corpus.mkdir()
    (corpus / "model").symlink_to(model.absolute())
    rows = list(read_pairs(str(pairs), *names))
    write(corpus / "train.source", [pair.source for pair in rows])
    write(corpus / "train.target", [pair.target for pair in rows])
    return Job("train", rows=0, threads=1, folder=str(corpus), warm=3)


def contenders(job: Job, python: str) -> list[Contender]:
    """Return both programs in each precision, and the trainer also with batches of similar lengths."""
    batch = {"training.batch.size": str(job.rows), "training.batch.type": "sentences", "training.epochs": "1000"}
    named = []
    for precision in PRECISIONS:
        same = replace(job, precision=precision)
        ours = replace(same, overrides=batch)
        grouped = replace(same, overrides={"group_by_length": "true"})
        named.append(Contender(f"dragoman, {precision}", sys.executable, "benchmarks.worker", ours))
        named.append(Contender(f"Trainer, {precision}", python, PEER, same))
        named.append(Contender(f"Trainer, group_by_length, {precision}", python, PEER, grouped))
    return named


def show(figures: dict[str, Figures | str]) -> None:
    """Print a row for each contender."""
    rows = [
        (name, row, "", "")
        if isinstance(row, str)
        else (name, f"{row.tokens:,.0f}", f"{row.tokens_cpu:,.0f}", f"{row.peak / 1e9:.2f}")
        for name, row in figures.items()
    ]
    markdown(("", "tokens/s", "tokens per processor second", "peak memory, GB"), *rows)


def main(arguments: list[str] | None = None) -> int:
    def run(options: argparse.Namespace, _: Console) -> int:
        with tempfile.TemporaryDirectory() as folder:
            job = prepare(options.model, options.pairs, Path(folder))
            job = replace(job, rows=options.rows, threads=options.threads, updates=options.updates)
            # One pair of programs at a time: all in memory at once would be too much for a laptop.
            figures: dict[str, Figures | str] = {}
            named = contenders(job, options.python)
            for begin in range(0, len(named), len(named) // len(PRECISIONS)):
                figures |= measure(named[begin : begin + len(named) // len(PRECISIONS)], options.rounds)
        show(figures)
        return int(any(isinstance(row, str) for row in figures.values()))

    return run_command(run, parsed(arguments))


if __name__ == "__main__":
    sys.exit(main())
