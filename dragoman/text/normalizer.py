"""The first step from written text to symbols: one spelling for texts that read the same; and what a terminal shows."""

import re
import unicodedata

# White space that may end a line or a column becomes a plain space; invisible characters are dropped.
SPACES = "\t\n\v\f\r\x1c\x1d\x1e\x1f\x85\u2028\u2029"
CONTROLS = "".join(chr(code) for code in [*range(0x20), *range(0x7F, 0xA0)] if chr(code) not in SPACES)
BYTE_ORDER_MARK = "\ufeff"
SURROGATES = "".join(map(chr, range(0xD800, 0xE000)))  # UTF-8 cannot encode them
REPLACEMENT = "\ufffd"
DIRECTIONS = "\u202a-\u202e\u2066-\u2069"  # can reorder what is printed after the text, too

_OBEYED = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f{DIRECTIONS}]")
_UNWANTED = re.compile(f"[{re.escape(SPACES + CONTROLS + BYTE_ORDER_MARK)}\ud800-\udfff]")
_CHANGES = str.maketrans(SPACES, " " * len(SPACES), CONTROLS + BYTE_ORDER_MARK) | str.maketrans(
    SURROGATES, REPLACEMENT * len(SURROGATES)
)


def composed(text: str) -> str:
    """The text in NFC and otherwise as it is: the form in which texts are kept and compared, since models read it."""
    return unicodedata.normalize("NFC", text)


class Normalizer:
    """Brings text into a canonical form; applying it twice gives the same as once.

    - tabs, line and paragraph separators (U+0085, U+2028, U+2029, vertical tab, ...) become a space;
    - other control characters, including NUL, and byte order marks (U+FEFF) are dropped;
    - lone surrogates become U+FFFD;
    - with `lowercase`, text is lower-cased by Unicode's rules, which are not specific to a language;
    - the result is in NFC.

    Spaces are kept as they are, as are joiners and non-joiners (U+200C, U+200D), which are part of the spelling in
    Persian and in the scripts of India.
    """

    def __init__(self, *, lowercase: bool) -> None:
        self.lowercase = lowercase

    def __call__(self, text: str) -> str:
        if _UNWANTED.search(text):
            text = text.translate(_CHANGES)
        if self.lowercase:
            text = text.lower()
        return unicodedata.normalize("NFC", text)


def printable(text: str) -> str:
    """Replace characters that a terminal would interpret by escapes such as `\\x1b`: control characters except tabs and
    newlines, and marks that embed, override or isolate directions.
    """
    return _OBEYED.sub(lambda match: _escaped(ord(match[0])), text)


def _escaped(code: int) -> str:
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
