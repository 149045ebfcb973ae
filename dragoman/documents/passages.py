"""Texts of any length as sentences, and back without loss (extra `documents`)."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from dragoman.errors import UserError

LONGEST = 500  # characters of a sentence: a longer one is cut, so that no text keeps others waiting
_CUT = re.compile(r"[,;:)\]–—،、；：，]\s*|\s+")
_AROUND = re.compile(r"\s*(.*?)\s*", re.DOTALL)


class Passage(NamedTuple):
    """A text as its sentences and what stands before, between and after them: white space, and nothing else. There is
    one `between` more than there are sentences.
    """

    sentences: tuple[str, ...]
    between: tuple[str, ...]

    def joined(self, sentences: Sequence[str]) -> str:
        """The text with other sentences in place of these."""
        return self.between[0] + "".join(
            sentence + space for sentence, space in zip(sentences, self.between[1:], strict=True)
        )

    def part(self, first: int, end: int) -> "Passage":
        """The passage of some sentences, with what stands behind them, and before them if they are the first."""
        between = self.between[first + 1 : end + 1]
        return Passage(self.sentences[first:end], ("" if first else self.between[0], *between))


def split(text: str, language: str, *, sentences: bool = True) -> Passage:
    """Split a text into its sentences by the rules of a language, and never across lines. Without `sentences`, a line
    is one. Long ones are cut, where possible after a comma or the like, or between words.
    """
    found, between = list[str](), [""]
    for line in text.splitlines(keepends=True):
        for part in _sentences(line, language) if sentences else [line]:
            for piece in _cut(part):
                match = _AROUND.fullmatch(piece)
                assert match is not None
                begin, end = match.span(1)
                between[-1] += piece[:begin]
                if begin < end:
                    found.append(piece[begin:end])
                    between.append("")
                between[-1] += piece[end:]
    return Passage(tuple(found), tuple(between))


def _sentences(line: str, language: str) -> Sequence[str]:
    try:
        from sentencex import segment
    except ModuleNotFoundError as error:
        raise UserError(f"{error.name} is not installed; pip install 'dragoman[documents]' brings it") from error
    parts = [str(part) for part in segment(language, line)]
    return parts if "".join(parts) == line else [line]


def _cut(sentence: str) -> Iterator[str]:
    """Yield parts of a sentence that have at most LONGEST characters."""
    while len(sentence) > LONGEST:
        places = [match.end() for match in _CUT.finditer(sentence[:LONGEST])]
        place = places[-1] if places and places[-1] > LONGEST // 4 else LONGEST
        yield sentence[:place]
        sentence = sentence[place:]
    yield sentence
