"""A unit: one entry of a multilingual file, in any format."""

import re
from enum import Enum
from typing import NamedTuple

from dragoman.files.reading import LONGEST_TEXT

_LINE_END = re.compile(r"\r?\n")
_HALF = re.compile("[\ud800-\udfff]")  # lone surrogates, which JSON can escape but UTF-8 cannot encode


class TranslationState(Enum):
    """The state of a translation according to its file."""

    GOOD = "good"
    FUZZY = "fuzzy"  # needs review: translated from an older source, or not reviewed
    OBSOLETE = "obsolete"  # its source no longer exists


class PluralForm(NamedTuple):
    """A form of a plural by a number that it is for, whether it takes a number in the text to tell it from another
    form, and whether it is for that number alone, so that the text may lack the number.
    """

    number: int
    shown: bool
    alone: bool = False


class TranslationUnit(NamedTuple):
    """A text in each of the requested languages; empty if it is not translated."""

    texts: tuple[str, ...]
    state: TranslationState = TranslationState.GOOD
    context: str = ""  # what its file says about it, for a model to read
    plural: bool = False  # whether it is a plural form
    form: PluralForm | None = None  # that of a plural, if the file declares its forms
    marked: bool = False  # whether inline codes that say nothing of themselves are in the texts as marks, such as {1}
    msgctxt: str = ""  # distinguishes it from other units with the same source


def cell(text: str) -> str:
    """Return a text as training reads it: line ends become spaces. A text with more than LONGEST_TEXT characters is cut
    after LONGEST_TEXT + 1, so that the reader can see that it is too long.
    """
    return _HALF.sub("\ufffd", _LINE_END.sub(" ", text[: LONGEST_TEXT + 1]))
