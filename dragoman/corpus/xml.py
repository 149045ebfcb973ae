"""TMX and XLIFF, read a unit at a time: memory does not grow with the file.

libxml2 limits the depth of elements and the length of texts and tags. A file that declares entities, which may stand
for gigabytes of text or for other files, is refused; nothing outside the file is ever read.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import chain, count
from typing import Any, NamedTuple

from lxml import etree

from dragoman.corpus.naming import ROLES, Columns, matched, missing, two, variants
from dragoman.corpus.translation_unit import TranslationState, TranslationUnit, cell
from dragoman.errors import UserError
from dragoman.files.reading import read_chunks, shown

TMX_UNITS, XLIFF_UNITS = ("tu",), ("trans-unit", "segment")
LONGEST_UNIT = 16 * 2**20  # bytes of a file in which a unit has to end
XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"
CODES = frozenset("x bx ex ph it bpt ept ut sc ec".split())  # elements that are codes, and not text with a property
CLOSING = frozenset(["ex", "ept", "ec"])
IDS = "id", "startRef", "i", "x"  # attributes; without one, a code has its number in the text
_SAFE = {"resolve_entities": False, "no_network": True, "load_dtd": False, "huge_tree": False}


def parse_tree(name: str, data: bytes) -> Any:
    """Return the tree of a file. UserError with the line where it is not well-formed, or if it declares entities."""
    with _syntax_errors(name):
        tree = etree.fromstring(data, etree.XMLParser(strip_cdata=False, **_SAFE)).getroottree()
    _refuse_entities(tree, name, data)
    return tree


def check_root(root: Any, expected: str, name: str) -> None:
    """UserError unless a file has this root element."""
    if local_name(root) != expected:
        raise UserError(f"{name}:{root.sourceline}: expected <{expected}>, found <{local_name(root)[:40]}>")


def local_name(element: Any) -> str:
    """Return the name of an element without its namespace; empty for a comment."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def tmx_texts(unit: Any) -> list[tuple[str, str, Any]]:
    """List the texts of a `<tu>`: the code of each language, the attribute that has it, and its `<tuv>`."""
    texts: list[tuple[str, str, Any]] = []
    for element in unit.iterchildren("{*}tuv"):
        attribute = XML_LANG if element.get(XML_LANG) or not element.get("lang") else "lang"
        texts.append((element.get(attribute) or "", attribute, element))
    return texts


@contextmanager
def _syntax_errors(name: str) -> Iterator[None]:
    try:
        yield
    except etree.XMLSyntaxError as error:
        message = " ".join(re.split(r", line \d+, column|, (?:use|try) XML_", error.msg)[0].split())
        raise UserError(f"{name}:{error.lineno or 1}: invalid XML ({message})") from None


def _refuse_entities(tree: Any, name: str, data: bytes) -> None:
    dtd = tree.docinfo.internalDTD
    if dtd is not None and any(dtd.iterentities()):
        line = data.count(b"\n", 0, max(0, data.find(b"<!ENTITY"))) + 1
        raise UserError(f"{name}:{line}: declares an entity, which may stand for anything")


def _read_elements(path: str, root: str, tags: Sequence[str]) -> Iterator[Any]:
    """Yield the elements with these names, each with what surrounds it; what stands before it is then forgotten."""
    name, line, unread = shown(path), 0, 0
    parser = etree.XMLPullParser(("end",), tag=[f"{{*}}{tag}" for tag in tags], **_SAFE)
    for number, chunk in enumerate(_to_end(read_chunks(path))):
        if number == 0:
            _check_start(chunk, root, name)
        with _syntax_errors(name):
            parser.feed(chunk) if chunk else parser.close()
        unread += len(chunk)
        for _, element in parser.read_events():
            if not line:
                _refuse_entities(element.getroottree(), name, chunk)
                check_root(element.getroottree().getroot(), root, name)
            line = element.sourceline
            for entity in element.iter(etree.Entity):  # of a document type in another file, which is not read
                raise UserError(f"{name}:{entity.sourceline}: {entity.text} is not declared in the file")
            yield element
            _forget(element)
            unread = 0
        if unread > LONGEST_UNIT:
            raise UserError(f"{name}:{line or 1}: no <{tags[0]}> ends within {LONGEST_UNIT:,} bytes")


def _check_start(chunk: bytes, root: str, name: str) -> None:
    """UserError if a file begins as one of another kind, such as a web page, which may be no XML further on."""
    parser = etree.XMLPullParser(("start",), **_SAFE)
    with suppress(etree.XMLSyntaxError):
        parser.feed(chunk)
    for _, element in parser.read_events():
        _refuse_entities(element.getroottree(), name, chunk)
        check_root(element, root, name)
        break


def _to_end(chunks: Iterable[bytes]) -> Iterator[bytes]:
    yield from filter(None, chunks)
    yield b""


def _forget(element: Any) -> None:
    """Remove what an element has, and all that stands before it."""
    element.clear(keep_tail=True)
    for node in (element, *element.iterancestors()):
        while node.getparent() is not None and node.getprevious() is not None:
            del node.getparent()[0]


class InlineCode(str):
    """A code whose content is unknown: its id in braces, {1} or {/1}."""

    __slots__ = ()


class InlineText:
    """The text of an element with inline codes: placeholders and markup, which translators move but do not change. A
    code is written as its content, or else as its attributes show it; `contents` has what is known of each mark.
    """

    def __init__(self, element: Any) -> None:
        self.parts: list[str] = []
        self.contents: dict[str, str] = {}
        self._numbers = count(1)
        self._read(element)

    def _read(self, element: Any) -> None:
        self.parts.append(element.text or "")
        for code in element:
            if isinstance(code.tag, str):
                mark, begin = self._mark(code), len(self.parts) + 1
                self.parts.append(code.get("dispStart", ""))
                self._read(code)
                content = "".join(self.parts[begin:])
                if not content and (shown_as := code.get("equiv-text", code.get("disp"))) is not None:
                    self.parts.append(content := shown_as)
                elif not content:
                    self.parts.append(InlineCode(mark))
                    mark = ""
                self.contents |= {mark: content} if mark else {}
                self.parts.append(code.get("dispEnd", ""))
            self.parts.append(code.tail or "")

    def _mark(self, code: Any) -> str:
        tag = local_name(code)
        if tag not in CODES:
            return ""
        number = str(next(self._numbers))
        identifier = next((code.get(name) for name in IDS if code.get(name) is not None), number)
        return f"{{/{identifier}}}" if tag in CLOSING else f"{{{identifier}}}"


def _fill_marks(texts: Sequence[InlineText]) -> tuple[list[str], bool]:
    """Return the texts of a unit, and whether marks are left in them. A code of unknown content is what the code with
    the same mark is in another text.
    """
    contents = {mark: content for text in texts for mark, content in text.contents.items()}
    is_marked = any(
        isinstance(part, InlineCode) and part and part not in contents for text in texts for part in text.parts
    )
    filled = (
        "".join(contents.get(part, part) if isinstance(part, InlineCode) else part for part in text.parts)
        for text in texts
    )
    return list(filled), is_marked


class XmlUnit(NamedTuple):
    """A unit of a file: the line where it begins, its texts by language, as the file names them and in its order."""

    line: int
    texts: dict[str, list[str]]
    state: TranslationState = TranslationState.GOOD
    marked: bool = False


def _tmx_units(path: str) -> Iterator[XmlUnit]:
    """Yield the units of a TMX that have texts. The source language of the header is the first of each."""
    source = None
    for unit in _read_elements(path, "tmx", TMX_UNITS):
        if source is None:
            header = unit.getroottree().getroot().find("{*}header")
            source = "" if header is None else header.get("srclang", "").lower()
        segments: list[tuple[str, InlineText]] = []
        for language, _, element in tmx_texts(unit):
            if not language:
                raise UserError(f"{shown(path)}:{element.sourceline}: <tuv> without xml:lang")
            segments += [(language, InlineText(segment)) for segment in element.iterchildren("{*}seg")]
        languages = dict.fromkeys(language for language, _ in segments)
        texts = {name: list[str]() for name in sorted(languages, key=lambda name: name.lower() != source)}
        filled, is_marked = _fill_marks([text for _, text in segments])
        for (language, _), text in zip(segments, filled, strict=True):
            texts[language].append(text)
        if texts:
            yield XmlUnit(unit.sourceline, texts, marked=is_marked)


def _xliff_units(path: str) -> Iterator[XmlUnit]:
    """Yield the `<trans-unit>`s of 1.2 and `<segment>`s of 2.0."""
    for unit in _read_elements(path, "xliff", XLIFF_UNITS):
        root, file = unit.getroottree().getroot(), next(unit.iterancestors("{*}file"), None)
        if file is not None and file.get("source-language") is not None:
            languages = file.get("source-language"), file.get("target-language", "")
        else:
            languages = root.get("srcLang", ""), root.get("trgLang", "")
        elements = (unit.find("{*}source"), unit.find("{*}target"))
        inline = [InlineText(etree.Element("none") if element is None else element) for element in elements]
        (source, target), is_marked = _fill_marks(inline)
        texts = {languages[0] or "source": [source]} | {languages[1]: [target]}
        yield XmlUnit(unit.sourceline, texts, _xliff_state(unit, elements[1]), is_marked)


def _xliff_state(unit: Any, target: Any) -> TranslationState:
    """Return the state of a translation: fuzzy if its state says that it is new or needs something (1.2), or `initial`
    (2.0). Only where a target of 1.2 has no state does it count that its unit is not approved: approval follows
    translation, and many files never come to it.
    """
    state = target.get("state") if target is not None and local_name(unit) == "trans-unit" else None
    if state:
        return TranslationState.FUZZY if state == "new" or state.startswith("needs-") else TranslationState.GOOD
    return (
        TranslationState.FUZZY
        if unit.get("state") == "initial" or unit.get("approved") == "no"
        else TranslationState.GOOD
    )


def read_tmx(path: str, names: Sequence[str]) -> Iterator[TranslationUnit]:
    """Yield the units, empty in languages that they lack; one for each of several texts in a language. UserError if no
    unit at all has one of the names.
    """
    absent, present = set(names), dict[str, None]()
    columns: dict[tuple[str, ...], tuple[tuple[int, ...], ...]] = {}
    for unit in _tmx_units(path):
        languages = tuple(unit.texts)
        if languages not in columns:
            columns[languages] = variants(names, languages)
            absent -= {name for name, places in zip(names, columns[languages], strict=True) if places}
            present |= dict.fromkeys(languages)
        texts = ([text for place in places for text in unit.texts[languages[place]]] for places in columns[languages])
        for row in _combined(texts):
            yield TranslationUnit(tuple(map(cell, row)), unit.state, marked=unit.marked)
    if present and absent:
        raise missing([name for name in names if name in absent], list(present), shown(path))


def _combined(texts: Iterable[Iterable[str]]) -> Iterator[tuple[str, ...]]:
    """Yield the first text of each language, and then each other one with the first of the other languages."""
    columns = [list(dict.fromkeys(filter(str.strip, column))) or [""] for column in texts]
    first = [column[0] for column in columns]
    yield tuple(first)
    for place, column in enumerate(columns):
        for other in column[1:]:
            yield (*first[:place], other, *first[place + 1 :])


def read_xliff(path: str, names: Sequence[str]) -> Iterator[TranslationUnit]:
    """Yield the units. UserError if a file inside is in other languages."""
    for line, texts, state, is_marked in _xliff_units(path):
        columns = list(texts.values())
        places = matched(names, tuple(texts), f"{shown(path)}:{line}")
        yield TranslationUnit(tuple(cell(columns[place][0]) for place in places), state, marked=is_marked)


def tmx_languages(path: str, wanted: Sequence[str]) -> Columns:
    """Return the two languages of the pairs, from the first unit that has several. Any unit may have the wanted
    ones.
    """
    if not wanted:
        return _languages(path, _tmx_units(path), ())
    absent = set(wanted)
    for unit in _tmx_units(path):
        absent -= {name for name, places in zip(wanted, variants(wanted, list(unit.texts)), strict=True) if places}
        if not absent:
            return Columns(tuple(wanted))
    list(read_tmx(path, wanted))  # raises an error that names the missing languages
    return Columns(tuple(wanted))


def xliff_languages(path: str, wanted: Sequence[str]) -> Columns:
    """Return the two languages of the pairs."""
    return _languages(path, _xliff_units(path), wanted)


def _languages(path: str, units: Iterator[XmlUnit], wanted: Sequence[str]) -> Columns:
    first = next(units, XmlUnit(1, {name: [] for name in wanted or ROLES[:2]}))
    unit = next((unit for unit in chain([first], units) if len(unit.texts) > 1), first)
    return two(list(unit.texts), wanted, f"{shown(path)}:{unit.line}")
