"""Texts in capitals."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

import dragoman
from dragoman.configuration.components import Spec
from dragoman.data.language import Language
from dragoman.data.vocabulary import SPECIALS, Vocabulary
from dragoman.text.glossary import Glossary, Term
from dragoman.text.pipeline import TextPipeline
from dragoman.text.protection import Protection
from dragoman.translation.transforms.casing import read_capitals, write_capitals
from dragoman.translation.transforms.terms import LexicalConstraints
from dragoman.translation.translation import KeptSpan, Translation
from dragoman.translation.translator import Translator
from tests import toy


@pytest.fixture(scope="module")
def translator(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    return dragoman.load(toy.trained(tmp_path_factory.getbasetemp()))


def language(*, capitals: int, lower: int, name: str = "en") -> Language:
    """A language of characters, with their frequencies in a corpus."""
    letters = "ABCDEFGHI", "abcdefgh i\u0131\u0130"
    counts = [*(1,) * len(SPECIALS), *(capitals,) * len(letters[0]), *(lower,) * len(letters[1])]
    pipeline = TextPipeline(lowercase=False, pretokenizer="punctuation", tokenizer=Spec("character"))
    return Language(name, pipeline, Vocabulary("".join(letters)), tuple(counts))


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("ABC DEF", "abc def"),
        ("ABCD.", "abcd."),
        ("ABC", None),  # perhaps an acronym
        ("ABC DEf", None),
        ("Abc Def", None),
        ("ABC {de} DEF {ABC}", "abc {de} def {ABC}"),
        ("1234 5678", None),
        ("", None),
    ],
)
def test_a_text_in_capitals_is_read_in_lower_case(text: str, read: str | None) -> None:
    protection = Protection.named(["placeholders"])
    assert read_capitals(language(capitals=1, lower=100), text, protection) == read
    assert read_capitals(language(capitals=50, lower=100), text, protection) is None  # trained on capitals, too
    assert read_capitals(replace(language(capitals=1, lower=100), counts=()), text, protection) is None


class Counts(tuple[int, ...]):
    """Frequencies of symbols that count how often all of them are read."""

    readings = 0

    def __iter__(self) -> Iterator[int]:
        type(self).readings += 1
        return super().__iter__()


def test_the_frequencies_of_all_symbols_are_added_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Counts, "readings", 0)
    english = replace(language(capitals=1, lower=100), counts=Counts(language(capitals=1, lower=100).counts))
    assert [read_capitals(english, text, None) for text in ("ABC DEF", "FED CBA")] == ["abc def", "fed cba"]
    assert Counts.readings == 1


def test_turkish_has_two_letters_i() -> None:
    assert read_capitals(language(capitals=1, lower=100, name="tr"), "AB\u0130 BI", None) == "abi b\u0131"
    translation = write_capitals(Translation((), "i\u0131 \u00df", ["i\u0131", "\u00df"], -1.0, -1.0, ()), "tr-TR")
    assert (translation.text, translation.words) == ("\u0130I \u00df", ["\u0130I", "\u00df"])


def test_protected_spans_of_a_translation_stay() -> None:
    span = KeptSpan("%d", "en", (0, 2), (3, 5))
    translation = write_capitals(Translation((), "ab %d ab", ["ab", "%d", "ab"], -1.0, -1.0, (), spans=(span,)), "fr")
    assert (translation.text, translation.words) == ("AB %d AB", ["AB", "%d", "AB"])


@pytest.mark.slow
def test_a_heading_is_translated_as_a_sentence(translator: Translator) -> None:
    heading, small, short = translator.translate(["ONE TWO SIX", "one two six", "ONE"], n_best=2)
    assert (heading.text, heading.words) == (small.text.upper(), [word.upper() for word in small.words])
    assert [alternative.text for alternative in heading.alternatives] == [
        alternative.text.upper() for alternative in small.alternatives
    ]
    assert heading.alignment == small.alignment
    assert (heading.log_prob, heading.attention.tolist()) == (small.log_prob, small.attention.tolist())
    assert not short.text.isupper()
    assert translator.translate([("ONE TWO SIX",)])[0].text == heading.text
    assert heading.explain().words == heading.words


@pytest.mark.slow
def test_terms_and_spans_of_a_heading_are_kept(translator: Translator) -> None:
    constraints = LexicalConstraints(Glossary([Term("two", ("trois",))]), protection=Protection.named(["placeholders"]))
    (translation,) = translator.translate(["ONE TWO {name} SIX"], constraints=constraints)
    assert sorted(translation.text.split()) == ["SIX", "TROIS", "UN", "{name}"]
    assert [term.target for term in translation.terms] == [
        (translation.text.index("TROIS"), translation.text.index("TROIS") + 5)
    ]


def test_a_heading_with_a_prefix_is_read_as_it_is(translator: Translator) -> None:
    (translation,) = translator.translate(["ONE TWO SIX"], prefix=["un"])
    assert translation.text.startswith("un")
