"""Which word takes the place of `<unk>`, and where it stands in the text."""

import numpy as np
import pytest

import dragoman
from dragoman.corpus.dictionary import Dictionary, DictionaryEntry
from dragoman.data.language import Language
from dragoman.text.protection import Protection
from dragoman.text.tokenizer import MARKS
from dragoman.translation.attention_matrix import SourceAttention
from dragoman.translation.transforms.unknown_words import UnknownWords, substituted
from dragoman.translation.translation import Replacement
from tests import toy


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Language:
    return dragoman.load(toy.trained(tmp_path_factory.getbasetemp())).target


def source(name: str, words: str, attention: list[list[float]], regions: bool = False) -> SourceAttention:
    weights = np.array(attention)
    return SourceAttention(name, words, words.split(), weights, weights.sum(1), regions=regions)


@pytest.mark.spec("D2")
@pytest.mark.parametrize(
    ("weights", "place"),
    [
        ([0.1, 0.7, 0.2], 1),
        ([0.4, 0.2, 0.4], 0),  # of equal ones the first
        ([0.0, 0.0, 0.0], 2),  # what nothing else attended to
        ([0.0, float("nan"), 0.1], 2),
    ],
)
def test_the_word_of_highest_weight_is_copied(weights: list[float], place: int, target: Language) -> None:
    unknown = UnknownWords(target)
    seen = source("en", "a b c", [[0.5, 0.5, 0.0], weights])
    assert unknown.replaced([1], [seen]) == {1: ("abc"[place], Replacement(1, "en", place, dictionary=False))}
    assert unknown.replaced([], [seen]) == {}


def test_a_dictionary_brings_no_spans_of_its_own(target: Language) -> None:
    unknown = UnknownWords(target, {"en": Dictionary([DictionaryEntry("one", "1"), DictionaryEntry("two", "deux")])})
    seen = source("en", "one two", [[0.9, 0.1], [0.1, 0.9]])
    for protection, first in ((Protection.named(["numbers"]), "one"), (None, "1")):
        replaced = unknown.replaced([0, 1], [seen], protection)
        assert [text for text, _ in replaced.values()] == [first, "deux"]
        assert [translation.dictionary for _, translation in replaced.values()] == [first == "1", True]


def test_marks_of_protected_spans_are_not_copied(target: Language) -> None:
    unknown = UnknownWords(target)
    seen = source("en", f"{MARKS[0]} one{MARKS[1]}", [[0.9, 0.1]])
    assert unknown.replaced([0], [seen]) == {0: ("one", Replacement(0, "en", 1, dictionary=False))}


@pytest.mark.spec("D2")
def test_a_word_is_copied_as_its_text_has_it_though_it_is_read_in_lower_case(target: Language) -> None:
    unknown = UnknownWords(target, {"en": Dictionary([DictionaryEntry("dog", "chien"), DictionaryEntry("us", "nous")])})
    seen = source("en", "the dog of mr o'hara , us", np.eye(7)[[1, 4, 6]].tolist())
    for text, words in {
        "The Dog  of\tMr O'Hara, us": ["Chien", "O'Hara", "nous"],
        "the dog of mr o'hara, US": ["chien", "o'hara", "NOUS"],
        "The \u0130 Dog of Mr O'Hara": ["chien", "o'hara", "nous"],  # longer in lower case
        "": ["chien", "o'hara", "nous"],
    }.items():
        replaced = unknown.replaced([0, 1, 2], [seen], texts={"en": text})
        assert [word for word, _ in replaced.values()] == words


@pytest.mark.spec("D2")
def test_of_several_sources_it_is_the_word_of_highest_weight_in_any_text(target: Language) -> None:
    """Weights have their source's share in them; regions of a picture, a sentinel and end symbols are no words."""
    unknown = UnknownWords(target, {"en": Dictionary([DictionaryEntry("b", "z")])})
    picture = source("image", "1 2", [[0.9, 0.0], [0.9, 0.0], [0.0, 0.0]], regions=True)
    en = source("en", "a b", [[0.01, 0.02], [0.03, 0.02], [0.2, 0.3]])
    cs = source("cs", "b", [[0.01], [0.04], [0.3]])
    replaced = unknown.replaced([0, 1, 2], [picture, en, cs])
    assert [text for text, _ in replaced.values()] == ["z", "b", "z"]
    assert [translation for _, translation in replaced.values()] == [
        Replacement(0, "en", 1, dictionary=True),
        Replacement(1, "cs", 0, dictionary=False),  # the dictionary is of English
        Replacement(2, "en", 1, dictionary=True),
    ]


def test_words_are_substituted_where_they_stand() -> None:
    spans = [(0, 5), (5, 6), (7, 14)]
    assert substituted("<unk>, l'<unk>", spans, {0: "New York", 2: "eau"}) == (
        "New York, eau",
        {0: "New York", 2: "eau"},
    )
    assert substituted("<unk>, l'<unk>", spans, {2: "eau"}, kept=9) == ("<unk>, l'eau", {2: "l'eau"})
    assert substituted("a", [(0, 1)], {}) == ("a", {})


def test_marks_that_touch_a_word_stay_where_it_is_replaced() -> None:
    one, two = MARKS[:2]
    text = f"a {one}x<unk>{two}b<unk> c"
    assert substituted(text, [(0, 1), (2, 16), (17, 18)], {1: "eau"}) == (f"a {one}eau{two} c", {1: f"{one}eau{two}"})
    assert substituted("x<unk>y, <unk>", [(0, 7), (7, 8), (9, 14)], {0: "a", 2: "b"}, apart=True)[0] == "a , b"
    assert substituted(f"{one}<unk>", [(0, 6)], {0: "a"}, apart=True)[0] == f"{one} a"
    assert substituted("x <unk>, y", [(2, 7)], {0: "a"}, apart=True)[0] == "x a , y"


def test_spans_of_another_source_are_not_copied(target: Language) -> None:
    unknown = UnknownWords(target)
    seen = [source("en", f"{MARKS[0]} one", [[0.1, 0.2]]), source("mt", "%s deux", [[0.4, 0.3]])]
    for protection, text in ((Protection.named(["placeholders"]), "deux"), (None, "%s")):
        assert unknown.replaced([0], seen, protection)[0][0] == text
