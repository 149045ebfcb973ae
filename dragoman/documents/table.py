"""The table of the formats of documents, by the endings of their names."""

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import PurePath
from typing import NamedTuple

from dragoman.documents.document import Document, File
from dragoman.errors import UserError, missing_library


class DocumentFormat(NamedTuple):
    """Where the class of a format is. Texts of `prose` are translated a sentence at a time, strings of programs a line
    at a time. What is `binary` is not written on a terminal. `done` says of a number of texts what became of them.
    """

    place: str
    prose: bool = True
    binary: bool = False
    done: str = "texts are translated"


def document(file: File) -> Document:
    """The document in a file. UserError if no format has the ending of its name, a package is missing, or it cannot be
    read.
    """
    module, _, name = format_of(file.name).place.partition(":")
    try:
        kind: Callable[[File], Document] = getattr(import_module(f"dragoman.documents.{module}"), name)
    except ModuleNotFoundError as error:
        raise missing_library(error.name, "documents") from error
    return kind(file)


def format_of(name: str) -> DocumentFormat:
    """The format of a file of this name. UserError if there is none."""
    ending = PurePath(name.lower()).suffix
    if ending not in FORMATS:
        raise UserError(f"{name}: expected the name to end in one of {', '.join(FORMATS)}")
    return FORMATS[ending]


_MESSAGES = "texts without a translation have one now, marked as fuzzy"
_UNITS = "texts without a translation have one now, marked as to be reviewed"
FORMATS: Mapping[str, DocumentFormat] = {
    ".txt": DocumentFormat("document:Plain"),
    ".html": DocumentFormat("html:Html"),
    ".htm": DocumentFormat("html:Html"),
    ".xhtml": DocumentFormat("html:Html"),
    ".md": DocumentFormat("markdown:Markdown"),
    ".markdown": DocumentFormat("markdown:Markdown"),
    ".po": DocumentFormat("po:PoDocument", prose=False, done=_MESSAGES),
    ".xliff": DocumentFormat("xliff_tmx:Xliff", prose=False, done=_UNITS),
    ".xlf": DocumentFormat("xliff_tmx:Xliff", prose=False, done=_UNITS),
    ".tmx": DocumentFormat("xliff_tmx:Tmx", prose=False, done="units without this language have it now"),
    ".json": DocumentFormat("json:JsonStrings", prose=False),
    ".arb": DocumentFormat("json:JsonStrings", prose=False),
    ".xcstrings": DocumentFormat("xcstrings:StringCatalogue", prose=False, done=_UNITS),
    ".yaml": DocumentFormat("yaml:YamlStrings", prose=False),
    ".yml": DocumentFormat("yaml:YamlStrings", prose=False),
    ".srt": DocumentFormat("subtitles:SubRip"),
    ".vtt": DocumentFormat("subtitles:WebVtt"),
    ".sbv": DocumentFormat("subtitles:SubViewer"),
    ".ass": DocumentFormat("subtitles:SubStation"),
    ".ssa": DocumentFormat("subtitles:SubStation"),
    ".docx": DocumentFormat("office:Office", binary=True),
    ".pptx": DocumentFormat("office:Office", binary=True),
}
