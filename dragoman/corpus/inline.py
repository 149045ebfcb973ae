"""Inline codes in the texts of XML files: placeholders and markup, which translators move about but do not change."""

from collections.abc import Iterable, Mapping
from itertools import count
from typing import NamedTuple

from dragoman.files.reading import LONGEST_TEXT

Attributes = Mapping[str, str]

CODES = frozenset("x bx ex ph it bpt ept ut sc ec".split())  # elements that are codes, and not text with a property
CLOSING = frozenset(["ex", "ept", "ec"])
IDS = "id", "startRef", "i", "x"  # attributes; without one, a code has its number in the text


class Mark(str):
    """A code that says nothing of itself: its id in braces, {1} or {/1}."""

    __slots__ = ()


class _Code(NamedTuple):
    """An element inside a text: where its content begins, what stands for it if it has none, its mark if it is a code,
    and what ends it.
    """

    begin: int
    instead: str | None
    mark: str
    end: str


class Inline:
    """A text with its codes, each of which is what it stands for: its content, or else what its attributes say. `known`
    is what those of a mark say.
    """

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.known: dict[str, str] = {}
        self._size = 0
        self._open: list[_Code] = []
        self._numbers = count(1)

    def start(self, tag: str, attributes: Attributes) -> None:
        """An element begins inside the text."""
        self.say(attributes.get("dispStart", ""))
        mark = ""
        if tag in CODES:
            named = next((attributes[name] for name in IDS if name in attributes), str(next(self._numbers)))
            mark = f"{{/{named}}}" if tag in CLOSING else f"{{{named}}}"
        instead = attributes.get("equiv-text", attributes.get("disp"))
        self._open.append(_Code(len(self.parts), instead, mark, attributes.get("dispEnd", "")))

    def end(self) -> bool:
        """An element ends; False if it is the one that has the text."""
        if not self._open:
            return False
        begin, instead, mark, end = self._open.pop()
        if len(self.parts) > begin or instead is not None:
            self.say("" if len(self.parts) > begin else instead or "")
            self.known |= {mark: "".join(self.parts[begin:])} if mark else {}
        else:
            self.say(Mark(mark))
        self.say(end)
        return True

    def say(self, text: str) -> None:
        """Text, or a part of it."""
        if text and self._size <= LONGEST_TEXT:
            self.parts.append(text)
            self._size += len(text)


class Told(NamedTuple):
    """Texts, and whether there are marks in them."""

    texts: list[str]
    marked: bool


def told(texts: Iterable[Inline]) -> Told:
    """The texts of a unit. A code that says nothing is what that of the same mark says in another of them."""
    texts = list(texts)
    known = {mark: said for text in texts for mark, said in text.known.items()}
    marked = any(isinstance(part, Mark) and part not in known for text in texts for part in text.parts)
    found = (
        "".join(known.get(part, part) if isinstance(part, Mark) else part for part in text.parts) for text in texts
    )
    return Told(list(found), marked)
