"""Texts as sentences, and back."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.documents.passages import LONGEST, Passage, split_text

pytest.importorskip("sentencex")

TEXTS = st.lists(
    st.one_of(st.text(), st.sampled_from([". ", "\n", "\r\n", "? ", "Mr. ", "。", "a" * 600, " ", "\t"]))
).map("".join)


@given(TEXTS, st.sampled_from(["en", "ja", "de", "xx", ""]), st.booleans())
def test_no_character_is_lost(text: str, language: str, sentences: bool) -> None:
    passage = split_text(text, language, sentences=sentences)
    assert passage.joined(passage.sentences) == text
    assert len(passage.between) == len(passage.sentences) + 1
    assert not re.sub(r"\w|[().]", "", "".join(passage.between)).strip()
    assert all(sentence == sentence.strip() and 0 < len(sentence) <= LONGEST for sentence in passage.sentences)


@pytest.mark.parametrize(
    ("text", "language", "sentences"),
    [
        ("Hello  Mr. Smith.  How are you?\n\nFine!  ", "en", ["Hello  Mr. Smith.", "How are you?", "Fine!"]),
        ("これはペンです。それは本です。", "ja", ["これはペンです。", "それは本です。"]),
        ("one\ntwo", "en", ["one", "two"]),
        (" \n\t", "en", []),
        ("1. My teacher reads.\n3.2. He sleeps.", "en", ["My teacher reads.", "He sleeps."]),
        ("A. The dog.  iv. The cat.", "en", ["The dog.", "The cat."]),
        ("(a) The dog. (b) The cat.\nc) So.", "en", ["The dog.", "The cat.", "So."]),
        ("How many? 5. I see.", "en", ["How many?", "I see."]),
        ("3.2 million.\n1.5) so", "en", ["3.2 million.", "so"]),
        ("1.", "en", []),
        ("No. 1. It is A. He", "en", ["No. 1.", "It is A.", "He"]),
        ("", "en", []),
    ],
)
def test_sentences(text: str, language: str, sentences: list[str]) -> None:
    assert list(split_text(text, language).sentences) == sentences


def test_columns_of_a_string_are_apart_and_keep_their_tabs() -> None:
    text = "1.\tName of the file\t\tSize, in %s\n\t-f\n"
    passage = split_text(text, "en", sentences=False)
    assert passage.sentences == ("Name of the file", "Size, in %s", "-f")
    assert passage.joined(["a", "b", "c"]) == "1.\ta\t\tb\n\tc\n"
    assert split_text("The dog\tsleeps. So.", "en").sentences == ("The dog\tsleeps.", "So.")


def test_a_line_may_stay_whole() -> None:
    assert split_text("One. Two.\nThree.", "en", sentences=False).sentences == ("One. Two.", "Three.")


@pytest.mark.parametrize("text", [" 1. One. 2. Two. ", "One.", "(a) One.\n2) Two.\n", "", "1."])
def test_the_body_of_a_text_is_what_stands_between_its_ends(text: str) -> None:
    passage = split_text(text, "en")
    before, after = passage.between[0], passage.between[-1] if passage.sentences else ""
    assert before + passage.body(passage.sentences) + after == text
    assert passage.whole.joined(passage.whole.sentences) == text
    assert passage.whole.sentences == ((passage.body(passage.sentences),) if passage.sentences else ())


def test_strings_of_programs_have_numbers_of_items_at_the_beginning_of_a_line() -> None:
    passage = split_text("1. Open it. 2. Close it.\nE.", "en", sentences=False)
    assert passage.sentences == ("Open it. 2. Close it.", "E.")


def test_other_sentences_take_their_places() -> None:
    assert Passage(("a", "b"), (" ", "  ", "\n")).joined(["x", "y"]) == " x  y\n"


@pytest.mark.parametrize(
    ("text", "language", "translations", "expected"),
    [
        ("狗睡觉。猫看书。", "zh", ["Dog sleeps.", "Cat reads."], "Dog sleeps. Cat reads."),
        ("狗睡觉。猫看书。", "zh", ["犬が寝る。", "猫が読む。"], "犬が寝る。猫が読む。"),
        ("狗睡觉。猫看书。", "zh", ["หมานอน", "แมวอ่าน"], "หมานอน แมวอ่าน"),
        ("他说：“睡。”她看书。", "zh", ["He says: “Sleep.”", "She reads."], "He says: “Sleep.” She reads."),
        ("犬です。　猫です。", "ja", ["A dog.", "A cat."], "A dog. A cat."),
        ("狗睡觉。\n　猫看书。", "zh", ["Dog sleeps.", "Cat reads."], "Dog sleeps.\n　Cat reads."),
        ("Dog sleeps.  Cat reads.", "en", ["狗睡觉。", "猫看书。"], "狗睡觉。猫看书。"),
        ("He says: “Sleep.” She reads.", "en", ["他说：“睡。”", "她看书。"], "他说：“睡。”她看书。"),
        ("Dog sleeps. Cat reads.", "en", ["หมานอน", "แมวอ่าน"], "หมานอน แมวอ่าน"),
        ("Dog sleeps.\nCat reads.", "en", ["狗睡觉。", "猫看书。"], "狗睡觉。\n猫看书。"),
        ("狗。 猫。", "zh", ["狗。", "猫。"], "狗。 猫。"),
        ("狗睡觉。猫看书。", "zh", ["", "Cat reads."], "Cat reads."),
        ("x" * LONGEST + "y", "en", ["A", "b"], "Ab"),
    ],
)
def test_sentences_are_parted_as_the_script_of_the_translation_has_it(
    text: str, language: str, translations: list[str], expected: str
) -> None:
    passage = split_text(text, language)
    assert passage.joined(translations) == expected
    after = [passage.after([translation], number)[0] for number, translation in enumerate(translations)]
    assert after == passage.after(translations)


@pytest.mark.parametrize(
    ("text", "first"),
    [("word " * 200, 500), ("x" * 1200, LONGEST), ("a" * 300 + ", " + "b" * 300, 301), ("a " + "b" * 600, LONGEST)],
)
def test_long_sentences_are_cut(text: str, first: int) -> None:
    sentences = split_text(text, "en").sentences
    assert len(sentences[0]) == min(first, len(text[:first].strip()))
    assert max(map(len, sentences)) <= LONGEST


@pytest.mark.parametrize("piece", ["。」", "这是一个句子吗我不知道。", "Is it (as I said) so? ", "word "])
def test_a_long_line_takes_time_in_proportion(piece: str) -> None:
    text = (piece * 100_000)[:100_000]
    began = time.process_time()
    passage = split_text(text, "zh")
    assert time.process_time() - began < 1.5
    assert passage.joined(passage.sentences) == text


def test_a_long_line_is_split_as_a_short_one() -> None:
    parts = ["He saw Mr. Smith.", "Is it (as I said. Yes!) so?", "He came."]
    assert list(split_text(" ".join(parts * 300), "en").sentences) == parts * 300
