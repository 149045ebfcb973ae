"""A text to translate, with the tags in it, and placeholders for what stays among its words."""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import TypeAlias

from dragoman.corpus.accelerators import Accelerator, find_accelerator
from dragoman.documents.placing import Tag, place_tags
from dragoman.documents.translated import TranslatedText
from dragoman.text.pretokenizer import CJK
from dragoman.text.protection import KINDS, Protection
from dragoman.translation.transforms.tag_placement import Placed

NUMBERED = r"</?\d+\s*/?>"  # the tags of React's translations: <1>here</1>, <0/>
# An entity that stands alone: of a symbol (&amp;, &copy;), or one that a program replaces (&brandName;).
ENTITY = r"(?<!\w)&(?:[a-zA-Z]\w{1,30}|#\d{1,7}|#[xX][0-9a-fA-F]{1,6});(?!\w)"
NAMED = ("placeholders", "urls", "emails")
WITHIN = (*NAMED, f"pattern={NUMBERED}", f"pattern={ENTITY}")  # what is protected in documents, and by a service
PROTECTED = Protection([*(KINDS[kind]() for kind in NAMED), re.compile(NUMBERED), re.compile(ENTITY)])
_FORMAT_SPECIFIERS = Protection([KINDS["placeholders"]()])
PLACEHOLDER = re.compile(r"\[X\d+X\]")


class ElementPlaceholders:
    """ElementPlaceholders, and what they stand for. None is in the text already."""

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


_SIGN = re.compile(r"[\s\d,;*†‡§¶®©™()\[\]–-]+")
_NOTED = re.compile(r"(?:[^\W\d_]{3}|[^\w\s])$")  # the end of a word, or a punctuation mark
_ENTITY = re.compile(ENTITY)
_SPACE = re.compile(r"\s+")
_WRAPPED = re.compile(rf"(?<=[{CJK}])[ \t]*\r?\n\s*(?=[{CJK}])")  # a line of Chinese or Japanese, without a space
_IMPOSSIBLE = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # in XML


@dataclass
class DocumentSegment:
    """A text to translate, with the tags in it, and both as they are written (`raw`). `escape` writes what stands
    between the tags of a translation, and `quoted` all of it, as its place wants it. Tags that `emphasis` matches
    are left out where the translation has no words between them.
    """

    text: str = ""
    marks: list[Tag] = field(default_factory=list)
    raw: str = ""
    escape: Callable[[str], str] = str
    quoted: Callable[[str], str] = str
    emphasis: re.Pattern[str] | None = None
    accelerator: Accelerator | None = None

    def take_accelerator(self) -> None:
        """Remove the keyboard accelerator of a label (`_File`) from the text; its translation gets one."""
        self.accelerator = taken = find_accelerator(self.text)
        if taken:
            self.text = self.text[: taken.begin] + self.text[taken.end :]
            size = taken.end - taken.begin
            shifts = (min(max(0, mark.offset - taken.begin), size) for mark in self.marks)
            self.marks = [
                mark._replace(offset=mark.offset - shift) for mark, shift in zip(self.marks, shifts, strict=True)
            ]

    def say(self, text: str) -> None:
        """Add text, in which any white space is a space, and a line break in Chinese or Japanese is nothing."""
        text = _SPACE.sub(" ", _WRAPPED.sub("", text) if "\n" in text else text)
        self.add(text.removeprefix(" ") if self.text.endswith(" ") and self._alone is None else text)

    def add(self, text: str) -> None:
        """Add text. The space after a tag that stands alone, such as a picture, belongs to the tag if there is nothing
        before that, or another space.
        """
        last = self._alone
        if last and text.startswith(" ") and (not self.text or self.text.endswith(" ")):
            self.marks[-1], text = last._replace(raw=last.raw + " "), text[1:]
        self.text += text

    @property
    def _alone(self) -> Tag | None:
        """The tag that stands alone here, if one does."""
        last = self.marks[-1] if self.marks else None
        return last if last and last.kind == "empty" and last.offset == len(self.text) else None

    def mark(self, raw: str, kind: str = "empty", name: str = "") -> None:
        """Add a tag."""
        self.marks.append(Tag(raw, len(self.text), kind, name))

    @property
    def worded(self) -> bool:
        """Whether there is anything to translate in it."""
        return any(map(str.isalpha, _ENTITY.sub("", PLACEHOLDER.sub("", self.text))))

    def written(self, translated: TranslatedText) -> str:
        """The translation of the line with its tags, or the line as it is if there is none."""
        if not translated.complete:
            return self.raw
        text = translated.text
        pieces, last = list[str](), 0
        tags = place_tags(self.marks, self.text, translated)
        if self.accelerator:
            place, mark = self.accelerator.insertion(text, PROTECTED.find(text))
            tags = sorted([*tags, Placed(self.escape(mark), place)], key=lambda tag: tag.offset)
        for tag in tags:
            emphasizes = tag.hollow and self.emphasis and self.emphasis.fullmatch(tag.raw)
            pieces += [self.escape(text[last : tag.offset]), "" if emphasizes else tag.raw]
            last = tag.offset
        return self.quoted("".join([*pieces, self.escape(text[last:])]))


def is_note(before: str, raised: str, after: str) -> bool:
    """Whether raised text between others is the number or sign of a note, and no part of a word or unit, as in
    2<sup>nd</sup> or 3 m<sup>2</sup>.
    """
    return bool(_SIGN.fullmatch(raised) and _NOTED.search(before)) and not after[:1].isalnum()


def remove_illegal_characters(text: str) -> str:
    """A text without the characters that no XML may have."""
    return _IMPOSSIBLE.sub("", text)


def join_surrogates(text: str) -> str:
    """A text with the characters of which JSON and YAML escape both halves (surrogates); a lone half becomes U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


Part: TypeAlias = str | DocumentSegment
