"""A toy language that is learned in seconds: numbers in words, and the same in French backwards."""

import json
import random
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from dragoman.configuration.components import plain
from dragoman.configuration.config import Config
from dragoman.training import checks, session

WORDS = {"one": "un", "two": "deux", "three": "trois", "four": "quatre", "five": "cinq", "six": "six"}
CONFIG = """
seed: 3
device: {name: cpu, threads: 1, precision: float32}
data: {source: en, target: fr}
text:
  shared_vocabulary: false
  source: {tokenizer: word}
  target: {tokenizer: word}
model:
  embedding: {size: 12}
  encoder: {kind: rnn, size: 12}
  decoder: {kind: rnn, size: 24, readout: deep}
training:
  epochs: 2
  batch: {size: 16}
  optimizer: {kind: adam, learning_rate: 0.01}
  average_checkpoints: {count: 2}
  search: {kind: greedy, length_ratio: 1, length_margin: 3}
metrics: [{kind: bleu, order: 2}, chrf]
search: {kind: beam, size: 3}
"""
SUBWORDS = {  # other symbols in every epoch
    "text.shared_vocabulary": True,
    "text.source.tokenizer": {"kind": "bpe", "vocab_size": 290, "dropout": 0.2},
    "text.target.tokenizer": {"kind": "bpe", "vocab_size": 290, "dropout": 0.2},
    "model.embedding": {"size": 12, "dropout": 0.1, "tie": "all"},
    "model.encoder": {"kind": "rnn", "size": 12, "dropout": 0.2},
}


def pairs(count: int, seed: int, longest: int = 5) -> list[tuple[str, str]]:
    """Sentences of two words and more, and their translations."""
    generator = random.Random(seed)
    sources = [generator.choices(list(WORDS), k=generator.randint(2, longest)) for _ in range(count)]
    return [(" ".join(words), " ".join(WORDS[word] for word in reversed(words))) for words in sources]


def write(folder: Path, name: str, lines: list[tuple[str, str]]) -> None:
    """`name.en` and `name.fr`."""
    folder.mkdir(parents=True, exist_ok=True)
    for suffix, texts in zip(("en", "fr"), zip(*lines, strict=True), strict=True):
        (folder / f"{name}.{suffix}").write_text("".join(text + "\n" for text in texts), encoding="utf-8")


def corpus(folder: Path, train: int = 60, longest: int = 3) -> Path:
    """The prefixes `train` and `dev` in a folder, and the configuration above."""
    write(folder, "train", pairs(train, 1, longest))
    write(folder, "dev", pairs(8, 2, longest))
    (folder / "toy.yaml").write_text(CONFIG, encoding="utf-8")
    return folder


GERMAN = dict(zip(WORDS, ("eins", "zwei", "drei", "vier", "fünf", "sechs"), strict=True))


def german(source: str) -> str:
    """The German of an English sentence, in the same order."""
    return " ".join(GERMAN[word] for word in source.split())


DIRECTIONS = ("en", "de", "ab"), ("de", "en", "ab"), ("en", "fr", "cd"), ("fr", "en", "cd")
COPY = "en", "en", "ab"


def languages(folder: Path, train: int = 60, longest: int = 3) -> list[dict[str, str]]:
    """Three languages, German in the order of English: `data.pairs` of each with English and back, `train` and `train`
    halved, of English with itself, and of German to French, which is zero-shot.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name, count, seed in (("train-ab", train, 1), ("train-cd", train // 2, 2), ("dev", 8, 3), ("test", 30, 4)):
        lines = pairs(count, seed, longest)
        translations = [german(source) for source, _ in lines]
        texts = {"en": [source for source, _ in lines], "fr": [target for _, target in lines], "de": translations}
        for language, text in texts.items():
            (folder / f"{name}.{language}").write_text("".join(f"{line}\n" for line in text), encoding="utf-8")
    (folder / "toy.yaml").write_text(CONFIG.replace("data: {source: en, target: fr}\n", ""), encoding="utf-8")
    dev = str(folder / "dev")
    trained = [
        {"source": source, "target": target, "train": str(folder / f"train-{name}"), "dev": dev}
        for source, target, name in (*DIRECTIONS, COPY)
    ]
    return [*trained, {"source": "de", "target": "fr", "dev": dev}]


def config(corpus: Path, run: Path, options: Mapping[str, Any] = {}) -> Config:
    """The configuration of a run on that corpus, with other values at dotted keys."""
    places = {"run": str(run), "data.train": str(corpus / "train"), "data.dev": str(corpus / "dev")}
    return checks.load_config(corpus / "toy.yaml", {key: _yaml(value) for key, value in {**places, **options}.items()})


def _yaml(value: Any) -> str:
    return json.dumps(plain(value))


@cache
def trained(base: Path) -> Path:
    """The folder of a run that has learned the language, made once in a test session below its base folder."""
    options = {
        "training.epochs": None,
        "training.steps": 140,
        "training.validate_every": 140,
        "training.schedule": {"kind": "cosine", "steps": 140},
        "training.optimizer": {"kind": "adam", "learning_rate": 0.02},
    }
    return session.train(
        config(corpus(base / "toy", train=160, longest=5), base / "toy" / "run", options), quiet=True
    ).path
