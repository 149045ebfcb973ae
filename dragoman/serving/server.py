"""The server of an application: a port, signals, and what is written down (extra `serve`)."""

import asyncio
import json
import logging
import signal
import socket
import time
import warnings
from collections.abc import Callable, Coroutine
from ipaddress import ip_address
from typing import Any, TypeAlias

import uvicorn
from fastapi import FastAPI

from dragoman.errors import UserError, trace_of

try:
    import resource
except ModuleNotFoundError:  # Windows has no such limits
    resource = None  # type: ignore[assignment]

log = logging.getLogger("dragoman.serving")

Renew: TypeAlias = Callable[[], Coroutine[Any, Any, None]]
Stop: TypeAlias = Callable[[], None]
GRACE = 30  # seconds that requests have to end when the server stops
LAST = 2  # of these: for the answers to those that are not translated by then
BACKLOG = 2048  # clients that may wait to be let in
BESIDE = 200  # files that the server has open beside connections


class JsonFormatter(logging.Formatter):
    """A JSON object on each line. That of a request has its method, path, status and seconds as keys. No line has text
    of a user, and so no trace has the message of an error.
    """

    def format(self, record: logging.LogRecord) -> str:
        fields = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created)),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
            **getattr(record, "request", {}),
        }
        if record.exc_info:
            fields["trace"] = trace_of(record.exc_info[1])
        return json.dumps(fields, ensure_ascii=False)


class Server(uvicorn.Server):
    """A server that takes in what has changed when SIGHUP asks for it, and calls `stop` shortly before the requests
    that have begun are cut off.
    """

    def __init__(self, config: uvicorn.Config, renew: Renew, stop: Stop) -> None:
        super().__init__(config)
        self._renew = renew
        self._stop = stop
        self._tasks = set[asyncio.Task[None]]()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        if hasattr(signal, "SIGHUP"):  # not on Windows
            asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, self._renew_models)
        await super().startup(sockets)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        grace = self.config.timeout_graceful_shutdown or 0
        timer = asyncio.get_running_loop().call_later(max(grace - LAST, grace / 2), self._stop)
        try:
            await super().shutdown(sockets)
        finally:
            timer.cancel()

    def _renew_models(self) -> None:
        task = asyncio.ensure_future(self._renew())
        self._tasks.add(task)  # a task that nobody knows of may be collected
        task.add_done_callback(self._tasks.discard)


def allow_files(count: int) -> None:
    """Let this process have so many files and connections open, or as many as the system allows it."""
    if resource is not None:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if resource.RLIM_INFINITY != soft < count:
            wanted = count if hard == resource.RLIM_INFINITY else min(count, hard)
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def is_local(host: str) -> bool:
    """Whether this address is of this machine alone."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def run(
    app: FastAPI, host: str, port: int, renew: Renew, stop: Stop, connections: int, *, unprotected: bool = False
) -> None:
    """Serve until a signal asks to stop; requests that have begun are answered, and `stop` is called to answer those
    that take too long. Requests by more connections at once than these are answered with 503. SIGHUP calls `renew`.
    UserError if the address is taken. `unprotected`: whether the log warns that everybody may ask.
    """
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # which ends a program otherwise, until the server has begun
    allow_files(connections + BESIDE)
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter())
    errors = logging.getLogger("uvicorn.error")
    log.setLevel(logging.INFO)
    for logger in (log, errors):
        logger.handlers, logger.propagate = [handler], False
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as bound:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind((host, port))
            bound.listen(BACKLOG)  # clients may come from here on, and wait until the application is ready
        except OSError as error:
            raise UserError(f"--host {host} --port {port}: {error.strerror or error}") from error
        log.info("http://%s:%d", f"[{host}]" if ":" in host else host, bound.getsockname()[1])
        if unprotected:
            log.warning("the service is open to everyone who can reach this address; --keys FILE requires API keys")
        config = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=GRACE,
            limit_concurrency=connections + 1,  # the first number that is refused
        )
        # A signal may come before the loop runs; Python would then write a warning that is no line of JSON.
        warnings.filterwarnings("ignore", "coroutine .* was never awaited", RuntimeWarning)
        Server(config, renew, stop).run(sockets=[bound])
