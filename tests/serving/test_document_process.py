"""Documents in a process of their own, which costly ones end."""

import asyncio
import logging
import multiprocessing
import os
import signal
import time
from collections.abc import Coroutine
from dataclasses import replace
from multiprocessing.connection import Connection
from threading import Event
from typing import Any

import pytest

pytest.importorskip("fastapi")
from dragoman.documents import table
from dragoman.documents.document import File
from dragoman.documents.passages import split_text
from dragoman.documents.placing import Tag, place_tags
from dragoman.documents.translated import TranslatedSentence, TranslatedText
from dragoman.errors import UserError
from dragoman.serving import document_worker
from dragoman.serving.document_process import CostlyError, DocumentProcess
from dragoman.serving.document_worker import OUT_OF_MEMORY, Answer, Documents, Failure, HtmlTexts, ReadJob, WriteJob
from dragoman.serving.request_queue import BusyError
from tests.serving.conftest import Open
from tests.serving.test_cache import complete

resource = pytest.importorskip("resource")
FILE = File("a.txt", b"one two. six\n", ("en", "fr"))
PAIR = {"source": "en", "target": "fr"}


class Endless(File):
    """A file that is not read to its end: in Python, in a library that keeps the interpreter to itself, or for lack of
    input, which takes no processor time.
    """

    @property
    def text(self) -> str:
        if self.data == b"python":
            while True:
                pass
        if self.data == b"input":
            time.sleep(20)
        return str(sum(range(10**12)))


class Large(File):
    """A file that needs more memory than one of its size may."""

    @property
    def text(self) -> str:
        return "x" * 2**29


class Faulty(File):
    """A file on which the parser fails."""

    @property
    def text(self) -> str:
        raise KeyError("a secret")


class Ending(File):
    """A file with which the process ends: by a signal, or with an exit code."""

    @property
    def text(self) -> str:
        if (number := int(self.data)) < 0:
            os.kill(os.getpid(), -number)
            time.sleep(10)
        os._exit(number)


def run(test: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(asyncio.wait_for(test, 60))


def later(seconds: float = 30.0) -> float:
    return time.monotonic() + seconds


def read(documents: DocumentProcess, file: File = FILE, seconds: float = 30.0) -> Any:
    return documents.read(file, "en", sentences=True, until=later(seconds))


@pytest.mark.slow
def test_a_document_is_read_and_written() -> None:
    async def test() -> None:
        documents = DocumentProcess()
        reading = await read(documents)
        (passage,) = reading.passages
        assert (passage.sentences, reading.tagged) == (("one two.", "six"), False)
        translated = [TranslatedText(passage, (TranslatedSentence("un"), TranslatedSentence("deux")))]
        assert await documents.write(FILE, translated, tagged=False, until=later()) == b"un deux\n"
        pages = HtmlTexts(('<p lang="en"><b>one</b>', "two"), ("en", "fr"))
        reading = await documents.read(pages, "en", sentences=True, until=later())
        assert reading.tagged
        translated = [TranslatedText(untranslated, (TranslatedSentence("x"),)) for untranslated in reading.passages]
        assert await documents.write_pages(pages, translated, tagged=True, until=later()) == [
            '<p lang="fr"><b>x</b>',
            "x",
        ]
        with pytest.raises(UserError, match="is not UTF-8"):
            await read(documents, FILE._replace(data=b"\xff"))
        documents.stop()
        with pytest.raises(BusyError, match="stopping"):
            await read(documents)

    run(test())


def test_a_large_document_may_take_more_than_a_small_one_before() -> None:
    kinds = (resource.RLIMIT_CORE, resource.RLIMIT_CPU, resource.RLIMIT_AS)
    before, seconds = [(kind, resource.getrlimit(kind)) for kind in kinds], list[int]()
    try:
        for size in (0, 10**6):
            document_worker.limit(size)
            seconds.append(resource.getrlimit(resource.RLIMIT_CPU)[0])
    finally:
        for kind, limits in before:
            resource.setrlimit(kind, limits)
    assert seconds[1] - seconds[0] in (20, 21)


def test_a_stopped_service_reads_no_documents() -> None:
    documents = DocumentProcess()
    documents.stop()
    with pytest.raises(BusyError, match="stopping"):
        run(read(documents))


@pytest.mark.slow
@pytest.mark.parametrize("kind", [b"python", b"library"])
def test_one_that_takes_too_long_is_ended_while_others_go_on(kind: bytes) -> None:
    async def test() -> None:
        documents, gaps = DocumentProcess(), list[float]()
        await read(documents)

        async def watch() -> None:
            while True:
                began = time.monotonic()
                await asyncio.sleep(0.01)
                gaps.append(time.monotonic() - began)

        watching = asyncio.create_task(watch())
        began = resource.getrusage(resource.RUSAGE_CHILDREN)
        with pytest.raises(CostlyError, match="too much time or memory"):
            await read(documents, Endless("a.txt", kind, ("en", "fr")))
        watching.cancel()
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert ended.ru_utime - began.ru_utime < 8
        assert max(gaps) < 2
        assert (await read(documents)).passages  # by another process
        documents.stop()

    run(test())


@pytest.mark.slow
def test_one_that_needs_too_much_memory_is_refused() -> None:
    async def test() -> None:
        documents = DocumentProcess()
        with pytest.raises(CostlyError, match="too much memory"):
            await read(documents, Large("a.txt", b"", ("en", "fr")))
        assert (await read(documents)).passages
        documents.stop()

    run(test())


@pytest.mark.slow
def test_there_is_a_deadline_and_a_client_may_leave() -> None:
    async def test() -> None:
        documents, endless = DocumentProcess(), Endless("a.txt", b"python", ("en", "fr"))
        await read(documents)
        began = time.monotonic()
        with pytest.raises(BusyError, match="not read in time"):
            await read(documents, endless, 0.2)
        leaving = asyncio.create_task(read(documents, endless._replace(data=b"input")))
        waiting = asyncio.create_task(read(documents, FILE, 0.3))
        await asyncio.sleep(0.5)
        with pytest.raises(BusyError, match="other files") as busy:
            await waiting
        assert busy.value.retry_after == 60
        leaving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await leaving
        assert time.monotonic() - began < 10
        assert (await read(documents)).passages
        stopped = asyncio.create_task(read(documents, endless))
        await asyncio.sleep(0.2)
        documents.stop()
        with pytest.raises(BusyError, match="stopping"):
            await stopped

    run(test())


@pytest.mark.slow
def test_a_job_is_not_sent_again_when_the_client_has_left(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        documents, connections = DocumentProcess(), list[Connection]()
        await read(documents)
        assert documents._process is not None
        connect = documents._started

        def connected(left: Event) -> Connection:
            connections.append(connect(left))
            return connections[-1]

        monkeypatch.setattr(documents, "_started", connected)
        os.kill(documents._process.pid or 0, signal.SIGSTOP)
        leaving = asyncio.create_task(read(documents, FILE._replace(data=b"one\n" * 2**20)))
        await asyncio.sleep(0.3)  # most of it is not sent yet
        leaving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await leaving
        assert documents._process is None
        assert len(connections) == 1
        documents.stop()

    run(test())


@pytest.mark.slow
def test_how_the_process_ends_decides_the_answer(caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        documents = DocumentProcess()
        for code in (-signal.SIGXCPU, -signal.SIGKILL, -signal.SIGABRT, -signal.SIGSEGV):
            with pytest.raises(CostlyError, match="too much time or memory"):
                await read(documents, Ending("a.txt", b"%d" % code, ("en", "fr")))
        with pytest.raises(BusyError) as busy:
            await read(documents, Ending("a.txt", b"%d" % -signal.SIGTERM, ("en", "fr")))
        assert busy.value.retry_after == 60
        assert {(record.levelname, record.message.split()[-1]) for record in caplog.records} == {
            ("WARNING", str(-number)) for number in (signal.SIGXCPU, signal.SIGKILL, signal.SIGABRT, signal.SIGSEGV)
        }
        caplog.clear()
        with pytest.raises(RuntimeError):
            await read(documents, Ending("a.txt", b"3", ("en", "fr")))
        documents.stop()

    run(test())
    assert [vars(record)["request"]["trace"].split()[-1] for record in caplog.records] == ["3"]


def test_an_answer_that_there_is_no_memory_for_is_a_costly_one(monkeypatch: pytest.MonkeyPatch) -> None:
    connection, other = multiprocessing.Pipe()
    really = Connection.send

    def send(self: Connection, answer: Answer) -> None:
        if answer.result == b"one":
            raise MemoryError
        really(self, answer)

    monkeypatch.setattr(Connection, "send", send)
    document_worker.send(connection, Answer(b"one"))
    assert other.recv() == Answer(OUT_OF_MEMORY, last=True)


@pytest.mark.slow
def test_a_process_that_the_system_ends_is_replaced() -> None:
    async def test() -> None:
        documents = DocumentProcess()
        await read(documents)
        assert documents._process is not None
        os.kill(documents._process.pid or 0, signal.SIGKILL)
        documents._process.join()
        assert (await read(documents)).passages
        documents.stop()

    run(test())


@pytest.mark.slow
def test_a_fault_is_in_the_log_without_its_message(caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        documents = DocumentProcess()
        with caplog.at_level(logging.ERROR), pytest.raises(RuntimeError):
            await read(documents, Faulty("a.txt", b"", ("en", "fr")))
        documents.stop()

    run(test())
    (record,) = caplog.records
    trace = vars(record)["request"]["trace"]
    assert trace.splitlines()[-1] == "KeyError"
    assert "secret" not in trace


def test_the_last_document_is_not_read_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    count = 0
    really = table.document

    def document(file: File) -> Any:
        nonlocal count
        count += 1
        return really(file)

    monkeypatch.setattr(table, "document", document)
    documents, other = Documents(), FILE._replace(data=b"six\n")
    reading = documents.answer(ReadJob(FILE, "en"))
    assert not isinstance(reading, Failure | bytes | list)
    job = WriteJob(
        FILE,
        [
            TranslatedText(passage, (TranslatedSentence("un"), TranslatedSentence("deux")))
            for passage in reading.passages
        ],
    )
    assert documents.answer(job) == b"un deux\n"
    assert count == 1
    documents.answer(ReadJob(other, "en"))
    assert documents.answer(job) == b"un deux\n"  # after another one
    assert count == 3


def test_only_what_a_document_is_written_with_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs: list[WriteJob] = []

    async def answer(self: DocumentProcess, job: WriteJob, until: float) -> bytes:
        jobs.append(job)
        return b""

    monkeypatch.setattr(DocumentProcess, "_answer", answer)
    whole = complete(20)
    whole = replace(whole, alternatives=(complete(20),))
    passage = split_text(whole.source, "en")
    done = TranslatedSentence(whole.text, whole, alternatives=("one",), read=TranslatedSentence("two", whole))
    for tagged in (False, True):
        asyncio.run(DocumentProcess().write(FILE, [TranslatedText(passage, (done,))], tagged=tagged, until=later()))
    texts, attended = (job.translated[0].sentences[0] for job in jobs)
    assert texts == TranslatedSentence(whole.text)
    assert attended.read is not None
    for part in (attended, attended.read):
        assert part.whole is not None
        assert part.whole.steps == part.whole.alternatives == part.whole.output_symbols == ()
        assert part.whole.words == whole.words
        assert part.whole.sources[0].by_symbol is None
        assert (part.whole.attention == whole.attention).all()
    marks = [Tag("<b>", 0, "open", "b"), Tag("</b>", 6, "close", "b")]
    one, other = (
        place_tags(marks, whole.source, TranslatedText(passage, (part._replace(read=None),)))
        for part in (done, attended)
    )
    assert one == other


def test_limits_grow_with_the_document_and_are_lifted(monkeypatch: pytest.MonkeyPatch) -> None:
    limits: dict[int, list[int]] = {}
    monkeypatch.setattr(resource, "setrlimit", lambda kind, soft_hard: limits.setdefault(kind, []).append(soft_hard[0]))
    for size in (0, 1_000_000):
        document_worker.limit(size)
    document_worker.lift_limits()
    small, large, lifted = limits[resource.RLIMIT_CPU]
    assert small <= time.process_time() + 2
    assert large - small in (19, 20, 21)
    assert lifted == resource.getrlimit(resource.RLIMIT_CPU)[1]
    small, large, lifted = limits[resource.RLIMIT_AS]
    assert large - small == pytest.approx(40_000_000, abs=10_000_000)
    assert lifted == resource.getrlimit(resource.RLIMIT_AS)[1]


@pytest.mark.slow
def test_a_costly_upload_is_one_line(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    async def costly(*_: object, **__: object) -> None:
        raise CostlyError("it requires too much time or memory for its size")

    monkeypatch.setattr(DocumentProcess, "read", costly)
    with opened() as client:
        file = {"file": ("a.txt", b"one")}
        answers: list[Any] = [
            client.post("/translate_file", files=file, data=PAIR),
            client.post("/translate", json={"q": "<b>one</b>", "format": "html", **PAIR}),
        ]
    for answer, kind in zip(answers, ("file", "text"), strict=True):
        line = f"Cannot translate {kind}: it requires too much time or memory for its size"
        assert (answer.status_code, answer.json()) == (413, {"error": line})
