"""The service as an ASGI application (extra `serve`)."""

import asyncio
import logging
import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dragoman.serving import files, libretranslate, ollama, openai, pages, v1
from dragoman.serving.backend import Backend
from dragoman.serving.bodies import fault
from dragoman.serving.client_limits import LimitedBody
from dragoman.serving.prometheus import KIND, Metrics
from dragoman.version import __version__

log = logging.getLogger("dragoman.serving")

TITLE = "LibreTranslate"  # by which clients such as Dialect know a server that they can use
DESCRIPTION = "LibreTranslate-compatible API of dragoman, with extensions under /v1."
REQUEST_ID = b"x-request-id"
IDENTIFIER = re.compile(r"[A-Za-z0-9._:+/=-]{1,128}")
BESIDE = 10_000  # bytes of a form beside the file in it


def create(backend: Backend) -> FastAPI:
    """The application of a service. It is closed with it."""

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        yield
        await backend.service.close()

    backend.metrics.watch(lambda: backend.service.routes.models)
    app = FastAPI(
        title=TITLE, description=DESCRIPTION, version=__version__, lifespan=life, docs_url=None, redoc_url=None
    )
    app.include_router(libretranslate.router(backend))
    app.include_router(files.router(backend))
    app.include_router(v1.router(backend))
    app.include_router(ollama.router(backend))
    app.include_router(openai.router(backend))
    app.router.routes += pages.routes(app.openapi)

    @app.get("/health")
    async def health() -> dict[str, str]:
        """Health check."""
        return {"status": "ok"}

    @app.get("/metrics", response_class=MetricsResponse)
    async def metrics() -> Response:
        """Prometheus metrics."""
        return MetricsResponse(backend.metrics.text())

    @app.get("/spec")
    async def spec() -> dict[str, Any]:
        """OpenAPI description of this API."""
        return app.openapi()

    file = backend.limits.file + BESIDE if backend.limits.file else backend.limits.body
    app.add_middleware(
        LimitedBody, most=backend.limits.body, paths={"/translate_file": file}, seconds=backend.limits.seconds
    )
    app.add_middleware(HeadRequests)
    app.add_middleware(RequestMeter, metrics=backend.metrics)
    app.add_middleware(CORSMiddleware, allow_origins=["*"], allow_methods=["*"], allow_headers=["*"])
    app.exception_handler(HTTPException)(_http)
    app.exception_handler(RequestValidationError)(_invalid)
    return app


class MetricsResponse(Response):
    """Measures as Prometheus reads them."""

    media_type = KIND


class HeadRequests:
    """Answers HEAD as GET, without the body."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self.app(scope, receive, send)
            return

        async def without_body(message: Message) -> None:
            if message["type"] == "http.response.body":
                message = {**message, "body": b""}
            await send(message)

        await self.app({**scope, "method": "GET"}, receive, without_body)


class RequestMeter:
    """Notes how long each answer took, and answers whatever happens, even where the server stops before the answer is
    found. No text of a user is written down.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app = app
        self.metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, status = time.perf_counter(), 0
        number = _request_id(scope)
        self.metrics.in_flight.inc()

        async def noted(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", ()), (REQUEST_ID, number.encode())]}
            await send(message)

        try:
            await self.app(scope, receive, noted)
        except asyncio.CancelledError:  # the server stops
            if not status:
                after = {"Retry-After": "1"}
                await _error(503, "Service is busy: the service is stopping", after)(scope, receive, noted)
        except Exception:
            fields = {"method": scope["method"], "path": self._path(scope), "request_id": number}
            log.exception("%s %s", scope["method"], self._path(scope), extra={"request": fields})
            if status:
                raise  # half of an answer is sent
            await _error(500, "Internal error")(scope, receive, noted)
        finally:
            seconds = time.perf_counter() - began
            self.metrics.in_flight.dec()
            self.metrics.answered(self._path(scope), status, seconds)
            fields = {
                "method": scope["method"],
                "path": self._path(scope),
                "status": status,
                "seconds": round(seconds, 3),
                "request_id": number,
            }
            log.info("%s %s %d %.3f", *list(fields.values())[:4], extra={"request": fields})

    def _path(self, scope: Scope) -> str:
        """The path of an endpoint, or of a part of the page; clients may ask for any other."""
        path = scope.get("path", "")
        return path if path in pages.FILES else str(getattr(scope.get("route"), "path", "other"))


def _request_id(scope: Scope) -> str:
    """The identifier by which a client or a proxy knows a request, or a new one."""
    identifier = dict(scope.get("headers", ())).get(REQUEST_ID, b"").decode("ascii", "replace")
    return identifier if IDENTIFIER.fullmatch(identifier) else uuid4().hex


async def _http(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _error(error.status_code, str(error.detail), dict(error.headers or {}))


async def _invalid(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return _error(400, fault(error))


def _error(status: int, line: str, headers: dict[str, str] | None = None) -> Response:
    return JSONResponse({"error": line}, status, headers)
