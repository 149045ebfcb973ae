"""The characters of a text, and those that look out of place."""

import unicodedata
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from dragoman.corpus.numbering import NumberedCorpus

RARE_SCRIPT = 0.001  # share of the letters below which a script is foreign to a text
JOINERS = "\u200c\u200d"
REPLACEMENT = "\ufffd"
ODD_CATEGORIES = ("Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp")


class Unusual(NamedTuple):
    """A character that looks out of place, the number of texts of a side that contain it, and the first of these, as
    `NumberedCorpus` calls it.
    """

    side: str
    character: str
    reason: str
    lines: int
    first: str
    unit: str = "line"

    def __str__(self) -> str:
        name = unicodedata.name(self.character, "without a name")
        return (
            f"{self.side} has U+{ord(self.character):04X} ({name}; {self.reason}): "
            f"{self.lines:,} (first in {self.unit} {self.first})"
        )


class Alphabet:
    """Counts the lines that contain each character."""

    def __init__(self) -> None:
        self._lines: Counter[str] = Counter()
        self._first: dict[str, int] = {}

    def add(self, text: str, line: int) -> None:
        """Count the characters of one line."""
        characters = set(text)
        self._lines.update(characters)
        if not characters <= self._first.keys():
            self._first |= dict.fromkeys(characters - self._first.keys(), line)

    def unusual(self, side: str, examples: NumberedCorpus) -> list[Unusual]:
        """The characters that look out of place, most frequent first.

        These are control, format and private-use characters (except joiners, which some scripts need), U+FFFD, and
        letters of a script that makes up less than a thousandth of the letters, counted by lines.
        """
        characters = [
            Unusual(
                side, character, reason, self._lines[character], examples.name(self._first[character]), examples.unit
            )
            for character, reason in self._reasons()
        ]
        return sorted(characters, key=lambda entry: (-entry.lines, entry.character))

    def _reasons(self) -> Iterator[tuple[str, str]]:
        scripts: Counter[str] = Counter()
        for character, lines in self._lines.items():
            scripts[_script(character)] += lines if character.isalpha() else 0
        letters = scripts.total()
        for character in self._lines:
            if character == REPLACEMENT:
                yield character, "lost in decoding"
            elif unicodedata.category(character) in ODD_CATEGORIES and character not in JOINERS:
                yield character, "not a written character"
            elif character.isalpha() and scripts[_script(character)] < RARE_SCRIPT * letters:
                yield character, "of a script rare here"


def _script(letter: str) -> str:
    """The first word of the character's name: LATIN, CYRILLIC, CJK, ..."""
    return unicodedata.name(letter, "NONE").split(maxsplit=1)[0]
