"""A server in a process of its own."""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import IO

from tests.system import interrupted

Server = BaseProcess | subprocess.Popen[str]


@contextmanager
def serving(*runs: Path, options: Sequence[str] = (), environment: Mapping[str, str] | None = None) -> Iterator[str]:
    """Serve runs; yields the address. A signal ends the server without a trace. With an environment of its own, the
    process loads everything itself, which takes seconds.
    """
    words = ["serve", *map(str, runs), "--port", "0", "--threads", "1", *options]
    # The log is a file: a pipe that nobody reads would be full after some requests, and stop the server.
    with tempfile.NamedTemporaryFile("w+", encoding="utf-8") as log:
        server: Server
        if environment is None:
            server = interrupted.preloaded().Process(target=_serve, args=(words, log.name))
            server.start()
        else:
            command = [sys.executable, "-m", "dragoman", *words]
            server = subprocess.Popen(command, env=environment, stderr=log, text=True)
        try:
            yield _address(server, log)
        except BaseException:
            server.kill()  # or a test that has failed would wait for it
            _wait(server, 30)
            raise
        server.terminate()
        assert _wait(server, 30) == 143
        assert "Traceback" not in _text(log), _text(log)


def _serve(words: list[str], log: str) -> None:
    """Run `dragoman WORDS` in a forked process."""
    os.dup2(os.open(log, os.O_WRONLY | os.O_APPEND), 2)
    sys.stderr = os.fdopen(2, "w", 1)
    sys.argv = ["dragoman", *words]
    from dragoman.cli import main

    main()


def _wait(server: Server, seconds: float) -> int | None:
    """Return the exit status of a server, or None if it does not end in time."""
    if isinstance(server, BaseProcess):
        server.join(seconds)
        return server.exitcode
    try:
        return server.wait(seconds)
    except subprocess.TimeoutExpired:
        return None


def _address(server: Server, log: IO[str]) -> str:
    """Return the address that a server logs."""
    while (address := re.search(r"http://[\d.:]+", _text(log))) is None:
        assert _wait(server, 0.05) is None, _text(log)
    return address[0]


def _text(log: IO[str]) -> str:
    """Return what has been written, without moving the place where the server writes."""
    return os.pread(log.fileno(), 1 << 24, 0).decode()
