"""Minimum Bayes risk, beside a plain loop over all pairs of translations."""

import random
from typing import Any, ClassVar

import pytest

from dragoman.configuration.components import Spec, build
from dragoman.evaluation.metrics.metric import Counts, Metric
from dragoman.evaluation.metrics.table import METRICS
from dragoman.translation.reranking.minimum_bayes_risk import MinimumBayesRisk
from dragoman.translation.translation import Translation

WORDS = "der alte Mann geht nicht nach Hause . , sehr".split()


def translation(text: str, log_prob: float = 0.0) -> Translation:
    return Translation((), text, text.split(), log_prob, log_prob, ())


def plain(metric: Metric, texts: list[str]) -> tuple[str, float]:
    """The text with the best mean score beside all others: O(n^2) calls of `sentence`."""
    best = ("", float("-inf"))
    for number, text in enumerate(texts):
        other_translators = texts[:number] + texts[number + 1 :]
        scores = [metric.sentence(text, [other]).value for other in other_translators]
        mean = sum(scores) / len(scores) * (1 if metric.higher_is_better else -1)
        if mean > best[1] + 1e-9:
            best = (text, mean)
    return best


@pytest.mark.spec("F6")
@pytest.mark.parametrize("kind", METRICS)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_it_chooses_as_a_plain_loop_does(kind: str, seed: int) -> None:
    """Among 15 samples, of which several are the same."""
    if kind == "meteor":
        pytest.importorskip("nltk")
    drawn = random.Random(seed)
    texts = [" ".join(drawn.choices(WORDS, k=drawn.randint(2, 6))) for _ in range(9)]
    texts += drawn.choices(texts, k=6)
    metric = build(METRICS, Spec(kind))
    ranked = MinimumBayesRisk(metric).ranked([translation(text) for text in texts])
    expected, utility = plain(metric, texts)
    assert len(ranked) == len(set(texts))
    assert ranked[0].text == expected
    assert ranked[0].score == pytest.approx(utility)
    assert [ranked_translation.score for ranked_translation in ranked] == sorted(
        (ranked_translation.score for ranked_translation in ranked), reverse=True
    )


class FixedSimilarities(Metric):
    """Similarities that are written down."""

    TABLE: ClassVar = {("a", "b"): 0.5, ("a", "c"): 0.1, ("b", "c"): 0.4}

    name = "given"

    def _counts(self, hypothesis: str, references: Any) -> Counts:
        one, other = sorted((hypothesis, references[0]))
        return [self.TABLE.get((one, other), float(one == other))]

    def value(self, sums: Counts) -> float:
        return float(sums[0])


@pytest.mark.spec("F6")
def test_three_samples_by_hand() -> None:
    """AN's pairs 12, 13, 23: a has (0.5 + 0.1) / 2, b (0.5 + 0.4) / 2, c (0.1 + 0.4) / 2."""
    utilities = MinimumBayesRisk(FixedSimilarities()).expected(["a", "b", "c"])
    assert utilities == {"a": pytest.approx(0.3), "b": pytest.approx(0.45), "c": pytest.approx(0.25)}
    twice = MinimumBayesRisk(FixedSimilarities()).expected(["a", "b", "c", "a"])  # the second a is beside the first
    assert twice == {"a": pytest.approx(1.6 / 3), "b": pytest.approx(1.4 / 3), "c": pytest.approx(0.2)}
    assert MinimumBayesRisk(FixedSimilarities()).expected(["a"]) == {"a": 0.0}


def test_of_equal_ones_the_first_counts() -> None:
    """With its own log-probability, and the utility as score."""
    ranked = MinimumBayesRisk(METRICS["exact_match"]()).ranked([translation(text, -2.0) for text in ("b", "a", "c")])
    assert [
        (ranked_translation.text, ranked_translation.score, ranked_translation.log_prob)
        for ranked_translation in ranked
    ] == [("b", 0, -2), ("a", 0, -2), ("c", 0, -2)]


def test_how_many_are_asked_for() -> None:
    metric = METRICS["chrf"]()
    assert [MinimumBayesRisk(metric).count(most) for most in (5, 1000)] == [5, 100]
    assert MinimumBayesRisk(metric, 20).count(1000) == 20
