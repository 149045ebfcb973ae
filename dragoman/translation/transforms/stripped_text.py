"""Texts without their protected spans."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from dragoman.text.pretokenizer import Span
from dragoman.text.protection import Protection

AROUND = ("()", "[]", '""', "''", "“”", "‘’", "«»", "„“")


class Group(NamedTuple):
    """Spans of a text with nothing but punctuation between them, and the brackets or quotation marks around them: as
    they are written, where each span stands in the text, where the group begins there, and before which character of
    the rest (`offset`); the characters before and after it; its number in the source.
    """

    text: str
    spans: tuple[Span, ...]
    begin: int
    offset: int
    before: str
    after: str
    number: int


class StrippedText(NamedTuple):
    """A text without its protected spans, which are in `groups`. Of a space on both sides of a span, one is left.
    `places` tells where each character of the rest stands in the text.
    """

    text: str
    places: Sequence[int]
    groups: tuple[Group, ...]

    @property
    def worded(self) -> bool:
        """Whether there is anything to translate: a letter or a digit."""
        return any(map(str.isalnum, self.text))

    def place(self, span: Span) -> Span:
        """A part of the rest, at least one character long, as a part of the text."""
        begin, end = span
        return self.places[begin], self.places[end - 1] + 1


def unknown(text: str, protection: Protection, model_protection: Protection | None) -> list[Span]:
    """The protected spans of a text that a model does not know: of spans that overlap, those that begin first, and of
    these the longest.
    """
    if model_protection is None:
        return protection.find(text)
    there = set(model_protection.find(text))
    return [
        place
        for place in Protection([*protection.patterns, *model_protection.patterns]).find(text)
        if place not in there
    ]


def without(text: str, protection: Protection, model_protection: Protection | None) -> str:
    """A text without its protected spans, but for those that a model knows."""
    return strip_spans(text, unknown(text, protection, model_protection)).text


def strip_spans(text: str, spans: Sequence[Span], *, beginning: bool = False) -> StrippedText:
    """A text without these spans, from left to right. It has no space at its ends then, but for that after the
    `beginning` of a translation. A text without spans stays as it is.
    """
    if not spans:
        return StrippedText(text, range(len(text)), ())
    left, groups, last = list[int](), list[Group](), 0

    def keep(begin: int, end: int) -> None:
        spaced = not left or text[left[-1]].isspace()
        while spaced and begin < end and text[begin].isspace():
            begin += 1
        left.extend(range(begin, end))

    for number, (begin, end, within) in enumerate(_grouped(text, spans)):
        keep(last, begin)
        beside = text[max(0, begin - 1) : begin], text[end : end + 1]
        groups.append(Group(text[begin:end], within, begin, len(left), *beside, number))
        last = end
    keep(last, len(text))
    while left and not beginning and text[left[-1]].isspace():
        left.pop()
    placed_groups = tuple(group._replace(offset=min(group.offset, len(left))) for group in groups)
    return StrippedText("".join(text[place] for place in left), left, placed_groups)


def _grouped(text: str, spans: Sequence[Span]) -> Iterator[tuple[int, int, tuple[Span, ...]]]:
    """Yield the begin and end of each group, and its spans."""
    groups = list[list[Span]]()
    for span in spans:
        between = text[groups[-1][-1][1] : span[0]] if groups else " "
        if any(character.isalnum() or character.isspace() for character in between):
            groups.append([])
        groups[-1].append(span)
    last = 0
    for within in groups:
        begin, end = within[0][0], within[-1][1]
        while begin > last and text[begin - 1] + text[end : end + 1] in AROUND:
            begin, end = begin - 1, end + 1
        yield begin, end, tuple(within)
        last = end
