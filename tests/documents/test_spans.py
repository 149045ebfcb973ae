"""Protected spans that are taken out of a sentence, and put back."""

from dataclasses import replace

import pytest

from dragoman.documents.spans import PROTECTED, Stripped
from dragoman.text.protection import Protection
from tests.documents.speaking import backwards, same


@pytest.mark.parametrize(
    ("sentence", "text", "expected"),
    [
        ("one two", "one two", "TWO ONE"),
        ("one {name} two", "one two", "{name} TWO ONE"),
        ("{name} one two", "one two", "TWO {name} ONE"),
        ("one two {name}", "one two", "TWO {name} ONE"),
        ("one two {name}.", "one two .", "{name}. TWO ONE"),
        ("one ({name}) two", "one two", "({name}) TWO ONE"),
        ("one %d%% two", "one two", "%d%% TWO ONE"),
        ("one {a} {b} two", "one two", "{a} {b} TWO ONE"),
        ("one https://x.y/z?a=b two", "one two", "https://x.y/z?a=b TWO ONE"),
        ("[X12X]", "", ""),
    ],
)
def test_spans_go_where_the_words_beside_them_went(sentence: str, text: str, expected: str) -> None:
    stripped = Stripped(sentence, PROTECTED)
    assert (stripped.text, stripped.worded) == (text, bool(text))
    if stripped.worded:
        whole = backwards(stripped.text).sentences[0].whole
        assert whole is not None
        assert stripped.sentence(whole).text == expected


@pytest.mark.parametrize(
    "sentence", ["{a} one {b} two {c}", "one: {a}, {b}; two", "{a}{b} one", "one ({a}/{b}) two {c}."]
)
def test_where_nothing_moves_spans_stay(sentence: str) -> None:
    stripped = Stripped(sentence, PROTECTED)
    whole = same(stripped.text).sentences[0].whole
    assert whole is not None
    assert stripped.sentence(whole).text == sentence


def test_what_a_model_knows_stays() -> None:
    known = Protection.named(["placeholders"])
    assert Stripped("one {name} https://x.y two", PROTECTED, known).text == "one {name} two"


def test_spans_stay_where_a_model_says_nothing() -> None:
    stripped = Stripped("one {a} two {b}", PROTECTED)
    whole = same(stripped.text).sentences[0].whole
    assert whole is not None
    assert stripped.sentence(replace(whole, text="", words=[])).text == "{a} {b}"
