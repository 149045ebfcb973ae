"""Translations that no model can be sure of: those that repeat themselves, or are far too long for their sources."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from dragoman.text.tokenise import spaceless

SHORTEST: Final = 9  # characters of a cycle with all its repetitions
PERIOD: Final = 200  # characters of a cycle
LONGEST: Final = 2000  # characters that are looked at
MARGIN, RATIO = 40, 4  # characters of a translation, beside those of its sources
DENSITY: Final = 3  # letters that a character of a script without spaces stands for


def doubt(text: str, sources: Sequence[str]) -> str | None:
    """Why no confidence in a translation of these texts means anything; None if nothing is wrong with it."""
    most = max((repetitions(source) for source in sources), default=1)
    if repetitions(text) >= max(3, 2 * most):
        return "it repeats itself"
    if any(sources) and len(text) > MARGIN + RATIO * sum(map(_length, sources)):
        return "it is far too long for its source"
    return None


def repetitions(text: str) -> int:
    """How often in a row a text has the same characters: 3 in `:MM:MM:MM`, and in three times the same words. At least
    SHORTEST characters count, twice as many of digits and punctuation alone, and 1 if there is nothing of the kind.
    """
    codes = np.frombuffer(text[:LONGEST].encode("utf-32-le", "surrogatepass"), np.uint32)
    most = 1
    for period in range(1, min(PERIOD, len(codes) // 2) + 1):
        broken = np.flatnonzero(codes[period:] != codes[:-period])
        edges = np.concatenate([[-1], broken, [len(codes) - period]])
        gaps = np.diff(edges) - 1
        longest = int(gaps.argmax())
        run, begin = int(gaps[longest]) + period, int(edges[longest]) + 1
        cycle = text[begin : begin + period]
        shortest = SHORTEST if any(map(str.isalpha, cycle)) else 2 * SHORTEST
        if run >= shortest and not cycle.isspace():
            most = max(most, (run + (" " in cycle)) // period)  # behind the last of several words, the space is missing
    return most


def _length(text: str) -> int:
    """The length of a text in characters of a script with spaces."""
    return sum(DENSITY if spaceless(character) else 1 for character in text)
