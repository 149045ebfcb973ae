"""Attention between symbols as attention between words."""

from pathlib import Path

import numpy as np
import pytest

import dragoman
from dragoman.text.pipeline import WordsOf
from dragoman.training import session
from dragoman.translation.attended import by_words
from tests import toy


def words(*word_of: int) -> WordsOf:
    names = [f"w{number}" for number in range(max(word_of) + 1)]
    return WordsOf(names, list(word_of), [(0, 0)] * len(names))


def test_weights_that_do_not_compete_are_a_mean_over_the_symbols_of_a_word() -> None:
    weights = [[0.9, 0.9, 0.9, 0.6, 0.2], [0.2, 0.2, 0.2, 0.4, 0.0]]
    target, source = words(0, 1), words(0, 0, 0, 1)
    between, end = by_words(weights, target, source, [False] * 4, competing=False)
    np.testing.assert_allclose(between, [[0.9, 0.6], [0.2, 0.4]])
    np.testing.assert_allclose(end, [0.2, 0])
    between, end = by_words(weights, target, source, [False] * 4)
    np.testing.assert_allclose(between, [[2.7, 0.6], [0.6, 0.4]])


@pytest.mark.parametrize("several", [False, True])
def test_no_word_has_more_than_all_attention(tmp_path: Path, several: bool) -> None:
    memory = {"data.memory": "nearest", "model.combination": "hierarchical"} if several else {}
    options = {**toy.SUBWORDS, "model.attention.normaliser": "linear_chain", "training.steps": 1, **memory}
    config = toy.config(toy.corpus(tmp_path), tmp_path / "run", {"training.epochs": None, **options})
    run = session.train(config, quiet=True).path
    source, target = toy.pairs(1, 3)[0]
    for folders in (run, [run, run]):
        (scored,) = dragoman.load(folders).score([source], [target])
        for seen in scored.translation.sources:
            assert seen.attention.min(initial=1) > 0
            assert (seen.attention.sum(1) <= 1 + 1e-9).all()
            assert (seen.share <= 1 + 1e-9).all()


def test_gradients_of_symbols_add_up_whatever_the_weights(tmp_path: Path) -> None:
    options = {**toy.SUBWORDS, "model.attention.normaliser": "linear_chain", "training.steps": 1}
    config = toy.config(toy.corpus(tmp_path), tmp_path / "run", {"training.epochs": None, **options})
    translator = dragoman.load(session.train(config, quiet=True).path)
    assert not translator.codec.reading.competing
    source, target = toy.pairs(1, 3)[0]
    found = translator.score([source], [target])[0].translation.explain()
    translator.codec.reading = translator.codec.reading.summed
    again = translator.score([source], [target])[0].translation.explain()
    for one, other in zip(found.sources, again.sources, strict=True):
        np.testing.assert_array_equal(one.gradient, other.gradient)
