"""What is demanded of attention shows in alignments."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from dragoman import demo, inspection
from dragoman.corpus.examples import read_pairs
from dragoman.corpus.pharaoh import Gold, read_gold
from dragoman.training import checks, session
from dragoman.translation import loading
from tests import toy

CONFIG = """
device: {name: cpu, threads: 1, precision: float32}
data: {source: en, target: fr}
text: {shared_vocabulary: false, source: {tokenizer: word, lowercase: true}, target: {tokenizer: word, lowercase: true}}
model: {embedding: {size: 24}, encoder: {size: 16}, attention: {score: {kind: additive, size: 24}}, decoder: {size: 32}}
training:
  epochs: null
  steps: 100
  batch: {size: 16}
  optimizer: {kind: adam, learning_rate: 0.01}
  metric: loss
  search: {kind: greedy, length_ratio: 1, length_margin: 3}
"""


@pytest.fixture(scope="module")
def phrases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sample of the phrasebook, and a small configuration for it."""
    folder = tmp_path_factory.mktemp("phrases")
    demo.write_corpus(folder, {"train": 400, "dev": 4, "test": 40})
    (folder / "config.yaml").write_text(CONFIG, encoding="utf-8")
    return folder


def trained(phrases: Path, run: str, options: Mapping[str, str]) -> Path:
    places = {"run": str(phrases / run), "data.train": str(phrases / "train"), "data.dev": str(phrases / "dev")}
    return session.train(checks.load_config(phrases / "config.yaml", {**places, **options}), quiet=True).path


def error_rate(phrases: Path, run: Path) -> float:
    """AER of a run from English to French on sentences that it has not seen."""
    pairs = list(read_pairs(str(phrases / "test"), "en", "fr"))
    gold = read_gold(phrases / "test.en-fr.align")
    sources, targets = zip(*pairs, strict=True)
    return inspection.agreement(loading.load(run), sources, targets, gold).error_rate


@pytest.fixture(scope="module")
def plain(phrases: Path) -> float:
    return error_rate(phrases, trained(phrases, "plain", {}))


@pytest.mark.spec("B13")
def test_supervised_attention_aligns_better(phrases: Path, plain: float) -> None:
    options: dict[str, Any] = {"training.penalties": "supervised", "data.alignments": "true"}
    error = error_rate(phrases, trained(phrases, "supervised", options))
    assert error < plain - 0.2


@pytest.mark.spec("B20")
def test_directions_that_agree_align_better_both_of_them(tmp_path: Path) -> None:
    """After as many steps; the toy language has one word for each word, in the opposite order."""
    corpora = toy.corpus(tmp_path, train=160, longest=5)
    pairs = toy.pairs(60, seed=9)
    places = [frozenset((place, len(x.split()) - 1 - place) for place in range(len(x.split()))) for x, _ in pairs]
    gold = [Gold(links, links) for links in places]
    steps = {"seed": 1, "training.epochs": None, "training.steps": 90, "training.validate_every": 90}

    def rate(run: Path, reverse: bool = False) -> float:
        sources, targets = zip(*((y, x) if reverse else (x, y) for x, y in pairs), strict=True)
        return inspection.agreement(loading.load(run), sources, targets, gold).error_rate

    def train_run(name: str, options: Mapping[str, Any]) -> Path:
        return session.train(toy.config(corpora, tmp_path / name, {**steps, **options}), quiet=True).path

    both = train_run("both", {"training.objective": "agreement"})
    assert rate(both) < rate(train_run("forward", {})) - 0.05
    assert rate(both / "reverse", reverse=True) < (
        rate(train_run("backward", {"data.source": "fr", "data.target": "en"}), reverse=True) - 0.05
    )
