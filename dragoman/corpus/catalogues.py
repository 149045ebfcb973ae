"""Message catalogues of gettext: `.po`, which people write, and `.mo`, which programs read."""

import re
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polib

from dragoman.corpus.naming import UNSAID, Columns, is_language, matched, two
from dragoman.corpus.plural_forms import Forms, read_forms
from dragoman.corpus.plural_numbers import NUMBER, describe_forms, put_number
from dragoman.corpus.translation_unit import TranslationState, TranslationUnit, cell
from dragoman.errors import UserError
from dragoman.files.reading import read_chunks, shown

ORDERS = {b"\xde\x12\x04\x95": "<", b"\x95\x04\x12\xde": ">"}  # of bytes in a .mo, by how it begins
PO_ERROR = re.compile(r"\(line (\d+)\)(?:: (.*))?")

# A line with a text, and one whose text is between two quotes; its keyword.
_BEGUN = re.compile(r'(?:#~\s*)?(?:(msg\w+)(?:\[\d+\])?\s*)?"')
_WHOLE = re.compile(_BEGUN.pattern + r'(?:[^"\\]|\\.)*"', re.DOTALL)
BACKSLASH = "\U0010fffd"  # for private use
_KNOWN = re.compile(r'\\([\\ntrvbf"])|\\')  # escapes of polib, and other backslashes
_ESCAPE = re.compile(f"{BACKSLASH}(a|x[0-9a-fA-F]{{2}}|[0-7]{{1,3}}|)")
_TIGHT = re.compile(r"^([ \t]*#(?:~\||~(?!\|)|[,.:|]|(?![,.:|~#\s])))(?=\S)", re.MULTILINE)  # `#,fuzzy`, `#=`, `#note`
_CHARSET = re.compile(r"charset=([\w.:-]+)", re.ASCII)


class MessageCatalogue(NamedTuple):
    """The messages of a file as polib has them, and what its header says: the languages, and the forms of plurals."""

    entries: Sequence[Any]
    languages: tuple[str, str]
    forms: Forms


def read(path: str, names: Sequence[str]) -> Iterator[TranslationUnit]:
    """Yield the messages of a `.po` or `.mo`; each form of a plural is a unit. Languages are those of the header, or of
    the file's name; the language of the messages themselves may have any name. UserError with the line of a `.po` that
    is malformed or not in its encoding, and for a damaged `.mo`.
    """
    catalogue = open_catalogue(path)
    places = matched(names, catalogue.languages, shown(path))
    for unit in units(catalogue):
        yield unit._replace(texts=tuple(unit.texts[place] for place in places))


def put_numbers(units: Iterator[TranslationUnit]) -> Iterator[TranslationUnit]:
    """Yield units with a number in the place of the placeholder in each text, if they are plural forms that only a
    number tells apart, and source and target have such a placeholder. Other texts without one are left out. A target
    without any stays if it is for that number alone.
    """
    for unit in units:
        form = unit.form
        numbered = [put_number(text, form.number) if form and form.shown else None for text in unit.texts]
        texts = [one.text if one else "" for one in numbered]
        if numbered[0] and numbered[-1] and numbered[0].placeholder == numbered[-1].placeholder:
            unit = unit._replace(texts=tuple(texts))
        elif numbered[0] and form and form.alone and not NUMBER.search(unit.texts[-1]):
            unit = unit._replace(texts=(*texts[:-1], unit.texts[-1]))
        yield unit


def languages(path: str, wanted: Sequence[str]) -> Columns:
    """Return the two languages: English, unless the header names another, and that of the translations."""
    source, target = open_catalogue(path).languages
    assumed = source or ("en" if target and target.lower()[:2] != "en" else UNSAID)
    return two((assumed, target) if target and not wanted else (source, target), wanted, shown(path))


def units(catalogue: MessageCatalogue, *, flatten: bool = True) -> Iterator[TranslationUnit]:
    """Yield each message in both languages. The form for 1 is paired with the singular, others with the plural; a
    language without a plural has only forms of the plural. `flatten`: each text is one line.
    """
    written = cell if flatten else str
    declared = describe_forms(catalogue.forms)
    for entry in catalogue.entries:
        state = (
            TranslationState.OBSOLETE
            if entry.obsolete
            else TranslationState.FUZZY
            if "fuzzy" in entry.flags
            else TranslationState.GOOD
        )
        source, plural, target, msgctxt = (
            unescaped(text or "") for text in (entry.msgid, entry.msgid_plural, entry.msgstr, entry.msgctxt)
        )
        unit = TranslationUnit((written(source), written(target)), state, read_context(entry), msgctxt=msgctxt)
        if not plural:
            yield unit
            continue
        forms = [unescaped(entry.msgstr_plural[number]) for number in sorted(entry.msgstr_plural)] or [target]
        for number, form in enumerate(forms):
            text = source if number == catalogue.forms.singular and len(forms) > 1 else plural
            texts = written(text), written(form)
            yield unit._replace(texts=texts, plural=True, form=declared.get(number))


def read_context(entry: Any) -> str:
    """Return what a model reads as the context of a message, in one line: its msgctxt, or without one the comments that
    were extracted from the source code (`#.`).
    """
    return cell(unescaped(entry.msgctxt or "") or entry.comment.replace(BACKSLASH, "\\"))


def open_catalogue(path: str) -> MessageCatalogue:
    """Return the messages of a `.po` or `.mo`."""
    data = b"".join(read_chunks(path))
    file = parse_mo(data, path) if ".mo" in Path(path).suffixes[-2:] else parse_po(data, path)
    return MessageCatalogue(file, *read_header(file.metadata, path))


def parse_mo(data: bytes, path: str) -> Any:
    """Parse a `.mo` with polib. UserError if it is damaged."""
    try:
        _check_tables(data)
        return polib.mofile(data)
    except (OSError, ValueError, LookupError) as error:
        raise UserError(f"{shown(path)}: invalid .mo file ({error})") from None


def _check_tables(data: bytes) -> None:
    """ValueError for texts that end after the file, which polib would cut, or overlap, which it would multiply."""
    order = ORDERS.get(data[:4])
    if order is None:
        raise ValueError("wrong signature")
    count, *tables = struct.unpack_from(f"{order}3I", data.ljust(20, b"\xff"), 8)
    if max(tables) + 8 * count > len(data):
        raise ValueError("truncated")
    spans = [np.frombuffer(data, f"{order}u4", 2 * count, table).astype(np.int64) for table in tables]
    lengths, begins = np.concatenate(spans).reshape(-1, 2).T
    if (begins + lengths > len(data)).any() or lengths.sum() > len(data):
        raise ValueError("truncated, or texts overlap")


def parse_po(data: bytes, path: str) -> Any:
    """Parse a `.po` with polib, with BACKSLASH for the backslash of an escape that polib does not know. UserError with
    the line that is malformed.
    """
    text = decode_po(data, path)
    _check_po(text.split("\n"), path)
    text = _KNOWN.sub(lambda match: match[0] if match[1] else BACKSLASH, text.replace(BACKSLASH, ""))
    text = _TIGHT.sub(r"\1 ", text)  # polib wants a space there
    try:
        return polib.pofile(_Lines(text + "\n"))
    except OSError as error:
        line, about = match.groups() if (match := PO_ERROR.search(str(error))) else ("1", None)
        raise UserError(f"{shown(path)}:{line}: invalid .po syntax ({about or 'syntax error'})") from None


def decode_po(data: bytes, path: str, charset: str = "") -> str:
    """Return the text of a `.po`. UserError with the line that is not in the encoding of its header; an unknown one is
    UTF-8 (`CHARSET`).
    """
    match = _CHARSET.search(data[:65_536].decode("latin-1"))
    charset = charset or (match[1] if match else "utf-8")
    try:
        return data.decode(charset)
    except LookupError:
        return decode_po(data, path, "utf-8")
    except UnicodeError as error:
        line = data.count(b"\n", 0, error.start if isinstance(error, UnicodeDecodeError) else 0) + 1
        raise UserError(f"{shown(path)}:{line}: is not encoded as declared ({charset})") from None


def _check_po(lines: Sequence[str], path: str) -> None:
    """UserError for what polib would read with a letter less, or as a message that is not translated: a text without
    its quotes, and a file that ends before the translation of a message.
    """
    number, keyword = 0, ""
    for number, line in enumerate(lines, start=1):
        if begun := _BEGUN.match(line.strip()):
            keyword = begun[1] or keyword
            if not _WHOLE.fullmatch(line.strip()):
                raise UserError(f"{shown(path)}:{number}: invalid .po syntax (a string is not between two quotes)")
    if keyword not in ("", "msgstr"):
        raise UserError(f"{shown(path)}:{number}: ends before the msgstr of a message")


class _Lines(str):
    """The text of a file, of which polib takes the lines: they end with a newline and nothing else."""

    __slots__ = ()

    def splitlines(self, keepends: bool = False) -> list[str]:
        return self.split("\n")


def unescaped(text: str) -> str:
    """Return a text of polib's with the escapes that polib does not know replaced, such as those of a terminal
    (`\\033`).
    """
    return _ESCAPE.sub(lambda match: _unescape(match[1]), text)


def _unescape(code: str) -> str:
    if code[:1] == "x":
        return chr(int(code[1:], 16))
    return chr(int(code, 8)) if code.isdigit() else {"a": "\a", "": "\\"}[code]


def read_header(metadata: dict[str, str], path: str) -> tuple[tuple[str, str], Forms]:
    """Return the languages and the forms of plurals; if none are declared, the first is the form for 1."""
    source, target = (metadata.get(key, UNSAID).strip() for key in ("X-Source-Language", "Language"))
    name, folders = Path(path).name.partition(".")[0], Path(path).parts[-3:-2]
    guesses = (guess for guess in (target, name, *folders) if is_language(guess))
    forms = read_forms(metadata.get("Plural-Forms", "")) or Forms(0, 0, alone=True)
    return (source, next(guesses, UNSAID)), forms
