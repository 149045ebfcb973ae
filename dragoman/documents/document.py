"""A file whose texts are translated, and the rest of which stays as it is."""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from dragoman.corpus.further_languages import Texts
from dragoman.corpus.naming import is_language, is_same_language
from dragoman.documents.document_segment import DocumentSegment, ElementPlaceholders, Part
from dragoman.documents.translated import TranslatedText
from dragoman.errors import UserError
from dragoman.files.reading import LONGEST_SIGNATURE, check_plain

# Top-level keys of JSON and YAML with the language of the file.
LOCALE_KEYS = ("@@locale", "locale", "lang", "language")
UTF_16 = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}  # by how a file in it begins


class File(NamedTuple):
    """What a document is read from: its name, for errors, what is in it, and the languages to translate from and to. An
    archive may unpack to so many bytes.
    """

    name: str
    data: bytes
    languages: tuple[str, str]
    unpacked: int = 512 * 2**20

    @property
    def text(self) -> str:
        """What is in it, as text. UserError where it is not UTF-8, or UTF-16 that says so."""
        check_plain(self.data[:LONGEST_SIGNATURE], self.name)
        encoding = "utf-16" if self.data.startswith(tuple(UTF_16)) else "utf-8"
        try:
            return self.data.decode(encoding)
        except UnicodeDecodeError as error:
            line = 1 + self.data.count(b"\n", 0, error.start)
            raise UserError(f"{self.name}:{line}: is not {encoding.upper()}; save it as UTF-8") from None

    def encoded(self, text: str) -> bytes:
        """Return a text as bytes in the encoding of the file."""
        return encode_utf16(text, self.data) or text.encode()


def encode_utf16(text: str, data: bytes) -> bytes:
    """Return a text in the kind of UTF-16 that data begin with the mark of; nothing if they begin with none."""
    return next((mark + text.encode(encoding) for mark, encoding in UTF_16.items() if data.startswith(mark)), b"")


def target_code(code: str, languages: tuple[str, str], separator: str) -> str | None:
    """Return the target language's code if `code` names the source language, else None. Its parts are separated as
    those of `code`, or by `separator` if that has one part.
    """
    source, target = languages
    if code != source and not (is_same_language(code, source) and is_language(target)):
        return None
    separator = next((sign for sign in "-_" if sign in code), separator)
    return re.sub("[-_]", separator, target) if is_language(target) else target


class Document(ABC):
    """A file as the lines that are to be translated."""

    lines: Sequence[DocumentSegment]

    def further_texts(self, texts: Texts) -> Sequence[str] | None:
        """Return the text of each line in another language, given its catalogue; empty where that has none. None if
        there are no such catalogues for documents of this format.
        """
        return None

    def count(self, translated: Sequence[TranslatedText]) -> tuple[int, int]:
        """Return how many texts have a translation, and how many there are."""
        return sum(translation.complete for translation in translated), len(translated)

    @property
    def contexts(self) -> Sequence[str] | None:
        """The context of each line; None if documents of this format have none."""
        return None

    @abstractmethod
    def written(self, translated: Sequence[TranslatedText]) -> bytes:
        """The file with translations of its lines, in their order. One that lacks a part of it stays."""


class TextDocument(Document):
    """A file of text, as what stays and what is translated. `kept` has what placeholders in the texts stand for."""

    def __init__(self, parts: Iterable[Part], kept: ElementPlaceholders | None = None) -> None:
        self.parts = list(parts)
        self.lines = [part for part in self.parts if isinstance(part, DocumentSegment)]
        self.kept = kept or ElementPlaceholders("")

    def text(self, translated: Sequence[TranslatedText]) -> str:
        """The same as text."""
        translations = iter(translated)
        return "".join(
            part if isinstance(part, str) else self.kept.restore(part.written(next(translations)))
            for part in self.parts
        )

    def written(self, translated: Sequence[TranslatedText]) -> bytes:
        return self.text(translated).encode()


class EncodedTextDocument(TextDocument):
    """A file of text that is written in the encoding in which it was read."""

    def __init__(self, file: File, parts: Iterable[Part]) -> None:
        self._file = file
        super().__init__(parts)

    def written(self, translated: Sequence[TranslatedText]) -> bytes:
        return self._file.encoded(self.text(translated))


class Plain(EncodedTextDocument):
    """The lines of a file of text; what separates them stays."""

    def __init__(self, file: File) -> None:
        super().__init__(file, _parts(file.text))


def _parts(text: str) -> Iterator[Part]:
    for written in text.splitlines(keepends=True):
        line = DocumentSegment(written.strip(), raw=written.strip())
        if not line.worded:
            yield written
            continue
        before, _, after = written.partition(line.raw)
        yield from (before, line, after)
