"""Terms that take the place of words of a translation, by its attention."""

import numpy as np
import pytest

from dragoman.text.glossary import FoundTerm
from dragoman.text.pipeline import WordsOf
from dragoman.translation.terms import placed
from dragoman.translation.translation import SourceAttention

TEXT = "nous vendons l'armoire"
WORDS = "nous vendons l' armoire".split()


def words_of(text: str, words: list[str]) -> WordsOf:
    spans, begin = [], 0
    for word in words:
        begin = text.index(word, begin)
        spans.append((begin, begin + len(word)))
        begin += len(word)
    return WordsOf(words, list(range(len(words))), spans)


def seen(rows: list[list[float]], words: str = "we sell the wardrobe") -> SourceAttention:
    attention = np.array(rows)
    return SourceAttention("en", words, words.split(), attention, attention.sum(1))


SELLS = [[0.8, 0.1, 0.0, 0.1], [0.1, 0.9, 0.0, 0.0], [0.0, 0.0, 0.2, 0.8], [0.0, 0.1, 0.2, 0.7]]


def term(text: str, *forms: str) -> FoundTerm:
    return FoundTerm(text, 0, len(text), forms)


@pytest.mark.parametrize(
    ("terms", "read", "kept", "expected"),
    [
        ([term("sell", "liquidons", "liquidez")], [(1, 2)], 0, {1: "liquidons"}),
        ([term("wardrobe", "étagère")], [(3, 4)], 0, {3: "étagère"}),  # and not the article, which attends to it more
        ([term("sell the wardrobe", "étagère")], [(1, 4)], 0, {1: "étagère"}),  # the longest of three words
        ([term("wardrobe", "armoire")], [(3, 4)], 0, {}),  # is said
        ([term("sell", "armoire")], [(1, 2)], 0, {}),  # said elsewhere
        ([term("sell", "moire")], [(1, 2)], 0, {1: "moire"}),  # a part of a word is not
        ([term("sell", "liquidons")], [(1, 2)], len("nous vend"), {}),  # another word attended to something else more
        ([term("sell", "liquidons")], [(1, 2)], len(TEXT), {}),
        ([term("we", "je"), term("wardrobe", "lit")], [(0, 1), (3, 4)], 0, {0: "je", 3: "lit"}),
        ([term("wardrobes", "lit")], [(7, 8)], 0, {}),  # was not read
    ],
)
def test_the_word_that_attends_to_a_term_most_is_replaced(
    terms: list[FoundTerm], read: list[tuple[int, int]], kept: int, expected: dict[int, str]
) -> None:
    assert placed(TEXT, words_of(TEXT, WORDS), seen(SELLS), terms, read, kept) == expected


def test_of_a_term_that_the_source_has_twice_the_other_one_is_replaced() -> None:
    text, source = "le lit et une armoire", "the bed and a bed"
    words, same = words_of(text, text.split()), [term("bed", "lit")] * 2
    rows = np.eye(5).tolist()
    assert placed(text, words, seen(rows, source), same, [(1, 2), (4, 5)]) == {4: "lit"}
    rows[4] = [0.0, 0.0, 0.0, 0.6, 0.4]  # no word attended to the second one more than to anything else
    assert placed(text, words, seen(rows, source), same, [(1, 2), (4, 5)]) == {}


def test_nothing_is_replaced_in_nothing() -> None:
    none = SourceAttention("en", "bed", ["bed"], np.zeros((0, 1)), np.zeros(0))
    assert placed("", WordsOf([], [], []), none, [term("bed", "lit")], [(0, 1)]) == {}
