"""The most similar pairs of a corpus, beside the definition."""

import random
from collections.abc import Sequence
from fractions import Fraction

import pytest
from rapidfuzz.distance import Indel

from dragoman.corpus import translation_memory
from dragoman.corpus.examples import Pair
from dragoman.corpus.translation_memory import NearestMemory, most_similar
from dragoman.text.normalizer import Normalizer
from dragoman.text.pretokenizer import PRETOKENIZERS

NORMALIZE, TOKENIZE = Normalizer(lowercase=True), PRETOKENIZERS["punctuation"]
WORDS = "the a cat dog sees hears old young man woman house garden in".split()


def pairs(count: int) -> list[Pair]:
    drawn = random.Random(1)
    return [Pair(" ".join(drawn.choices(WORDS, k=drawn.randint(3, 8))), f"{number % 90}") for number in range(count)]


@pytest.mark.parametrize("portion", [10_000, 7])
def test_they_are_those_of_the_definition(portion: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """And of the index of a translation memory, which has all candidates here; however the corpus is cut."""
    monkeypatch.setattr(translation_memory, "PORTION", portion)
    pairs_of_corpus, texts = pairs(200), ["The old cat sees a dog", "garden", "xyz"]
    results = most_similar(iter(pairs_of_corpus), texts, 3, NORMALIZE, TOKENIZE)
    index = NearestMemory(pairs_of_corpus, NORMALIZE, TOKENIZE, threshold=1e-6, count=3)
    for text, matches in zip(texts, results, strict=True):
        text = text.lower()
        by_target: dict[str, float] = {}
        for source, target in pairs_of_corpus:
            letters = Indel.normalized_similarity(text, source)
            score = (letters + Indel.normalized_similarity(text.split(), source.split())) / 2
            by_target[target] = max(score, by_target.get(target, 0.0))
        assert [match.score for match in matches] == pytest.approx(sorted(by_target.values(), reverse=True)[:3])
        if text != "xyz":
            assert [match.score for match in matches] == pytest.approx([match.score for match in index.matches(text)])


def test_of_equally_near_ones_the_first_counts_and_each_translation_once() -> None:
    pairs_of_corpus = [
        Pair("a b", "x"),
        Pair("a b", "x"),
        Pair("a b", "y"),
        Pair("a b", " "),
        Pair("", "z"),
        Pair("a c", "w"),
    ]
    (matches,) = most_similar(pairs_of_corpus, ["A b"], 5, NORMALIZE, TOKENIZE)
    assert [match.translation for match in matches] == ["x", "y", "w"]
    assert [match.score for match in matches][:2] == [1.0, 1.0]


@pytest.mark.parametrize("seed", range(5))
def test_ties_are_decided_by_the_order_of_the_corpus_and_not_by_rounding(seed: int) -> None:
    drawn = random.Random(seed)

    def text() -> str:
        return " ".join(drawn.choices("ab ba aab abb bbaa a b".split(), k=drawn.randint(1, 5)))

    def share(one: Sequence[str], other: Sequence[str]) -> Fraction:
        return Fraction(len(one) + len(other) - Indel.distance(one, other), len(one) + len(other))

    pairs_of_corpus = [Pair(text(), str(number)) for number in range(60)]
    for query in (text() for _ in range(10)):
        near = [share(query, pair.source) + share(query.split(), pair.source.split()) for pair in pairs_of_corpus]
        order = sorted(range(len(pairs_of_corpus)), key=lambda number: (-near[number], number))
        (matches,) = most_similar(pairs_of_corpus, [query], 10, NORMALIZE, TOKENIZE)
        assert [match.translation for match in matches] == [pairs_of_corpus[number].target for number in order[:10]]


def test_texts_that_are_empty_or_too_long_find_nothing() -> None:
    long = "a " * 1500
    assert most_similar([Pair("a", "x"), Pair(long, "y")], ["", long, "a"], 2, NORMALIZE, TOKENIZE)[:2] == [[], []]
    (*_, matches) = most_similar([Pair("a", "x"), Pair(long, "y")], ["", long, "a"], 2, NORMALIZE, TOKENIZE)
    assert [match.translation for match in matches] == ["x"]
    assert most_similar([], ["a"], 2, NORMALIZE, TOKENIZE) == [[]]
