"""BLEU by source length, with and without attention: `python -m benchmarks.lengths --data FOLDER`.

An encoder-decoder without attention compresses a sentence into one vector, so it gets worse on long sentences (CN 2.4,
Bahdanau et al. 2015, figure 2). Two models of the same size train on Multi30k and on its sentences joined to longer
ones; their BLEU on joined test sentences of 10 to 80 words is plotted. Both train side by side, with one thread each;
started again, they continue where they stopped.
"""

import argparse
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from rich.console import Console

import dragoman
from benchmarks.corpus import DEV, TEST, TRAIN
from benchmarks.prepared import write
from dragoman.configuration.config import DeviceConfig
from dragoman.corpus.examples import Pair, read_pairs
from dragoman.errors import UserError
from dragoman.evaluation.metrics.sacre import Bleu
from dragoman.visualization import curves

SOURCE, TARGET = "en", "de"
LENGTHS = range(10, 81, 10)  # approximate lengths of joined sources, in words
MODELS = {
    "attention": {},
    "no attention": {
        "model.attention.score": "none",
        "model.decoder.attend": "after",
    },
}
CONFIG = """
run: {folder}/{name}
data: {{source: en, target: de, train: {folder}/train, dev: {folder}/dev, max_length: 200}}
text:
  shared_vocabulary: true
  source: {{pretokenizer: whitespace, tokenizer: {{kind: bpe, vocab_size: 8000}}}}
  target: {{pretokenizer: whitespace, tokenizer: {{kind: bpe, vocab_size: 8000}}}}
model:
  embedding: {{size: 192, dropout: 0.2, tie: all}}
  encoder: {{kind: rnn, cell: gru, size: 192, dropout: 0.2}}
  attention: {{score: additive}}
  decoder: {{kind: rnn, cell: gru, size: 384, attend: between, readout: deep, dropout: 0.2}}
  output: {{kind: softmax, label_smoothing: 0.1}}
training:
  epochs: {epochs}
  batch: {{size: 2500, type: tokens}}
  optimizer: {{kind: adam, learning_rate: 0.0015}}
  schedule: {{kind: inverse_square_root, warmup: 400}}
  metric: loss
  average_checkpoints: {{count: 3}}
metrics: [{{kind: bleu, tokenize: none}}]
search: {{kind: beam, size: 5}}
device: {{threads: 1}}
"""


def joined(pairs: list[Pair], words: int, count: int, generator: np.random.Generator) -> Iterator[Pair]:
    """Yield `count` sources of about `words` words, each joined from randomly drawn sentences, and their targets."""
    for _ in range(count):
        chosen: list[Pair] = []
        while sum(len(pair.source.split()) for pair in chosen) < words - 6:
            chosen.append(pairs[int(generator.integers(len(pairs)))])
        yield Pair(" ".join(pair.source for pair in chosen), " ".join(pair.target for pair in chosen))


def write_pairs(place: Path, pairs: list[Pair]) -> None:
    for suffix, lines in ((SOURCE, [pair.source for pair in pairs]), (TARGET, [pair.target for pair in pairs])):
        write(place.with_name(f"{place.name}.{suffix}"), lines)


def prepare(data: Path, folder: Path, share: float) -> None:
    """Write the corpora: all of Multi30k, and for each length joined sentences, `share` times as many."""
    generator = np.random.default_rng(1)
    for name, prefix in (("train", TRAIN), ("dev", DEV)):
        pairs = list(read_pairs((str(data / prefix),), SOURCE, TARGET))
        count = round(share * len(pairs))
        longer = [pair for words in LENGTHS for pair in joined(pairs, words, count, generator)]
        write_pairs(folder / name, pairs + longer)


def scores(data: Path, run: Path, count: int) -> list[tuple[int, float]]:
    """Return BLEU of a run for joined test sentences of each length."""
    pairs = list(read_pairs((str(data / TEST),), SOURCE, TARGET))
    model = dragoman.load(run, device=DeviceConfig(threads=1))
    bleu_by_length = []
    for words in LENGTHS:
        chosen = list(joined(pairs, words, count, np.random.default_rng(words)))
        translations = model.translate([pair.source for pair in chosen])
        bleu = Bleu(tokenize="none").corpus(
            [translation.text for translation in translations], [[pair.target for pair in chosen]]
        )
        bleu_by_length.append((words, bleu.value))
    return bleu_by_length


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.lengths", description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("data/multi30k"), help="folder of Multi30k's files")
    parser.add_argument("--folder", type=Path, default=Path("runs/lengths"), help="output folder")
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--share", type=float, default=0.04, help="joined sentences of each length per sentence pair")
    parser.add_argument("--test", type=int, default=200, help="joined test sentences of each length")
    options = parser.parse_args(arguments)
    console = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)
    folder = options.folder
    try:
        if not (folder / f"dev.{TARGET}").is_file():
            folder.mkdir(parents=True, exist_ok=True)
            prepare(options.data, folder, options.share)
        processes = []
        for name, overrides in MODELS.items():
            slug = name.replace(" ", "-")
            config = folder / f"{slug}.yaml"
            config.write_text(CONFIG.format(folder=folder, name=slug, epochs=options.epochs), encoding="utf-8")
            changes = [word for key, value in overrides.items() for word in (f"--{key}", value)]
            processes.append(
                subprocess.Popen([sys.executable, "-m", "dragoman", "train", str(config), *changes], stdout=sys.stderr)
            )
        codes = [process.wait() for process in processes]
        for name, code in zip(MODELS, codes, strict=True):
            if code:
                raise UserError(f"{name}: training ended with status {code}")
        scores_by_model = {name: scores(options.data, folder / name.replace(" ", "-"), options.test) for name in MODELS}
    except UserError as error:
        console.print(str(error))
        return 1
    shown = Console(highlight=False, markup=False, soft_wrap=True)
    shown.print("| words | " + " | ".join(scores_by_model) + " |\n|" + "---|" * (len(scores_by_model) + 1))
    for number, words in enumerate(LENGTHS):
        shown.print(
            f"| {words} | " + " | ".join(f"{points[number][1]:.1f}" for points in scores_by_model.values()) + " |"
        )
    drawing = curves.svg(scores_by_model, title="BLEU by length of the source", x="words")
    (folder / "lengths.svg").write_text(drawing, encoding="utf-8")
    console.print(f"{folder / 'lengths.svg'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
