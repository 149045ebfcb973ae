"""What stays among the words of a text: placeholders stand for it meanwhile."""

import re
from collections import Counter
from itertools import count

from dragoman.text.protection import KINDS, Protection

NUMBERED = r"</?\d+\s*/?>"  # the tags of React's translations: <1>here</1>, <0/>
# An entity that stands alone: of a symbol (&amp;, &copy;), or one that a program replaces (&brandName;).
ENTITY = r"(?<!\w)&(?:[a-zA-Z]\w{1,30}|#\d{1,7}|#[xX][0-9a-fA-F]{1,6});(?!\w)"
NAMED = ("placeholders", "urls", "emails")
WITHIN = (*NAMED, f"pattern={NUMBERED}", f"pattern={ENTITY}")  # what is protected in documents, and by a service
PROTECTED = Protection([*(KINDS[kind]() for kind in NAMED), re.compile(NUMBERED), re.compile(ENTITY)])
_FORMAT_SPECIFIERS = Protection([KINDS["placeholders"]()])
PLACEHOLDER = re.compile(r"\[X\d+X\]")


class Placeholders:
    """Placeholders, and what they stand for. None is in the text already."""

    def __init__(self, text: str) -> None:
        names = frozenset(PLACEHOLDER.findall(text))
        self._free = (name for number in count(1) if (name := f"[X{number}X]") not in names)
        self._elements: dict[str, str] = {}

    def placeholder(self, element: str) -> str:
        name = next(self._free)
        self._elements[name] = element
        return name

    def restore(self, text: str) -> str:
        """The text with the elements in the places of their placeholders."""
        return PLACEHOLDER.sub(lambda match: self._elements.get(match[0], match[0]), text)


def lacks_placeholder(singular: str, plural: str) -> bool:
    """Return whether the singular of a message lacks a placeholder of its plural, or has another in its place."""
    counts = [Counter(text[begin:end] for begin, end in _FORMAT_SPECIFIERS.find(text)) for text in (singular, plural)]
    return bool(counts[1] - counts[0])
