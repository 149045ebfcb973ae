"""Runs that are taken in while others serve."""

import asyncio
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Sequence
from pathlib import Path

import pytest

from dragoman.documents.passages import split_text
from dragoman.model.weights import read_tensors, write_tensors
from dragoman.search.decoding import Deadline
from dragoman.serving.backend import Backend
from dragoman.serving.client_limits import AccessControl, Keys, RequestLimits
from dragoman.serving.models import ServedModel
from dragoman.serving.prometheus import Metrics
from dragoman.serving.request_options import RequestOptions, TranslationItem
from dragoman.serving.request_queue import Batcher, BusyError
from dragoman.serving.service import Service
from dragoman.serving.v1 import TranslateRequest, V1Endpoints
from dragoman.translation.translation import Translation

TEXT = "one two three"


@pytest.fixture
def copied(run: Path, tmp_path: Path) -> Path:
    shutil.copytree(run, tmp_path / "run")
    return tmp_path / "run"


def spoil(run: Path) -> None:
    """Give a run other weights, with which it says something else."""
    path = run / "model.safetensors"
    tensors, note = read_tensors(path)
    write_tensors(path, {name: -tensor for name, tensor in tensors.items()}, note)


@pytest.mark.slow
def test_what_has_begun_ends_with_the_model_it_began_with(copied: Path) -> None:
    async def test() -> None:
        first = ServedModel.load(copied)
        service = Service([first])
        await service.registry.renew()
        assert service.routes.models == (first,)  # nothing has changed
        spoil(copied)
        with first.used():
            await service.registry.renew()
            (second,) = service.routes.models
            assert second is not first
            (other,) = await service.translate([TEXT], "en", "fr")
            assert other.text != "trois deux un"
            await asyncio.sleep(0.05)
            (item,) = await first.translate([TranslationItem(TEXT)], RequestOptions(until=time.monotonic() + 10.0))
            assert item.text == "trois deux un"
        for _ in range(100):
            await asyncio.sleep(0 if not service.registry._retired else 0.01)
        assert not service.registry._retired
        with pytest.raises(BusyError):  # nothing translates there any more
            await first.batcher.translate([TranslationItem(TEXT)], RequestOptions(), 0.2)
        await service.close()

    asyncio.run(test())


@pytest.mark.slow
def test_keys_are_read_again(copied: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "keys"
    ann = Keys.make("ann", path)
    keys = Keys(path)

    async def test() -> None:
        service = Service([ServedModel.load(copied)])
        backend = Backend(service, RequestLimits(), AccessControl(RequestLimits(), keys), Metrics())
        path.write_text("")
        bob = Keys.make("bob", path)
        await backend.renew()
        assert [keys.name(key) for key in (ann, bob)] == [None, "bob"]
        path.write_text("damaged")
        await backend.renew()
        assert keys.name(bob) == "bob"
        assert "keys not reloaded" in caplog.text
        await service.close()

    asyncio.run(test())


def endpoints(service: Service) -> V1Endpoints:
    limits = RequestLimits()
    return V1Endpoints(Backend(service, limits, AccessControl(limits), Metrics()))


@pytest.mark.slow
def test_a_stream_ends_with_the_model_it_began_with(copied: Path) -> None:
    async def test() -> list[str]:
        service, events = Service([ServedModel.load(copied)]), list[str]()
        passage = split_text("one two\ntwo three\none two three\nsix one", "en")
        async for event in endpoints(service)._events(TranslateRequest(passage, "en", "fr", RequestOptions(), None)):
            events.append(event)
            if len(events) == 1:
                spoil(copied)
                await service.registry.renew()
                await asyncio.sleep(0.05)
        await service.close()
        return [json.loads(event.partition("data: ")[2]).get("text", "") for event in events]

    assert asyncio.run(test()) == ["deux un", "trois deux", "trois deux un", "un six", ""]


@pytest.mark.slow
def test_a_stream_has_the_time_of_one_request(run: Path) -> None:
    async def test() -> list[str]:
        model = ServedModel.load(run)

        def slowly(items: Sequence[TranslationItem], options: RequestOptions, deadline: Deadline) -> list[Translation]:
            time.sleep(1.0)
            return model._search(items, options, deadline)

        model.batcher = Batcher(slowly)
        service, passage = Service([model]), split_text("one two\nsix", "en")
        question = TranslateRequest(passage, "en", "fr", RequestOptions(until=time.monotonic() + 1.8), None)
        events = [event async for event in endpoints(service)._events(question)]
        await service.close()
        return [event.partition("\n")[0] for event in events]

    assert asyncio.run(test()) == ["event: sentence", "event: error"]


def ask(address: str) -> str:
    body = json.dumps({"q": TEXT, "source": "en", "target": "fr"}).encode()
    request = urllib.request.Request(f"{address}/translate", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=20) as answer:
        return str(json.load(answer)["translatedText"])


@pytest.mark.slow
def test_a_signal_takes_a_run_in_and_no_request_is_dropped(copied: Path) -> None:
    command = [sys.executable, "-m", "dragoman", "serve", str(copied), "--port", "0", "--threads", "1"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        address = re.search(r"http://[\d.:]+", server.stderr.readline())
        assert address is not None
        answers, over = [ask(address[0])], threading.Event()

        def client() -> None:
            while not over.is_set():
                answers.append(ask(address[0]))

        clients = [threading.Thread(target=client) for _ in range(2)]
        for thread in clients:
            thread.start()
        try:
            whole = (copied / "model.safetensors").read_bytes()
            (copied / "model.safetensors").write_bytes(whole[: len(whole) // 2])  # as a copy that is under way
            os.kill(server.pid, signal.SIGHUP)
            _until(server, "not reloaded")
            (copied / "model.safetensors").write_bytes(whole)
            spoil(copied)
            os.kill(server.pid, signal.SIGHUP)
            _until(server, "reloaded")
            end = time.monotonic() + 20
            while answers[-1] == "trois deux un" and time.monotonic() < end:
                time.sleep(0.02)
        finally:
            over.set()
            for thread in clients:
                thread.join()
            server.send_signal(signal.SIGTERM)
            rest = server.stderr.read()
    assert server.returncode == 143
    assert "Traceback" not in rest
    kinds = list(dict.fromkeys(answers))
    assert kinds[0] == "trois deux un"
    assert len(kinds) == 2  # before and after, and nothing else


def _until(server: "subprocess.Popen[str]", message: str) -> None:
    """Read the log until it tells this."""
    assert server.stderr is not None
    for line in server.stderr:
        assert "trace" not in json.loads(line)
        if message in json.loads(line)["message"]:
            return
    raise AssertionError("the server has ended")
