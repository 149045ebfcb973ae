"""Text for SVG and HTML: escaped, legal in XML, and measured without a font."""

import re
import unicodedata
from html import escape as escape_markup
from typing import TypeAlias

from dragoman.text.normalizer import DIRECTIONS

Number: TypeAlias = int | float

_NARROW = frozenset("iIjl.,:;'’|!()[]{}ftr -·")
_BROAD = frozenset("mwMWOQ@%&—…œæŒÆ")
_RIGHT_TO_LEFT = ("R", "AL")
_OBEYED = re.compile(f"[\x00-\x1f\x7f-\x9f{DIRECTIONS}]")


def escape(text: str) -> str:
    """Escape text for an element or a quoted attribute; characters that XML forbids become visible ones."""
    return escape_markup("".join(_legal(character) for character in text))


def breakable(text: str) -> str:
    """Escape a path or another long name, with places where a line may break."""
    return "<wbr>".join(map(escape, re.split(r"(?<=[/\\_|])(?=.)", text, flags=re.DOTALL)))


def visible(word: str) -> str:
    """Return a word as a label shows it: control characters, direction marks (which a terminal would obey) and white
    space are replaced by visible characters.

    Character-level models have white space as words.
    """
    drawn = _OBEYED.sub(lambda match: _picture(match[0]), word)
    return drawn if drawn.strip() else "␣" * max(1, len(drawn))


def width(text: str) -> float:
    """Estimate the width of the text in units of the font size (em), for a common sans-serif font."""
    return sum(map(_width, text), 0.0)


def is_right_to_left(text: str) -> bool:
    """Whether the first character with a direction belongs to Hebrew, Arabic or another right-to-left script."""
    for character in text:
        direction = unicodedata.bidirectional(character)
        if direction in ("L", *_RIGHT_TO_LEFT):
            return direction in _RIGHT_TO_LEFT
    return False


def isolated(word: str) -> str:
    """Isolate a right-to-left word, so that it does not reverse the text after it."""
    return f"\N{FIRST STRONG ISOLATE}{word}\N{POP DIRECTIONAL ISOLATE}" if is_right_to_left(word) else word


def shortest(value: Number, digits: int = 1) -> str:
    """Format a number with at most `digits` decimals, as short as possible."""
    return f"{value:.{digits}f}".rstrip("0").rstrip(".") if digits else f"{value:.0f}"


def _legal(character: str) -> str:
    code = ord(character)
    if code < 0x20 and character not in "\t\n\r":
        return _picture(character)
    if 0xD800 <= code <= 0xDFFF or code in (0xFFFE, 0xFFFF):
        return "\N{REPLACEMENT CHARACTER}"
    return character


def _picture(control: str) -> str:
    """Return Unicode's picture of a control character."""
    if ord(control) < 0x20:
        return chr(0x2400 + ord(control))
    return "␡" if control == "\x7f" else "\N{REPLACEMENT CHARACTER}"


def _width(character: str) -> float:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0.0
    if unicodedata.east_asian_width(character) in ("W", "F"):
        return 1.0
    if character in _NARROW:
        return 0.36
    if character in _BROAD:
        return 0.92
    return 0.7 if character.isupper() else 0.58
