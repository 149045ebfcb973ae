"""Probabilities at another temperature: those of a plain softmax; a search finds what it always does."""

import pytest
import torch

from dragoman.configuration.components import Spec, build
from dragoman.data.vocabulary import EOS
from dragoman.search.hypothesis import Hypothesis
from dragoman.search.table import SEARCHES
from dragoman.search.tempered import LEAST, LOG_PARTITION, TemperaturePredictor, scale_log_probs
from tests.builders import SYMBOLS, build_model, sentences
from tests.search.toys import A, B, Chances, Prefix, Written

GIVEN = (sentences([4, 5, 6], [7], [8, 4, 4, 5]),)
SEEDS = [1, 2, 3]


def plain(hypothesis: Hypothesis, source: int, temperature: float) -> list[float]:
    """log softmax(logits / T) of each symbol, by forced decoding with the whole distribution at every step."""
    model, log_probs_found = MODEL, list[float]()
    state = model.reorder(model.begin(GIVEN), torch.tensor([source]), torch.tensor([source]))
    symbol = model.start_id
    for following in (*hypothesis.symbols, EOS):
        step = model.predict(torch.tensor([symbol]), state)
        log_probs_found.append(torch.log_softmax(step.log_probs / temperature, 1)[0, following].item())
        symbol, state = following, step.state
    return log_probs_found


def calibrated(hypothesis: Hypothesis, temperature: float) -> list[float]:
    """log P of each symbol of a hypothesis and of its end, which was searched at this temperature."""
    return scale_log_probs(hypothesis.log_probs, hypothesis.statistics[LOG_PARTITION].tolist(), temperature)


MODEL = build_model(seed=3, spread=1.5)


@pytest.mark.parametrize("temperature", [0.4, 1.0, 2.5])
@pytest.mark.parametrize("kind", sorted(SEARCHES))
def test_every_search_reports_what_a_plain_softmax_gives(kind: str, temperature: float) -> None:
    """And finds what it finds without."""
    search = build(SEARCHES, Spec(kind, {"length_ratio": 0, "length_margin": 4}))
    count = min(2, search.width)
    without = search(MODEL, GIVEN, count, seeds=SEEDS)
    results = search(TemperaturePredictor(MODEL, temperature), GIVEN, count, seeds=SEEDS)
    for source, (tempered_hypotheses, other_results) in enumerate(zip(results, without, strict=True)):
        assert [hypothesis.symbols for hypothesis in tempered_hypotheses] == [
            hypothesis.symbols for hypothesis in other_results
        ]
        for hypothesis in tempered_hypotheses:
            assert calibrated(hypothesis, temperature) == pytest.approx(
                plain(hypothesis, source, temperature), abs=1e-5
            )
            if temperature == 1:
                assert calibrated(hypothesis, temperature) == pytest.approx(list(hypothesis.log_probs), abs=1e-5)
    assert MODEL.target_embedding.symbols == SYMBOLS


def test_what_cannot_be_said_counts_for_nothing() -> None:
    """0.6 and 0.3 of two symbols at T = 1/2: 0.36 and 0.09 of 0.46, beside 0.1 of the end."""

    def chances(word: int, prefix: Prefix) -> Chances:
        return {EOS: 1.0} if prefix else {A: 0.6, B: 0.3, EOS: 0.1}

    search = build(SEARCHES, Spec("beam", {"size": 3, "normalization": "none"}))
    ((first, second, third),) = search(TemperaturePredictor(Written(chances), 0.5), (sentences([A]),), 3)
    expected = [0.36 / 0.46, 0.09 / 0.46, 0.01 / 0.46]
    shares = [torch.tensor(calibrated(hypothesis, 0.5)).exp().tolist() for hypothesis in (first, second, third)]
    assert [hypothesis[0] for hypothesis in shares] == pytest.approx(expected)
    assert [hypothesis[1:] for hypothesis in shares] == [[1.0], [1.0], []]


def test_the_least_is_finite() -> None:
    """As JSON needs it, and never above 0."""
    statistics = {LOG_PARTITION: torch.tensor([0.0, -1e-7]).numpy()}
    assert calibrated(Hypothesis((A,), 0.0, (float("-inf"), 0.0), (), statistics=statistics), 1.0) == [LEAST, 0.0]
