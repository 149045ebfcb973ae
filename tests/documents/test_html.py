"""HTML whose texts are translated."""

import re
import time
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.documents.document import File
from dragoman.documents.html import Html, Page
from dragoman.documents.passages import Passage, split_text
from dragoman.documents.translated import TranslatedSentence, TranslatedText
from dragoman.errors import UserError
from dragoman.translation.attention_matrix import SourceAttention
from dragoman.translation.translation import Translation
from tests.documents.speaking import backwards, spoken

pytest.importorskip("sentencex")

TAG = re.compile(r"<[^<>]*>")


def translated(html: str) -> str:
    return spoken(Page(html)).decode()


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("one two", "TWO ONE"),
        ("<p>one two</p>", "<p>TWO ONE</p>"),
        ("<p>one <b>two</b> six</p>", "<p>SIX <b>TWO</b> ONE</p>"),
        ("<p><b>one</b> two</p>", "<p>TWO <b>ONE</b></p>"),
        ("<p><b>one two</b></p>", "<p><b>TWO ONE</b></p>"),
        ("<p>on<b>e two six</b></p>", "<p><b>SIX TWO</b> ONE</p>"),
        ("<a href='x?a=1&amp;b'>one <i>two</i></a> six", "SIX <a href='x?a=1&amp;b'><i>TWO</i> ONE</a>"),
        ("one<br>two", "ONE<br>TWO"),
        ("one <img src=x> two", "<img src=x> TWO ONE"),
        ("<ul>\n  <li>one two</li>\n  <li> six </li>\n</ul>", "<ul>\n  <li>TWO ONE</li>\n  <li> SIX </li>\n</ul>"),
        ("one\n   two", "TWO ONE"),
        ("<script>if (a < b) one()</script><p>one</p>", "<script>if (a < b) one()</script><p>ONE</p>"),
        ("<style>p {x: y}</style>", "<style>p {x: y}</style>"),
        ("one <code>two six</code>", "<code>two six</code> ONE"),
        ("<p translate='no'>one <b>two</b></p> two", "<p translate='no'>one <b>two</b></p> TWO"),
        ("one <span class='x notranslate'>two</span> six", "SIX <span class='x notranslate'>two</span> ONE"),
        ("<p class=notranslate>one two</p>", "<p class=notranslate>one two</p>"),
        (
            "<p data-translate='no' class='my-notranslate-x'>one two</p>",
            "<p data-translate='no' class='my-notranslate-x'>TWO ONE</p>",
        ),
        (
            "<ul><li translate=no>six one<li>one two</ul>\n<p>two six</p>",
            "<ul><li translate=no>six one<li>TWO ONE</ul>\n<p>SIX TWO</p>",
        ),
        (
            "<ul><li translate=no>one two<ul><li>two six</ul></ul>two one",
            "<ul><li translate=no>one two<ul><li>two six</ul></ul>ONE TWO",
        ),
        (
            "<div translate=no>one <div>two six</div> two</div>two one",
            "<div translate=no>one <div>two six</div> two</div>ONE TWO",
        ),
        ("<p translate=no>one</br>two</font> six</p>two one", "<p translate=no>one</br>two</font> six</p>ONE TWO"),
        ("<!-- one two --> one two", "<!-- one two --> TWO ONE"),
        ("one two <!-- one -->\n<!-- two -->", "TWO ONE <!-- one -->\n<!-- two -->"),
        ("<p>one <!-- x -->two six</p>", "<p>SIX <!-- x -->TWO ONE</p>"),
        ("<p>one<!-- --> two<!-- -->.</p>", "<p>TWO. ONE<!-- --><!-- --></p>"),
        ("<p>one <?x y?>two six</p>", "<p>SIX <?x y?>TWO ONE</p>"),
        ("<p>one <o:p>two</o:p> six</p>", "<p>SIX <o:p>TWO</o:p> ONE</p>"),
        (
            "<p>one <picture><source src=y><img src=x></picture> two</p>",
            "<p><picture><source src=y><img src=x></picture>TWO ONE</p>",
        ),
        ("<p>one <ruby>two<rt>six</rt></ruby> ten</p>", "<p>TEN <ruby>TWO<rt>six</rt></ruby> ONE</p>"),
        ("<p>one <1><2>two</2></1> six<3/></p>", "<p>SIX<3/> <1><2>TWO</2></1> ONE</p>"),
        ("one <3 two", "TWO &lt;3 ONE"),
        ("<!DOCTYPE html><title>one two</title>", "<!DOCTYPE html><title>TWO ONE</title>"),
        ("a &lt; b &amp; c", "C &amp; B &lt; A"),
        ("a < b", "B &lt; A"),
        ("<b>one", "<b>ONE"),
        ("one</b> two", "TWO ONE</b>"),
        ("", ""),
        ("<p></p> \n", "<p></p> \n"),
        ("<p>&nbsp;</p>", "<p>&nbsp;</p>"),
    ],
)
def test_markup_comes_through(html: str, expected: str) -> None:
    assert translated(html) == expected


PIECES = st.sampled_from(
    [
        *("<b>", "</b>", "<i>", "</i>", "<a href='x'>", "</a>", "<p>", "</p>", "<br>", "<img>", "one ", "two six", " "),
        *(
            "&nbsp;",
            "&amp;",
            "<",
            ">",
            "<!--x-->",
            "<!--",
            "\n",
            ".",
            "</",
            "<script>",
            "</script>",
            "<code>",
            "</code>",
        ),
        *("<div translate=no>", "</div>", "<![CDATA[", "]]>", "<?x?>", "'", '"'),
    ]
)


@given(st.lists(PIECES, max_size=25).map("".join))
def test_every_tag_comes_through_once_and_nested_as_before(html: str) -> None:
    page = translated(html)
    assert Counter(TAG.findall(page)) == Counter(TAG.findall(html))
    assert _depths(page) == _depths(html)


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<p>one two<sup>1</sup> six<sup>*</sup></p>", "<p>SIX<sup>*</sup> TWO<sup>1</sup> ONE</p>"),
        ("<p>one 2<sup>nd</sup> two</p>", "<p>TWO <sup>2ND</sup> ONE</p>"),
        ("<p>one <custom-x>two</custom-x> six</p>", "<p>SIX <custom-x>TWO</custom-x> ONE</p>"),
    ],
)
def test_raised_signs_stay_as_they_are_and_elements_of_others_are_in_the_line(html: str, expected: str) -> None:
    assert translated(html) == expected


def test_tags_go_with_the_spaces_of_the_translation() -> None:
    def say(text: str) -> TranslatedText:
        passage = split_text(text, "zh")
        sentences = [backwards(sentence).sentences[0] for sentence in passage.sentences]
        return TranslatedText(passage, tuple(sentence._replace(text=f"{sentence.text}!") for sentence in sentences))

    assert spoken(Page("<p>one 二。<b>Two 一。</b></p>"), say).decode() == "<p>二。 ONE! <b>一。 TWO</b>!</p>"


def test_numbers_of_items_keep_their_elements() -> None:
    def say(text: str) -> TranslatedText:
        passage = split_text(text, "en")
        return TranslatedText(passage, tuple(backwards(sentence).sentences[0] for sentence in passage.sentences))

    html = "<p><b>1.</b> One <i>two</i>. <b>2.</b> Six two.</p>"
    assert spoken(Page(html), say).decode() == "<p><b>1.</b> <i>TWO.</i> ONE <b>2.</b> TWO. SIX</p>"


@pytest.mark.parametrize(
    ("html", "words", "translated_text", "attention", "expected"),
    [
        ("<p>他<b>吃</b>苹果</p>", "他吃 苹果", "He eats apples", [[1, 0], [1, 0], [0, 1]], "He <b>eats</b> apples"),
        ("<p><b>他</b>吃苹果</p>", "他吃 苹果", "He eats apples", [[1, 0], [1, 0], [0, 1]], "<b>He</b> eats apples"),
        ("<p>他<b>吃</b>苹果</p>", "他 吃 苹果", "He apples", [[1, 0, 0], [0, 0.2, 0.8]], "He <b>apples</b>"),
        ("<p>他<b>吃</b>苹果</p>", "他 吃 苹果", "He apples", [[1, 0, 0], [0, 0.01, 0.9]], "He <b></b>apples"),
        (
            "<p><b>吃</b> 苹 他果</p>",
            "吃 苹 他 果",
            "He apples",
            [[0.2, 0, 0.8, 0], [0, 0.2, 0, 0.8]],
            "<b>He</b> apples",
        ),
        (
            "<p>他<b>苹果</b>。</p>",
            "他 苹果 。",
            "He apples .",
            [[1, 0, 0], [0, 1, 0], [0, 1, 0]],
            "He <b>apples</b> .",
        ),
    ],
)
def test_no_element_of_a_script_without_spaces_is_around_nothing(
    html: str, words: str, translated_text: str, attention: list[list[float]], expected: str
) -> None:
    """An element may be a part of a symbol, or symbols that no word is linked to."""

    def say(text: str) -> TranslatedText:
        seen = SourceAttention("zh", text, words.split(), np.array(attention, float), np.ones(len(attention)))
        whole = Translation((seen,), translated_text, translated_text.split(), -1.0, -1.0, ())
        return TranslatedText(Passage((text,), ("", "")), (TranslatedSentence(translated_text, whole),))

    assert spoken(Page(html), say).decode() == f"<p>{expected}</p>"


def test_a_line_break_in_chinese_is_no_space() -> None:
    (line,) = Page("<p>他喜欢\n  吃苹果，\n他 看 %s\n书。</p>").lines
    assert line.text == "他喜欢吃苹果，他 看 %s 书。"


@pytest.mark.parametrize(
    "word",
    ["CO<sub>2</sub>", "m<sup>2</sup>", "XX<sup>e</sup>", "2<sup>nd</sup>", "10<sup>6</sup>", "word<sub>i</sub>"],
)
def test_raised_and_lowered_parts_of_words_are_read(word: str) -> None:
    (line,) = Page(f"<p>one {word} six</p>").lines
    assert line.text == f"one {TAG.sub('', word)} six"


@pytest.mark.parametrize("declared", ['<meta charset="ISO-8859-1">', "<meta content='text/html; charset=latin1' x>"])
@pytest.mark.parametrize("word", ["é", "e"])
def test_a_page_in_another_encoding_is_written_in_utf_8(declared: str, word: str) -> None:
    text = f"{declared}<p>one {word}</p><p>charset=latin1</p>"
    done = spoken(Html(File("x.html", text.encode("latin-1"), ("en", "fr")))).decode()
    assert f"<p>{word.upper()} ONE</p><p>CHARSET=LATIN1</p>" in done
    assert done.count("UTF-8") == 1
    assert "latin1" not in done.lower().partition("<p>")[0]
    wrong = b"<meta charset=utf-8><p>\xe9</p>", b"<meta charset='ascii'>\xe9", b"<meta charset=undefined>\xe9"
    for encoding in wrong:
        with pytest.raises(UserError, match=r"x\.html.*save it as UTF-8"):
            Html(File("x.html", encoding, ("en", "fr")))
    shifted = '<meta charset="iso-2022-jp"><p>one \u65e5</p>'
    done = spoken(Html(File("x.html", shifted.encode("iso-2022-jp"), ("en", "fr")))).decode()
    assert done == '<meta charset="UTF-8"><p>\u65e5 ONE</p>'
    about = '<meta name="description" content="about encoding = latin, charset = more">'
    assert spoken(Html(File("x.html", about.encode(), ("en", "fr")))).decode() == about
    page = '<?xml version="1.0" encoding="UTF-16"?><p>one two</p>'
    written_page = spoken(Html(File("x.xhtml", page.encode("utf-16"), ("en", "fr"))))
    assert written_page.decode() == '<?xml version="1.0" encoding="UTF-8"?><p>TWO ONE</p>'


@pytest.mark.parametrize(
    ("html", "target", "expected"),
    [
        ('<html lang="en">', "fr", '<html lang="fr">'),
        ("<html class=x xml:lang='en-US' lang=EN>", "pt_BR", "<html class=x xml:lang='pt-BR' lang=pt-BR>"),
        ('<p lang="de">', "fr", '<p lang="de">'),
        ('<p lang="en" translate="no">', "fr", '<p lang="en" translate="no">'),
        ('<p data-lang="en" hreflang="en">', "fr", '<p data-lang="en" hreflang="en">'),
        ('<html lang="en">', "ar", '<html dir="rtl" lang="ar">'),
        ('<html dir="ltr" lang="en">', "he", '<html dir="rtl" lang="he">'),
        ('<html dir="rtl" lang="en">', "fr", '<html dir="ltr" lang="fr">'),
        ('<html lang="en">', "all of them", '<html lang="en">'),
        ('<html lang="en" title="x" xml:lang="en">', "fr", '<html lang="fr" title="x" xml:lang="fr">'),
        ('<form action="/s?lang=en">', "ar", '<form action="/s?lang=en">'),
        ("<form action=/s?lang=en>", "ar", "<form action=/s?lang=en>"),
        ('<p title="lang=en" data-x="a&lang=en dir=ltr">', "ar", '<p title="lang=en" data-x="a&lang=en dir=ltr">'),
        ('<p title="x lang=en">', "ar", '<p title="x lang=en">'),
        ('<p title="x dir=ltr" lang="en">', "ar", '<p dir="rtl" title="x dir=ltr" lang="ar">'),
        ('<p dir="auto" lang="en">', "ar", '<p dir="auto" lang="ar">'),
    ],
)
def test_a_page_says_the_language_of_its_translation(html: str, target: str, expected: str) -> None:
    page = spoken(Html(File("x.html", f"{html}one two".encode(), ("en", target)))).decode()
    assert page.startswith(expected)
    assert spoken(Page(f"{html}one")).decode().startswith(html)


def _depths(html: str) -> list[str]:
    """Pairs of tags that a browser would make of those in one line, as far as elements are closed in order."""
    stack, pairs = list[str](), list[str]()
    for end, name in re.findall(r"<(/?)(b|i|a)\b[^<>]*>", html):
        if not end:
            stack.append(name)
        elif name in stack:
            while stack.pop() != name:
                pass
            pairs.append(name)
    return sorted(pairs)


@pytest.mark.parametrize(
    "piece", ["<a ", "<!--", "<![CDATA[", "<a '", '<a "', "<a '\"", "<?", "<b>", "</b>", "<", "&", "<p x="]
)
def test_damaged_markup_takes_no_longer_than_whole(piece: str) -> None:
    html = piece * (60_000 // len(piece))
    began = time.process_time()
    spoken(Page(html))
    assert time.process_time() - began < 10


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["<b>one</b> ", "<b>one</b> two ", "one<br/> ", "one <img> <i>two six</i> "])
def test_many_tags_in_a_line_take_time_in_proportion(piece: str) -> None:
    html = piece * (100_000 // len(piece))
    began = time.process_time()
    spoken(Page(html))
    assert time.process_time() - began < 5


@pytest.mark.parametrize("tag", ["b", "div", "code"])
def test_elements_may_be_nested_deeper_than_calls(tag: str) -> None:
    html = f"<{tag}>" * 5_000 + "one two" + f"</{tag}>" * 5_000
    assert translated(html) == (html if tag == "code" else html.replace("one two", "TWO ONE"))


def test_nested_elements_with_words_of_their_own_take_time_in_proportion() -> None:
    html = "".join(f"<b>w{number} " for number in range(5_000)) + "</b>" * 5_000
    began = time.process_time()
    page = translated(html)
    assert time.process_time() - began < 5
    assert Counter(TAG.findall(page)) == Counter(TAG.findall(html))
    assert Counter(TAG.sub(" ", page).lower().split()) == Counter(TAG.sub(" ", html).split())
