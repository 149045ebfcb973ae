"""The server of an application: a port, signals, and what is written down (extra `serve`)."""

import json
import logging
import socket
import time

import uvicorn
from fastapi import FastAPI

from dragoman.errors import UserError

GRACE = 30  # seconds that requests have to end when the server stops
BACKLOG = 2048  # clients that may wait to be let in


class Lines(logging.Formatter):
    """A JSON object on each line. What an endpoint says of a request has no text of a user."""

    def format(self, record: logging.LogRecord) -> str:
        fields = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created)),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
        }
        if record.exc_info:
            fields["trace"] = self.formatException(record.exc_info)
        return json.dumps(fields, ensure_ascii=False)


def run(app: FastAPI, host: str, port: int) -> None:
    """Serve until a signal asks to stop; requests that have begun are answered. UserError if the address is taken."""
    handler = logging.StreamHandler()
    handler.setFormatter(Lines())
    log = logging.getLogger("dragoman.serving")
    log.setLevel(logging.INFO)
    log.handlers, log.propagate = [handler], False
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as bound:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind((host, port))
            bound.listen(BACKLOG)  # clients may come from here on, and wait until the application is ready
        except OSError as error:
            raise UserError(f"--host {host} --port {port}: {error.strerror or error}") from error
        log.info("http://%s:%d", f"[{host}]" if ":" in host else host, bound.getsockname()[1])
        config = uvicorn.Config(
            app, log_config=None, access_log=False, server_header=False, timeout_graceful_shutdown=GRACE
        )
        uvicorn.Server(config).run(sockets=[bound])
