"""Message catalogues of gettext: `.po`, which people write, and `.mo`, which programs read."""

import re
import struct
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from dragoman.corpus.naming import UNSAID, Columns, is_language, matched, two
from dragoman.corpus.plurals import read_forms
from dragoman.corpus.unit import State, Unit, cell
from dragoman.errors import UserError, missing_library
from dragoman.files.reading import read_chunks, shown

LITTLE, BIG = b"\xde\x12\x04\x95", b"\x95\x04\x12\xde"  # how a .mo begins, by the order of its bytes
CONTEXT = "\x04"  # stands behind the context of a source
FORM = "\0"  # stands between the forms of a plural
PO_ERROR = re.compile(r"\(line (\d+)\)(?:: (.*))?")

# A line with a text, and one whose text is between two quotes; its keyword.
_BEGUN = re.compile(r'(?:#~\s*)?(?:(msg\w+)(?:\[\d+\])?\s*)?"')
_WHOLE = re.compile(_BEGUN.pattern + r'(?:[^"\\]|\\.)*"', re.DOTALL)
BACKSLASH = "\U0010fffd"  # for private use
_KNOWN = re.compile(r'\\([\\ntrvbf"])|\\')  # escapes of polib, and other backslashes
_ESCAPE = re.compile(f"{BACKSLASH}(a|x[0-9a-fA-F]{{2}}|[0-7]{{1,3}}|)")
_CHARSET = re.compile(r"charset=([\w.:-]+)", re.ASCII)


class Message(NamedTuple):
    """What a catalogue has of a message: English as a rule, and its translation, each perhaps with a plural."""

    sources: tuple[str, ...]
    targets: tuple[str, ...]
    state: State = State.GOOD
    context: str = ""


class Catalogue(NamedTuple):
    """The messages of a file, and what its header says: the languages, and which form of a plural means one."""

    messages: Iterator[Message]
    languages: tuple[str, str]
    singular: int


def read_po(path: str, names: Sequence[str]) -> Iterator[Unit]:
    """The messages of a `.po`. Each form of a plural is a unit. Languages are those of the header, or of the file's
    name; what the messages themselves are in may have any name. UserError with the line that is no part of a `.po`, or
    not in its encoding.
    """
    return _read(po(path), path, names)


def read_mo(path: str, names: Sequence[str]) -> Iterator[Unit]:
    """The same of a `.mo`; UserError where it is damaged."""
    return _read(mo(path), path, names)


def po_languages(path: str, wanted: Sequence[str]) -> Columns:
    """Which two languages it has: English, if it does not say otherwise, and that of the translations."""
    return _languages(po(path), path, wanted)


def mo_languages(path: str, wanted: Sequence[str]) -> Columns:
    """The same of a `.mo`."""
    return _languages(mo(path), path, wanted)


def units(catalogue: Catalogue) -> Iterator[Unit]:
    """Each message as it is in both languages. The form for one is paired with the singular, others with the plural; a
    language without a plural has only forms of the plural.
    """
    for message in catalogue.messages:
        source, *plural = map(cell, message.sources)
        if not plural:
            texts = source, cell(message.targets[0])
            yield Unit(texts, message.state, message.context)
            continue
        for number, target in enumerate(message.targets):
            one = number == catalogue.singular and len(message.targets) > 1
            yield Unit((source if one else plural[0], cell(target)), message.state, message.context, plural=True)


def po(path: str) -> Catalogue:
    """What is in a `.po`."""
    entries = parsed(b"".join(read_chunks(path)), path)
    return Catalogue(map(_message, entries), *read_header(entries.metadata, path))


def unescaped(text: str) -> str:
    """A text of polib's with what its escapes stand for that are those of a terminal, for instance (`\\033`)."""
    return _ESCAPE.sub(lambda found: _escape(found[1]), text)


def _escape(code: str) -> str:
    if code[:1] == "x":
        return chr(int(code[1:], 16))
    return chr(int(code, 8)) if code.isdigit() else {"a": "\a", "": "\\"}[code]


def decoded(data: bytes, path: str) -> str:
    """The text of a `.po`. UserError with the line that is not in the encoding of its header."""
    found = _CHARSET.search(data[:65_536].decode("latin-1"))
    return _decoded(data, found[1] if found else "utf-8", path)


def parsed(data: bytes, path: str) -> Any:
    """A `.po` as polib has it, with BACKSLASH for the backslash of an escape that polib does not know. UserError with
    the line that is no part of one.
    """
    try:
        import polib
    except ImportError as error:
        raise missing_library(error.name, "formats") from error
    text = decoded(data, path)
    _check(text.split("\n"), path)
    text = _KNOWN.sub(lambda found: found[0] if found[1] else BACKSLASH, text.replace(BACKSLASH, ""))
    try:
        return polib.pofile(_Lines(text + "\n"))
    except OSError as error:
        line, about = told.groups() if (told := PO_ERROR.search(str(error))) else ("1", None)
        raise UserError(f"{shown(path)}:{line}: no part of a .po file ({about or 'syntax error'})") from None


def _check(lines: Sequence[str], path: str) -> None:
    """UserError for what polib would read with a letter less, or as a message that is not translated: a text without
    its quotes, and a file that ends before the translation of a message.
    """
    number, keyword = 0, ""
    for number, line in enumerate(lines, start=1):
        if begun := _BEGUN.match(line.strip()):
            keyword = begun[1] or keyword
            if not _WHOLE.fullmatch(line.strip()):
                raise UserError(f"{shown(path)}:{number}: no part of a .po file (a text is not between two quotes)")
    if keyword not in ("", "msgstr"):
        raise UserError(f"{shown(path)}:{number}: ends before the msgstr of a message")


class _Lines(str):
    """The text of a file, of which polib takes the lines: they end with a newline and nothing else."""

    __slots__ = ()

    def splitlines(self, keepends: bool = False) -> list[str]:
        return self.split("\n")


def _message(entry: Any) -> Message:
    state = State.OBSOLETE if entry.obsolete else State.FUZZY if "fuzzy" in entry.flags else State.GOOD
    plural = (entry.msgid_plural,) if entry.msgid_plural else ()
    forms = tuple(entry.msgstr_plural[number] for number in sorted(entry.msgstr_plural))
    targets = forms if plural and forms else (entry.msgstr,)
    sources, targets = (tuple(map(unescaped, texts)) for texts in ((entry.msgid, *plural), targets))
    return Message(sources, targets, state, unescaped(entry.msgctxt or ""))


def mo(path: str) -> Catalogue:
    """What is in a `.mo`."""
    data = b"".join(read_chunks(path))
    texts = _texts(data, path)
    first = next(texts, None)
    if first is None or first[0]:  # without a header, which is the translation of nothing
        header, rest = b"", texts if first is None else chain([first], texts)
    else:
        header, rest = first[1], texts
    found = _CHARSET.search(header.decode("latin-1"))
    charset = found[1] if found else "utf-8"
    lines = (line.partition(":") for line in _decoded(header, charset, path).split("\n"))
    messages = (_of_bytes(*pair, lambda each: _decoded(each, charset, path)) for pair in rest)
    return Catalogue(messages, *read_header({key.strip(): value.strip() for key, _, value in lines}, path))


def _texts(data: bytes, path: str) -> Iterator[tuple[bytes, bytes]]:
    """The bytes of each message and its translation, which all of them together are not more than the file's."""
    order = {LITTLE: "<", BIG: ">"}.get(data[:4])
    if order is None or len(data) < 20:
        raise UserError(f"{shown(path)}: not a .mo file")
    version, count, *tables = struct.unpack_from(f"{order}4I", data, 4)
    if version >> 16 > 1:
        raise UserError(f"{shown(path)}: a .mo file of version {version >> 16}, which nobody knows")
    left = len(data)
    for number in range(count):
        both = []
        for table in tables:
            if table + 8 * (number + 1) > len(data):
                raise UserError(f"{shown(path)}: the .mo file is truncated (message {number + 1:,} of {count:,})")
            length, begin = struct.unpack_from(f"{order}2I", data, table + 8 * number)
            left -= length
            if begin + length > len(data) or left < 0:
                raise UserError(f"{shown(path)}: the .mo file is damaged (message {number + 1:,} of {count:,})")
            both.append(data[begin : begin + length])
        yield both[0], both[1]


def _of_bytes(source: bytes, target: bytes, decoded: Callable[[bytes], str]) -> Message:
    context, _, text = decoded(source).rpartition(CONTEXT)
    sources = text.split(FORM)[:2]
    targets = decoded(target).split(FORM) if len(sources) > 1 else [decoded(target)]
    return Message(tuple(sources), tuple(targets), context=context)


def _decoded(data: bytes, charset: str, path: str) -> str:
    """UserError with the line for what is in another encoding. One that nobody knows is UTF-8 (`CHARSET`)."""
    try:
        return data.decode(charset)
    except LookupError:
        return _decoded(data, "utf-8", path)
    except UnicodeError as error:
        line = data.count(b"\n", 0, error.start if isinstance(error, UnicodeDecodeError) else 0) + 1
        raise UserError(f"{shown(path)}:{line}: is not in the encoding that it is said to be in ({charset})") from None


def read_header(metadata: dict[str, str], path: str) -> tuple[tuple[str, str], int]:
    """The languages, and the form of a plural that means one."""
    source, target = (metadata.get(key, UNSAID).strip() for key in ("X-Source-Language", "Language"))
    name, folders = Path(path).name.partition(".")[0], Path(path).parts[-3:-2]
    guesses = (each for each in (target, name, *folders) if is_language(each))
    forms = read_forms(metadata.get("Plural-Forms", ""))
    return (source, next(guesses, UNSAID)), forms.singular if forms else 0


def _read(catalogue: Catalogue, path: str, names: Sequence[str]) -> Iterator[Unit]:
    places = matched(names, catalogue.languages, shown(path))
    for unit in units(catalogue):
        yield unit._replace(texts=tuple(unit.texts[place] for place in places))


def _languages(catalogue: Catalogue, path: str, wanted: Sequence[str]) -> Columns:
    source, target = catalogue.languages
    assumed = source or ("en" if target and target.lower()[:2] != "en" else UNSAID)
    return two((assumed, target) if target and not wanted else (source, target), wanted, shown(path))
