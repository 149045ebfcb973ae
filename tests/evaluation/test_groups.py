"""Groups of sentences and of words."""

import pytest

from dragoman.evaluation.groups import FREQUENCIES, Group, Words, by_length, by_tag, frequencies
from dragoman.evaluation.metrics.sacre import Bleu

pytestmark = pytest.mark.spec("H12")


def test_lengths_are_counted_in_words_and_marks() -> None:
    lines = ["a", "a b c d e f", "a, b", "", "a b.", " ".join(["x"] * 101)]
    assert by_length(lines) == [
        Group("1-2", [0, 3]),
        Group("3-5", [2, 4]),
        Group("6-10", [1]),
        Group("over 100", [5]),
    ]


def test_every_tag_is_a_group() -> None:
    assert by_tag(["news", "chat", "", "news"]) == [Group("", [2]), Group("chat", [1]), Group("news", [0, 3])]


def test_the_score_of_a_group_is_that_of_its_sentences() -> None:
    texts, references = ["a b c d e", "x y z", "a b c d f"], ["a b c d e", "x q z", "a b c d e"]
    counts = Bleu().counts(texts, [references])
    wanted = Bleu().corpus([texts[0], texts[2]], [[references[0], references[2]]]).value
    assert Bleu().value(counts[[0, 2]].sum(axis=0).tolist()) == wanted


def test_words_are_scored_by_how_often_a_corpus_has_them() -> None:
    """ "the" is frequent, "cat" and "dog" once in it; "emu" is unknown."""
    frequency = frequencies(["The cat."] + ["the"] * 5 + ["the dog"])
    assert dict(frequency) == {"the": 7, "cat": 1, "dog": 1}
    text, reference = "the cat the emu the", "The dog and the cat"
    found = {Words(frequency, bucket).group: Words(frequency, bucket) for bucket in range(len(FREQUENCIES) + 1)}
    assert list(found) == ["0", "1", "2-3", "4-9", "10-99", "100-999", "over 999"]
    counts = {name: found[name].counts([text], [[reference]])[0].tolist() for name in ("0", "1", "2-3", "4-9")}
    assert counts == {"0": [0, 1, 1], "1": [1, 1, 2], "2-3": [0, 0, 0], "4-9": [2, 3, 2]}
    assert found["1"].value(counts["1"]) == pytest.approx(100 * 2 / 3)  # F of 1 of 1 and 1 of 2
    assert found["2-3"].value(counts["2-3"]) == 0
    assert found["4-9"].signature(1) == "nrefs:1|case:lc"


def test_one_reference_counts_for_all_words() -> None:
    """That with most of the translation's words, though the other has the rare one."""
    frequency = {"a": 5, "b": 5, "rare": 1}
    for bucket, wanted in ((1, [0, 1, 0]), (3, [2, 2, 2])):
        assert Words(frequency, bucket).counts(["a b rare"], [["rare"], ["a b"]])[0].tolist() == wanted
