"""What a terminal is given of somebody's text."""

import pytest

from dragoman.text.normalizer import printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("caf\u00e9 \u4e2d\u6587 \u05e9\u05dc\u05d5\u05dd \U0001f642\ta\nb", None),
        ("\u200c\u200d\u200e\u200f", None),  # joiners and marks, which spell words
        ("\x00\x1b[2J\r", "\\x00\\x1b[2J\\x0d"),
        ("\x7f\x80\x9b0m", "\\x7f\\x80\\x9b0m"),
        ("\u202aa\u202eb\u2066c\u2069", "\\u202aa\\u202eb\\u2066c\\u2069"),
    ],
)
def test_what_a_terminal_would_obey_is_escaped(text: str, shown: str | None) -> None:
    assert printable(text) == (text if shown is None else shown)
