"""Places of a text in its translation: where the words are that its words became."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice, takewhile
from math import ceil
from typing import NamedTuple

import numpy as np

from dragoman.text.pretokenizer import Span, of_word, spaceless

_WORD = re.compile(r"\S")
_LETTER = re.compile(r"\w")


class Placed(NamedTuple):
    """A tag, and before which character of a text it stands. `hollow`: the element has lost its words."""

    raw: str
    offset: int
    hollow: bool = False


@dataclass
class Node:
    """An element with its tags and those within it, or a tag alone (`end` is None)."""

    begin: int
    end: int | None
    tags: tuple[str, ...]
    within: list["Node"] = field(default_factory=list)


def places(words: Sequence[str], text: str) -> Iterator[Span]:
    """Yield where each word stands in a text; where it is written otherwise there, after the one before."""
    end, lowered = 0, text.lower()
    same = len(lowered) == len(text)
    for word in words:
        begin = text.find(word, end)
        begin = lowered.find(word.lower(), end) if begin < 0 and same else begin
        if begin < 0:
            yield end, end
        else:
            end = begin + len(word)
            yield begin, end


def shared(one: Span, other: Span) -> int:
    """How many characters two spans have in common; negative if there are some between them."""
    return min(one[1], other[1]) - max(one[0], other[0])


class _Extremes:
    """The least (or greatest, `best`) of any stretch of some numbers: a sparse table, for elements within elements."""

    def __init__(self, numbers: Sequence[int], best: np.ufunc) -> None:
        self._best = best
        self._levels, width = [np.array(numbers, int)], 1
        while 2 * width <= len(numbers):
            last = self._levels[-1]
            self._levels.append(best(last[:-width], last[width:]))
            width *= 2

    def of(self, begin: int, end: int) -> int:
        level = (end - begin).bit_length() - 1
        numbers = self._levels[level]
        return int(self._best(numbers[begin], numbers[end - 2**level]))


class Ends:
    """A text and its translation, and which places of one are which of the other (words of the text do not overlap).
    Words that are not linked may have `weak` links, for elements that would be around nothing without.
    """

    def __init__(
        self, text: str, translation: str, links: Sequence[tuple[Span, Span]], weak: Sequence[tuple[Span, Span]] = ()
    ) -> None:
        self.text = text
        self.translation = translation
        self.links = sorted(links)
        self._weak = sorted(weak)
        self._begins = [here[0] for here, _ in self.links]
        self._ends = [here[1] for here, _ in self.links]
        there = [there if here[0] < here[1] else (len(translation), 0) for here, there in self.links]
        self._lowest = _Extremes([span[0] for span in there], np.minimum)
        self._highest = _Extremes([span[1] for span in there], np.maximum)

    def written(self, nodes: Sequence[Node], read: Span, room: Span) -> Iterator[Placed]:
        """Yield tags with their places in `room` of the translation, to which `read` of the text went. Elements may be
        nested deeper than Python's calls.
        """
        levels, closing = [self._level(nodes, read, room)], list[Placed]()
        while levels:
            element = next(levels[-1], None)
            if element is not None:
                node, begin, end = element
                hollow = begin == end and node.end is not None and node.begin < node.end
                yield Placed(node.tags[0], begin, hollow)
                if node.end is not None:
                    levels.append(self._level(node.within, (node.begin, node.end), (begin, end)))
                    closing.append(Placed(node.tags[1], end, hollow))
                continue
            levels.pop()
            if closing:
                yield closing.pop()

    def _level(self, nodes: Sequence[Node], read: Span, room: Span) -> Iterator[tuple[Node, int, int]]:
        """Yield elements of one level from left to right, each with where it begins and ends in the translation."""
        spans = sorted((self._span(node, read, room), order) for order, node in enumerate(nodes))
        last = room[0]
        for (begin, end), order in spans:
            begin = max(begin, last)
            last = max(end, begin)
            yield nodes[order], begin, last

    def _span(self, node: Node, read: Span, room: Span) -> Span:
        """Where an element goes: around all if nothing was outside of it, or else around what its words became."""
        end = node.begin if node.end is None else node.end
        outside = _WORD.search(self.text, read[0], node.begin) or _WORD.search(self.text, end, read[1])
        if end > node.begin and not outside:
            return self._spaced(node, end, self._words(room), room)
        if copied := self._copied(node.begin, end):
            return copied
        first, stop = bisect_right(self._ends, node.begin), bisect_left(self._begins, end)
        while first < stop and not self._within(first, node.begin, end):
            first += 1
        while first < stop and not self._within(stop - 1, node.begin, end):
            stop -= 1
        if first < stop:
            target_span = self._lowest.of(first, stop), self._highest.of(first, stop)
            return self._spaced(node, end, target_span, room)
        if _LETTER.search(self.text, node.begin, end) and (translated := self._in_part(node.begin, end)):
            return self._spaced(node, end, translated, room)
        begin = min(max(self._point(node.begin, read, room), room[0]), room[1])
        within = self.text[node.begin : end]  # white space at most
        return begin, begin + len(within) if self.translation.startswith(within, begin, room[1]) else begin

    def _copied(self, begin: int, end: int) -> Span | None:
        """The same characters of the translation, for a part of a word that was copied."""
        first = bisect_right(self._ends, begin)
        if begin >= end or first == len(self.links):
            return None
        word, there = self.links[first]
        copied = self.text[slice(*word)] == self.translation[slice(*there)]
        if not copied or word[0] > begin or end > word[1] or word == (begin, end):
            return None
        return begin + there[0] - word[0], end + there[0] - word[0]

    def _in_part(self, begin: int, end: int) -> Span | None:
        """What became of a part of the text that has no more than half of any linked word: its share of what that word
        became, as a symbol may be several words in scripts without spaces; or else what it is weakly linked to.
        """
        numbers = range(bisect_right(self._ends, begin), bisect_left(self._begins, end))
        if numbers:
            number = max(numbers, key=lambda number: shared(self.links[number][0], (begin, end)))
            word = self.links[number][0]
            targets = sorted(self._beside(bisect_left(self.links, (word, (0, 0))), word))
            share = len(targets) / (word[1] - word[0])
            first = int((max(begin, word[0]) - word[0]) * share)
            targets = targets[first : max(first + 1, ceil((min(end, word[1]) - word[0]) * share))]
        else:
            first = bisect_left(self._weak, ((begin, 0), (0, 0)))
            weak = islice(self._weak, first, None)
            targets = sorted(there for _, there in takewhile(lambda link: link[0][0] < end, weak))
        return (targets[0][0], max(there[1] for there in targets)) if targets else None

    def _within(self, number: int, begin: int, end: int) -> bool:
        """Whether more than half of a linked word is in this part of the text."""
        here, _ = self.links[number]
        return 2 * shared(here, (begin, end)) > here[1] - here[0]

    def _spaced(self, node: Node, end: int, span: Span, room: Span) -> Span:
        """A part of the room with the space around its words that an element has around its own."""
        text = self.text[node.begin : end]
        before, trailing = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
        begin, after = min(max(span[0], room[0]), room[1]), min(max(span[1], room[0]), room[1])
        begin -= len(before) if self.translation.endswith(before, room[0], begin) else 0
        after += len(trailing) if self.translation.startswith(trailing, after, room[1]) else 0
        return begin, max(begin, after)

    def _words(self, room: Span) -> Span:
        """A part of the translation without the space around it."""
        text = self.translation[room[0] : room[1]]
        begin = room[0] + len(text) - len(text.lstrip())
        return begin, max(begin, room[1] - len(text) + len(text.rstrip()))

    def _point(self, offset: int, read: Span, room: Span) -> int:
        """Where a place of the text is in the translation: before what the next word became, or else after what the
        last word before became, and the space there; after that word, too, if it ends there and no other begins; in
        proportion if there are none, and not in a word if nothing is linked.
        """
        after, before = bisect_left(self._begins, offset), bisect_right(self._ends, offset)
        ends = before > 0 and self._ends[before - 1] == offset > 0 and not self.text[offset : offset + 1].isalnum()
        if after < len(self.links) and not ends:
            word = self.links[after][0]
            place = min(there[0] for there in self._beside(after, word))
            spaces = self.text[offset : word[0]]
            beside = not spaces.strip() and self.translation.endswith(spaces, room[0], place)
            return place - len(spaces) if beside else place
        if before:
            word = self.links[before - 1][0]
            place = max(there[1] for there in self._beside(bisect_left(self.links, (word, (0, 0))), word))
            spaces = self.text[word[1] : offset]
            return place + len(spaces) if self.translation.startswith(spaces, place) else place
        place = room[0] + round((offset - read[0]) / max(1, read[1] - read[0]) * (room[1] - room[0]))
        return place if self.links or place <= room[0] else unbroken(self.translation, place, room[1])

    def _beside(self, first: int, word: Span) -> Iterator[Span]:
        """Yield what a word became, whose links begin here."""
        while first < len(self.links) and self.links[first][0] == word:
            yield self.links[first][1]
            first += 1


def unbroken(text: str, place: int, end: int) -> int:
    """The next place of a text, up to the end of a part of it, that is not between two letters of a word."""
    while place < end and all(map(_lettered, text[place - 1 : place + 1])):
        place += 1
    return place


def _lettered(character: str) -> bool:
    """Whether words have this character, and spaces between them."""
    return of_word(character) and not spaceless(character)
