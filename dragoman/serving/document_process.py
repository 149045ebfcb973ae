"""Documents that are read and written in a process of their own, so that no file keeps the server from answering."""

import asyncio
import logging
import multiprocessing
import signal
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from threading import Event, Lock

from dragoman.documents.document import File
from dragoman.documents.translated import TranslatedSentence, TranslatedText
from dragoman.errors import UserError
from dragoman.serving import document_worker
from dragoman.serving.document_worker import (
    Answer,
    Content,
    DocumentReading,
    Failure,
    HtmlTexts,
    Job,
    ReadJob,
    WriteJob,
)
from dragoman.serving.request_queue import BusyError
from dragoman.translation.translation import Translation

log = logging.getLogger("dragoman.serving")

WAIT = 60  # seconds after which clients are asked to try again while other documents are read
# How a process ends that takes too much: by the limit of processor time, by the system that lacks memory, or in a
# library that gets none and either notices it or does not.
COSTLY_SIGNALS = tuple(getattr(signal, name, None) for name in ("SIGXCPU", "SIGKILL", "SIGABRT", "SIGSEGV"))
EXIT_SECONDS = 1.0  # that a process whose connection has closed may take to end


class CostlyError(Exception):
    """A document takes more processor time or memory than one of its size may."""


class DocumentProcess:
    """A process that reads and writes documents, one at a time. It starts with the first of them, and is replaced when
    a document was too much for it.
    """

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._changing = Lock()
        self._process: BaseProcess | None = None
        self._connection: Connection | None = None
        self._stopped = False

    async def read(self, content: Content, language: str, *, sentences: bool, until: float) -> DocumentReading:
        """Read a document. UserError if it cannot be read, CostlyError if that takes too much, and BusyError if it is
        not done until then (`time.monotonic`).
        """
        reading = await self._answer(ReadJob(content, language, sentences), until)
        assert isinstance(reading, DocumentReading)
        return reading

    async def write(self, file: File, translated: Sequence[TranslatedText], *, tagged: bool, until: float) -> bytes:
        """The file with translations of its lines, which may have tags or not. Raises what `read` does."""
        written = await self._answer(await asyncio.to_thread(_write_job, file, translated, tagged), until)
        assert isinstance(written, bytes)
        return written

    async def write_pages(
        self, pages: HtmlTexts, translated: Sequence[TranslatedText], *, tagged: bool, until: float
    ) -> list[str]:
        """Texts in HTML with translations of their lines. Raises what `read` does."""
        written = await self._answer(await asyncio.to_thread(_write_job, pages, translated, tagged), until)
        assert isinstance(written, list)
        return written

    def stop(self) -> None:
        """End the process. What it does is answered with BusyError."""
        self._stopped = True
        self._end()

    async def _answer(self, job: Job, until: float) -> DocumentReading | bytes | list[str]:
        try:
            async with asyncio.timeout(until - time.monotonic()):
                await self._turn.acquire()
        except TimeoutError:
            raise BusyError("other files are read", WAIT) from None
        try:
            left = Event()
            work = asyncio.ensure_future(asyncio.to_thread(self._exchange, job, until, left))
            try:
                answer = await asyncio.shield(work)
            except asyncio.CancelledError:  # the client has left
                left.set()  # before the end of the process, so that no other one is started for the job
                self._end()
                await asyncio.wait({work})
                work.exception()  # nobody else takes note of it
                raise
        finally:
            self._turn.release()
        if not isinstance(answer, Failure):
            return answer
        if answer.trace:
            log.error("a document could not be read or written", extra={"request": {"trace": answer.trace}})
            raise RuntimeError("a document could not be read or written")
        raise CostlyError(answer.line) if answer.costly else UserError(answer.line)

    def _exchange(self, job: Job, until: float, left: Event) -> DocumentReading | bytes | list[str] | Failure:
        """Send a job to the process, and wait for the answer. BusyError if the client has left before it was sent."""
        connection = self._started(left)
        try:
            connection.send(job)
        except OSError:  # it has been ended meanwhile, by the system for instance
            self._end()
            connection = self._started(left)
            connection.send(job)
        try:
            if not connection.poll(max(0.0, until - time.monotonic())):
                self._end()
                raise BusyError("not read in time", WAIT)
            answer: Answer = connection.recv()
        except (EOFError, OSError):
            code = self._end(EXIT_SECONDS)
            if self._stopped:
                raise BusyError("the service is stopping") from None
            return _failure(code)
        if answer.last:
            self._end()
        return answer.result

    def _started(self, left: Event) -> Connection:
        """The connection to the process, which is started if there is none."""
        with self._changing:
            if self._stopped or left.is_set():
                raise BusyError("the service is stopping" if self._stopped else "the client has left")
            if self._connection is None:
                context = multiprocessing.get_context("spawn")  # a fork of a process with threads may hang
                self._connection, other = context.Pipe()
                self._process = context.Process(target=document_worker.serve, args=(other,), daemon=True)
                self._process.start()
                other.close()
            return self._connection

    def _end(self, seconds: float = 0.0) -> int | None:
        """End the process, if there is one that does not end by itself in so many seconds, and return its exit code. A
        thread that waits for its answer holds the connection, and reads its end; nobody else does, and it is closed.
        """
        with self._changing:
            process, self._process, self._connection = self._process, None, None
        if process is None:
            return None
        process.join(seconds)
        process.kill()
        process.join()
        return process.exitcode


def _failure(code: int | None) -> Failure:
    """Why a process ended that has not answered, by its exit code. BusyError if somebody ended it."""
    number = -(code or 0)
    if number == signal.SIGTERM:
        raise BusyError("the document process was terminated", WAIT)
    ended = f"the document process ended with exit code {code}"
    if number in COSTLY_SIGNALS:
        log.warning(ended)
        return Failure("it requires too much time or memory for its size", costly=True)
    return Failure(trace=ended)


def _write_job(content: Content, translated: Sequence[TranslatedText], tagged: bool) -> WriteJob:
    """A job with texts, and with what places tags in them if there are any: the rest is most of a translation."""
    return WriteJob(
        content,
        [TranslatedText(text.passage, tuple(_needed(part, tagged) for part in text.sentences)) for text in translated],
    )


def _needed(sentence: TranslatedSentence, tagged: bool) -> TranslatedSentence:
    """A sentence without what its document is written without."""
    whole, read = (sentence.whole, sentence.read) if tagged else (None, None)
    if whole is not None:
        sources = tuple(source._replace(by_symbol=None) for source in whole.sources[:1])
        whole = Translation(sources, whole.text, whole.words, whole.score, whole.log_prob, steps=())
    return TranslatedSentence(sentence.text, whole, read=read and _needed(read, tagged))
