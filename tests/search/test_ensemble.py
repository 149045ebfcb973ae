"""Several models behaving as one: the mean of their probabilities, whatever each reads."""

import numpy as np
import pytest
import torch

from dragoman.data.batch import Batch
from dragoman.search.beam import Beam
from dragoman.search.ensemble import Ensemble
from dragoman.search.greedy import Greedy
from tests.builders import build_model, sentences

FIRST = [[4, 5, 6], [7], [8, 4]]
SECOND = [[5], [6, 6, 7, 8], [4, 4]]
TARGETS = [[5, 4], [6, 7, 8, 4], [8]]
SOURCES = (sentences(*FIRST), sentences(*SECOND))
MODELS = (build_model(seed=1), build_model(seed=2, score="bilinear", decoder={"attend": "after"}))


@pytest.mark.spec("C8")
def test_probabilities_are_the_mean_of_each_models() -> None:
    """`P(y_t) = 1/2 (P_1(y_t | x^(1)) + P_2(y_t | x^(2)))`, step by step along a reference."""
    target = sentences(*TARGETS)
    rows = np.arange(len(TARGETS))
    scored = Ensemble(MODELS, [1, 1]).score(Batch(SOURCES, target, rows))
    apart = [model.score(Batch((source,), target, rows)) for model, source in zip(MODELS, SOURCES, strict=True)]
    mean = torch.stack([model_scores.log_probs.exp() for model_scores in apart]).mean(0)
    torch.testing.assert_close(scored.log_probs.exp()[target.mask], mean[target.mask])
    assert (scored.log_probs[~target.mask] == 0).all()
    for weights, model_scores in zip(scored.attention, apart, strict=True):
        torch.testing.assert_close(weights[target.mask], model_scores.attention[0][target.mask] / 2)


@pytest.mark.spec("C8")
@pytest.mark.parametrize("search", [Greedy(), Beam(size=3), Beam(size=3, normalization="none")])
def test_searches_find_what_they_then_score(search: Greedy | Beam) -> None:
    ensemble = Ensemble(MODELS, [1, 1])
    results = search(ensemble, SOURCES)
    for row, (best,) in enumerate(results):
        target = sentences(list(best.symbols))
        alone = (sentences(FIRST[row]), sentences(SECOND[row]))
        scored = ensemble.score(Batch(alone, target, np.arange(1)))
        np.testing.assert_allclose(scored.log_probs[0].tolist(), best.log_probs, atol=1e-9)
        assert [hypothesis.shape for hypothesis in best.attention] == [
            (len(best.symbols) + 1, len(words[row]) + 1) for words in (FIRST, SECOND)
        ]
        np.testing.assert_allclose(sum(hypothesis.sum(1) for hypothesis in best.attention), 1, atol=1e-6)


@pytest.mark.spec("C8")
def test_models_of_the_same_source_and_one_model_twice() -> None:
    once, twice = Greedy()(MODELS[0], SOURCES[:1]), Greedy()(Ensemble([MODELS[0]] * 2, [1, 1]), (SOURCES[0],) * 2)
    for (one,), (other,) in zip(once, twice, strict=True):
        assert one.symbols == other.symbols
        assert one.log_prob == pytest.approx(other.log_prob, abs=1e-9)


@pytest.mark.spec("C8")
def test_it_is_told_what_all_would_say_first() -> None:
    target = sentences(*TARGETS)
    ensemble = Ensemble(MODELS, [1, 1])
    scored = ensemble.score(Batch(SOURCES, target, np.arange(len(TARGETS))))
    state, symbols = ensemble.begin(SOURCES), torch.full((len(TARGETS),), ensemble.start_id)
    step = ensemble.predict(symbols, state)
    assert scored.correct[:, 0].tolist() == (step.log_probs.argmax(1) == target.ids[:, 0]).tolist()
    assert step.log_probs.exp().sum(1).tolist() == pytest.approx([1.0] * len(TARGETS))


def test_models_that_begin_differently_are_no_ensemble() -> None:
    with pytest.raises(ValueError, match="different start symbols"):
        Ensemble([MODELS[0], build_model(start_symbol="eos")], [1, 1])


@pytest.mark.spec("C8")
def test_a_model_whose_source_is_missing_has_no_vote() -> None:
    """Not even where a beam has moved rows; and all vote where none has anything to read."""
    first, second = sentences([4, 5], [6, 7], []), sentences([5, 6], [], [])
    ensemble = Ensemble(MODELS, [1, 1])
    state = ensemble.begin((first, second))
    symbols = torch.tensor([5, 6, 6])
    rows = torch.tensor([1, 0, 2])
    for both, one in ((0, 1), (1, 0)):
        alone = [
            model.predict(symbols, model_state).log_probs
            for model, model_state in zip(MODELS, state.states, strict=True)
        ]
        step = ensemble.predict(symbols, state)
        torch.testing.assert_close(step.log_probs[one], alone[0][one])
        for row in (both, 2):
            torch.testing.assert_close(step.log_probs[row].exp(), (alone[0][row].exp() + alone[1][row].exp()) / 2)
        assert not step.attention[1][one].any()
        torch.testing.assert_close(step.attention[0].sum(1)[one], torch.tensor(1.0, dtype=step.attention[0].dtype))
        state = ensemble.reorder(step.state, rows)
        symbols = symbols[rows]
