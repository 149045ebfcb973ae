"""What a service takes of its clients: sizes, numbers, rates, and who may ask (extra `serve`)."""

import asyncio
import hashlib
import hmac
import os
import re
import secrets
import time
from collections.abc import Collection, Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import NamedTuple

from limits import parse
from limits.aio.storage import MemoryStorage
from limits.aio.strategies import MovingWindowRateLimiter
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dragoman.errors import UserError
from dragoman.files.reading import read_lines, shown
from dragoman.files.writing import is_special, write_atomically
from dragoman.serving.http_error import HTTPError, UnknownKeyError

IN_FILE = 5  # times as many characters as other requests: what a file may have
ENTRY = re.compile(r"(\S+) ([0-9a-f]{64})")


class RequestLimits(NamedTuple):
    """What a request may have: bytes, characters of all its texts, texts, alternatives, seconds; requests a minute from
    one client, if there is a limit; and bytes of a file (0 = there are none).
    """

    body: int = 2_000_000
    characters: int = 100_000
    texts: int = 1_000
    alternatives: int = 10
    seconds: float = 60.0
    rate: int | None = None
    file: int = 10_000_000

    @property
    def file_characters(self) -> int:
        """The characters of a file, which is translated beside texts that are shorter."""
        return IN_FILE * self.characters


class Keys:
    """API keys: a file has a name and the SHA-256 of a key on each line. Keys are random and long, so that a hash
    without salt tells nothing of them.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.renew()

    def renew(self) -> None:
        """Read the file again. UserError if it cannot be read; then the keys from before hold."""
        names: dict[str, str] = {}
        for number, line in enumerate(read_lines(self._path), start=1):
            entry = ENTRY.fullmatch(line)
            if line and not entry:
                place = f"{shown(self._path)}:{number}"
                raise UserError(f"{place}: expected a name and the SHA-256 of a key (serve --make-key)")
            if entry:
                names[entry[2]] = entry[1]
        self._names = names

    def name(self, key: str) -> str | None:
        """Whose key this is."""
        digest = _hash(key)
        return next(
            (name for known_digest, name in self._names.items() if hmac.compare_digest(known_digest, digest)), None
        )

    @staticmethod
    def make(name: str, path: Path) -> str:
        """Add a new key to the file, which is made if there is none, and return the key. UserError for a name that is
        no word.
        """
        if not re.fullmatch(r"\S+", name):
            raise UserError(f"--make-key: expected a name without spaces, found '{name}'")
        if path.exists():
            Keys(path)
        lines = list(read_lines(path)) if path.exists() else []
        key = secrets.token_urlsafe(24)
        with write_atomically(path) as file:
            if not is_special(path):  # a device is not ours to change
                os.chmod(file.name, 0o600)
            file.writelines(f"{line}\n" for line in [*lines, f"{name} {_hash(key)}"])
        return key


def _hash(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()


class AccessControl:
    """Who may ask, and how often; and the names by which browsers reach the server, besides addresses."""

    def __init__(self, limits: RequestLimits, keys: Keys | None = None, trusted_hosts: Collection[str] = ()) -> None:
        self.keys = keys
        self._trusted_hosts = frozenset(map(str.lower, trusted_hosts))
        self._rate = parse(f"{limits.rate}/minute") if limits.rate else None
        self._window = MovingWindowRateLimiter(MemoryStorage())

    async def enter(self, address: str, key: str) -> str:
        """Return the name of a client's key, if there are keys. HTTPError for a client that may not ask, or not yet. A
        client is a key, or else an address, so that wrong keys count too.
        """
        name = self.keys.name(key) if self.keys and key else None
        client = name or address
        if self._rate and not await self._window.hit(self._rate, client):
            stats = await self._window.get_window_stats(self._rate, client)
            wait = max(1, round(stats.reset_time - time.time()))
            raise HTTPError(429, f"Slowdown: {self._rate.amount} per 1 minute", retry_after=wait)
        if self.keys and not key:
            raise UnknownKeyError(400, "Please contact the server operator to get an API key")
        if self.keys and name is None:
            raise UnknownKeyError(403, "Invalid API key")
        return name or ""

    def check_site(self, headers: Mapping[str, str]) -> None:
        """Raise HTTPError if there are no keys and a browser has sent the request for a page of another site. A site
        whose name suddenly leads to this server (DNS rebinding) is another one, too: only addresses, names without a
        dot and those that are trusted are not.
        """
        origin, host = headers.get("origin"), headers.get("host", "")
        if self.keys or origin is None:
            return
        if origin.partition("://")[2] != host:
            raise HTTPError(403, "Suggestions from other sites need an API key.")
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
        name = name.strip("[]").lower()
        if "." in name and not _is_address(name) and name not in self._trusted_hosts:
            raise HTTPError(403, f"Suggestions need an API key, or a server that is started with --trusted-host {name}")


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


class LimitedBody:
    """Refuses requests whose body is larger than so many bytes, before it is read whole, or has not come after so many
    seconds. Some paths have a size of their own.
    """

    def __init__(self, app: ASGIApp, most: int, paths: Mapping[str, int], seconds: float) -> None:
        self.app = app
        self.most = most
        self.paths = paths
        self.seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        read, most = 0, self.paths.get(scope.get("path", ""), self.most)
        until: float | None = asyncio.get_running_loop().time() + self.seconds

        async def counted() -> Message:
            nonlocal read, until
            try:
                async with asyncio.timeout_at(until):
                    message = await receive()
            except TimeoutError:
                raise HTTPError(408, f"Invalid request: the body took longer than {self.seconds:g} seconds") from None
            if not message.get("more_body"):
                until = None  # the next message is that the client disconnects
            read += len(message.get("body", b""))
            if read > most:
                raise HTTPError(413, f"Invalid request: the body is larger than {most} bytes")
            return message

        await self.app(scope, counted if scope["type"] == "http" else receive, send)
