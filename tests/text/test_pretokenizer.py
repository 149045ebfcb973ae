"""Words: punctuation splits off, elisions end with an apostrophe, contractions and numbers stay whole."""

import time
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.text.pretokenizer import PRETOKENIZERS, Pretokenizer, bleu_tokenization, of_word, punctuation, whitespace


def split(pretokenizer: Pretokenizer, text: str) -> str:
    return "|".join(text[begin:end] for begin, end in pretokenizer(text))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ""),
        ("Hello, world!", "Hello|,|world|!"),
        ('He said: "No (never)."', 'He|said|:|"|No|(|never|)|.|"'),
        ("wait...", "wait|..."),
        ("don't it's we're I'll I'd I'm I've", "don't|it's|we're|I'll|I'd|I'm|I've"),
        ("don\u2019t it\u2019s", "don\u2019t|it\u2019s"),
        ("l'homme d'eau qu'il", "l'|homme|d'|eau|qu'|il"),
        ("L\u2019Été jusqu\u2019à s'il", "L\u2019|Été|jusqu\u2019|à|s'|il"),
        ("c'est aujourd'hui", "c'|est|aujourd'hui"),
        ("dell'arte un'ora", "dell'|arte|un'|ora"),
        ("O'Brien's rock'n'roll o'clock c'mon", "O'Brien's|rock'n'roll|o'clock|c'mon"),
        ("dot the t's", "dot|the|t's"),
        ("the dogs' 'tail'", "the|dogs|'|'|tail|'"),
        ("п'ять", "п'ять"),
        ("1,000 3.5 10:30 12th 1/2 5.", "1,000|3.5|10:30|12th|1/2|5|."),
        ("3.5% of $5", "3.5|%|of|$|5"),
        ("well-known a-t-il", "well-known|a-t-il"),
        ("a.b,c", "a|.|b|,|c"),
        ("e\u0301te\u0301 हिन्दी में", "e\u0301te\u0301|हिन्दी|में"),
        ("Bonjour\u00a0!", "Bonjour|!"),
        ("\u0301a", "\u0301|a"),
    ],
)
def test_punctuation(text: str, words: str) -> None:
    assert split(punctuation, text) == words


def test_combining_marks_and_non_joiners_are_parts_of_words() -> None:
    assert list(map(of_word, "aम5日\u093e\u0301\u200c\u200d")) == [True] * 8
    assert list(map(of_word, " -_☃\u200b")) == [False] * 5


@pytest.mark.parametrize(
    ("text", "words"), [("", ""), ("  ", ""), ("a b, c", "a|b,|c"), (" a\u00a0b  c ", "a\u00a0b|c")]
)
def test_whitespace(text: str, words: str) -> None:
    assert split(whitespace, text) == words


@pytest.mark.parametrize("pretokenizer", PRETOKENIZERS.values(), ids=PRETOKENIZERS)
@given(text=st.text(st.characters(exclude_categories=["Cs"])))
def test_spans_are_in_order_and_leave_out_white_space_alone(pretokenizer: Pretokenizer, text: str) -> None:
    position = 0
    gaps = ""
    for begin, end in pretokenizer(text):
        assert position <= begin < end
        gaps += text[position:begin]
        position = end
    assert not (gaps + text[position:]).strip()


@pytest.mark.slow
def test_no_line_takes_long() -> None:
    start = time.process_time()
    for text in (
        "word " * 100_000,
        "a" * 300_000,
        "'" * 300_000,
        "1," * 150_000,
        "a-" * 150_000,
        "l'" * 150_000,
    ):
        punctuation(text)
    punctuation("a\u0301" * 100_000 + "\u0301" * 100_000)
    assert time.process_time() - start < 10


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("他喜欢吃苹果。", "zh"),
        ("他用iOS吃红苹果", "zh"),
        ("これはペンです。", "char"),
        ("彼は本を読む", "char"),
        ("เขากินแอปเปิ้ล", "char"),
        ("He reads 书.", None),
        ("사과를 먹는다", None),
        ("12.", None),
        ("", None),
    ],
)
def test_how_bleu_separates_words_without_spaces(text: str, expected: str | None) -> None:
    assert bleu_tokenization(Counter(text)) == expected
