"""Text of somebody's as a terminal may be given it."""

import re

DIRECTIONS = "\u202a-\u202e\u2066-\u2069"  # turn around what follows them, beyond the text that has them
_OBEYED = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f{DIRECTIONS}]")


def printable(text: str) -> str:
    """The text with what a terminal would obey as escapes, such as `\\x1b`: control characters but for tabs and
    newlines, and marks that embed, override or isolate directions.
    """
    return _OBEYED.sub(lambda found: _escaped(ord(found[0])), text)


def _escaped(code: int) -> str:
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
