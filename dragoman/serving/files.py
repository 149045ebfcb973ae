"""Files that are translated: sent, kept in memory for a while, and fetched."""

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any, NamedTuple
from urllib.parse import quote

from fastapi import APIRouter
from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import Response

from dragoman.documents import table
from dragoman.documents.document import Document, File
from dragoman.documents.passages import Passage, split
from dragoman.errors import UserError
from dragoman.serving.backend import Backend
from dragoman.serving.glossaries import glossary_characters, requested_glossary
from dragoman.serving.languages import AUTO, languages_of
from dragoman.serving.refusal import REFUSALS, Refusal
from dragoman.serving.routing import RequestOptions
from dragoman.translation.lexical import LexicalConstraints

MINUTES = 30  # that a translated file can be fetched for
TOGETHER = 20  # times the size of the largest file: what all that are kept may have
ARCHIVE = b"PK\x03\x04"  # what office documents begin with
MARKED = 10  # times as many bytes as characters of text may be translated: what another file may have
UNPACKED = 10  # times its own limit: what an archive may unpack to
STRING = {"type": "string"}
FORM = {
    "file": {"type": "string", "format": "binary"},
    "source": STRING,
    "target": STRING,
    "glossary": {**STRING, "description": "terms as at /v1/translate, written as JSON"},
    "api_key": STRING,
}
SCHEMA = {"type": "object", "required": ["file", "source", "target"], "properties": FORM}
HEADERS = {"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "sandbox", "Cache-Control": "no-store"}


def router(backend: Backend) -> APIRouter:
    """The endpoints of a service."""
    api, ask = APIRouter(tags=["LibreTranslate"], responses=REFUSALS), Endpoints(backend)
    body = {"requestBody": {"required": True, "content": {"multipart/form-data": {"schema": SCHEMA}}}}
    api.add_api_route("/translate_file", ask.translate, methods=["POST"], openapi_extra=body)
    api.add_api_route("/download_file/{name}", ask.download, name="download_file", response_class=Download)
    return api


class Download(Response):
    """The bytes of a file."""

    media_type = "application/octet-stream"


class Done(NamedTuple):
    """A translated file, and the name that it is saved under."""

    name: str
    data: bytes


class Store:
    """Translated files in memory, by names that nobody can guess: each for so many seconds, and together at most so
    many bytes. They are gone with the process.
    """

    def __init__(self, most: int, seconds: float = 60.0 * MINUTES) -> None:
        self._most = most
        self._seconds = seconds
        self._files: dict[str, Done] = {}

    def keep(self, done: Done) -> str:
        """Keep a file, in the place of the oldest ones where there is no room for all, and return its name here.
        Refusal if there would be no room for it alone.
        """
        if len(done.data) > self._most:
            raise Refusal(503, "Service is busy: there is no room for the translated file", retry_after=60)
        while self._files and sum(len(each.data) for each in self._files.values()) + len(done.data) > self._most:
            self._files.pop(next(iter(self._files)))
        name = secrets.token_urlsafe(24) + PurePosixPath(done.name).suffix
        self._files[name] = done
        asyncio.get_running_loop().call_later(self._seconds, self._files.pop, name, None)
        return name

    def found(self, name: str) -> Done | None:
        return self._files.get(name)


class Turns:
    """One file at a time is read or written, since it may be large."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()

    @asynccontextmanager
    async def turn(self, until: float) -> AsyncIterator[None]:
        """Wait until no other has its turn. Refusal if that is not before `until`."""
        try:
            async with asyncio.timeout(until - time.monotonic()):
                await self._lock.acquire()
        except TimeoutError:
            raise Refusal(503, "Service is busy: other files are read", retry_after=60) from None
        try:
            yield
        finally:
            self._lock.release()


class Endpoints:
    """What answers at /translate_file and /download_file."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.store = Store(TOGETHER * backend.limits.file)
        self._turns = Turns()

    async def translate(self, request: Request) -> dict[str, Any]:
        """Translate the texts in a file, and tell where it can be fetched. The ending of its name says what it is."""
        parameters = await self.backend.admitted(request)
        if not self.backend.limits.file:
            raise Refusal(403, "Files translation are disabled on this server.")
        upload = parameters.file("file")
        source, target = parameters.text("source"), parameters.text("target")
        name = _name(upload)
        terms, beside = requested_glossary(parameters), glossary_characters(parameters)
        if not name:
            raise Refusal(400, "Invalid request: empty file")
        if PurePosixPath(name.lower()).suffix not in table.FORMATS:
            raise Refusal(400, "Invalid request: file format not supported")
        async with self._turns.turn(parameters.until):
            data = await upload.read()
            if not data.startswith(ARCHIVE) and len(data) > MARKED * self.backend.limits.characters:
                raise Refusal(
                    400, f"Invalid request: file ({len(data)}) exceeds text limit ({self.backend.limits.characters})"
                )
            source, document, passages = await asyncio.to_thread(self._read, name, data, source, target)
        self.backend.check_characters(sum(len(each) for passage in passages for each in passage.sentences) + beside)
        tagged = any(line.marks for line in document.lines)
        options = RequestOptions(constraints=LexicalConstraints(terms), until=parameters.until, attention=tagged)
        found = await self.backend.passages(request, passages, source, target, options)
        async with self._turns.turn(parameters.until):
            try:
                written = await asyncio.to_thread(document.written, found)
            except (UserError, RecursionError) as error:
                raise _refusal(error) from None
        path = PurePosixPath(name)
        kept = self.store.keep(Done(f"{path.stem}_{target}{path.suffix}", written))
        return {"translatedFileUrl": str(request.url_for("download_file", name=kept))}

    async def download(self, name: str) -> Response:
        """A file that was translated."""
        if not self.backend.limits.file:
            raise Refusal(400, "Files translation are disabled on this server.")
        done = self.store.found(name)
        if done is None:
            raise Refusal(404, "Invalid filename")
        told = f"attachment; filename*=UTF-8''{quote(done.name, safe='')}"
        return Download(done.data, headers={**HEADERS, "Content-Disposition": told})

    def _read(self, name: str, data: bytes, source: str, target: str) -> tuple[str, Document, Sequence[Passage]]:
        """The language of a file, the document in it, and its texts in sentences. Refusal if it cannot be read."""
        known = self.backend.service.routes.targets
        most = UNPACKED * self.backend.limits.file

        def read(language: str) -> Document:
            return table.document(File(name, data, (language, target), most))

        try:
            text = "\n".join(line.text for line in read(next(iter(known))).lines) if source == AUTO and known else ""
            language = languages_of(self.backend, source, target, text).source
            document = read(language)
        except (UserError, RecursionError) as error:
            raise _refusal(error) from None
        prose = table.format_of(name).prose and self.backend.service.sentences
        return language, document, [split(line.text, language, sentences=prose) for line in document.lines]


def _refusal(error: Exception) -> Refusal:
    """What is told of a file that cannot be read or written."""
    return Refusal(400, f"Cannot translate file: {error}")


def _name(upload: UploadFile) -> str:
    """The name of a file without folders, whatever system it comes from."""
    return PureWindowsPath(upload.filename or "").name
