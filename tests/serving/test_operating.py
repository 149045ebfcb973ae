"""What those who run a service see of it."""

import json
import logging
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from dragoman.serving import pages
from dragoman.serving.prometheus import Metrics
from dragoman.serving.server import is_local
from dragoman.version import __version__
from tests.serving.conftest import Open

PAIR = {"source": "en", "target": "fr"}


def figures(client: TestClient) -> dict[str, float]:
    """The figures of /metrics by name and labels."""
    lines = client.get("/metrics").text.splitlines()
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines if line[0] != "#")}


def test_metrics_of_requests_batches_cache_and_process(opened: Open) -> None:
    with opened() as client:
        for _ in range(2):
            client.post("/translate", json={"q": ["one two", "six", "six"], **PAIR})
        for path in (*pages.FILES, "/nothing"):
            client.get(path)
        values = figures(client)
    assert values[f'dragoman_info{{version="{__version__}"}}'] == 1
    model = '{model="run"}'
    batches = {name: value for name, value in values.items() if name.startswith("dragoman_batch_texts")}
    assert batches[f"dragoman_batch_texts_sum{model}"] == 2
    assert batches['dragoman_batch_texts_bucket{le="2",model="run"}'] == batches[f"dragoman_batch_texts_count{model}"]
    assert (values[f"dragoman_cache_hits_total{model}"], values[f"dragoman_cache_misses_total{model}"]) == (2, 2)
    assert values[f"dragoman_cache_entries{model}"] == 2
    assert 1_000 < values[f"dragoman_cache_bytes{model}"] < 100_000
    assert values["dragoman_requests_in_flight"] == 1  # the one that reads this
    assert values[f"dragoman_batch_in_flight_texts{model}"] == values[f"dragoman_waiting_symbols{model}"] == 0
    for path in pages.FILES:
        assert values[f'dragoman_requests_total{{path="{path}",status="200"}}'] == 1
    assert values['dragoman_requests_total{path="other",status="404"}'] == 1
    if sys.platform == "linux":
        assert values["process_resident_memory_bytes"] > 10**7
        assert values["process_cpu_seconds_total"] > 0


@pytest.mark.parametrize(("seconds", "last"), [(60.0, ["30.0", "60.0"]), (45.0, ["30.0", "45.0"]), (0.001, ["0.001"])])
def test_buckets_reach_the_seconds_of_a_request(seconds: float, last: list[str]) -> None:
    measures = Metrics(seconds)
    measures.answered("/", 200, 1.0)
    assert re.findall(r'le="([\d.]+)"', measures.text().decode())[-len(last) :] == last


def test_requests_have_an_identifier(client: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "dragoman.serving"):
        identifier = client.get("/health", headers={"X-Request-ID": "abc-1"}).headers["x-request-id"]
        identifiers = {client.post("/translate", json={}).headers["x-request-id"] for _ in range(2)}
        for hostile in ("x" * 200, "a b", "\u00e9", ""):
            headers = {b"X-Request-ID": hostile.encode()}
            assert re.fullmatch("[0-9a-f]{32}", client.get("/health", headers=headers).headers["x-request-id"])
    logged = [vars(record)["request"]["request_id"] for record in caplog.records]
    assert (identifier, logged[0], len(identifiers)) == ("abc-1", "abc-1", 2)
    assert identifiers == {*logged[1:3]}


@pytest.mark.slow
@pytest.mark.parametrize(("options", "warned"), [([], False), (["--host", "0.0.0.0"], True)])
def test_all_lines_of_the_log_are_json(run: Path, options: list[str], warned: bool) -> None:
    command = [sys.executable, "-m", "dragoman", "serve", str(run), "--port", "0", *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        lines = [server.stderr.readline() for _ in range(1 + warned)]
        server.send_signal(signal.SIGTERM)
        lines += server.stderr.read().splitlines()
        assert server.wait(30) == 128 + signal.SIGTERM
    records = list(map(json.loads, lines))
    assert records[-1]["message"] == "terminated"
    warnings = [record["message"] for record in records if record["level"] == "warning"]
    assert ["--keys" in warning for warning in warnings] == [True] * warned


def test_addresses_of_this_machine_alone() -> None:
    hosts = ("127.0.0.1", "127.0.0.2", "::1", "localhost", "0.0.0.0", "::", "192.168.1.2", "example.org")
    assert [is_local(host) for host in hosts] == [True] * 4 + [False] * 4
