"""A server in a process of its own."""

import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def serving(*runs: Path, options: Sequence[str] = (), environment: Mapping[str, str] | None = None) -> Iterator[str]:
    """Serve runs; yields the address. A signal ends the server without a trace."""
    command = [sys.executable, "-m", "dragoman", "serve", *map(str, runs), "--port", "0", "--threads", "1", *options]
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        found = re.search(r"http://[\d.:]+", server.stderr.readline())
        assert found is not None
        try:
            yield found[0]
        except BaseException:
            server.kill()  # or a test that has failed would wait for it
            raise
        server.send_signal(signal.SIGTERM)
        told = server.stderr.read()
        assert "Traceback" not in told, told
        assert server.wait(30) == 143
