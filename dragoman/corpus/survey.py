"""One pass over a corpus that keeps a few numbers for each pair, and finds outliers among them; and the characters that
look out of place.
"""

import math
import re
import unicodedata
from array import array
from collections import Counter
from collections.abc import Callable, Iterator
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dragoman.corpus.examples import Pair
from dragoman.corpus.numbering import NumberedCorpus
from dragoman.files.reading import LONGEST_TEXT
from dragoman.text.normalizer import Normalizer
from dragoman.text.pretokenizer import Pretokenizer

RARE_SCRIPT = 0.001  # share of the letters below which a script is foreign to a text
JOINERS = "\u200c\u200d"
REPLACEMENT = "\ufffd"
ODD_CATEGORIES = ("Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp")


class UnusualCharacter(NamedTuple):
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


class CharacterCounter:
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

    def unusual(self, side: str, examples: NumberedCorpus) -> list[UnusualCharacter]:
        """The characters that look out of place, most frequent first.

        These are control, format and private-use characters (except joiners, which some scripts need), U+FFFD, and
        letters of a script that makes up less than a thousandth of the letters, counted by lines.
        """
        characters = [
            UnusualCharacter(
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


FAR = 5.0  # standard deviations of the log length ratio beyond which a pair looks misaligned,
LEAST_FAR = math.log(2.5)  # but only if the ratio is also more than 2.5 times the usual one,
LEAST_CHARACTERS = 12  # and the longer side has more characters than this
BLOCK = 200  # pairs in which a shift between the files is searched for
SHIFTS = (-3, -2, -1, 1, 2, 3)
SHIFT_GAIN = 0.3  # least increase of the correlation of lengths by a shift

_NUMBER = re.compile(r"\d+(?:[.,\u00a0\u202f]\d+)*")
_SEPARATOR = re.compile(r"[.,\u00a0\u202f]")
_TWICE_DECODED = re.compile(
    "[\u00c2\u00c3][\u0080-\u00bf\u0152-\u0192\u2013-\u2122]|\u00e2[\u0080\u20ac]|\u00ef\u00bb\u00bf"
)

Lines = npt.NDArray[np.int64]  # numbers of pairs from 0, counted through all files


class Survey:
    """Lengths, hashes and irregularities of every pair of a corpus."""

    def __init__(self, pretokenizers: tuple[Pretokenizer, Pretokenizer]) -> None:
        self.pairs = 0
        self.words = (array("i"), array("i"))
        self.characters = (array("i"), array("i"))
        self.alphabets = (CharacterCounter(), CharacterCounter())
        self._hashes = (array("Q"), array("Q"))
        self._noted = {name: array("q") for name in NOTES}
        self._normalize = Normalizer(lowercase=False)
        self._pretokenizers = pretokenizers

    def add(self, pair: Pair) -> None:
        """Look at the next pair of the corpus."""
        clean = Pair(*(self._normalize(text).strip() for text in pair))
        for side, text in enumerate(clean):
            self.words[side].append(len(self._pretokenizers[side](text)))
            self.characters[side].append(len(text))
            self.alphabets[side].add(pair[side], self.pairs)
            self._hashes[side].append(int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little"))
        for name, applies in NOTES.items():
            if applies(pair, clean):
                self._noted[name].append(self.pairs)
        self.pairs += 1

    def findings(self) -> Iterator[tuple[str, Lines]]:
        """Yield each kind of finding with its pairs."""
        lengths = [np.frombuffer(side, np.int32).astype(np.float64) for side in self.characters]
        for name, lines in self._noted.items():
            yield name, np.frombuffer(lines, np.int64)
        source, target = (np.frombuffer(side, np.uint64) for side in self._hashes)
        again = _repeated(source)
        pair_again = _repeated(source * np.uint64(3) + target)  # overflow is harmless in a hash
        yield "pair repeated", np.flatnonzero(pair_again & (lengths[0] > 0))
        yield "source repeated with another target", np.flatnonzero(again & ~pair_again & (lengths[0] > 0))
        yield "unusual length ratio, perhaps misaligned", misaligned(*lengths)
        yield "lengths match better with an offset, perhaps shifted from here on", shifted(*lengths)


def _repeated(hashes: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]:
    """True for every value that has occurred before."""
    again = np.ones(len(hashes), bool)
    again[np.unique(hashes, return_index=True)[1]] = False
    return again


def misaligned(source: npt.NDArray[np.float64], target: npt.NDArray[np.float64]) -> Lines:
    """The pairs whose log ratio of characters is far from the median, relative to the median absolute deviation."""
    pairs = np.flatnonzero((source > 0) & (target > 0))
    if not len(pairs):
        return pairs
    ratio = np.log(source[pairs] / target[pairs])
    away = np.abs(ratio - np.median(ratio))
    # 1.4826 median absolute deviations are the standard deviation of a normal distribution.
    far = max(FAR * 1.4826 * float(np.median(away)), LEAST_FAR)
    long_enough = np.maximum(source, target)[pairs] > LEAST_CHARACTERS
    lines: Lines = pairs[(away > far) & long_enough]
    return lines


def shifted(source: npt.NDArray[np.float64], target: npt.NDArray[np.float64]) -> Lines:
    """The first pair of each block whose lengths correlate clearly better if the targets are moved a few lines."""
    blocks = []
    for begin in range(0, len(source) - BLOCK + 1, BLOCK):
        inner = np.arange(begin + max(SHIFTS), begin + BLOCK - max(SHIFTS))
        straight = _correlation(source[inner], target[inner])
        if max(_correlation(source[inner], target[inner + shift]) for shift in SHIFTS) > straight + SHIFT_GAIN:
            blocks.append(begin)
    return np.array(blocks, np.int64)


def _correlation(first: npt.NDArray[np.float64], second: npt.NDArray[np.float64]) -> float:
    centered = [np.log1p(values) - np.log1p(values).mean() for values in (first, second)]
    norm = float(np.linalg.norm(centered[0]) * np.linalg.norm(centered[1]))
    return float(centered[0] @ centered[1]) / norm if norm else 0.0


def _numbers(text: str) -> list[str]:
    return sorted(_SEPARATOR.sub("", number) for number in _NUMBER.findall(text))


# Conditions on a pair as written (`raw`) and as normalized.
NOTES: dict[str, Callable[[Pair, Pair], object]] = {
    "source empty": lambda raw, pair: not pair.source,
    "target empty": lambda raw, pair: not pair.target,
    f"longer than {LONGEST_TEXT:,} characters, so not checked to its end": lambda raw, pair: (
        max(map(len, raw)) > LONGEST_TEXT
    ),
    "target identical to source": lambda raw, pair: pair.source and pair.source == pair.target,
    "numbers differ": lambda raw, pair: _numbers(pair.source) != _numbers(pair.target),
    "decoded twice (such as \u00c3\u00a4 for \u00e4)": lambda raw, pair: any(map(_TWICE_DECODED.search, raw)),
}
