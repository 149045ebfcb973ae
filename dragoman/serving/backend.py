"""What endpoints share: a client is let in, its request is read, and the answer is not computed for nobody."""

import asyncio
import logging
import time
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from typing import Any, Generic, NamedTuple, TypeVar

from starlette.requests import Request

from dragoman.documents.passages import Passage
from dragoman.documents.translated import TranslatedSentence, TranslatedText
from dragoman.errors import UserError
from dragoman.serving import bodies
from dragoman.serving.bodies import AnyBody, Body
from dragoman.serving.client_limits import AccessControl, RequestLimits
from dragoman.serving.document_process import CostlyError
from dragoman.serving.http_error import HTTPError
from dragoman.serving.models import Read
from dragoman.serving.prometheus import Metrics
from dragoman.serving.request_options import RequestOptions
from dragoman.serving.request_queue import BusyError
from dragoman.serving.service import Service, named

Answer = TypeVar("Answer")

log = logging.getLogger("dragoman.serving")

LOOK = 0.2  # seconds between two looks whether a client is still there


class AdmittedRequest(NamedTuple, Generic[AnyBody]):
    """The parameters of a request whose client may ask, the name of the client's key, if any, and until when the
    request has to be answered (`time.monotonic`).
    """

    body: AnyBody
    client: str
    until: float


class Backend(NamedTuple):
    """What endpoints work with."""

    service: Service
    limits: RequestLimits
    access: AccessControl
    metrics: Metrics

    async def renew(self) -> None:
        """Read the keys again, and reload glossaries and runs that have changed. A file that cannot be read is
        reported in the log, and its former content stays in use.
        """
        if self.access.keys is not None:
            try:
                await asyncio.to_thread(self.access.keys.renew)
            except UserError as error:
                log.error("keys not reloaded: %s", error)
        await self.service.registry.renew()

    async def admitted(self, request: Request, body: type[AnyBody]) -> AdmittedRequest[AnyBody]:
        """Read the parameters of a request whose client may ask; its time begins when it has been read. The key is the
        parameter `api_key`, or stands in the header `Authorization: Bearer KEY`, where one that is known lets the
        client in before the body is read.
        """
        address = request.client.host if request.client else ""
        scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
        key = bearer.strip() if scheme.lower() == "bearer" else ""
        early = self.access.keys is None or self.access.keys.name(key) is not None
        client = await self.access.enter(address, key) if early else ""
        values = await bodies.read(request)
        until = time.monotonic() + self.limits.seconds
        if not early:
            client = await self.access.enter(address, bodies.validated(Body, values).api_key or key)
        return AdmittedRequest(bodies.validated(body, values), client, until)

    def check_size(self, texts: Sequence[str], beside: int = 0) -> None:
        """HTTPError for more texts or characters than are taken, with so many characters that a request has beside its
        texts.
        """
        if len(texts) > self.limits.texts:
            raise HTTPError(400, f"Invalid request: request ({len(texts)}) exceeds text limit ({self.limits.texts})")
        self.check_characters(sum(map(len, texts)) + beside)

    def check_alternatives(self, count: int) -> None:
        """HTTPError for more alternatives than are made."""
        if count > self.limits.alternatives:
            raise HTTPError(400, f"Invalid request: alternatives parameter must be <= {self.limits.alternatives}")

    def check_characters(self, size: int, most: int | None = None) -> None:
        """HTTPError for more characters than are taken: as many as a request may have, or so many."""
        most = self.limits.characters if most is None else most
        if size > most:
            raise HTTPError(400, f"Invalid request: request ({size}) exceeds text limit ({most})")

    async def passages(
        self,
        request: Request,
        passages: Sequence[Passage],
        source: Read,
        target: str,
        options: RequestOptions,
        run: str = "",
    ) -> list[TranslatedText]:
        """Translate texts that are split into sentences, by the run of this name or by any, as long as the client is
        there. HTTPError if that cannot be, or takes too long. From a language to itself there is nothing to do, unless
        a model does it.
        """
        if source == target and not self.service.routes.only(run).find(source, target):
            return [TranslatedText(passage, tuple(map(TranslatedSentence, passage.sentences))) for passage in passages]
        work = self.service.translate_passages(passages, source, target, options, run)
        translations = await self.answer(request, work)
        self.metrics.translated(
            named(source), target, sum(len(sentence) for passage in passages for sentence in passage.sentences)
        )
        return translations

    async def answer(self, request: Request, work: Coroutine[Any, Any, Answer], kind: str = "text") -> Answer:
        """The result of some work of the service on a text or file, as long as the client is there. HTTPError if that
        cannot be, or takes too long.
        """
        try:
            return await while_there(request, work)
        except BusyError as error:
            raise HTTPError(503, f"Service is busy: {error}", retry_after=error.retry_after) from None
        except CostlyError as error:
            raise HTTPError(413, f"Cannot translate {kind}: {error}") from None
        except UserError as error:
            raise HTTPError(400, f"Cannot translate {kind}: {error}") from None


async def while_there(request: Request, work: Coroutine[Any, Any, Answer]) -> Answer:
    """The result of some work, which is cancelled if the client leaves before it is done."""
    task = asyncio.create_task(work)
    try:
        while not (await asyncio.wait({task}, timeout=LOOK))[0]:
            if await request.is_disconnected():
                raise HTTPError(499, "the client has left")
        return task.result()
    finally:
        if not task.done():
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
