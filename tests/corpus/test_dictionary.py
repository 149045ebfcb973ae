"""Dictionaries of words: counted from links, written, read and asked."""

import random
from collections import Counter
from pathlib import Path

import pytest

from dragoman.corpus import dictionary
from dragoman.corpus.dictionary import Dictionary, DictionaryEntry, LinkedPair, learn, lines
from dragoman.errors import UserError
from tests.golden import Golden

PAIRS = [
    LinkedPair(["the", "house"], ["das", "Haus"], frozenset({(0, 0), (1, 1)})),
    LinkedPair(["the", "book"], ["das", "Buch"], frozenset({(0, 0), (1, 1)})),
    LinkedPair(["The", "house"], ["Das", "Haus"], frozenset({(0, 0), (1, 1)})),
    LinkedPair(["the", "dog"], ["der", "Hund"], frozenset({(0, 0), (1, 1)})),
    LinkedPair(["not", "linked"], ["nicht"], frozenset()),
]


@pytest.mark.spec("D4")
def test_probabilities_are_relative_frequencies_of_links() -> None:
    """`P(e | f) = count(f, e) / count(f)`, as written, the most frequent translation of each word first."""
    assert learn(PAIRS) == [
        DictionaryEntry("The", "Das", 1.0, 1),
        DictionaryEntry("book", "Buch", 1.0, 1),
        DictionaryEntry("dog", "Hund", 1.0, 1),
        DictionaryEntry("house", "Haus", 1.0, 2),
        DictionaryEntry("the", "das", 2 / 3, 2),
        DictionaryEntry("the", "der", 1 / 3, 1),
    ]


@pytest.mark.spec("D4")
def test_what_is_left_out_still_counts() -> None:
    assert learn(PAIRS, min_count=2) == [
        DictionaryEntry("house", "Haus", 1.0, 2),
        DictionaryEntry("the", "das", 2 / 3, 2),
    ]
    assert DictionaryEntry("the", "der", 1 / 3, 1) not in learn(PAIRS, min_probability=0.34)
    assert DictionaryEntry("the", "der", 1 / 3, 1) in learn(PAIRS, min_probability=0.33)


@pytest.mark.spec("D4")
def test_the_order_of_the_pairs_does_not_matter() -> None:
    generator, shuffled = random.Random(1), list(PAIRS)
    generator.shuffle(shuffled)
    assert learn(shuffled) == learn(PAIRS)
    blank = LinkedPair([" ", "a"], ["b", " "], frozenset({(0, 0), (1, 1)}))
    assert learn([blank]) == []


def read_written(path: Path, text: str) -> Dictionary:
    path.write_text(text, "utf-8")
    return dictionary.read(path)


@pytest.mark.spec("D4")
def test_what_is_written_is_read(tmp_path: Path) -> None:
    entries = learn(PAIRS)
    words = read_written(tmp_path / "words.tsv", "".join(f"{line}\n" for line in lines(entries)))
    assert (tmp_path / "words.tsv").read_text("utf-8").splitlines()[:2] == [
        "source\ttarget\tprobability\tcount",
        "The\tDas\t1\t1",
    ]
    assert {entry.source: words.translation(entry.source) for entry in entries} == {
        "The": "Das",
        "book": "Buch",
        "dog": "Hund",
        "house": "Haus",
        "the": "das",
    }
    assert len(words) == 5


@pytest.mark.spec("D3")
def test_the_best_translation_is_the_most_probable_the_first_of_equal_ones(tmp_path: Path) -> None:
    words = read_written(tmp_path / "words.tsv", "a\tb\t0.2\na\tc\t0.4\na\td\t0.4\n\nx\ty\nx\tz\n")
    assert (words.translation("a"), words.translation("x"), words.translation("b")) == ("c", "y", None)
    generator = random.Random(3)
    entries = [DictionaryEntry("w", f"t{n}", generator.choice([0.1, 0.2, 0.3])) for n in range(20)]
    assert Dictionary(entries).translation("w") == max(entries, key=lambda entry: entry.probability).target
    assert Counter(entry.probability for entry in entries)[0.3] > 1


@pytest.mark.spec("D3")
def test_later_dictionaries_override_earlier_ones() -> None:
    one, other = (
        Dictionary([DictionaryEntry("a", "b", 0.9), DictionaryEntry("c", "d")]),
        Dictionary([DictionaryEntry("a", "x", 0.1)]),
    )
    both = one.overridden(other)
    assert (both.translation("a"), both.translation("c")) == ("x", "d")
    assert (other.overridden(one).translation("a"), one.translation("a")) == ("b", "b")


def test_a_word_of_the_user_overrides_it_with_capitals_and_punctuation() -> None:
    """As words that are counted have them; a word with a capital stays itself."""
    counted = Dictionary(
        [
            DictionaryEntry("Dog", "Hund"),
            DictionaryEntry("dog", "Hund"),
            DictionaryEntry("dog.", "Hund."),
            DictionaryEntry("polish", "polieren"),
        ]
    )
    both = counted.overridden(Dictionary([DictionaryEntry("dog", "Köter"), DictionaryEntry("Polish", "polnisch")]))
    translations = {word: both.translation(word) for word in ("dog", "Dog", "DOG", "dog.", "Dog,", "polish", "Polish")}
    assert translations == {
        "dog": "Köter",
        "Dog": "Köter",
        "DOG": "KÖTER",
        "dog.": "Köter.",
        "Dog,": "Köter,",
        "polish": "polieren",
        "Polish": "polnisch",
    }


@pytest.mark.spec("D3")
@pytest.mark.parametrize(
    ("word", "translation"),
    [
        ("dog", "Hund"),
        ("Dog", "Hund"),
        ("DOG", "HUND"),
        ("eat", "essen"),
        ("Eat", "Essen"),
        ("EAT", "ESSEN"),
        ("Polish", "polnisch"),
        ("polish", "polieren"),
        ("POLISH", "POLIEREN"),
        ("london", "London"),  # known with a capital only
        ("LONDON", "LONDON"),
        ("(eat),", "(essen),"),
        ("»Eat«", "»Essen«"),
        ("don't", "nicht"),
        ("I", "ich"),
        ("a.m.", "vormittags"),
        ("…", None),
        ("", None),
        ("cat", None),
    ],
)
def test_capitals_and_punctuation_are_those_of_the_word(word: str, translation: str | None) -> None:
    entries = {
        "dog": "Hund",
        "eat": "essen",
        "Polish": "polnisch",
        "polish": "polieren",
        "London": "London",
        "don't": "nicht",
        "I": "ich",
        "a.m.": "vormittags",
    }
    assert Dictionary(DictionaryEntry(*entry) for entry in entries.items()).translation(word) == translation


def test_words_are_read_as_texts_are(tmp_path: Path) -> None:
    words = read_written(tmp_path / "words.tsv", "\ufeffSource\tTarget\r\n Cafe\u0301 \t ein Kaffee \r\n")
    assert words.translation("Café") == "ein Kaffee"
    assert len(words) == 1
    assert read_written(tmp_path / "words.tsv", "source\tQuelle\n").translation("source") == "Quelle"
    assert len(read_written(tmp_path / "words.tsv", "")) == 0


@pytest.mark.parametrize(
    "line",
    [
        "alone",
        "a\t",
        "\tb",
        "a\tb\t0.5\t1\tmore",
        "a\tb\tmany",
        "a\tb\t1.1",
        "a\tb\tnan",
        "a\tb\t-0.1",
        "a\tb\t0.5\tmany",
        "a\tb\t0.5\t-1",
    ],
)
def test_a_line_that_is_none_is_told(line: str, tmp_path: Path, golden: Golden) -> None:
    with pytest.raises(UserError, match=r"words\.tsv:3: expected") as raised:
        read_written(tmp_path / "words.tsv", f"source\ttarget\nx\ty\n{line}\n")
    golden(str(raised.value).replace(str(tmp_path), "FOLDER"))
