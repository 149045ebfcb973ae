"""TMX and XLIFF: XML that is read as it comes, so that memory does not grow with the file.

expat is Python's own. A file that declares entities, which may stand for gigabytes of text or for other files, is
refused; nothing outside the file is ever read.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple, final
from xml.parsers import expat

from dragoman.corpus.inline import Attributes, Inline, told
from dragoman.corpus.naming import ROLES, Columns, matched, missing, two, variants
from dragoman.corpus.unit import State, Unit, cell
from dragoman.errors import UserError
from dragoman.files.reading import read_chunks, shown

DEEPEST = 1_000  # elements in elements
LONGEST_TAG = 16 * 2**20  # bytes of a file that may come to nothing: a tag or a comment as long as that


class Said(NamedTuple):
    """What a unit of a file has: texts by language, as the file names them and in its order, and whether codes that
    say nothing are marked in them.
    """

    texts: dict[str, list[str]]
    state: State = State.GOOD
    marked: bool = False


class Reader(ABC):
    """Follows the elements of a file. `done` are the units that are complete, each with a line that it stands on."""

    root: str

    def __init__(self, name: str) -> None:
        self.done: list[tuple[int, Said]] = []
        self.tags: list[str] = []
        self._name = name
        self._text: Inline | None = None  # of the element that is being read
        self.line = 0

    def start(self, tag: str, attributes: Attributes) -> None:
        """An element begins."""
        tag = tag.rpartition(":")[2]
        if not self.tags and tag != self.root:
            raise self.fault(f"expected <{self.root}>, found <{tag[:40]}>")
        if len(self.tags) == DEEPEST:
            raise self.fault(f"elements in more than {DEEPEST:,} elements")
        self.tags.append(tag)
        if self._text is not None:
            self._text.start(tag, attributes)
        elif self.opened(tag, self.tags[-2] if len(self.tags) > 1 else "", attributes):
            self._text = Inline()

    def end(self, tag: str) -> None:
        """An element ends."""
        tag = self.tags.pop()
        if self._text is None:
            self.closed(tag, self.tags[-1] if self.tags else "", None)
        elif not self._text.end():
            text, self._text = self._text, None
            self.closed(tag, self.tags[-1], text)

    def characters(self, text: str) -> None:
        """Text, or a part of it."""
        if self._text is not None:
            self._text.say(text)

    def fault(self, what: str) -> UserError:
        """An error at the line that is being read."""
        return UserError(f"{self._name}:{self.line}: {what}")

    @abstractmethod
    def opened(self, tag: str, parent: str, attributes: Attributes) -> bool:
        """Whether the text of this element is wanted."""

    @abstractmethod
    def closed(self, tag: str, parent: str, text: Inline | None) -> None:
        """The end of an element, with its text if that was wanted."""


@final
class Tmx(Reader):
    """`<tu>` with a `<tuv xml:lang="en">` for each text, which is its `<seg>`. The language that the header says texts
    were translated from is the first of each.
    """

    root = "tmx"

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._source = self._language = ""
        self._texts: list[tuple[str, Inline]] = []

    def opened(self, tag: str, parent: str, attributes: Attributes) -> bool:
        if tag == "header":
            self._source = attributes.get("srclang", "").lower()
        elif tag == "tu":
            self._texts = []
        elif tag == "tuv":
            self._language = attributes.get("xml:lang", attributes.get("lang", ""))
            if not self._language:
                raise self.fault("<tuv> without xml:lang")
        return tag == "seg" and parent == "tuv"

    def closed(self, tag: str, parent: str, text: Inline | None) -> None:
        if text is not None:
            self._texts.append((self._language, text))
        elif tag == "tu" and self._texts:
            names = sorted(
                dict.fromkeys(name for name, _ in self._texts), key=lambda name: name.lower() != self._source
            )
            found: dict[str, list[str]] = {name: [] for name in names}
            texts, marked = told(text for _, text in self._texts)
            for (name, _), each in zip(self._texts, texts, strict=True):
                found[name].append(each)
            self.done.append((self.line, Said(found, marked=marked)))


@final
class Xliff(Reader):
    """`<trans-unit>` of 1.2 and `<segment>` of 2.0, each with `<source>` and `<target>`. A target is fuzzy whose state
    says that it is new or needs something (1.2), or `initial` (2.0). Only where a target of 1.2 has no state does it
    count that its unit is not approved: approval follows translation, and many files never come to it.
    """

    root = "xliff"
    UNITS = ("trans-unit", "segment")

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._languages = ["", ""]
        self._texts = {"source": Inline(), "target": Inline()}
        self._state = State.GOOD

    def opened(self, tag: str, parent: str, attributes: Attributes) -> bool:
        if tag == "xliff":
            self._languages = [attributes.get("srcLang", ""), attributes.get("trgLang", "")]
        elif tag == "file" and "source-language" in attributes:
            self._languages = [attributes["source-language"], attributes.get("target-language", "")]
        elif tag in self.UNITS:
            self._texts = {"source": Inline(), "target": Inline()}
            fuzzy = attributes.get("state") == "initial" or attributes.get("approved") == "no"
            self._state = State.FUZZY if fuzzy else State.GOOD
        elif tag == "target" and parent == "trans-unit" and (state := attributes.get("state")):
            self._state = State.FUZZY if state == "new" or state.startswith("needs-") else State.GOOD
        return tag in self._texts and parent in self.UNITS

    def closed(self, tag: str, parent: str, text: Inline | None) -> None:
        if text is not None:
            self._texts[tag] = text
        elif tag in self.UNITS:
            languages = self._languages[0] or "source", self._languages[1]
            (source, target), marked = told(self._texts.values())
            texts = dict(zip(languages, ([source], [target]), strict=True))
            self.done.append((self.line, Said(texts, self._state, marked)))


def said(path: str, kind: type[Reader]) -> Iterator[tuple[int, Said]]:
    """The units of a file, with a line of each. UserError with the line where it is no sound file of its kind."""
    reader = kind(shown(path))
    parser = expat.ParserCreate()
    parser.buffer_text = True

    def refuse(*declared: object) -> None:
        raise UserError(f"{shown(path)}:{parser.CurrentLineNumber}: declares an entity, which may stand for anything")

    def skip(name: str, parameter: bool) -> None:
        """An entity of a document type that stands in another file, which is not read."""
        if not parameter:
            raise UserError(f"{shown(path)}:{parser.CurrentLineNumber}: &{name}; is not declared in the file")

    def start(tag: str, attributes: Attributes) -> None:
        reader.line = parser.CurrentLineNumber
        reader.start(tag, attributes)

    parser.StartElementHandler, parser.EndElementHandler = start, reader.end
    parser.CharacterDataHandler, parser.EntityDeclHandler = reader.characters, refuse
    parser.SkippedEntityHandler = skip
    size = 0
    for chunk in read_chunks(path):
        size += len(chunk)
        with _sound(path, parser):
            parser.Parse(chunk, False)
        if size - max(0, parser.CurrentByteIndex) > LONGEST_TAG:
            line = parser.CurrentLineNumber
            raise UserError(f"{shown(path)}:{line}: a tag or comment of more than {LONGEST_TAG:,} bytes")
        yield from reader.done
        reader.done.clear()
    with _sound(path, parser):
        parser.Parse(b"", True)
    yield from reader.done


@contextmanager
def _sound(path: str, parser: expat.XMLParserType) -> Iterator[None]:
    try:
        yield
    except expat.ExpatError as error:
        raise UserError(f"{shown(path)}:{error.lineno}: not sound XML ({expat.ErrorString(error.code)})") from None
    except (LookupError, ValueError) as error:  # an encoding that nobody knows
        raise UserError(f"{shown(path)}:{parser.CurrentLineNumber}: not sound XML ({error})") from None


def read_tmx(path: str, names: Sequence[str]) -> Iterator[Unit]:
    """The units, empty in languages that they lack; one for each of several texts in a language. UserError where no
    unit at all has one of the names.
    """
    never, there = set(names), dict[str, None]()
    known: dict[tuple[str, ...], tuple[tuple[int, ...], ...]] = {}
    for _, (texts, state, marked) in said(path, Tmx):
        found = tuple(texts)
        if found not in known:
            known[found] = variants(names, found)
            never -= {name for name, places in zip(names, known[found], strict=True) if places}
            there |= dict.fromkeys(found)
        every = ([text for place in places for text in texts[found[place]]] for places in known[found])
        yield from (Unit(tuple(map(cell, each)), state, marked=marked) for each in _combined(every))
    if there and never:
        raise missing([name for name in names if name in never], list(there), shown(path))


def _combined(texts: Iterable[Iterable[str]]) -> Iterator[tuple[str, ...]]:
    """The first text of each language together, and then each other one with the first of the other languages."""
    every = [list(dict.fromkeys(filter(str.strip, each))) or [""] for each in texts]
    first = [each[0] for each in every]
    yield tuple(first)
    for place, each in enumerate(every):
        for other in each[1:]:
            yield (*first[:place], other, *first[place + 1 :])


def read_xliff(path: str, names: Sequence[str]) -> Iterator[Unit]:
    """The units. UserError where a file in it is in other languages."""
    for line, (texts, state, marked) in said(path, Xliff):
        found = tuple(texts)
        places = matched(names, found, f"{shown(path)}:{line}")
        yield Unit(tuple(cell(texts[found[place]][0]) for place in places), state, marked=marked)


def tmx_languages(path: str, wanted: Sequence[str]) -> Columns:
    """Which two languages hold the pairs, by the first unit that has several. Any unit may have the wanted ones."""
    if not wanted:
        return _languages(path, Tmx, ())
    left = set(wanted)
    for _, unit in said(path, Tmx):
        left -= {name for name, places in zip(wanted, variants(wanted, list(unit.texts)), strict=True) if places}
        if not left:
            return Columns(tuple(wanted))
    list(read_tmx(path, wanted))  # which tells what is not there
    return Columns(tuple(wanted))


def xliff_languages(path: str, wanted: Sequence[str]) -> Columns:
    """The same of XLIFF."""
    return _languages(path, Xliff, wanted)


def _languages(path: str, kind: type[Reader], wanted: Sequence[str]) -> Columns:
    several = (each for each in said(path, kind) if len(each[1].texts) > 1)
    first = next(several, None) or next(said(path, kind), (1, Said({name: [] for name in wanted or ROLES[:2]})))
    line, unit = first
    return two(list(unit.texts), wanted, f"{shown(path)}:{line}")
