"""Parts know their context: toy parts that ask for it, in a training and in the run that is loaded from it."""

from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import dragoman
from dragoman.data.vocabulary import EOS, SymbolTable
from dragoman.model import build
from dragoman.model.output.full import OUTPUTS, Full
from dragoman.run import Run, RunFolder
from dragoman.training import session
from tests import toy

Train = Callable[..., RunFolder]


class Unigram(Full):  # type: ignore[misc]
    """The softmax beside how often each symbol occurs, one being added to each count."""

    def __init__(self, features_size: int, symbols: SymbolTable, *parts: Any) -> None:
        super().__init__(features_size, symbols, *parts)
        self.counts: Tensor
        self.register_buffer("counts", torch.tensor(symbols.counts), persistent=False)

    def logits(self, features: Tensor) -> Tensor:
        return super().logits(features) + (self.counts + 1.0).log()


@pytest.fixture
def train(corpus: Path, tmp_path: Path) -> Train:
    def trained(options: Mapping[str, Any]) -> RunFolder:
        return session.train(toy.config(corpus, tmp_path / "run", {"training.epochs": 1, **options}), quiet=True)

    return trained


def test_an_output_knows_how_often_its_symbols_occur(
    train: Train, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(OUTPUTS, "unigram", Unigram)
    run = Run.load(train({"model.output": "unigram"}).path)
    words = Counter((corpus / "train.fr").read_text("utf-8").split())
    output = run.model().output
    assert isinstance(output, Unigram)
    counts = dict(zip(run.target.symbols.spellings, output.counts.tolist(), strict=True))
    assert {word: counts.pop(word) for word in words} == words
    assert counts == {"<unk>": 0, "<pad>": 0, "<s>": 0, "</s>": 60}
    assert dragoman.load(run.folder.path).translate(["one two"])


def test_symbols_of_joined_sources_occur_in_all_of_them(tmp_path: Path) -> None:
    """Each ends its sentences."""
    corpus = toy.corpus(tmp_path / "corpus")
    english = (corpus / "train.en").read_text("utf-8")
    for name in ("train", "dev"):
        (corpus / f"{name}.de").write_text((corpus / f"{name}.en").read_text("utf-8"), encoding="utf-8")
    options = {"data.source": ["en", "de"], "data.join": True, "text.joint": True, "training.steps": 1}
    run = Run.load(session.train(toy.config(corpus, tmp_path / "run", options), quiet=True).path)
    (joined,) = build.inputs(run.config, run.sources)
    assert isinstance(joined, SymbolTable)
    assert joined.counts[EOS] == 120
    assert joined.counts[joined.spellings.index("one")] == 2 * english.split().count("one")
