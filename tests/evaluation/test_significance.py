"""Intervals and tests of significance: as sacreBLEU has them, with false alarms as often as they say."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.significance import PairedTest

from dragoman.evaluation.groups import WordBucketF1
from dragoman.evaluation.metrics.error_rates import ExactMatchRate, WordErrorRate
from dragoman.evaluation.metrics.metric import Counts, LineMetric
from dragoman.evaluation.metrics.sacre import Bleu
from dragoman.evaluation.metrics.table import METRICS
from dragoman.evaluation.significance import (
    ComparedScore,
    compare,
    compare_or_score,
    randomization,
    resample_scores,
    score_systems,
    sign_test,
)
from dragoman.translation import comparison as gate
from dragoman.translation.comparison import LEVEL

pytestmark = pytest.mark.spec("H13")
WORDS = np.array("the a man woman sees reads old young book letter in of to and".split())


class Mean(LineMetric):
    """The mean of numbers."""

    name = "Mean"

    def _counts(self, hypothesis: str, references: Sequence[str]) -> Counts:
        return float(hypothesis), 1

    def value(self, sums: Counts) -> float:
        return sums[0] / sums[1]


def numbers(values: Any) -> Any:
    return np.stack([np.asarray(values, dtype=np.float64), np.ones(len(values))], axis=1)


def noisy(lines: list[list[str]], errors: float, seed: int) -> list[str]:
    """Lines in which each word is another one with this probability."""
    generator = np.random.default_rng(seed)
    return [
        " ".join(str(generator.choice(WORDS)) if generator.random() < errors else word for word in line)
        for line in lines
    ]


@pytest.fixture(scope="module")
def lines() -> list[list[str]]:
    generator = np.random.default_rng(5)
    return [list(map(str, generator.choice(WORDS, size=generator.integers(5, 15)))) for _ in range(200)]


def test_an_interval_of_a_mean_is_that_of_the_normal_distribution() -> None:
    values = np.random.default_rng(1).normal(10, 2, size=400)
    (compared,) = compare(Mean(), [numbers(values)], 1, samples=4000)
    error = values.std() / 20
    assert compared.score.value == pytest.approx(values.mean())
    assert compared.mean == pytest.approx(values.mean(), abs=0.01)
    assert (compared.low, compared.high) == pytest.approx(
        (values.mean() - 1.96 * error, values.mean() + 1.96 * error), abs=0.02
    )
    assert compared.margin == pytest.approx(1.96 * error, abs=0.02)
    assert (compared.p, compared.mark) == (None, "")


@pytest.mark.slow
def test_95_of_100_intervals_have_the_truth() -> None:
    generator = np.random.default_rng(2)
    compared = [compare(Mean(), [numbers(generator.normal(size=60))], 1, samples=200)[0] for _ in range(300)]
    share = np.mean([comparison.low <= 0 <= comparison.high for comparison in compared])
    assert 0.95 - 3 * 0.0126 - 0.01 < share < 0.95 + 3 * 0.0126  # a percentile interval of 60 values is a little narrow


def test_resampled_scores_and_randomization_are_those_of_sacrebleu(lines: list[list[str]]) -> None:
    """With its seed, to the last figure; what it calls paired bootstrap is another test."""
    references = [" ".join(line) for line in lines]
    texts = [noisy(lines, errors, seed) for errors, seed in ((0.22, 1), (0.2, 2))]
    metric = Bleu(tokenize="none")
    counts = [metric.counts(text, [references]) for text in texts]
    named: list[tuple[str, Sequence[str]]] = list(zip("ab", texts, strict=True))
    _, wanted = PairedTest(named, {"BLEU": BLEU(tokenize="none")}, [references], "bs", 200)()
    drawn = resample_scores(metric, counts, samples=200)
    assert drawn.mean(axis=1).tolist() == pytest.approx([score.mean for score in wanted["BLEU"]], abs=1e-4)
    _, wanted = PairedTest(named, {"BLEU": BLEU(tokenize="none")}, [references], "ar", 500)()
    assert randomization(metric, *counts, samples=500) == pytest.approx(wanted["BLEU"][1].p_value)


def test_a_test_by_hand() -> None:
    """Of 3 sentences, 2 get better by 1: the difference is as large when all or none change places, and when only the
    third does or does not: 4 of 8 ways.
    """
    baseline, system = numbers([0, 0, 5]), numbers([1, 1, 5])
    assert randomization(Mean(), baseline, system, samples=4000) == pytest.approx(1 / 2, abs=0.03)
    # Resampled: the mean difference is 2/3, and as far from it are 0 of 3 (1/27) and nothing above.
    assert compare(Mean(), [baseline, system], 1, samples=4000)[1].p == pytest.approx(1 / 27, abs=0.01)


def test_the_sign_test_counts_tosses_of_a_coin() -> None:
    """Of 10 tosses, 1 + 10 + 45 of 1,024 ways have at most 2 heads; as many have at most 2 tails."""
    assert sign_test(8, 2) == sign_test(2, 8) == pytest.approx(2 * 56 / 1024)
    assert sign_test(10, 0) == pytest.approx(2 / 1024)
    assert sign_test(3, 3) == sign_test(0, 0) == 1
    assert 0 <= sign_test(3000, 0) < 1e-300  # no overflow


def test_a_difference_has_an_interval_too() -> None:
    """Where all sentences gain as much, there is no doubt about the gain, however far apart they are."""
    values = np.random.default_rng(3).normal(size=50)
    baseline, system = compare(Mean(), [numbers(values), numbers(values + 2)], 1, samples=100)
    assert baseline.difference == (0, 0)
    assert system.difference == pytest.approx((2, 2))
    assert system.margin > 0.1


def test_a_system_does_not_differ_from_itself(lines: list[list[str]]) -> None:
    for kind in METRICS:
        if kind == "meteor":
            pytest.importorskip("nltk")
        metric = METRICS[kind]()
        counts = metric.counts(noisy(lines[:50], 0.3, 1), [[" ".join(line) for line in lines[:50]]])
        assert compare(metric, [counts, counts], 1, samples=50)[1].p == 1
        assert randomization(metric, counts, counts, samples=50) == 1


@pytest.mark.parametrize("kind", sorted(METRICS))
@pytest.mark.parametrize("test", ["bootstrap", "randomization"])
def test_every_metric_tells_a_better_system(kind: str, test: Any, lines: list[list[str]]) -> None:
    if kind == "meteor":
        pytest.importorskip("nltk")
    metric = METRICS[kind]()
    references = [" ".join(line) for line in lines]
    texts = [noisy(lines, 0.4, 1), noisy(lines, 0.1, 2)]
    if kind == "repeated_words":
        texts[0] = [f"{line} so so so" for line in texts[0]]
    baseline, system = compare(metric, [metric.counts(text, [references]) for text in texts], 1, test=test, samples=200)
    assert (system.score.value > baseline.score.value) == metric.higher_is_better
    assert system.p == pytest.approx(1 / 201)
    assert (baseline.mark, system.mark) == ("", "**")
    assert baseline.low <= baseline.score.value <= baseline.high
    trials = "bs:200" if test == "bootstrap" else "bs:200|ar:200"
    assert system.score.signature == f"{metric.signature(1)}|{trials}|seed:12345"


def test_marks() -> None:
    (compared,) = compare(ExactMatchRate(), [numbers([1, 0])], 1, samples=10)
    assert str(compared) == f"Exact match = 50.00 ± {compared.margin:.2f} (nrefs:1|case:mixed|bs:10|seed:12345)"
    marks = [ComparedScore(*compared[:4], p).mark for p in (None, 0.2, 0.05, 0.049, 0.01, 0.009)]
    assert marks == ["", "", "", "*", "*", "**"]


def test_the_same_seed_gives_the_same_numbers(lines: list[list[str]]) -> None:
    metric = WordErrorRate()
    references = [" ".join(line) for line in lines]
    counts = [metric.counts(noisy(lines, 0.2, seed), [references]) for seed in (1, 2)]
    assert compare(metric, counts, 1, samples=50) == compare(metric, counts, 1, samples=50)
    assert compare(metric, counts, 1, samples=50) != compare(metric, counts, 1, samples=50, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("test", ["bootstrap", "randomization"])
def test_of_400_pairs_of_equal_systems_5_percent_differ(test: Any, lines: list[list[str]]) -> None:
    """BLEU of systems whose errors have the same distribution: 20 alarms at p < 0.05, within 3 standard deviations."""
    metric = Bleu(tokenize="none")
    references = [" ".join(line) for line in lines]
    pool = np.stack([metric.counts(noisy(lines, 0.2, seed), [references]) for seed in range(40)])
    generator = np.random.default_rng(3)
    alarms = 0
    for number in range(400):
        chosen = generator.integers(200, size=100)  # sentences of this test set, and for both systems one of 40 outputs
        first, second = (pool[generator.integers(40, size=100), chosen] for _ in range(2))
        p = compare(metric, [first, second], 1, test=test, samples=100, seed=number)[1].p
        assert p is not None
        alarms += p < 0.05
    assert abs(alarms - 20) < 3 * np.sqrt(400 * 0.05 * 0.95)


def test_sentences_that_count_for_no_system_do_not_make_a_test_set_large_enough() -> None:
    metric, nothing = WordBucketF1({}, 0), np.zeros((100, 3))
    for count, system in ((19, 0), (20, 1)):
        counts = [nothing.copy(), nothing.copy()]
        counts[system][:count] = 1
        expected = score_systems(metric, counts, 1) if count < 20 else compare(metric, counts, 1)
        assert compare_or_score(metric, counts, 1) == expected


@pytest.mark.slow
@pytest.mark.parametrize("sentences", [20, 30])
@pytest.mark.parametrize("kind", ["bleu", "chrf", "ter"])
def test_few_sentences_of_equal_systems_differ_as_seldom_as_is_promised(kind: str, sentences: int) -> None:
    """By randomization, which decides whether a run may serve: at most 5 % of 600 pairs, but for 2.5 standard errors of
    that. Paired bootstrap finds up to 9 % of them.
    """
    metric, generator = METRICS[kind](), np.random.default_rng(sentences)
    lines = [list(map(str, generator.choice(WORDS, size=generator.integers(5, 15)))) for _ in range(400)]
    references = [" ".join(line) for line in lines]
    pool = [metric.counts(noisy(lines, 0.3, seed), [references]) for seed in range(6)]
    alarms = 0
    for pair in range(600):
        chosen = generator.choice(len(lines), size=sentences, replace=False)
        first, second = (pool[number][chosen] for number in generator.choice(len(pool), size=2, replace=False))
        alarms += randomization(metric, first, second, samples=99, seed=pair) < LEVEL
    assert alarms / 600 <= LEVEL + 2.5 * (LEVEL * (1 - LEVEL) / 600) ** 0.5


def test_a_gate_decides_by_the_test_that_keeps_its_promise() -> None:
    """With twenty sentences."""
    metric = METRICS["bleu"]()
    lines = [f"the man number {number} sees a book in the letter" for number in range(20)]
    texts = [line if number % 3 else line.replace("book", "dog") for number, line in enumerate(lines)]
    comparison = gate.compare_by(metric, [lines, texts], lines)
    counts = [metric.counts(hypotheses, [lines]) for hypotheses in (lines, texts)]
    assert comparison.p == randomization(metric, *counts)
    assert comparison.p != compare(metric, counts, 1)[1].p
    assert "ar:1000" in comparison.signature
