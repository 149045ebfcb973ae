"""Corpora and models of the plot of BLEU by length."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks import lengths
from benchmarks.corpus import DEV, TEST, TRAIN
from dragoman.corpus.examples import Pair
from dragoman.training import checks

PAIRS = [Pair("a b c d e", "f g"), Pair("h i j k l m n", "o")]


def test_joined_sentences_are_about_as_long_as_asked() -> None:
    for words in lengths.LENGTHS:
        for pair in lengths.joined(PAIRS, words, 20, np.random.default_rng(1)):
            assert words - 6 <= len(pair.source.split()) <= words + 1


@pytest.mark.parametrize("name", lengths.MODELS)
def test_both_models_are_sound(name: str, tmp_path: Path) -> None:
    for prefix in (TRAIN, DEV, TEST):
        lengths.write_pairs(tmp_path / prefix, PAIRS)
    lengths.prepare(tmp_path, tmp_path, share=0.5)
    assert len((tmp_path / "train.de").read_text("utf-8").splitlines()) == 2 + len(lengths.LENGTHS)
    path = tmp_path / "config.yaml"
    path.write_text(lengths.CONFIG.format(folder=tmp_path, name="run", epochs=1), encoding="utf-8")
    config = checks.load_config(path, lengths.MODELS[name])
    assert (config.model.attention.score.kind == "none") == (name == "no attention")
