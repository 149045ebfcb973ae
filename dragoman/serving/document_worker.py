"""The process in which documents are read and written, with limits: the other end of `DocumentProcess`."""

import math
import os
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple, TypeAlias

from dragoman.documents import table
from dragoman.documents.document import Document, File
from dragoman.documents.document_segment import DocumentSegment
from dragoman.documents.html import Page
from dragoman.documents.passages import Passage, split_text
from dragoman.documents.translated import TranslatedText
from dragoman.errors import UserError, trace_of

try:
    import resource
except ModuleNotFoundError:  # Windows has no such limits
    resource = None  # type: ignore[assignment]

SECONDS = 1.0  # of processor time that a document may take
SECONDS_PER_BYTE = 20e-6  # and more for a large one
BYTES = 100 * 2**20  # of memory that a document may take
BYTES_PER_BYTE = 40  # and more for a large one
GROWN = 32 * 2**20  # bytes of memory by which a process may grow before it is replaced


class HtmlTexts(NamedTuple):
    """Texts in HTML, and the languages that they are translated from and to."""

    texts: tuple[str, ...]
    languages: tuple[str, str]


Content: TypeAlias = File | HtmlTexts


class Pages:
    """Texts in HTML."""

    def __init__(self, content: HtmlTexts) -> None:
        self._pages = [Page(text, content.languages) for text in content.texts]
        self.lines = [line for page in self._pages for line in page.lines]

    def written(self, translated: Sequence[TranslatedText]) -> list[str]:
        """The texts with translations of their lines."""
        remaining = iter(translated)
        return [page.text([next(remaining) for _ in page.lines]) for page in self._pages]


@dataclass(frozen=True)
class ReadJob:
    """Read a document, and split its lines into the sentences of a language, or not at all."""

    content: Content
    language: str
    sentences: bool = True

    @property
    def size(self) -> int:
        return _size(self.content)


@dataclass(frozen=True)
class WriteJob:
    """Write a document with translations of its lines."""

    content: Content
    translated: Sequence[TranslatedText]

    @property
    def size(self) -> int:
        """The bytes of the document and of its translation, with what attention it has."""
        texts = (sentence for text in self.translated for sentence in text.sentences)
        return _size(self.content) + 10 * sum(len(sentence.text) for sentence in texts)


Job: TypeAlias = ReadJob | WriteJob


@dataclass(frozen=True)
class DocumentReading:
    """The lines of a document in their sentences, and whether there are tags in them."""

    passages: list[Passage]
    tagged: bool


@dataclass(frozen=True)
class Failure:
    """Why there is no result: `line` is for the user; without one, `trace` tells of a fault of ours."""

    line: str = ""
    trace: str = ""
    costly: bool = False


OUT_OF_MEMORY = Failure("it requires too much memory for its size", costly=True)


@dataclass(frozen=True)
class Answer:
    """The result of a job, and whether the process ends after it."""

    result: DocumentReading | bytes | list[str] | Failure
    last: bool = False


def serve(connection: Connection) -> None:
    """Answer jobs until the other end is closed."""
    for name in ("SIGINT", "SIGHUP"):  # which a terminal sends to all processes: the server decides
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    sys.stderr = open(os.devnull, "w")  # noqa: SIM115, as it stays open: a log of JSON lines has no other lines
    os.dup2(sys.stderr.fileno(), 2)
    for entry in table.FORMATS.values():  # now, so that no document pays for it
        try:
            import_module(f"dragoman.documents.{entry.place.partition(':')[0]}")
        except ModuleNotFoundError:
            continue  # the document says so
    documents, first = Documents(), _resident()
    while True:
        try:
            job = connection.recv()
        except EOFError:
            return
        limit(job.size)
        result = documents.answer(job)
        last = (isinstance(result, Failure) and result.costly) or _resident() - first > GROWN
        send(connection, Answer(result, last))
        if last:
            return
        lift_limits()


def send(connection: Connection, answer: Answer) -> None:
    """Send an answer, or that there is not enough memory to send it."""
    try:
        connection.send(answer)
    except MemoryError:
        lift_limits()
        connection.send(Answer(OUT_OF_MEMORY, last=True))


class Documents:
    """Reads and writes documents. The last that was read is kept, since it is usually the next to be written."""

    def __init__(self) -> None:
        self._last: tuple[Content, Document | Pages] | None = None

    def answer(self, job: Job) -> DocumentReading | bytes | list[str] | Failure:
        """The result of a job, or why there is none."""
        try:
            return self._read(job) if isinstance(job, ReadJob) else self._document(job.content).written(job.translated)
        except (UserError, RecursionError) as error:
            return Failure(str(error))
        except MemoryError:
            return OUT_OF_MEMORY
        except Exception as error:
            return Failure(trace=trace_of(error))

    def _read(self, job: ReadJob) -> DocumentReading:
        document = self._document(job.content)
        self._last = job.content, document
        lines: Sequence[DocumentSegment] = document.lines
        passages = [split_text(line.text, job.language, sentences=job.sentences) for line in lines]
        return DocumentReading(passages, any(line.marks for line in lines))

    def _document(self, content: Content) -> Document | Pages:
        last, self._last = self._last, None  # writing may change a document
        if last and last[0] == content:
            return last[1]
        return table.document(content) if isinstance(content, File) else Pages(content)


def limit(size: int) -> None:
    """Limit the processor time and memory of this process to what a document of so many bytes may take from now on."""
    if resource is not None:
        _limit(resource.RLIMIT_CORE, 0)  # the signal at the end of the time would write one
        _limit(resource.RLIMIT_CPU, math.ceil(time.process_time() + SECONDS + SECONDS_PER_BYTE * size))
        if (used := _memory(0)) is not None:
            _limit(resource.RLIMIT_AS, used + BYTES + BYTES_PER_BYTE * size)


def lift_limits() -> None:
    """Lift the limits, so that the next document may arrive."""
    if resource is not None:
        _limit(resource.RLIMIT_CPU, None)
        _limit(resource.RLIMIT_AS, None)


def _limit(kind: int, value: int | None) -> None:
    """Set the soft limit of a resource, to its hard limit at most."""
    hard = resource.getrlimit(kind)[1]
    soft = hard if value is None or resource.RLIM_INFINITY != hard < value else value
    resource.setrlimit(kind, (soft, hard))


def _resident() -> int:
    """The bytes of memory that this process occupies; 0 where the system does not tell."""
    return _memory(1) or 0


def _memory(column: int) -> int | None:
    """A number of Linux's /proc/self/statm in bytes: 0 = all address space, 1 = resident."""
    try:
        return int(Path("/proc/self/statm").read_text("ascii").split()[column]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return None


def _size(content: Content) -> int:
    return len(content.data) if isinstance(content, File) else sum(map(len, content.texts))
