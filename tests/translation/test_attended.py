"""Attention between symbols as attention between words."""

import pickle
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as some

import dragoman
from dragoman.data.batch import Batch, pad_tokens
from dragoman.text.pipeline import WordsOf
from dragoman.text.protection import Protection
from dragoman.training import session
from dragoman.translation.attention_matrix import SymbolWeights
from dragoman.translation.source_inputs import by_words, sum_by_words
from dragoman.translation.transforms.terms import LexicalConstraints
from tests import toy

ONE_STEP = {"training.steps": 1}


@pytest.fixture(scope="module")
def subwords(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of subwords that has learned nothing, so that its attention is spread."""
    folder = tmp_path_factory.mktemp("subwords")
    config = toy.config(toy.corpus(folder), folder / "run", {"training.epochs": None, **toy.SUBWORDS, **ONE_STEP})
    return session.train(config, quiet=True).path


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


@pytest.mark.spec("I2")
def test_symbols_are_summed_over_source_words_and_averaged_over_target_words() -> None:
    attention = np.array([[0.5, 0.25, 0.25, 0.0], [0.1, 0.3, 0.2, 0.4], [0.0, 0.2, 0.2, 0.6]])
    words = sum_by_words(attention, target_word_of=[0, 0, 1], source_word_of=[0, 1, 1, 2])
    expected = np.array([[0.3, 0.5, 0.2], [0.0, 0.4, 0.6]])
    np.testing.assert_allclose(words, expected)


def test_end_symbols_are_left_out_and_empty_words_get_zeros() -> None:
    attention = np.array([[0.5, 0.2, 0.3], [0.1, 0.8, 0.1]])
    np.testing.assert_allclose(sum_by_words(attention, [0, -1], [0, 2, -1]), [[0.5, 0.0, 0.2]])
    words = sum_by_words(attention, [1, -1], [0, 1, -1], words=(3, 2))
    np.testing.assert_allclose(words, [[0.0, 0.0], [0.5, 0.2], [0.0, 0.0]])
    assert sum_by_words(np.zeros((0, 0)), [], []).shape == (0, 0)


def test_symbols_that_do_not_fit_the_array_are_told() -> None:
    with pytest.raises(ValueError, match=r"\(2, 3\), the symbols are \(1, 3\)"):
        sum_by_words(np.zeros((2, 3)), [0], [0, 1, 2])


@given(
    some.integers(1, 6).flatmap(
        lambda words: some.tuples(
            some.lists(some.integers(0, words - 1), min_size=1, max_size=9),
            some.lists(some.integers(0, words - 1), min_size=1, max_size=9),
        )
    ),
    some.integers(0, 1000),
)
def test_rows_of_words_stay_distributions(word_of: tuple[list[int], list[int]], seed: int) -> None:
    target, source = word_of
    attention = np.random.default_rng(seed).dirichlet(np.ones(len(source)), size=len(target))
    words = sum_by_words(attention, target, source)
    assert words.shape == (max(target) + 1, max(source) + 1)
    np.testing.assert_allclose(words[sorted(set(target))].sum(axis=1), 1.0)


@pytest.mark.slow
@pytest.mark.parametrize("several", [False, True])
def test_no_word_has_more_than_all_attention(tmp_path: Path, several: bool) -> None:
    memory = {"data.translation_memory": "nearest", "model.combination": "hierarchical"} if several else {}
    options = {**toy.SUBWORDS, "model.attention.normalizer": "linear_chain", "training.steps": 1, **memory}
    config = toy.config(toy.corpus(tmp_path), tmp_path / "run", {"training.epochs": None, **options})
    run = session.train(config, quiet=True).path
    source, target = toy.pairs(1, 3)[0]
    for folders in (run, [run, run]):
        (scored,) = dragoman.load(folders).score([source], [target])
        for seen in scored.translation.sources:
            assert seen.attention.min(initial=1) > 0
            assert (seen.attention.sum(1) <= 1 + 1e-9).all()
            assert (seen.share <= 1 + 1e-9).all()


@pytest.mark.slow
def test_gradients_of_symbols_add_up_whatever_the_weights(tmp_path: Path) -> None:
    options = {**toy.SUBWORDS, "model.attention.normalizer": "linear_chain", "training.steps": 1}
    config = toy.config(toy.corpus(tmp_path), tmp_path / "run", {"training.epochs": None, **options})
    translator = dragoman.load(session.train(config, quiet=True).path)
    assert not translator.processor.model_inputs.competing
    source, target = toy.pairs(1, 3)[0]
    explanation = translator.score([source], [target])[0].translation.explain()
    translator.processor.model_inputs = translator.processor.model_inputs.summed
    again = translator.score([source], [target])[0].translation.explain()
    for one, other in zip(explanation.sources, again.sources, strict=True):
        np.testing.assert_array_equal(one.gradient, other.gradient)


def test_attention_by_symbols_is_that_of_the_model_and_its_rows_sum_to_1(subwords: Path) -> None:
    """By words it is the sum over the symbols of a source word and the mean over those of a target word."""
    translator = dragoman.load(subwords)
    source, target = toy.pairs(1, 3)[0]
    (scored,) = translator.score([source], [target])
    (searched,) = translator.translate([source])
    batch = Batch(
        (pad_tokens([translator.source.ids(source)]),),
        pad_tokens([translator.target.ids(target)]),
        np.zeros(1, np.int64),
    )
    with torch.no_grad():
        _, _, (weights,), _ = translator.model.score(batch)
    assert scored.symbol_attention is not None
    np.testing.assert_allclose(scored.symbol_attention.weights, weights[0, :-1].numpy(), atol=1e-6)
    for translation in (scored.translation, searched):
        attention = translation.symbol_attention
        assert attention is not None
        assert attention.source == [*translator.source.text.encode(source), "</s>"]
        assert attention.target == [step.symbol for step in translation.steps[:-1]]
        assert len(attention.source) > len(translation.source_words) + 1
        assert attention.weights.shape == (len(attention.target), len(attention.source))
        np.testing.assert_allclose(attention.weights.sum(1), 1, atol=1e-6)
        np.testing.assert_allclose(translation.attention.sum(1) + translation.end_share, 1, atol=1e-6)
        ends = [
            attention.weights[[number for number, step in enumerate(translation.steps) if step.word == word], -1].mean()
            for word in range(len(translation.words))
        ]
        np.testing.assert_allclose(translation.end_share, ends, atol=1e-6)


def test_an_ensemble_has_the_sum_of_its_models_by_symbols(subwords: Path) -> None:
    source, target = toy.pairs(1, 3)[0]
    one, both = (
        dragoman.load(translation).score([source], [target])[0].symbol_attention
        for translation in (subwords, [subwords] * 2)
    )
    assert one is not None
    assert both is not None
    assert (one.source, one.target) == (both.source, both.target)
    np.testing.assert_allclose(both.weights, one.weights, atol=1e-6)
    first, second = SymbolWeights(["a", "</s>"], np.array([[0.5, 0.0]])), SymbolWeights(["b", "</s>"], np.ones((1, 2)))
    assert first.beside(second) is None
    assert first.beside(None) is None


def test_spans_that_no_model_reads_have_no_symbols(subwords: Path) -> None:
    translator = dragoman.load(subwords)
    translation, plain, bare = translator.translate(
        ["one {name} two", "one two", "{name}"],
        constraints=LexicalConstraints(protection=Protection.named(["placeholders"])),
    )
    assert translation.symbol_attention is not None
    assert plain.symbol_attention is not None
    assert "{name}" in translation.source_words
    assert not any("{" in symbol for symbol in translation.symbol_attention.source)
    assert len(translation.symbol_attention.target) == len(translation.steps) - 1
    assert bare.symbol_attention is None


def test_attention_by_symbols_is_not_in_json_and_comes_through_pickles(subwords: Path) -> None:
    (translation,) = dragoman.load(subwords).translate(["one two"])
    assert translation.symbol_attention is not None
    again = pickle.loads(pickle.dumps(translation))
    np.testing.assert_array_equal(again.symbol_attention.weights, translation.symbol_attention.weights)
    read = dragoman.Result.from_json(dragoman.Result(translation).json()).translation
    assert read.symbol_attention is None
    np.testing.assert_allclose(read.end_share, translation.end_share, atol=1e-5)
