"""Protected spans put into a translation again: into its text, and as words of it."""

import re
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.text.pretokenizer import Span, chinese_or_japanese, of_word, spaceless
from dragoman.translation.transforms.stripped_text import Group
from dragoman.translation.transforms.tag_placement import places

_CLOSING = re.compile(r"[.,;:!?](?!\S)")


class Reinsertion(NamedTuple):
    """A group that is put back before this character of a translation: the spans of the source that its own are, and
    the number of their group there.
    """

    group: Group
    sources: tuple[Span, ...]
    number: int
    offset: int = 0


class RestoredText(NamedTuple):
    """A translation with its spans, and the place in it of each group that was put back; before which characters of the
    translation something was put in, and how many characters up to there.
    """

    text: str
    places: list[Span]
    offsets: list[int]
    inserted: list[int]

    def place(self, span: Span) -> Span:
        """A part of the translation without spans, as one of this."""
        begin, end = span
        before, within = bisect_right(self.offsets, begin), bisect_left(self.offsets, end)
        return begin + self.inserted[before], end + self.inserted[max(before, within)]


def joined(text: str, reinsertions: Sequence[Reinsertion], kept: int, *, apart: bool = False) -> RestoredText:
    """A translation with groups in their places. No span touches a word that it does not touch in its source, but
    perhaps the punctuation after it; `apart`, they touch nothing.
    """
    parts, spans, inserted, length, done, last = list[str](), list[Span](), [0], 0, 0, ""
    for group, _, _, offset in reinsertions:
        part, following = text[done:offset], text[offset : offset + 1]
        last = part[-1:] or last
        before = " " if _parted(last, " " if apart else group.before) else ""
        parted = _parted(following, " " if apart else group.after)
        if not apart and offset >= kept and _CLOSING.match(text, offset):
            parted = False
        after = " " if parted else ""
        begin = length + len(part) + len(before)
        parts += [part, before, group.text, after]
        spans.append((begin, begin + len(group.text)))
        inserted.append(inserted[-1] + len(before) + len(group.text) + len(after))
        length, done, last = begin + len(group.text) + len(after), offset, after or group.text[-1:]
    return RestoredText("".join([*parts, text[done:]]), spans, [back.offset for back in reinsertions], inserted)


def _parted(character: str, source: str) -> bool:
    """Whether a character that stands beside a span in a translation is to be parted from it, where this one stands
    there in the source: as there, but a script without spaces between words says nothing of one that has them, and
    punctuation of Chinese and Japanese has none beside it.
    """
    if not character or character.isspace():
        return False
    if spaceless(character) or chinese_or_japanese(character):
        return source.isspace() and spaceless(character)
    return source.isspace() or (of_word(character) and (spaceless(source) or not of_word(source)))


def merged(
    words: Sequence[str], text: str, inserted: Sequence[tuple[int, str]]
) -> tuple[list[str], list[int], dict[int, int]]:
    """The words of a text, and further ones before these characters of it; the numbers among them that the words have
    now, and those of the further ones by their place. What is put into a word becomes a part of it.
    """
    merged_words, numbers, rows, left = list[str](), list[int](), dict[int, int](), deque(enumerate(inserted))
    for word, (begin, end) in zip(words, places(words, text), strict=True):
        while left and left[0][1][0] <= begin:
            number, (_, further) = left.popleft()
            rows[number] = len(merged_words)
            merged_words.append(further)
        parts, done = list[str](), begin
        while left and left[0][1][0] < end:
            _, (offset, further) = left.popleft()
            parts += [word[done - begin : offset - begin], further]
            done = offset
        numbers.append(len(merged_words))
        merged_words.append("".join([*parts, word[done - begin :]]))
    for number, (_, further) in left:
        rows[number] = len(merged_words)
        merged_words.append(further)
    return merged_words, numbers, rows


def spread(values: NDArray[np.float64], numbers: Sequence[int], length: int) -> NDArray[np.float64]:
    """Values in the rows of these numbers among `length`, and zeros in the others."""
    spread_values = np.zeros((length, *values.shape[1:]))
    spread_values[list(numbers)] = values
    return spread_values
