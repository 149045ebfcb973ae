"""The most similar pairs of a corpus, beside the definition."""

import random

import pytest
from rapidfuzz.distance import Indel

from dragoman.corpus import similar
from dragoman.corpus.examples import Pair
from dragoman.corpus.memory import Nearest
from dragoman.corpus.similar import most_similar
from dragoman.text.normalise import Normaliser
from dragoman.text.tokenise import TOKENISERS

NORMALISE, TOKENISE = Normaliser(lowercase=True), TOKENISERS["punctuation"]
WORDS = "the a cat dog sees hears old young man woman house garden in".split()


def pairs(count: int) -> list[Pair]:
    drawn = random.Random(1)
    return [Pair(" ".join(drawn.choices(WORDS, k=drawn.randint(3, 8))), f"{number % 90}") for number in range(count)]


@pytest.mark.parametrize("portion", [10_000, 7])
def test_they_are_those_of_the_definition(portion: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """And of the index of a translation memory, which has all candidates here; however the corpus is cut."""
    monkeypatch.setattr(similar, "PORTION", portion)
    known, asked = pairs(200), ["The old cat sees a dog", "garden", "xyz"]
    found = most_similar(iter(known), asked, 3, NORMALISE, TOKENISE)
    index = Nearest(known, NORMALISE, TOKENISE, threshold=1e-6, count=3)
    for text, matches in zip(asked, found, strict=True):
        text = text.lower()
        by_target: dict[str, float] = {}
        for source, target in known:
            letters = Indel.normalized_similarity(text, source)
            score = (letters + Indel.normalized_similarity(text.split(), source.split())) / 2
            by_target[target] = max(score, by_target.get(target, 0.0))
        assert [each.score for each in matches] == pytest.approx(sorted(by_target.values(), reverse=True)[:3])
        if text != "xyz":
            assert [each.score for each in matches] == pytest.approx([each.score for each in index.matches(text)])


def test_of_equally_near_ones_the_first_counts_and_each_translation_once() -> None:
    known = [Pair("a b", "x"), Pair("a b", "x"), Pair("a b", "y"), Pair("a b", " "), Pair("", "z"), Pair("a c", "w")]
    (found,) = most_similar(known, ["A b"], 5, NORMALISE, TOKENISE)
    assert [each.translation for each in found] == ["x", "y", "w"]
    assert [each.score for each in found][:2] == [1.0, 1.0]


def test_texts_that_are_empty_or_too_long_find_nothing() -> None:
    long = "a " * 1500
    assert most_similar([Pair("a", "x"), Pair(long, "y")], ["", long, "a"], 2, NORMALISE, TOKENISE)[:2] == [[], []]
    (*_, found) = most_similar([Pair("a", "x"), Pair(long, "y")], ["", long, "a"], 2, NORMALISE, TOKENISE)
    assert [each.translation for each in found] == ["x"]
    assert most_similar([], ["a"], 2, NORMALISE, TOKENISE) == [[]]
