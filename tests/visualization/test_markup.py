"""Escaping, direction and width of words."""

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as some

from dragoman.visualization.markup import breakable, escape, is_right_to_left, isolated, visible, width


@given(some.text())
def test_any_text_is_legal_xml_as_content_and_as_attribute(text: str) -> None:
    element = ElementTree.fromstring(f'<a b="{escape(text)}">{escape(text)}</a>')
    kept = "".join(character for character in text if ord(character) >= 0x20 and character != "\ufffe")
    assert len(element.text or "") >= len(kept.replace("\uffff", ""))


def test_markup_and_control_characters_are_shown() -> None:
    assert escape("</b>&\"'") == "&lt;/b&gt;&amp;&quot;&#x27;"
    assert escape("a\x00b\x1b") == "a␀b␛"
    assert escape("\ud800") == "�"


def test_a_path_goes_on_in_the_next_line_behind_a_separator() -> None:
    assert breakable("/data/my_runs/<b>") == "/<wbr>data/<wbr>my_<wbr>runs/<wbr>&lt;b&gt;"
    assert breakable("nrefs:1|case:lc") == "nrefs:1|<wbr>case:lc"
    assert breakable("runs/") == "runs/"


def test_words_of_white_space_can_be_seen() -> None:
    assert [visible(word) for word in ("", " ", "  ", "a b")] == ["␣", "␣", "␣␣", "a b"]


def test_control_characters_do_not_reach_the_terminal() -> None:
    assert visible("\x1b[31mred\n\x7f\x9b") == "␛[31mred␊␡�"
    assert visible("\u202edlo\u2066\u200f") == "�dlo�\u200f"


def test_direction_is_that_of_the_first_strong_character() -> None:
    assert is_right_to_left("قطة")
    assert is_right_to_left("«שלום»")
    assert not is_right_to_left("cat")
    assert not is_right_to_left("123.")
    assert isolated("cat") == "cat"
    assert len(isolated("قطة")) == 5


def test_width_knows_full_width_and_combining_characters() -> None:
    assert width("猫") == 1.0
    assert width("e\u0301") == width("e")
    assert width("illi") < width("nano") < width("MWMW") <= width("猫猫猫猫")
    assert width("") == 0.0


@pytest.mark.parametrize("word", ["économique", "Straßenbahn", "Εὐρώπη", "дом", "ประเทศไทย"])
def test_width_is_within_reason(word: str) -> None:
    assert 0.3 * len(word) < width(word) < 0.8 * len(word)
