"""Untrusted text in a form that is safe to print to a terminal."""

import re

DIRECTIONS = "\u202a-\u202e\u2066-\u2069"  # can reorder what is printed after the text, too
_OBEYED = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f{DIRECTIONS}]")


def printable(text: str) -> str:
    """Replace characters that a terminal would interpret by escapes such as `\\x1b`: control characters except tabs and
    newlines, and marks that embed, override or isolate directions.
    """
    return _OBEYED.sub(lambda match: _escaped(ord(match[0])), text)


def _escaped(code: int) -> str:
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
