"""What any file says in several languages, whatever its format."""

import re
from enum import Enum
from typing import NamedTuple

from dragoman.files import LONGEST_TEXT

_LINE_END = re.compile(r"\r?\n")
_HALF = re.compile("[\ud800-\udfff]")  # half characters, which JSON can spell and no UTF-8 can hold


class State(Enum):
    """What a file says of a translation."""

    GOOD = "good"
    FUZZY = "fuzzy"  # somebody is to look at it: of an older source, or not reviewed
    OBSOLETE = "obsolete"  # its source is there no more


class Unit(NamedTuple):
    """A text in the languages that were asked for; empty where it is not translated."""

    texts: tuple[str, ...]
    state: State = State.GOOD
    context: str = ""  # what tells it from others with the same source
    plural: bool = False  # is a form of a plural


def cell(text: str) -> str:
    """A text as training reads it: ends of lines are spaces; of one with more than LONGEST_TEXT characters come the
    first so many and one more, so that whoever reads can tell.
    """
    return _HALF.sub("\ufffd", _LINE_END.sub(" ", text[: LONGEST_TEXT + 1]))
