"""Every text beside every other, from n-gram counts: the same as one sentence after the other."""

import random
import time
from collections import Counter
from typing import Any

import numpy as np
import pytest

from dragoman.configuration.components import Spec, build
from dragoman.evaluation.metrics.table import METRICS
from dragoman.evaluation.similarities import matches

CASES: list[tuple[str, dict[str, Any]]] = [
    *((kind, {}) for kind in METRICS),
    ("chrf", {"word_order": 2}),
    ("chrf", {"word_order": 1, "lowercase": True}),
    ("bleu", {"lowercase": True, "tokenize": "none"}),
    ("bleu", {"smoothing": "none", "order": 2}),
    ("bleu", {"smoothing": "floor"}),
    ("bleu", {"smoothing": "add-k", "tokenize": "char"}),
]
WORDS = [
    "Ein",
    "alter",
    "Mann",
    "(geht)",
    "geht",
    "nach",
    "Hause",
    ".",
    "ha-ha!",
    "ha",
    "ha",
    "'s",
    "Öl",
    "-",
    "...",
    "B",
]


def written(count: int, seed: int = 1) -> list[str]:
    """Sentences of up to nine words, the empty one and one with odd spaces among them."""
    drawn = random.Random(seed)
    texts = [" ".join(drawn.choices(WORDS, k=drawn.randint(1, 9))) for _ in range(count)]
    return [*texts, "", "  ha   ha ", "x"]


@pytest.mark.spec("F6")
@pytest.mark.parametrize(("kind", "options"), CASES)
def test_they_are_the_scores_of_sentences(kind: str, options: dict[str, Any]) -> None:
    if kind == "meteor":
        pytest.importorskip("nltk")
    metric, texts = build(METRICS, Spec(kind, options)), written(12)
    expected = [[metric.sentence(one, [other]).value for other in texts] for one in texts]
    np.testing.assert_allclose(metric.similarities(texts), expected, atol=1e-9)


def test_matches_are_clipped_counts() -> None:
    """By hand: a twice and thrice, b once and twice, c on one side alone."""
    one, other = Counter({"a": 2, "b": 1, "c": 5}), Counter({"a": 3, "b": 2})
    assert matches([one, other]).tolist() == [[8.0, 3.0], [3.0, 5.0]]
    assert matches([Counter(), Counter()]).tolist() == [[0.0, 0.0], [0.0, 0.0]]


@pytest.mark.spec("F6")
def test_a_hundred_candidates_take_less_than_a_second() -> None:
    """Different ones of about 30 words; one sentence after the other would take more than ten."""
    drawn = random.Random(1)
    texts = [" ".join(drawn.choices(WORDS, k=30)) for _ in range(100)]
    metric, begin = METRICS["chrf"](), time.process_time()
    assert metric.similarities(texts).shape == (100, 100)
    assert time.process_time() - begin < 1
