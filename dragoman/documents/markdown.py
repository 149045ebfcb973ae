"""Markdown (extra `documents`): paragraphs, headings, items and cells are translated; code, links and layout stay."""

import heapq
import html
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import partial
from operator import itemgetter
from typing import NamedTuple

import tree_sitter_markdown
from tree_sitter import Language, Node, Parser

from dragoman.documents.dialects import ATTRIBUTES, STAYING, hide_extensions
from dragoman.documents.document import File, TextDocument
from dragoman.documents.document_segment import PLACEHOLDER, DocumentSegment, ElementPlaceholders, Part
from dragoman.documents.html import parts, tag
from dragoman.errors import UserError

BLOCKS = Parser(Language(tree_sitter_markdown.language()))
INLINE = Parser(Language(tree_sitter_markdown.inline_language()))

CELL, HTML, INDENT = "pipe_table_cell", "html_block", "block_continuation"
TEXTS = ("inline", CELL)  # blocks with a text
EMPHASIS = ("emphasis", "strong_emphasis", "strikethrough")
LINKS = ("inline_link", "full_reference_link")
SHORT_LINKS = ("collapsed_reference_link", "shortcut_link")  # the text of which names what it leads to
ATTRIBUTED = (*EMPHASIS, *LINKS, *SHORT_LINKS, "image", "code_span")  # what attributes may stand after: `*a*{.b}`
BREAK = "br"
CODES = ("code_span", "latex_block", "uri_autolink", "email_autolink")

_FIRST = re.compile(rb"\[\^[^\]\s]+\]:\s*|\[![A-Z]+\]\s*")  # of a footnote, of a note
_CLOSING = re.compile(rb"[ \t]+#+[ \t]*$")  # of a heading
_LAST_ATTRIBUTES = re.compile(rb"(?<!\S)" + ATTRIBUTES.pattern + rb"[ \t]*$")  # `## Title {#id}`
_EMPHASIS = re.compile(rf"[*_~]+(?:{ATTRIBUTES.pattern.decode()})?")  # how an element of emphasis begins and ends
_BLOCK = re.compile(r"(?=#{1,6}\s|[>+-]\s|[=-]+$)")
_NUMBERED = re.compile(r"^(\d+)([.)]\s)")
# tree-sitter's grammar follows all ways to pair delimiters at once: a time and memory that grow with their square.
MOST_DELIMITERS = 200
MOST_IMAGES = 500  # in a paragraph: the same holds for what may be an image
# Delimiters that begin and end nothing: those between spaces, as in a form to fill in, and `_` within a word.
_INERT = re.compile(rb"(?<!\S)(?:\*+|_+|~+)(?!\S)|(?<=[^\W_])_+(?=[^\W_])")
_DELIMITERS = re.compile(rb"\*+|_+|~+")
_SPECIAL = re.compile(r"[\\`*\[]|(?<!\w)_|_(?!\w)|<(?=[\w/!?])|&(?=#?\w+;)")


class Markdown(TextDocument):
    """The texts of a file of Markdown, as GitHub reads it. HTML in it is translated as such. Raises UserError for a
    paragraph with more emphasis or images than can be read in time proportional to its length.
    """

    def __init__(self, file: File) -> None:
        data = file.text.encode()
        parsable = hide_extensions(data)
        root = BLOCKS.parse(parsable.data).root_node
        kept = ElementPlaceholders(file.text)
        blocks = _Blocks(file.name, data, kept, frozenset(_labels(root, data)))
        super().__init__(blocks.parts(root, parsable.titles), kept)


def _labels(root: Node, data: bytes) -> Iterator[str]:
    """Yield what the file has references for, in lower case."""
    for node in _walk(root, ("link_reference_definition",)):
        label = node.named_children[0]
        yield _label(data[label.start_byte + 1 : label.end_byte - 1].decode())


def _label(text: str) -> str:
    """What a reference is known by, in whatever letter case and however it is wrapped."""
    return " ".join(text.split()).casefold()


class _Blocks(NamedTuple):
    """A file with its name, what stays among its words, and its references."""

    name: str
    data: bytes
    kept: ElementPlaceholders
    labels: frozenset[str]

    def parts(self, root: Node, titles: Sequence[tuple[int, int]]) -> Iterator[Part]:
        """Yield the texts, and what stands between them. Titles stand outside of all blocks."""
        nodes = ((node.start_byte, node.end_byte, node) for node in _walk(root, (*TEXTS, HTML)))
        spans = ((*title, None) for title in titles)
        end = 0
        for begin, full_end, node in heapq.merge(nodes, spans, key=itemgetter(0)):
            if begin < end:
                continue
            yield self._raw(end, begin)
            end = full_end
            if node is None:
                yield from self._title(begin, end)
            elif node.type == HTML:
                yield from parts(self._raw(node.start_byte, end), self.kept)
            else:
                yield from self._block(node)
        yield self._raw(end, len(self.data))

    def _title(self, begin: int, end: int) -> Iterator[Part]:
        """Yield a title, which may stand in quotation marks."""
        quoted = self.data[begin - 1 : begin] == b'"'
        for part in _lines(self.data[begin:end], self, self._raw(begin, end), "", cell=False):
            if isinstance(part, DocumentSegment):
                part.quoted = _unquoted if quoted else str
            yield part

    def _block(self, node: Node) -> Iterator[Part]:
        """Yield the text of a block, and what stands before and after it. What each of its lines begins with, such as
        `> `, is no part of the text.
        """
        match = _FIRST.match(self.data, node.start_byte, node.end_byte)
        begin = match.end() if match else node.start_byte
        indents = [child for child in node.children if child.type == INDENT and child.end_byte > begin]
        if indents and indents[0].start_byte <= begin:
            begin = indents.pop(0).end_byte
        heading = node.parent is not None and node.parent.type == "atx_heading"
        closing = _CLOSING.search(self.data, begin, node.end_byte) if heading else None
        end = closing.start() if closing else node.end_byte
        attributes = _LAST_ATTRIBUTES.search(self.data, begin, end)
        end = attributes.start() if attributes else end
        begins, ends = (
            [begin, *(child.end_byte for child in indents)],
            [*(child.start_byte for child in indents), end],
        )
        text = b"".join(self.data[a:b] for a, b in zip(begins, ends, strict=True))
        for count, most, what in (
            (_count_delimiters(text), MOST_DELIMITERS, "signs of emphasis"),
            (text.count(b"!["), MOST_IMAGES, "images"),
        ):
            if count > most:
                line = 1 + self.data.count(b"\n", 0, begin)
                raise UserError(f"{self.name}:{line}: expected at most {most} {what} in a paragraph")
        indent = self._raw(indents[0].start_byte, indents[0].end_byte) if indents else ""
        raw = self._raw(begin, end)
        block_parts = list(_lines(text, self, raw, indent, cell=node.type == CELL))
        yield self._raw(node.start_byte, begin)
        yield from block_parts if any(isinstance(part, DocumentSegment) for part in block_parts) else [raw]
        yield self._raw(end, node.end_byte)

    def _raw(self, begin: int, end: int) -> str:
        return self.data[begin:end].decode()


def _walk(root: Node, types: Sequence[str]) -> Iterator[Node]:
    """Yield the nodes of these types in their order, but none within another."""
    stack = [root]
    while stack:
        node = stack.pop()
        if node.type in types:
            yield node
        else:
            stack += reversed(node.children)


def _count_delimiters(text: bytes) -> int:
    """Return how many delimiters of emphasis a text may have. One of more than two characters counts as so many, since
    elements of emphasis may be nested as deep.
    """
    lengths = (match.end() - match.start() for match in _DELIMITERS.finditer(_INERT.sub(b"", text)))
    return sum(length if length > 2 else 1 for length in lengths)


def _lines(data: bytes, blocks: _Blocks, whole: str, indent: str, *, cell: bool) -> Iterator[Part]:
    """Yield the text of a block, which a line break may cut in several, and the space around them."""
    root = INLINE.parse(_hide(_INERT, _hide(STAYING, data))).root_node
    nodes, breaks = root.named_children, list(_breaks(root.named_children, data))
    begins, ends = (
        [0, *(node.end_byte for node in breaks)],
        [*(node.start_byte for node in breaks), len(data)],
    )
    for number, (begin, end) in enumerate(zip(begins, ends, strict=True)):
        piece = data[begin:end]
        before, after = (len(piece) - len(rest) for rest in (piece.lstrip(), piece.rstrip()))
        raw = piece.decode().strip().replace("\n", "\n" + indent) if breaks else whole.strip()
        line = DocumentSegment(raw=raw, escape=partial(_escaped, cell=cell), quoted=_begun, emphasis=_EMPHASIS)
        first = bisect_left(nodes, begin, key=lambda node: node.start_byte)
        last = bisect_left(nodes, end, key=lambda node: node.start_byte)
        _Inline(data, blocks, line).read(nodes[first:last], begin + before, max(begin + before, end - after))
        between = (data[ends[number - 1] : begin] if number else b"") + piece[:before]
        yield between.decode().replace("\n", "\n" + indent)
        yield line if line.worded else line.raw
        yield piece[len(piece) - after :].decode().replace("\n", "\n" + indent) if raw else ""


def _hide(pattern: re.Pattern[bytes], data: bytes) -> bytes:
    """Return a text with letters in place of what the parser is not to see."""
    return pattern.sub(lambda match: b"x" * len(match[0]), data)


def _breaks(nodes: Sequence[Node], data: bytes) -> Iterator[Node]:
    """Yield the nodes at which a line ends: `<br>` only where no element is open."""
    begun: list[str] = []
    for node in nodes:
        token = tag(data[node.start_byte : node.end_byte].decode()) if node.type == "html_tag" else None
        if node.type == "hard_line_break" or (token and token.name == BREAK and not begun):
            yield node
        elif token and token.kind == "open":
            begun.append(token.name)
        elif token and token.kind == "close" and begun and begun[-1] == token.name:
            begun.pop()


class _Inline:
    """A text with the tags in it, from what Markdown has within a block."""

    def __init__(self, data: bytes, blocks: _Blocks, line: DocumentSegment) -> None:
        self.data, self.blocks, self.line = data, blocks, line

    def read(self, nodes: Sequence[Node], begin: int, end: int) -> None:
        """Add a part of a text, of which these are nodes."""
        children = [child for child in nodes if begin <= child.start_byte and child.end_byte <= end]
        closing = self._closing(children)
        for child in children:
            if begin > child.start_byte:
                continue
            self._say(begin, child.start_byte)
            begin = closing.get(child.start_byte, child.end_byte)
            if child.type in ATTRIBUTED and (attributes := ATTRIBUTES.match(self.data, begin, end)):
                begin = attributes.end()
            raw = self._raw(child.start_byte, begin)
            if child.start_byte in closing:
                self.line.text += self.blocks.kept.placeholder(raw)
            else:
                self._add(child, raw, begin)
        self._say(begin, end)

    def _say(self, begin: int, end: int) -> None:
        """Add text, in which extensions such as wiki links stay."""
        for match in STAYING.finditer(self.data, begin, end):
            self.line.say(self._raw(begin, match.start()))
            self.line.text += self.blocks.kept.placeholder(self._raw(*match.span()))
            begin = match.end()
        self.line.say(self._raw(begin, end))

    def _closing(self, nodes: Sequence[Node]) -> dict[int, int]:
        """Where elements of HTML end that are not to be translated, by where they begin."""
        ends, begun = dict[int, int](), list[tuple[str, int | None]]()
        for node in nodes:
            token = tag(self._raw(node.start_byte, node.end_byte)) if node.type == "html_tag" else None
            if token and token.kind == "open":
                begun.append((token.name, node.start_byte if token.kept else None))
            elif token and token.kind == "close" and begun and begun[-1][0] == token.name:
                _, begin = begun.pop()
                if begin is not None:
                    ends[begin] = node.end_byte
        return ends

    def _add(self, node: Node, raw: str, full_end: int) -> None:
        """Add a node, which ends with its attributes, if it has any, at `full_end`."""
        if node.type in EMPHASIS:
            delimiters = [child for child in node.children if child.type == "emphasis_delimiter"]
            half = len(delimiters) // 2
            self._around(node, delimiters[half - 1].end_byte, delimiters[half].start_byte, full_end)
        elif node.type in LINKS + SHORT_LINKS and (text := _child(node, "link_text")):
            label = self._raw(text.start_byte, text.end_byte)
            if node.type in LINKS or full_end > node.end_byte:  # `[text]{.class}` is a span
                self._around(node, text.start_byte, text.end_byte, full_end)
            elif _label(label) in self.blocks.labels:
                self._around(node, text.start_byte, text.end_byte, full_end, f"][{' '.join(label.split())}]")
            elif label.startswith("^"):  # a footnote
                self.line.mark(raw)
            else:
                self.read(node.named_children, node.start_byte, node.end_byte)
        elif node.type in CODES:
            self.line.text += self.blocks.kept.placeholder(raw)
        elif node.type in ("backslash_escape", "entity_reference", "numeric_character_reference"):
            self.line.text += raw[1:] if raw.startswith("\\") else html.unescape(raw)
        elif node.type == "html_tag" and (token := tag(raw)):
            if token.name == BREAK:  # words on both sides of it are two
                self.line.say(" ")
            self.line.mark(raw, token.kind, token.name)
        elif node.type in ("html_tag", "image"):
            self.line.mark(raw)
        else:
            self.read(node.named_children, node.start_byte, node.end_byte)

    def _around(self, node: Node, begin: int, end: int, full_end: int, close: str | None = None) -> None:
        """Add what is between `begin` and `end`, with the rest of a node up to `full_end` as the tags around it."""
        self.line.mark(self._raw(node.start_byte, begin), "open", node.type)
        self.read(node.named_children, begin, end)
        self.line.mark(self._raw(end, full_end) if close is None else close, "close", node.type)

    def _raw(self, begin: int, end: int) -> str:
        return self.data[begin:end].decode()


def _unquoted(text: str) -> str:
    return text.replace('"', "&quot;")


def _child(node: Node, kind: str) -> Node | None:
    return next((child for child in node.named_children if child.type == kind), None)


def _escaped(text: str, *, cell: bool) -> str:
    """A text of which nothing is markup. ElementPlaceholders are what stays."""
    texts, placeholders = PLACEHOLDER.split(text), [*PLACEHOLDER.findall(text), ""]
    escaped = "".join(
        _SPECIAL.sub(r"\\\g<0>", piece) + staying for piece, staying in zip(texts, placeholders, strict=True)
    )
    return escaped.replace("|", "\\|") if cell else escaped


def _begun(text: str) -> str:
    """A text that begins no list, heading or quotation."""
    return _BLOCK.sub(r"\\", text, count=1) if _BLOCK.match(text) else _NUMBERED.sub(r"\1\\\2", text)
