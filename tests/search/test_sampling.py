"""Sampling: frequencies against the probabilities of all translations, and truncated distributions by hand."""

import math
from collections import Counter
from typing import Any

import pytest
import torch

from dragoman.configuration.components import Spec, build
from dragoman.data.vocabulary import EOS, UNK
from dragoman.search.ensemble import Ensemble
from dragoman.search.greedy import Greedy
from dragoman.search.hypothesis import Hypothesis
from dragoman.search.sampling import Sample, SamplingDistribution, epsilon_mask, nucleus_mask, top_k_mask, typical_mask
from dragoman.search.search import Search
from dragoman.search.spans import PrefixFilter
from dragoman.search.table import SEARCHES
from tests.builders import build_model, pairs, sentences
from tests.search.test_decoding import Spelling
from tests.search.toys import A, B, C, Chances, Prefix, Written

SOURCES = [[4, 5], [5, 6, 4], [4, 4], [6]]
MANY = 6000


def sampled(**options: Any) -> Search:
    return build(SEARCHES, Spec("sample", options))


def texts(hypotheses: list[Hypothesis]) -> list[Prefix]:
    return [hypothesis.symbols for hypothesis in hypotheses]


def chances(word: int, prefix: Prefix) -> Chances:
    """At most two symbols: what the second is depends on the first."""
    if not prefix:
        return {A: 0.5, B: 0.3, EOS: 0.2}
    if len(prefix) == 1:
        return {EOS: 0.6, A: 0.4} if prefix == (A,) else {C: 0.7, EOS: 0.3}
    return {EOS: 1.0}


def expected(temperature: float) -> dict[Prefix, float]:
    """The probability of every translation: at each step p^(1 / T), normalized."""
    probabilities: dict[Prefix, float] = {}
    open_ones: dict[Prefix, float] = {(): 1.0}
    while open_ones:
        prefix, chance = open_ones.popitem()
        powers = {symbol: p ** (1 / temperature) for symbol, p in chances(A, prefix).items()}
        for symbol, power in powers.items():
            goes_on = probabilities if symbol == EOS else open_ones
            goes_on[prefix if symbol == EOS else (*prefix, symbol)] = chance * power / sum(powers.values())
    return probabilities


@pytest.mark.slow
@pytest.mark.spec("F2")
@pytest.mark.spec("F5")
@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("together", [1, 500])
def test_translations_are_as_frequent_as_they_are_probable(temperature: float, together: int) -> None:
    """Pearson's chi-squared over all five translations: with 4 degrees of freedom, 18.47 is exceeded once in a thousand
    times. Samples of many sentences, and many samples of a few.
    """
    source = (sentences(*[[A]] * (MANY // together)),)
    results = sampled(temperature=temperature)(Written(chances), source, together, seeds=range(MANY // together))
    counts = Counter(translation for hypothesis in results for translation in texts(hypothesis))
    probable = expected(temperature)
    assert len(probable) == 5
    assert counts.keys() == probable.keys()
    squares = sum((counts[translation] - MANY * p) ** 2 / (MANY * p) for translation, p in probable.items())
    assert squares < 18.47


@pytest.mark.spec("F2")
def test_every_log_probability_is_that_of_the_model() -> None:
    """However it was drawn; and attention belongs to the sample, though samples end at different times."""
    model = build_model(seed=2, spread=1.0)
    search = sampled(temperature=1.2, top_k=8, top_p=0.99, typical=0.99, epsilon=0.001)
    results = search(model, (sentences(*SOURCES),), 12, seeds=range(len(SOURCES)))
    for source, samples in zip(SOURCES, results, strict=True):
        assert len(samples) == 12
        assert len({len(hypothesis.symbols) for hypothesis in samples}) > 1
        assert [hypothesis.score for hypothesis in samples] == sorted(
            (hypothesis.score for hypothesis in samples), reverse=True
        )
        scores, _, (weights,), _ = model.score(
            pairs([source] * 12, [list(hypothesis.symbols) for hypothesis in samples])
        )
        for row, hypothesis in enumerate(samples):
            steps = len(hypothesis.symbols) + 1
            assert hypothesis.log_probs == pytest.approx(scores[row, :steps].tolist(), abs=1e-6)
            assert hypothesis.score == pytest.approx(hypothesis.log_prob)
            assert hypothesis.attention[0] == pytest.approx(weights[row, :steps, : len(source) + 1].detach(), abs=1e-6)


@pytest.mark.spec("F2")
@pytest.mark.parametrize("count", [1, 7])
@pytest.mark.parametrize("brief", [False, True])
def test_samples_of_a_sentence_do_not_depend_on_its_batch(count: int, *, brief: bool) -> None:
    """Neither on the sentences beside it, nor on padding, though samples end at different times; but on the seed."""
    ending = Written(lambda word, prefix: {A: 0.4, B: 0.3, EOS: 0.3})
    model, search = ending if brief else build_model(seed=2, spread=1.0), sampled(top_p=0.95)
    seeds = [11, 12, 13, 14]
    together = search(model, (sentences(*SOURCES, width=9),), count, seeds=seeds)
    for source, seed, samples in zip(SOURCES, seeds, together, strict=True):
        (alone,) = search(model, (sentences(source),), count, seeds=[seed])
        assert texts(alone) == texts(samples)
        assert [hypothesis.score for hypothesis in alone] == pytest.approx([hypothesis.score for hypothesis in samples])
    for other in (
        search(model, (sentences(*SOURCES),), count, seeds=[seed + 100 for seed in seeds]),
        sampled(top_p=0.95, seed=1)(model, (sentences(*SOURCES),), count, seeds=seeds),
    ):
        assert [texts(hypothesis) for hypothesis in other] != [texts(hypothesis) for hypothesis in together]


@pytest.mark.spec("F5")
def test_without_temperature_it_is_greedy_search() -> None:
    model, source = build_model(seed=3, spread=1.0), (sentences(*SOURCES),)
    results = sampled(temperature=0.0)(model, source, 3, seeds=range(len(SOURCES)))
    for samples, (best,) in zip(results, Greedy()(model, source), strict=True):
        assert texts(samples) == [best.symbols] * 3
        assert samples[0].score == pytest.approx(best.score)


P = torch.tensor([0.1, 0.05, 0.4, 0.15, 0.3]).log()


@pytest.mark.spec("F5")
def test_truncated_distributions_by_hand() -> None:
    """Ranks: 0.4, 0.3, 0.15, 0.1, 0.05. The entropy is 1.392, and -log p is 2.303, 2.996, 0.916, 1.897, 1.204: nearest
    to it are 0.3 (0.188), 0.4 (0.476) and 0.15 (0.505), before 0.1 (0.911) and 0.05.
    """
    assert top_k_mask(2, P).tolist() == [False, False, True, False, True]
    assert top_k_mask(9, P).all()
    assert epsilon_mask(0.12, P).tolist() == [False, False, True, True, True]
    assert epsilon_mask(0.6, P).tolist() == [False, False, True, False, False]
    assert nucleus_mask(0.39, P).tolist() == [False, False, True, False, False]
    assert nucleus_mask(0.41, P).tolist() == [False, False, True, False, True]
    assert nucleus_mask(0.72, P).tolist() == [False, False, True, True, True]
    assert typical_mask(0.29, P).tolist() == [False, False, False, False, True]
    assert typical_mask(0.69, P).tolist() == [False, False, True, False, True]
    assert typical_mask(0.71, P).tolist() == [False, False, True, True, True]


@pytest.mark.spec("F5")
def test_each_truncation_is_of_what_those_before_have_left() -> None:
    """The two most probable are 4/7 and 3/7 then, of which the first reaches 0.5; without the first step it would not.
    At temperature 0.5 squares are drawn from: 0.16 and 0.09 of 0.25.
    """
    rows = P.view(1, 1, -1)
    one = SamplingDistribution(top_k=2, top_p=0.5)(rows).exp()[0, 0]
    torch.testing.assert_close(one, torch.tensor([0, 0, 1, 0, 0], dtype=torch.double))
    both = SamplingDistribution(top_k=2, top_p=0.6)(rows).exp()[0, 0]
    torch.testing.assert_close(both, torch.tensor([0, 0, 4, 0, 3], dtype=torch.double) / 7)
    colder = SamplingDistribution(temperature=0.5, top_k=2)(rows).exp()[0, 0]
    torch.testing.assert_close(colder, torch.tensor([0, 0, 16, 0, 9], dtype=torch.double) / 25)


@pytest.mark.spec("F5")
@pytest.mark.parametrize(
    ("options", "left"),
    [
        ({"top_k": 3, "epsilon": 0.17}, [0.4, 0.15, 0.3]),  # 0.15 is 0.176 of what the first step leaves
        ({"epsilon": 0.14, "top_p": 0.8}, [0.4, 0.3]),  # 0.4 and 0.3 are 0.82 of 0.85, and 0.7 of everything
        ({"top_p": 0.6, "typical": 0.5}, [0.4]),  # of 4/7 and 3/7; the entropy of all is nearest to 0.3
    ],
)
def test_truncations_are_done_in_the_order_of_the_options(options: dict[str, Any], left: list[float]) -> None:
    drawn = SamplingDistribution(**options)(P.view(1, 1, -1)).exp()[0, 0]
    assert [round(value, 3) for value in drawn.tolist() if value] == [round(value / sum(left), 3) for value in left]


@pytest.mark.spec("F5")
@pytest.mark.parametrize("options", [{"top_k": 1}, {"top_p": 0.01}, {"epsilon": 0.9}])
def test_what_leaves_one_symbol_alone_is_greedy(options: dict[str, Any]) -> None:
    model, source = build_model(seed=4, spread=1.0), (sentences(*SOURCES),)
    results = sampled(**options)(model, source, seeds=range(len(SOURCES)))
    assert [best.symbols for (best,) in results] == [best.symbols for (best,) in Greedy()(model, source)]


def test_what_the_model_rules_out_is_never_drawn() -> None:
    """Even by the smallest and the largest of random numbers."""

    def certain(word: int, prefix: Prefix) -> Chances:
        return {A: 0.5, C: 0.5} if not prefix else {EOS: 1.0}

    results = sampled()(Written(certain), (sentences(*[[A]] * 500),), seeds=range(500))
    assert {best.symbols for (best,) in results} == {(A,), (C,)}


def test_a_forced_end_is_drawn_even_if_the_model_rules_it_out() -> None:
    search = sampled(temperature=0.1, length_ratio=0.01, length_margin=2)
    (hypotheses,) = search(Written(lambda word, prefix: {A: 0.5, B: 0.5}), (sentences([A]),), 4, seeds=[1])
    assert [len(hypothesis.symbols) for hypothesis in hypotheses] == [2] * 4
    assert all(math.isfinite(hypothesis.score) for hypothesis in hypotheses)


def test_samples_that_a_constraint_refuses_are_drawn_again() -> None:
    """As if it had no probability: B is then three times as frequent as the end, for each sample by itself."""

    def three(word: int, prefix: Prefix) -> Chances:
        return {A: 0.6, B: 0.3, EOS: 0.1} if not prefix else {EOS: 1.0}

    def fits(place: int, prefix: Any) -> bool:
        return A not in prefix

    count = 500
    constraint = PrefixFilter(4, fits, torch.device("cpu"))
    results = sampled()(Written(three), (sentences(*[[A]] * 4),), count, constraint=constraint, seeds=range(4))
    counts = Counter(prefix for samples in results for prefix in texts(samples))
    assert counts.keys() == {(B,), ()}
    assert counts[(B,)] / (4 * count) == pytest.approx(0.75, abs=0.03)


def test_words_that_the_model_spells_are_drawn_as_unknown_ones() -> None:
    """Of 1000 samples 600 are spelled, in the most probable way."""

    def unknown(word: int, prefix: Prefix) -> Chances:
        return {UNK: 0.6, A: 0.4} if not prefix else {EOS: 1.0}

    (hypotheses,) = sampled()(Spelling(unknown), (sentences([A]),), 1000, seeds=[1])
    surfaces = Counter(hypothesis.surfaces for hypothesis in hypotheses)
    assert surfaces.keys() == {("Ann",), (None,)}
    assert surfaces[("Ann",)] == pytest.approx(600, abs=50)


def test_an_ensemble_is_sampled_from_its_mean() -> None:
    one, other = Written(lambda word, prefix: {A: 1.0} if not prefix else {EOS: 1.0}), Written(lambda *_: {EOS: 1.0})
    (hypotheses,) = Sample()(Ensemble([one, other], [1, 1]), (sentences([A]),) * 2, 1000, seeds=[1])
    counts = Counter(texts(hypotheses))
    assert counts.keys() == {(A,), ()}
    assert counts[()] == pytest.approx(500, abs=60)
