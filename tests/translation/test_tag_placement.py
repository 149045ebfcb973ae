"""Where tags stand in a translation, by the links between its parts and those of its text."""

import pytest

from dragoman.text.pretokenizer import Span
from dragoman.translation.transforms.tag_placement import Ends, Node, Placed


@pytest.mark.parametrize(
    ("element", "expected"),
    [((0, 1), (0, 3)), ((1, 2), (0, 3)), ((2, 3), (4, 7)), ((3, 4), (4, 7)), ((0, 2), (0, 3)), ((2, 4), (4, 7))],
)
def test_a_part_of_a_word_stands_for_its_share_of_several_words(element: Span, expected: Span) -> None:
    ends = Ends("高速铁路", "one two", [((0, 4), (0, 3)), ((0, 4), (4, 7))])
    tags = ends.written([Node(*element, ("<b>", "</b>"))], (0, 4), (0, 7))
    assert list(tags) == [Placed("<b>", expected[0]), Placed("</b>", expected[1])]
