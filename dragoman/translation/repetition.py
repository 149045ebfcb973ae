"""Translations that no model can be sure of: those that repeat themselves, or are far too long for their sources."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from dragoman.text.pretokenizer import spaceless

SHORTEST: Final = 9  # characters of a cycle with all its repetitions
PERIOD: Final = 200  # characters of a cycle
LONGEST: Final = 2000  # characters that are looked at
MARGIN, RATIO = 40, 4  # characters of a translation, beside those of its sources
DENSITY: Final = 3  # letters that a character of a script without spaces stands for


def doubt(text: str, sources: Sequence[str]) -> str | None:
    """Why no confidence in a translation of these texts means anything; None if nothing is wrong with it."""
    times = repetitions(text)
    if times >= 3 and times >= max(3, 2 * max(map(repetitions, sources), default=1)):
        return "it repeats itself"
    if any(sources) and len(text) > MARGIN + RATIO * sum(map(_length, sources)):
        return "it is far too long for its source"
    return None


def repetitions(text: str) -> int:
    """How often in a row a text has the same characters: 3 in `:MM:MM:MM`, and in three times the same words. At least
    SHORTEST characters count, twice as many of digits and punctuation alone, and 1 if there is nothing of the kind.
    """
    codes = np.frombuffer(text[:LONGEST].encode("utf-32-le", "surrogatepass"), np.uint32)
    most, size, periods = 1, len(codes), min(PERIOD, len(codes) // 2)
    if not periods:
        return most
    # Row p - 1 has the characters p places further on, and after the end a number that is no character's.
    padded = np.append(codes, np.full(periods, np.iinfo(np.uint32).max, np.uint32))
    unequal = sliding_window_view(padded, size)[1:] != codes  # (periods, size)
    places = np.arange(1, size + 1, dtype=np.int16)
    lengths = places - np.maximum.accumulate(unequal * places, axis=1)  # of the runs of equal characters that end here
    ends = lengths.argmax(axis=1)
    longest = lengths[np.arange(periods), ends]
    for row in np.flatnonzero(longest >= np.arange(periods)):  # others have no second repetition
        period, run = int(row) + 1, int(longest[row]) + int(row) + 1
        begin = int(ends[row] + 1 - longest[row])
        cycle = text[begin : begin + period]
        shortest = SHORTEST if any(map(str.isalpha, cycle)) else 2 * SHORTEST
        if run >= shortest and not cycle.isspace():
            most = max(most, (run + (" " in cycle)) // period)  # after the last of several words, the space is missing
    return most


def _length(text: str) -> int:
    """The length of a text in characters of a script with spaces."""
    return sum(DENSITY if spaceless(character) else 1 for character in text)
