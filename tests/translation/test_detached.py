"""Protected spans that no model reads: taken out of a text, and put back into its translation."""

from dataclasses import replace

import numpy as np
import pytest

from dragoman.errors import UserError
from dragoman.text.protection import Protection
from dragoman.translation.source_inputs import LONGEST
from dragoman.translation.transforms.insertion import Reinsertion, joined, merged
from dragoman.translation.transforms.stripped_text import Group
from dragoman.translation.transforms.tag_projection import StrippedSource
from dragoman.translation.translation import KeptSpan, Replacement, Step, Translation
from tests.documents.speaking import backwards, detached, same

CASES = [
    ("one two", "one two", "TWO ONE"),
    ("one {name} two", "one two", "{name} TWO ONE"),
    ("{name} one two", "one two", "TWO {name} ONE"),
    ("one two {name}", "one two", "TWO {name} ONE"),
    ("one two {name}.", "one two .", "{name}. TWO ONE"),
    ("one ({name}) two", "one two", "({name}) TWO ONE"),
    ("one %d%% two", "one two", "%d%% TWO ONE"),
    ("one {a} {b} two", "one two", "{a} {b} TWO ONE"),
    ("one https://x.y/z?a=b two", "one two", "https://x.y/z?a=b TWO ONE"),
]


def translate_capitals(text: StrippedSource, *, moved: bool = True) -> Translation:
    """The words of the rest in capitals and backwards, or as they are."""
    (sentence,) = (backwards if moved else same)(text.source.text).sentences
    assert sentence.whole
    return sentence.whole


@pytest.mark.parametrize(("sentence", "text", "expected"), CASES)
def test_spans_go_where_the_words_beside_them_went(sentence: str, text: str, expected: str) -> None:
    read = detached(sentence)
    assert (read.prepared_inputs, read.worded) == ((text,), True)
    translation = read.attached(translate_capitals(read), 0)
    assert translation.text == expected
    assert "".join(translation.words).replace(" ", "") == expected.replace(" ", "")
    assert all(
        sentence[slice(*span.place)] == span.text == expected[slice(*span.target or ())] for span in translation.spans
    )
    assert len(translation.spans) == len(read.spans)


@pytest.mark.parametrize(
    "sentence", ["{a} one {b} two {c}", "one: {a}, {b}; two", "{a}{b} one", "one ({a}/{b}) two {c}.", "({a})({b}) one"]
)
def test_where_nothing_moves_spans_stay(sentence: str) -> None:
    read = detached(sentence)
    assert read.attached(translate_capitals(read, moved=False), 0).text == sentence


def test_spans_are_words_that_attend_to_themselves() -> None:
    read = detached("one {name} two")
    whole = replace(
        translate_capitals(read),
        steps=(Step("TWO", 0, -1.0), Step("ONE", 1, -2.0), Step("</s>", None, -0.5)),
        replaced=(Replacement(1, "en", 0, dictionary=False),),
        sentinel=np.array([0.25, 0.5]),
    )
    translation = read.attached(whole, 0)
    assert (translation.words, translation.source_words) == (["{name}", "TWO", "ONE"], ["one", "{name}", "two"])
    assert translation.attention.tolist() == [[0, 1, 0], [0, 0, 1], [1, 0, 0]]
    assert translation.alignment == {(1, 0), (2, 1), (0, 2)}
    assert translation.sources[0].share.tolist() == [1, 1, 1]
    assert translation.log_probs.tolist() == [0, -1, -2]
    assert translation.sentinel is not None
    assert translation.sentinel.tolist() == [0, 0.25, 0.5]
    assert translation.replaced == (Replacement(2, "en", 0, dictionary=False),)
    assert translation.spans == (KeptSpan("{name}", "en", (4, 10), (0, 6)),)


def test_what_is_put_into_a_word_is_a_part_of_it() -> None:
    words, numbers, rows = merged(["un", "deux,trois", "six"], "un deux,trois six", [(8, "{a}"), (14, "{b}")])
    assert words == ["un", "deux,{a}trois", "{b}", "six"]
    assert (numbers, rows) == ([0, 1, 3], {1: 2})


def test_a_source_without_words_gets_none() -> None:
    """It only starts the decoder."""
    read, whole = detached("one {name} two"), translate_capitals(detached("one two"))
    seen = whole.sources[0]._replace(words=[], attention=np.zeros((2, 0)))
    translation = read.attached(replace(whole, sources=(seen,)), 0)
    assert translation.sources[0].words == []
    assert translation.attention.shape == (3, 0)


def test_what_a_model_knows_stays_and_is_told_in_its_place() -> None:
    read = detached("one {name} https://x.y two", known_spans=Protection.named(["placeholders"]))
    assert read.prepared_inputs == ("one {name} two",)
    whole = replace(translate_capitals(read), spans=(KeptSpan("{name}", "en", (4, 10), (4, 10)),))
    translation = read.attached(whole, 0)
    assert translation.text == "https://x.y TWO {NAME} ONE"
    assert translation.spans == (
        KeptSpan("{name}", "en", (4, 10), (16, 22)),
        KeptSpan("https://x.y", "en", (11, 22), (0, 11)),
    )


def test_spans_stay_where_a_model_says_nothing() -> None:
    read = detached("one {a} two {b}")
    nothing = translate_capitals(read).sources[0]._replace(attention=np.zeros((0, 2)), share=np.zeros(0))
    translation = read.attached(replace(translate_capitals(read), sources=(nothing,), text="", words=[]), 0)
    assert (translation.text, translation.words) == ("{a} {b}", ["{a}", "{b}"])


@pytest.mark.parametrize("sentence", ["[X12X]", "{a} / {b}!", "..."])
def test_a_text_without_words_is_its_own_translation(sentence: str) -> None:
    read = detached(sentence)
    assert (read.prepared_inputs, read.worded) == (("",), False)
    blank = translate_capitals(detached("one"))
    translation = read.attached(replace(blank, text="", words=[], steps=()))
    assert (translation.text, translation.words, translation.source_words) == (sentence, [sentence], [sentence])
    assert translation.alignment == {(0, 0)}
    assert [span.place for span in translation.spans] == [span.target for span in translation.spans] == read.spans


@pytest.mark.parametrize(
    ("prefix", "rest", "kept", "expected"),
    [
        ("{b}", "", 0, "{b} {a} TWO ONE"),
        ("{b} ", "", 0, "{b} {a} TWO ONE"),
        ("TWO {a} ", "TWO ", 4, "TWO {a} {b} ONE"),
        ("TWO ({b}) ONE {a}", "TWO ONE ", 7, "TWO ({b}) ONE {a}"),
        ("TWO", "TWO", 3, "TWO {a} {b} ONE"),
    ],
)
def test_spans_of_a_beginning_stay_in_it(prefix: str, rest: str, kept: int, expected: str) -> None:
    read = detached("one {a} {b} two").begun(prefix)
    assert read.beginning
    assert read.beginning.text == rest
    translation = read.attached(translate_capitals(read), kept)
    assert translation.text == expected
    assert translation.text.startswith(prefix.rstrip())
    assert [(span.text, expected[slice(*span.target or ())]) for span in translation.spans] == [
        ("{a}", "{a}"),
        ("{b}", "{b}"),
    ]


def test_what_is_left_of_a_group_comes_back_too() -> None:
    read = detached("one ({a}/{b}) two").begun("{b}: ")
    assert read.attached(translate_capitals(read, moved=False), 2).text == "{b} one {a} two"


@pytest.mark.parametrize(
    ("kept", "expected"), [(1, "TWO {a} ONE"), (3, "TWO {a} ONE"), (4, "TWO {a} ONE"), (5, "TWO ONE {a}")]
)
def test_no_span_is_put_into_the_word_that_a_beginning_cuts(kept: int, expected: str) -> None:
    read = detached("{a} two" if kept < 5 else "one two {a}")
    read = read.begun("TWO ONE"[:kept])
    whole = replace(translate_capitals(detached("one two")), text="TWO ONE")
    assert read.attached(whole, kept).text == expected


def test_nothing_is_put_into_terms_and_known_spans() -> None:
    read = detached("one {a} two")
    whole = replace(
        translate_capitals(read), sources=(translate_capitals(read).sources[0]._replace(attention=np.zeros((2, 2))),)
    )
    assert read.attached(whole).text == "TWO {a} ONE"
    assert read.attached(whole, closed=[(0, 7)]).text == "TWO ONE {a}"
    translation_of_span = replace(whole, spans=(KeptSpan("two one", "en", (0, 7), (0, 7)),))
    translation = read.attached(translation_of_span)
    assert translation.text == "TWO ONE {a}"
    assert translation.spans[0].target == (0, 7)


def test_spans_that_would_become_others_are_apart() -> None:
    read = detached("one,{a}")
    for mark, expected in (("$", "$ {a}"), (",", ",{a}")):  # `${a}` is another span
        translation = read.attached(replace(translate_capitals(read), text=mark, words=[mark]))
        assert translation.text == expected
        assert [expected[slice(*span.target or ())] for span in translation.spans] == ["{a}"]


@pytest.mark.parametrize(
    ("text", "patterns", "read"),
    [
        ("one %1$s two {0:.2f}", ["placeholders"], "one %1$s two {0:.2f}"),
        ('<a href="https://x.y/z">two</a> 7', ["tags"], '<a href="https://x.y/z">two</a>'),
        ("https://x.y/{name} two {name}", ["placeholders"], "two {name}"),
    ],
)
def test_spans_within_others_are_no_spans(text: str, patterns: list[str], read: str) -> None:
    protection = Protection.named(["placeholders", "numbers", "urls"])
    assert detached(text, protection, Protection.named(patterns)).prepared_inputs == (read,)


def test_confidence_is_of_what_the_model_said() -> None:
    read = detached("one {a} two {b} three")
    steps = (Step("TWO", 0, -1.0, {}, -0.5), Step("ONE", 1, -1.0, {}, -0.5), Step("</s>", None, -1.0, {}, -0.5))
    whole = replace(translate_capitals(detached("one two")), steps=steps)
    before, after = whole.confidence, read.attached(whole).confidence
    assert before
    assert after
    assert after.sentence == before.sentence
    assert sorted(after.words) == sorted([*before.words, 1.0, 1.0])


def test_the_words_of_a_text_full_of_spans_are_limited() -> None:
    """Attention is a matrix, and a model reads so many symbols at most."""
    read = detached(" ".join(["one", *(f"{{a{number}}}" for number in range(2 * LONGEST))]))
    translation = read.attached(translate_capitals(read))
    assert translation.attention.shape == (1 + LONGEST, 1 + LONGEST)
    assert len(translation.spans) == 2 * LONGEST
    assert all(translation.text[slice(*span.target or ())] == span.text for span in translation.spans)


@pytest.mark.parametrize("prefix", ["{c}", "{a} {a}", "{a}{a}"])
def test_a_beginning_has_no_other_spans_than_its_source(prefix: str) -> None:
    with pytest.raises(UserError, match="has a protected span that is not in the source"):
        detached("one {a} two").begun(prefix)


@pytest.mark.parametrize(
    ("text", "expected", "words"),
    [
        ("ZWEIEINS", "ZWEIEINS {a}", ["ZWEIEINS", "{a}"]),
        ("ZWEI EINS", "ZWEI {a} EINS", ["ZWEI", "{a}", "EINS"]),
        ("रामायण", "रामायण {a}", ["रामायण", "{a}"]),  # nor before a vowel sign
        ("二一二一", "二一 {a} 二一", ["二一{a}二一"]),
    ],
)
def test_without_links_spans_are_placed_in_proportion(text: str, expected: str, words: list[str]) -> None:
    """Not in a word, unless there is nothing that tells where it ends: then they are a part of it."""
    read = detached("one {a} two")
    whole = translate_capitals(read)
    seen = whole.sources[0]._replace(attention=np.zeros((len(text.split()), 2)), share=np.zeros(len(text.split())))
    translation = read.attached(replace(whole, sources=(seen,), text=text, words=text.split()), 0)
    assert (translation.text, translation.words) == (expected, words)


@pytest.mark.parametrize(("last", "expected"), [(".", "EINS {a}."), ("!?", "EINS {a} !?"), (".5", "EINS {a} .5")])
def test_punctuation_follows_a_span_as_it_follows_a_word(last: str, expected: str) -> None:
    read = detached("one {a} two")
    translation = read.attached(
        replace(translate_capitals(read, moved=False), text=f"EINS{last}", words=["EINS", last]), 0
    )
    assert (translation.text, translation.words) == (expected, ["EINS", "{a}", last])


@pytest.mark.parametrize(
    ("text", "beside", "expected"),
    [
        ("Er isst", ("他", "吃"), "Er {a} isst"),
        ("Er isst", ("เขา", "กิน"), "Er {a} isst"),
        ("他吃", ("他", "吃"), "他{a}吃"),
        ("他吃", (" ", " "), "他 {a} 吃"),
        ("他。", (" ", " "), "他 {a}。"),
        ("เขากิน", (" ", " "), "เขา {a} กิน"),
        ("เขากิน", ("他", "吃"), "เขา{a}กิน"),
    ],
)
def test_spans_are_parted_as_the_script_of_the_translation_has_it(
    text: str, beside: tuple[str, str], expected: str
) -> None:
    """Whatever the script of the source has."""
    group = Group("{a}", ((1, 4),), 1, 1, *beside, 0)
    offset = expected.replace(" {a}", "{a}").index("{a}")
    assert joined(text, [Reinsertion(group, group.spans, 0, offset)], 0).text == expected


@pytest.mark.parametrize("word", ["one", "का", "می\u200c"])
def test_a_span_that_touches_punctuation_touches_no_word(word: str) -> None:
    """Whatever a word ends with: a letter, a vowel sign or a non-joiner."""
    group = Group("{name}", ((1, 7),), 1, 1, "(", ")", 0)
    assert joined(word, [Reinsertion(group, group.spans, 0, len(word))], 0).text == f"{word} {{name}}"
