"""A server in a process of its own."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def serving(*runs: Path, options: Sequence[str] = (), environment: Mapping[str, str] | None = None) -> Iterator[str]:
    """Serve runs; yields the address. A signal ends the server without a trace."""
    command = [sys.executable, "-m", "dragoman", "serve", *map(str, runs), "--port", "0", "--threads", "1", *options]
    # The log is a file: a pipe that nobody reads would be full after some requests, and stop the server.
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8") as log,
        subprocess.Popen(command, env=environment, stderr=log, text=True) as server,
    ):
        try:
            yield _address(server, log)
        except BaseException:
            server.kill()  # or a test that has failed would wait for it
            raise
        server.send_signal(signal.SIGTERM)
        assert server.wait(30) == 143
        assert "Traceback" not in _text(log), _text(log)


def _address(server: "subprocess.Popen[str]", log: IO[str]) -> str:
    """The address that a server says it has."""
    while (address := re.search(r"http://[\d.:]+", _text(log))) is None:
        assert server.poll() is None, _text(log)
        time.sleep(0.05)
    return address[0]


def _text(log: IO[str]) -> str:
    """What has been written, without moving the place where the server writes."""
    return os.pread(log.fileno(), 1 << 24, 0).decode()
