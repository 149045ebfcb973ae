"""HTML: its texts are translated, and its markup comes through as it is written."""

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import NamedTuple, TypeAlias

from dragoman.serving.placing import Mark, Placed, placed
from dragoman.serving.service import Translated

INLINE = frozenset(
    "a abbr acronym b bdi bdo big cite del dfn em font i ins label mark q s small span strong sub sup time tt u".split()
)
VOID = frozenset("img wbr".split())  # in a line, without a text
VERBATIM = frozenset("code kbd math pre samp script style svg textarea var".split())
RAW = frozenset("script style textarea".split())  # hold no tags but their own end
BLOCKS = RAW | {"pre"}
EMPTY = frozenset("area base br col embed hr img input link meta param source track wbr".split())

_TAG = re.compile(r"""<(?P<end>/?)(?P<name>[a-zA-Z][^\s/<>"']*)(?P<rest>(?:[^<>"']|"[^"]*"|'[^']*')*+)>""")
_PAIRS = (("<!--", "-->"), ("<![CDATA[", "]]>"), ("<!", ">"), ("<?", ">"))
_UNTRANSLATED = re.compile(r"""\btranslate\s*=\s*["']?no\b|\bclass\s*=\s*["'][^"']*\bnotranslate\b""", re.IGNORECASE)
PLACEHOLDER = re.compile(r"\[X\d+X\]")
_SPACE = re.compile(r"\s+")


class Token(NamedTuple):
    """A tag (with its name), a text, or anything else, as it is written."""

    raw: str
    kind: str = "text"  # text, open, close, empty, other
    name: str = ""
    kept: bool = False  # whether what is in this element is not to be translated


@dataclass
class Line:
    """Texts between two blocks, with the tags among them: what is translated as one text."""

    text: str = ""
    marks: list[Mark] = field(default_factory=list)
    raw: str = ""

    def add(self, token: Token, raw: str | None = None) -> None:
        """Add a tag or a text, which is written as `raw` if not as it is."""
        self.raw += token.raw if raw is None else raw
        if token.kind == "text":
            text = _SPACE.sub(" ", html.unescape(token.raw))
            self.text += text[1:] if self.text.endswith(" ") and text.startswith(" ") else text
        else:
            self.marks.append(Mark(token.raw, len(self.text), token.kind, token.name))

    @property
    def worded(self) -> bool:
        return any(map(str.isalnum, PLACEHOLDER.sub("", self.text)))

    def apart(self) -> Iterator["Part"]:
        """Yield the line without space around it, and that space as it is written."""
        before, after = (len(self.raw) - len(each) for each in (self.raw.lstrip(), self.raw.rstrip()))
        if before:
            yield self.raw[:before]
            self.marks = [mark._replace(offset=mark.offset - 1) for mark in self.marks]
            self.text = self.text[1:]
        if after:
            self.text = self.text[:-1]
        self.marks = [mark._replace(offset=min(mark.offset, len(self.text))) for mark in self.marks]
        yield self
        if after:
            yield self.raw[-after:]

    def written(self, translated: Translated) -> str:
        """The translation of the line, with its tags."""
        return _with(placed(self.marks, self.text, translated), translated.text)


Part: TypeAlias = str | Line


class Kept:
    """Placeholders, and the elements that they stand for."""

    def __init__(self, text: str) -> None:
        self._free = (name for number in count(1) if (name := f"[X{number}X]") not in text)
        self._elements: dict[str, str] = {}

    def placeholder(self, element: str) -> str:
        name = next(self._free)
        self._elements[name] = element
        return name

    def back(self, text: str) -> str:
        """The text with the elements in the places of their placeholders."""
        return PLACEHOLDER.sub(lambda match: self._elements.get(match[0], match[0]), text)


class Document:
    """A page or a piece of one: what stays, and the lines to translate, with a placeholder for an element among words
    that stays.
    """

    def __init__(self, text: str) -> None:
        self._kept = Kept(text)
        self.parts = list(_parts(_tokens(text), self._kept))

    @property
    def lines(self) -> list[Line]:
        return [part for part in self.parts if isinstance(part, Line)]

    def written(self, translated: Sequence[Translated]) -> str:
        """The document with translations of its lines, in their order."""
        every = iter(translated)
        parts = (part if isinstance(part, str) else self._kept.back(part.written(next(every))) for part in self.parts)
        return "".join(parts)


def _with(tags: Sequence[Placed], text: str) -> str:
    """A text, escaped, with tags in it."""
    found, last = list[str](), 0
    for tag in tags:
        found += [html.escape(text[last : tag.offset], quote=False), tag.raw]
        last = tag.offset
    return "".join([*found, html.escape(text[last:], quote=False)])


def _tokens(text: str) -> Iterator[Token]:
    """Yield the tags and texts of HTML. A `<` that begins no tag is text. Takes time in proportion to the length."""
    last = {close: text.rfind(close) for _, close in _PAIRS}
    position = begun = 0
    while (position := text.find("<", position)) >= 0:
        token = _tag(text, position) or _other(text, position, last)
        if token is None:
            position += 1
            continue
        if begun < position:
            yield Token(text[begun:position])
        yield token
        begun = position = position + len(token.raw)
        if token.kind == "open" and token.name in RAW:
            end = re.compile(rf"</{token.name}\b", re.IGNORECASE).search(text, position)
            position = end.start() if end else len(text)
            if begun < position:
                yield Token(text[begun:position], "other")
                begun = position
    if begun < len(text):
        yield Token(text[begun:])


def _tag(text: str, position: int) -> Token | None:
    match = _TAG.match(text, position)
    if match is None:
        return None
    name, rest = match["name"].lower(), match["rest"]
    if match["end"]:
        return Token(match[0], "close", name)
    kind = "empty" if name in EMPTY or rest.endswith("/") else "open"
    return Token(match[0], kind, name, name in VERBATIM or _UNTRANSLATED.search(rest) is not None)


def _other(text: str, position: int, last: dict[str, int]) -> Token | None:
    """A comment, a declaration or the like, if it ends."""
    for begin, close in _PAIRS:
        if text.startswith(begin, position) and position + len(begin) <= last[close]:
            end = text.find(close, position + len(begin)) + len(close)
            return Token(text[position:end], "other")
    return None


def _parts(tokens: Iterator[Token], kept: Kept) -> Iterator[Part]:
    """Yield lines with words, and what stands between them."""
    line = Line()
    for token in tokens:
        inline = token.kind == "text" or token.name in INLINE or token.name in VOID
        if token.kind == "open" and token.kept:
            element = token.raw + "".join(_until_closed(token.name, tokens))
            if token.name in INLINE | VERBATIM - BLOCKS:
                line.add(Token(kept.placeholder(element)), element)
                continue
            token = Token(element, "other")
        if inline:
            line.add(token)
            continue
        yield from _flushed(line)
        line = Line()
        yield token.raw
    yield from _flushed(line)


def _flushed(line: Line) -> Iterator[Part]:
    if line.worded:
        yield from line.apart()
    elif line.raw:
        yield line.raw


def _until_closed(name: str, tokens: Iterator[Token]) -> Iterator[str]:
    """Yield what is in an element, and its end."""
    depth = 1
    for token in tokens:
        yield token.raw
        if token.name == name:
            depth += {"open": 1, "close": -1}.get(token.kind, 0)
        if not depth:
            return
