"""Files that are translated: sent, kept in memory for a while, and fetched."""

import asyncio
import secrets
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any, NamedTuple
from urllib.parse import quote

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from dragoman.documents import table
from dragoman.documents.document import File
from dragoman.serving.backend import Backend
from dragoman.serving.bodies import PARTS, FileBody, described
from dragoman.serving.document_worker import DocumentReading
from dragoman.serving.http_error import RESPONSES, HTTPError
from dragoman.serving.request_languages import AUTO, languages_of
from dragoman.serving.request_options import RequestOptions
from dragoman.translation.transforms.terms import LexicalConstraints

MINUTES = 30  # that a translated file can be fetched for
TOGETHER = 20  # times the size of the largest file: what all that are kept may have
IN_MEMORY = 8  # files that are translated at once; others wait in temporary files, unless they are small
ARCHIVE = b"PK\x03\x04"  # what office documents begin with
MARKED = 10  # times as many bytes as characters of text may be translated: what another file may have
UNPACKED = 10  # times its own limit: what an archive may unpack to
HEADERS = {"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "sandbox", "Cache-Control": "no-store"}


def router(backend: Backend) -> APIRouter:
    """The endpoints of a service."""
    api, ask = APIRouter(tags=["LibreTranslate"], responses=RESPONSES), FileEndpoints(backend)
    api.add_api_route("/translate_file", ask.translate, methods=["POST"], openapi_extra=described(FileBody, PARTS))
    api.add_api_route("/download_file/{name}", ask.download, name="download_file", response_class=Download)
    return api


class Download(Response):
    """The bytes of a file."""

    media_type = "application/octet-stream"


class TranslatedFile(NamedTuple):
    """A translated file, and the name that it is saved under."""

    name: str
    data: bytes


class DownloadStore:
    """Translated files in memory, by names that nobody can guess: each for so many seconds, and together at most so
    many bytes. They are gone with the process.
    """

    def __init__(self, most: int, seconds: float = 60.0 * MINUTES) -> None:
        self._most = most
        self._seconds = seconds
        self._files: dict[str, TranslatedFile] = {}

    def keep(self, done: TranslatedFile) -> str:
        """Keep a file, in the place of the oldest ones where there is no room for all, and return its name here.
        HTTPError if there would be no room for it alone.
        """
        if len(done.data) > self._most:
            raise HTTPError(503, "Service is busy: no memory for the translated file", retry_after=60)
        while self._files and sum(len(file.data) for file in self._files.values()) + len(done.data) > self._most:
            self._files.pop(next(iter(self._files)))
        name = secrets.token_urlsafe(24) + PurePosixPath(done.name).suffix
        self._files[name] = done
        asyncio.get_running_loop().call_later(self._seconds, self._files.pop, name, None)
        return name

    def find(self, name: str) -> TranslatedFile | None:
        return self._files.get(name)


class FileEndpoints:
    """What answers at /translate_file and /download_file."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.store = DownloadStore(TOGETHER * backend.limits.file)
        self._places = asyncio.Semaphore(IN_MEMORY)

    async def translate(self, request: Request) -> dict[str, Any]:
        """Translate a file and return its download URL. The file name extension gives the format."""
        body, _, until = await self.backend.admitted(request, FileBody)
        if not self.backend.limits.file:
            raise HTTPError(403, "Files translation are disabled on this server.")
        name = PureWindowsPath(body.file.filename or "").name  # without folders, whatever system it comes from
        if not name:
            raise HTTPError(400, "Invalid request: empty file")
        if PurePosixPath(name.lower()).suffix not in table.FORMATS:
            raise HTTPError(400, "Invalid request: file format not supported")
        async with self._place(until):
            data = await body.file.read()
            most = self.backend.limits.file_characters
            if not data.startswith(ARCHIVE) and len(data) > MARKED * most:
                raise HTTPError(400, f"Invalid request: file ({len(data)}) exceeds text limit ({most})")
            file = File(name, data, (body.source, body.target), UNPACKED * self.backend.limits.file)
            file, reading = await self._read(request, file, until)
            texts = (sentence for passage in reading.passages for sentence in passage.sentences)
            self.backend.check_characters(sum(map(len, texts)) + body.characters, most)
            constraints = LexicalConstraints(body.terms)
            tagged = reading.tagged
            options = RequestOptions(constraints=constraints, details=tagged, until=until, attention=tagged)
            translated = await self.backend.passages(request, reading.passages, *file.languages, options)
            write = self.backend.service.files.write(file, translated, tagged=tagged, until=until)
            written = await self.backend.answer(request, write, "file")
            path = PurePosixPath(name)
            kept = self.store.keep(TranslatedFile(f"{path.stem}_{file.languages[1]}{path.suffix}", written))
            return {"translatedFileUrl": str(request.url_for("download_file", name=kept))}

    async def download(self, name: str) -> Response:
        """Download a translated file."""
        if not self.backend.limits.file:
            raise HTTPError(400, "Files translation are disabled on this server.")
        done = self.store.find(name)
        if done is None:
            raise HTTPError(404, "Invalid filename")
        disposition = f"attachment; filename*=UTF-8''{quote(done.name, safe='')}"
        return Download(done.data, headers={**HEADERS, "Content-Disposition": disposition})

    @asynccontextmanager
    async def _place(self, until: float) -> AsyncIterator[None]:
        """A place among the files in memory, for which other uploads wait. HTTPError if none is free in time."""
        try:
            async with asyncio.timeout(until - time.monotonic()):
                await self._places.acquire()
        except TimeoutError:
            raise HTTPError(503, "Service is busy: other files are being translated", retry_after=60) from None
        try:
            yield
        finally:
            self._places.release()

    async def _read(self, request: Request, file: File, until: float) -> tuple[File, DocumentReading]:
        """A file with its language, and its texts in sentences. HTTPError if it cannot be read."""
        source, target = file.languages
        service, languages = self.backend.service, list(self.backend.service.routes.targets)
        prose = table.format_of(file.name).prose and service.sentences

        async def read(language: str) -> DocumentReading:
            named = file._replace(languages=(language, target))
            work = service.files.read(named, language, sentences=prose, until=until)
            return await self.backend.answer(request, work, "file")

        text = ""
        if source.lower() == AUTO and languages:
            passages = (await read(languages[0])).passages
            text = "\n".join(sentence for passage in passages for sentence in passage.sentences)
        source, target, _ = await asyncio.to_thread(languages_of, self.backend, source, target, text)
        return file._replace(languages=(source, target)), await read(source)
