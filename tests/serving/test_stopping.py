"""A service that stops while it translates."""

import asyncio
import json
import logging
import re
import signal
import socket
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from urllib.error import HTTPError

import pytest
import uvicorn
from fastapi import FastAPI
from starlette.types import Message, Receive, Scope, Send

from dragoman.search.decoding import Deadline
from dragoman.serving.app import RequestMeter, create
from dragoman.serving.backend import Backend
from dragoman.serving.client_limits import AccessControl, RequestLimits
from dragoman.serving.models import ServedModel
from dragoman.serving.prometheus import Metrics
from dragoman.serving.request_options import RequestOptions, TranslationItem
from dragoman.serving.request_queue import Batcher
from dragoman.serving.server import Server, allow_files
from dragoman.serving.server import run as run_server
from dragoman.serving.service import Service
from dragoman.translation.translation import Translation

BODY = {"q": "one two. three.", "source": "en", "target": "fr"}


def never(items: Sequence[TranslationItem], options: RequestOptions, deadline: Deadline) -> list[Translation]:
    while not deadline.passed:
        pass
    deadline.check()
    return []


def fetch(url: str) -> tuple[int, str | None, str]:
    """The status of an answer, when to ask again, and what it says."""
    request = urllib.request.Request(url, json.dumps(BODY).encode(), {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, answer.headers["retry-after"], answer.read().decode()
    except HTTPError as error:
        return error.code, error.headers["retry-after"], error.read().decode()


async def renewed() -> None:
    """Nothing to take in."""


@pytest.mark.slow
def test_what_takes_longer_than_a_stop_is_answered(run: Path, caplog: pytest.LogCaptureFixture) -> None:
    model = ServedModel.load(run)
    model.batcher = Batcher(never)
    service, limits = Service([model]), RequestLimits()
    app = create(Backend(service, limits, AccessControl(limits), Metrics()))
    config = uvicorn.Config(app, log_config=None, access_log=False, timeout_graceful_shutdown=1)
    server = Server(config, renewed, service.stop)

    async def test() -> None:
        with socket.create_server(("127.0.0.1", 0)) as bound:
            serving = asyncio.create_task(server.serve(sockets=[bound]))
            address = f"http://127.0.0.1:{bound.getsockname()[1]}"
            work = [asyncio.to_thread(fetch, f"{address}/{path}") for path in ("translate", "v1/stream")]
            answers = asyncio.gather(*work)
            while not model.batcher._running[0]:
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.2)
            server.should_exit = True
            message = "the service is stopping"
            assert await answers == [
                (503, "1", json.dumps({"error": f"Service is busy: {message}"}, separators=(",", ":"))),
                (200, None, f'event: error\ndata: {{"error": "{message}"}}\n\n'),
            ]
            await serving

    with caplog.at_level(logging.WARNING):
        asyncio.run(asyncio.wait_for(test(), 30))
    assert not caplog.records


def test_the_log_has_no_message_of_an_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Which may quote a text; neither that of our logger nor that of uvicorn's."""
    loggers = [logging.getLogger(name) for name in ("dragoman.serving", "uvicorn.error")]
    for entry in loggers:
        for name in ("handlers", "propagate", "level"):
            monkeypatch.setattr(entry, name, getattr(entry, name))

    def failing(text: str) -> None:
        try:
            raise KeyError(text)
        except KeyError as error:
            raise ValueError(f"what is {text}?") from error

    def serve(*_: object, **__: object) -> None:
        for logger in loggers:
            try:
                failing("a secret")
            except ValueError:
                logger.exception("a fault")

    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr(Server, "run", serve)
    run_server(FastAPI(), "127.0.0.1", 0, renewed, lambda: None, connections=1)
    output = capsys.readouterr().err
    assert "secret" not in output
    _, *lines = map(json.loads, output.splitlines())
    assert [entry["message"] for entry in lines] == ["a fault"] * 2
    for entry in lines:
        first, frame, kind, _, *frames, last = entry["trace"].splitlines()
        assert (first, kind, last) == ("Traceback (most recent call last):", "KeyError", "ValueError")
        assert re.fullmatch(rf'  File "{re.escape(__file__)}", line \d+, in failing', frame)
        assert [frame.split()[-1] for frame in frames] == ["serve", "failing"]


@pytest.mark.parametrize("begun", [False, True])
def test_a_request_that_is_cut_off_is_answered_and_measured(begun: bool) -> None:
    sent: list[Message] = []

    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        if begun:
            await send({"type": "http.response.start", "status": 200})
        await asyncio.sleep(60)

    async def receive() -> Message:
        return {"type": "http.request"}

    async def send(message: Message) -> None:
        sent.append(message)

    async def test() -> None:
        measures = Metrics()
        work = asyncio.create_task(RequestMeter(slow, measures)({"type": "http", "method": "GET"}, receive, send))
        await asyncio.sleep(0.01)
        work.cancel()
        await work
        status = 200 if begun else 503
        assert [message["status"] for message in sent if "status" in message] == [status]
        assert f'status="{status}"' in measures.text().decode()

    asyncio.run(test())


def test_a_server_may_have_as_many_files_as_the_system_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    resource = pytest.importorskip("resource")
    calls: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: calls.append(limits))
    for limits in ((1024, 4096), (1024, resource.RLIM_INFINITY), (1024, 1500), (4096, 4096)):
        monkeypatch.setattr(resource, "getrlimit", lambda _, limits=limits: limits)
        allow_files(2200)
    assert calls == [(2200, 4096), (2200, resource.RLIM_INFINITY), (1500, 1500)]
