"""One canonical form of text: NFC, no control characters, no line ends, and nothing changes twice."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.text.normalizer import Normalizer, composed

KEEP = Normalizer(lowercase=False)
LOWER = Normalizer(lowercase=True)


def test_what_is_composed_is_changed_in_nothing_else() -> None:
    assert composed("e\u0301te\u0301\t\ufb2a A") == "\u00e9t\u00e9\t\u05e9\u05c1 A"
    assert composed("\ufeffa\u0085b\x07") == "\ufeffa\u0085b\x07"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("e\u0301te\u0301", "\u00e9t\u00e9"),
        ("a\tb\nc\rd\u2028e\u2029f\u0085g\vh", "a b c d e f g h"),
        ("a\x00b\x07c\x9fd\ufeffe", "abcde"),
        ("e\x00\u0301", "\u00e9"),  # what a control character kept apart comes together
        ("a\ud800b", "a\ufffdb"),
        ("  two  spaces  ", "  two  spaces  "),
        ("می\u200cخواهم \u0915\u094d\u200d\u0937", "می\u200cخواهم \u0915\u094d\u200d\u0937"),
        ("a\u00a0b\u3000c", "a\u00a0b\u3000c"),
    ],
)
def test_text_that_reads_the_same_is_spelled_the_same(text: str, expected: str) -> None:
    assert KEEP(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("ÄRGER Straße", "ärger straße"), ("ΟΔΟΣ", "οδος"[:-1] + "ς"), ("\u0130", "i\u0307")],
)
def test_lower_casing_is_unicode_s(text: str, expected: str) -> None:
    assert LOWER(text) == expected
    assert KEEP(text) == text


@given(st.text(st.characters()))
@pytest.mark.parametrize("normalize", [KEEP, LOWER])
def test_the_result_is_canonical(normalize: Normalizer, text: str) -> None:
    result = normalize(text)
    assert normalize(result) == result
    assert unicodedata.is_normalized("NFC", result)
    assert not any(unicodedata.category(character) in {"Cc", "Cs", "Zl", "Zp"} for character in result)
    result.encode()


def test_a_very_long_line_passes() -> None:
    assert LOWER("Word\u2028" * 100_000) == "word " * 100_000
