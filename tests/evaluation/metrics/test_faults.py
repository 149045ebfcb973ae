"""Repeated and dropped words, by hand."""

import pytest

from dragoman.evaluation.metrics.error_rates import DroppedWords, RepeatedWords, repeated
from dragoman.evaluation.metrics.metric import Score

pytestmark = pytest.mark.spec("H14")


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("I am am am", 2),
        ("I am", 0),
        ("", 0),
        ("the man saw the dog", 0),  # said twice, but not at once
        ("a b a b", 2),
        ("a b a b a", 3),
        ("a b a", 0),
        ("a b c a b x", 0),
        ("x a b c a b c a b y", 5),
        ("a a b b a a b b", 6),  # b, and all of the second half, and of the first its second a
        ("a a a a", 3),
    ],
)
def test_copies_of_what_stands_right_before_are_repeated(text: str, count: int) -> None:
    assert repeated(text.split()) == count


def test_repeated_words_are_those_that_the_reference_does_not_repeat() -> None:
    metric = RepeatedWords()
    assert metric.corpus(["I am am am", "good"], [["I am", "bad"]]) == Score(
        "Repeated words", 40.0, "nrefs:1|case:mixed"
    )
    assert metric.sentence("very, very good", ["very, very nice"]).value == 0
    assert metric.sentence("very very very good", ["very very nice"]).value == pytest.approx(100 * 1 / 4)
    assert metric.sentence("no no", ["no", "no, no"]).value == 0
    assert metric.sentence("No no!", ["no"]).value == 0  # case counts
    assert RepeatedWords(lowercase=True).sentence("No no!", ["no"]).value == 50
    assert metric.sentence("so ... ... !!", ["so"]).value == 0  # words alone


def test_dropped_words_are_those_of_the_reference_that_are_missing() -> None:
    metric = DroppedWords()
    assert metric.corpus(["I", "a b"], [["I am", "b a"]]) == Score("Dropped words", 25.0, "nrefs:1|case:mixed")
    assert metric.sentence("the cat", ["the cat saw the dog"]).value == pytest.approx(100 * 3 / 5)  # one "the", too
    assert metric.sentence("I am am am", ["I am"]).value == 0
    assert metric.sentence("a b", ["x y z", "a b c"]).value == pytest.approx(100 * 1 / 3)
    assert metric.sentence("", ["a b"]).value == 100


def test_phrases_of_up_to_100_words_are_looked_for() -> None:
    """So that the longest line that is scored takes a moment."""
    assert repeated([str(i % 100) for i in range(200)]) == 100
    assert repeated([str(i % 101) for i in range(202)]) == 0
