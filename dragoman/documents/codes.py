"""XML whose texts have codes in them, such as `<ph id="1"/>`."""

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from copy import deepcopy
from typing import Any
from xml.parsers import expat
from xml.sax.saxutils import quoteattr

from lxml import etree

from dragoman.corpus.xml import local_name, parse_tree
from dragoman.documents.document import UTF_16, encode_utf16
from dragoman.documents.document_segment import DocumentSegment, ElementPlaceholders, remove_illegal_characters
from dragoman.documents.html import Entities, tokens
from dragoman.documents.placing import Tag, pair_tags
from dragoman.errors import UserError

AROUND = ("g", "pc", "mrk", "hi", "sub")  # elements with words of the sentence in them
OPENING, CLOSING = ("bpt", "bx", "sc", "sm"), ("ept", "ex", "ec", "em")  # codes that come in pairs
PAIRS = ("rid", "startRef", "i", "id")  # attributes by which these know each other
_TAG = re.compile(rb"""<(?:[^>"']|"[^"]*"|'[^']*')*>""")
_CODE = re.compile("\0([<>/])([0-9]+)\0")


class OriginalFile:
    """A file as it is written, of which only some elements change."""

    def __init__(self, tree: Any, data: bytes) -> None:
        self._tree, self._data = tree, data
        self._elements = [element for element in tree.getroot().iter() if isinstance(element.tag, str)]

    def serialized(self, changed: Iterable[Any], declared: Iterable[tuple[Any, str]] = ()) -> bytes:
        """Return the file with the elements that have changed, and elements that have got an attribute more, of this
        name. All else stays as it is written, if the file then says the same as the tree; or else only what stands
        before and after the root.
        """
        info, is_utf16 = self._tree.docinfo, self._data.startswith(tuple(UTF_16))
        encoding = "UTF-16" if is_utf16 else info.encoding or "UTF-8"
        for elements, attributes in ((changed, declared), ([self._tree.getroot()], [])):
            with suppress(LookupError, UnicodeError, UserError, expat.ExpatError):
                text = self._data.decode(encoding)
                spliced = _replace_spans(text.encode(), self._spans(text, elements, attributes))
                written = _encode(spliced.decode(), self._data, encoding)
                if _canonical(parse_tree("", written)) == _canonical(self._tree):
                    return written
        standalone = True if info.standalone else None
        written = bytes(etree.tostring(self._tree, xml_declaration=True, encoding=encoding, standalone=standalone))
        return encode_utf16(written.decode(encoding), self._data) if is_utf16 else written

    def _spans(
        self, text: str, changed: Iterable[Any], declared: Iterable[tuple[Any, str]]
    ) -> Iterator[tuple[int, int, bytes]]:
        """Yield spans of the text's UTF-8, each with what takes its place."""
        data, places = text.encode(), _places(text)
        if len(places) != len(self._elements):
            raise UserError("elements of another reader")
        numbers = {element: number for number, element in enumerate(self._elements)}
        for element in dict.fromkeys(changed):
            written = _serialize_within(element)
            yield (*places[numbers[element]], (written.replace("\n", "\r\n") if "\r\n" in text else written).encode())
        for element, name in declared:
            tag = _TAG.match(data, places[numbers[element]][0])
            assert tag is not None
            after = tag.end() - (2 if tag[0].endswith(b"/>") else 1)
            yield after, after, f" {name}={quoteattr(element.get(name))}".encode()


def _places(text: str) -> list[tuple[int, int]]:
    """Return where each element begins and ends in the UTF-8 of a file, in the order of their beginnings."""
    data, places, open_elements = text.encode(), list[tuple[int, int]](), list[int]()
    parser = expat.ParserCreate("UTF-8")  # whatever the file says

    def start(*_: object) -> None:
        open_elements.append(len(places))
        places.append((parser.CurrentByteIndex, 0))

    def end(_: object) -> None:
        tag = _TAG.match(data, parser.CurrentByteIndex)
        number = open_elements.pop()
        places[number] = places[number][0], tag.end() if tag else len(data)

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.Parse(data, True)
    return places


def _replace_spans(data: bytes, spans: Iterable[tuple[int, int, bytes]]) -> bytes:
    """Replace spans that do not overlap."""
    parts, position = list[bytes](), 0
    for begin, end, written in sorted(spans):
        parts += [data[position:begin], written]
        position = end
    return b"".join([*parts, data[position:]])


def _serialize_within(element: Any) -> str:
    """An element as it is written inside its parent, whose namespaces it does not declare again."""
    written: str = etree.tostring(element, encoding="unicode", with_tail=False)
    parent = element.getparent()
    tag, rest = written[: (end := written.index(">"))], written[end:]
    for prefix, uri in (parent.nsmap if parent is not None else {}).items():
        name = f"xmlns:{prefix}" if prefix else "xmlns"
        if element.nsmap.get(prefix) == uri:
            tag = tag.replace(f" {name}={quoteattr(uri)}", "", 1)
    return tag + rest


def _encode(text: str, data: bytes, encoding: str) -> bytes:
    """Return a text in the encoding of a file with these data."""
    return encode_utf16(text, data) or text.encode(encoding, "xmlcharrefreplace")


def _canonical(tree: Any) -> bytes:
    return bytes(etree.tostring(tree, method="c14n"))


class CodedText:
    """The text of an element with codes in it, as a line and as an element again. Codes are tags, whatever text they
    have, and words that are not to be translated stay.
    """

    def __init__(self, element: Any) -> None:
        text = "".join(element.itertext())
        self._kept = ElementPlaceholders(text)
        self._entities = Entities(text)
        self.line = DocumentSegment(escape=self._escaped, quoted=self._kept.restore)
        self._codes: list[Any] = []
        self._read(element)
        self.line.take_accelerator()
        begun = etree.tostring(element, encoding="unicode", with_tail=False).partition(">")[2]
        self._is_cdata = not self._codes and begun.startswith("<![CDATA[")

    def _read(self, element: Any) -> None:
        self._add(element.text or "")
        for child in element:
            name, number = local_name(child), len(self._codes)
            self._codes.append(child)
            stays = child.get("translate") == "no" or child.get("mtype") == "protected"
            if name in AROUND and stays and "".join(child.itertext()).strip():  # words, which others stand beside
                self.line.add(self._kept.placeholder(f"\0/{number}\0"))
            elif name in AROUND and not stays:
                self._mark(f"<{number}", "open", name)
                self._read(child)
                self._mark(f">{number}", "close", name)
            else:
                kind = "open" if name in OPENING else "close" if name in CLOSING else "empty"
                paired = next((child.get(attribute) for attribute in PAIRS if child.get(attribute)), "")
                self._mark(f"/{number}", kind, f"code {paired}")
            self._add(child.tail or "")

    def _add(self, text: str) -> None:
        """Add text, in which there may be tags of HTML. Half of a pair stands alone."""
        parts = list(tokens(text))
        halves = pair_tags([Tag(part.raw, 0, part.kind, part.name) for part in parts])
        paired = {*halves, *halves.values()}
        for number, token in enumerate(parts):
            if token.kind == "text":
                self.line.add(self._entities.unescape(token.raw))
            else:
                self.line.mark(token.raw, token.kind if number in paired else "empty", f"<{token.name}")

    def _escaped(self, text: str) -> str:
        return remove_illegal_characters(self._entities.escape(text))

    def _mark(self, raw: str, kind: str, name: str) -> None:
        self.line.mark(f"\0{raw}\0", kind, name)

    def fill(self, element: Any, written: str) -> None:
        """Put a text with its codes, as the line has written it, into an element that is empty."""
        open_elements, end = [element], 0
        for code in _CODE.finditer(written):
            _append_text(open_elements[-1], written[end : code.start()])
            end = code.end()
            if code[1] == ">":
                open_elements.pop()
                continue
            original = self._codes[int(code[2])]
            same = code[1] == "/"
            copied = deepcopy(original) if same else etree.Element(original.tag, original.attrib, original.nsmap)
            copied.tail = None
            open_elements[-1].append(copied)
            if code[1] == "<":
                open_elements.append(copied)
        _append_text(element, written[end:])
        if self._is_cdata and "]]>" not in written:
            element.text = etree.CDATA(element.text or "")


def _append_text(element: Any, text: str) -> None:
    """Add text after all that is in an element."""
    if len(element):
        element[-1].tail = (element[-1].tail or "") + text
    else:
        element.text = (element.text or "") + text
