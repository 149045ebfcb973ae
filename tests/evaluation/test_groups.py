"""Groups of sentences, of words and of edits."""

from collections import Counter
from functools import cache
from random import Random

import pytest

from dragoman.evaluation.groups import (
    EDITS,
    FREQUENCIES,
    Edit,
    EditScore,
    EditTypeRate,
    SentenceGroup,
    WordBucketF1,
    by_length,
    by_tag,
    edits,
    frequencies,
)
from dragoman.evaluation.metrics.error_rates import WordErrorRate
from dragoman.evaluation.metrics.sacre import Bleu

pytestmark = pytest.mark.spec("H12")


def test_lengths_are_counted_in_words_and_marks() -> None:
    lines = ["a", "a b c d e f", "a, b", "", "a b.", " ".join(["x"] * 101)]
    assert by_length(lines) == [
        SentenceGroup("1-2", [0, 3]),
        SentenceGroup("3-5", [2, 4]),
        SentenceGroup("6-10", [1]),
        SentenceGroup("over 100", [5]),
    ]


def test_every_tag_is_a_group() -> None:
    assert by_tag(["news", "chat", "", "news"]) == [
        SentenceGroup("", [2]),
        SentenceGroup("chat", [1]),
        SentenceGroup("news", [0, 3]),
    ]


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
    words_of = {
        WordBucketF1(frequency, bucket).group: WordBucketF1(frequency, bucket) for bucket in range(len(FREQUENCIES) + 1)
    }
    assert list(words_of) == ["0", "1", "2-3", "4-9", "10-99", "100-999", "over 999"]
    counts = {name: words_of[name].counts([text], [[reference]])[0].tolist() for name in ("0", "1", "2-3", "4-9")}
    assert counts == {"0": [0, 1, 1], "1": [1, 1, 2], "2-3": [0, 0, 0], "4-9": [2, 3, 2]}
    assert words_of["1"].value(counts["1"]) == pytest.approx(100 * 2 / 3)  # F of 1 of 1 and 1 of 2
    assert words_of["2-3"].value(counts["2-3"]) == 0
    assert words_of["4-9"].signature(1) == "nrefs:1|case:lc"


def test_one_reference_counts_for_all_words() -> None:
    """That with most of the translation's words, though the other has the rare one."""
    frequency = {"a": 5, "b": 5, "rare": 1}
    for bucket, wanted in ((1, [0, 1, 0]), (3, [2, 2, 2])):
        assert WordBucketF1(frequency, bucket).counts(["a b rare"], [["rare"], ["a b"]])[0].tolist() == wanted


def random_lines(count: int, seed: int) -> list[str]:
    random = Random(seed)
    return [" ".join(random.choices("abcd", k=random.randint(0, 8))) for _ in range(count)]


def least(before: list[str], after: list[str]) -> int:
    """The edit distance, by its definition."""

    @cache
    def cost(i: int, j: int) -> int:
        if not i or not j:
            return i + j
        return min(cost(i - 1, j) + 1, cost(i, j - 1) + 1, cost(i - 1, j - 1) + (before[i - 1] != after[j - 1]))

    return cost(len(before), len(after))


def test_edits_turn_one_text_into_the_other_and_are_the_fewest() -> None:
    for one, other in zip(random_lines(50, 1), random_lines(50, 2), strict=True):
        before, after = one.split(), other.split()
        edit_list = sorted(
            edits(before, after).elements(), key=lambda edit_made: (edit_made.place, edit_made.type != "insert")
        )
        built, done = list[str](), 0
        for edit in edit_list:
            built += before[done : edit.place]
            built += [edit.word] if edit.type != "delete" else []
            done = edit.place + (edit.type != "insert")
        assert len(edit_list) == least(before, after)
        assert Counter(built + before[done:]) == Counter(after)  # insertions at one place are in no order


def test_edits_that_are_left_to_make_add_up_to_the_word_error_rate() -> None:
    texts, references = ["the cat sat", "a b", "x y z z", ""], ["the dog sat", "a b c", "x y z", "d e"]
    counts = {edit: EditTypeRate(edit).counts(texts, [references]) for edit in EDITS}
    assert {edit: edit_counts[:, 0].tolist() for edit, edit_counts in counts.items()} == {
        "insert": [0, 1, 0, 2],
        "delete": [0, 0, 1, 0],
        "substitute": [1, 0, 0, 0],
    }
    assert EditTypeRate("insert").corpus(texts, [references]).value == pytest.approx(100 * 3 / 11)
    many = random_lines(100, 3), [random_lines(100, 4), random_lines(100, 5)]
    rates = [EditTypeRate(edit).corpus(*many).value for edit in EDITS]
    assert sum(rates) == pytest.approx(WordErrorRate().corpus(*many).value)


def test_edits_are_right_that_the_reference_makes_too() -> None:
    """ "the" is inserted rightly, a wrong word put for "cats", "is" rightly deleted, and "so" inserted for nothing."""
    edited, wanted = "a cats here is sat on mat quickly", "a cat here sat on the mat quickly"
    hypothesis = "a dog here sat on the mat so quickly"
    assert edits(edited.split(), wanted.split()) == Counter(
        [Edit("substitute", 1, "cat"), Edit("delete", 3, ""), Edit("insert", 6, "the")]
    )
    metrics = {edit: EditScore(edit, [edited]) for edit in EDITS}
    counts_of = {edit: metric.counts([hypothesis], [[wanted]])[0].tolist() for edit, metric in metrics.items()}
    assert counts_of == {"insert": [1, 2, 1], "delete": [1, 1, 1], "substitute": [0, 1, 1]}
    assert metrics["insert"].value(counts_of["insert"]) == pytest.approx(100 * 2 / 3)  # F of 1 of 2 and 1 of 1
    assert [metric.number([wanted]) for metric in metrics.values()] == [1, 1, 1]
    nearer = [wanted], ["a dog here sat on the mat so slowly"]
    assert metrics["substitute"].counts([hypothesis], nearer)[0].tolist() == [1, 1, 2]


def test_edits_of_any_lines_are_scored_as_a_plain_count_does() -> None:
    edited, hypotheses, wanted = (random_lines(100, seed) for seed in (6, 7, 8))
    for edit in EDITS:
        common = produced = needed = 0
        for before, one, other in zip(edited, hypotheses, wanted, strict=True):
            mine = [edit_made for edit_made in edits(before.split(), one.split()).elements() if edit_made.type == edit]
            theirs = [
                edit_made for edit_made in edits(before.split(), other.split()).elements() if edit_made.type == edit
            ]
            produced, needed = produced + len(mine), needed + len(theirs)
            for edit_made in mine:
                if edit_made in theirs:
                    theirs.remove(edit_made)
                    common += 1
        precision, recall = common / produced, common / needed
        score = EditScore(edit, edited).corpus(hypotheses, [wanted]).value
        assert score == pytest.approx(100 * 2 * precision * recall / (precision + recall))


def test_words_and_edits_are_compared_in_one_form() -> None:
    """A decomposed word is as frequent as its composed form, and putting one for the other is no edit."""
    composed, decomposed = "\u00e9t\u00e9", "e\u0301te\u0301"
    frequency = frequencies([decomposed, composed, "nu"])
    assert dict(frequency) == {composed: 2, "nu": 1}
    words = WordBucketF1(frequency, 2)
    assert words.number([decomposed]) == 1
    assert words.counts([composed], [[decomposed]])[0].tolist() == [1, 1, 1]
    assert EditTypeRate("substitute").corpus([composed], [[decomposed]]).value == 0
    edited = EditScore("substitute", [decomposed])
    assert edited.counts([composed], [[composed]])[0].tolist() == [0, 0, 0]
    assert edited.number([composed]) == 0


def test_letter_case_of_edits_is_ignored_if_wanted() -> None:
    assert EditTypeRate("substitute").corpus(["The cat"], [["the cat"]]).value == 50
    assert EditTypeRate("substitute", lowercase=True).corpus(["The cat"], [["the cat"]]).value == 0
    assert EditTypeRate("delete", lowercase=True).signature(1) == "nrefs:1|case:lc"
