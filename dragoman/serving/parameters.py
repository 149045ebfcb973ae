"""What a request asks for, whether it comes as JSON, as a form or in the address."""

import json
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qsl

from starlette.datastructures import UploadFile
from starlette.requests import ClientDisconnect, Request

from dragoman.documents.line import whole
from dragoman.serving.refusal import Refusal

FORM, PARTS = "application/x-www-form-urlencoded", "multipart/form-data"
FIELDS = 1000  # of a form, at most
LISTED = "q"  # the parameter that a form may have several times


class Parameters:
    """The parameters of a request by name, the name of the key that its client has, if any, and until when it has to be
    answered (`time.monotonic`). A Refusal tells which is missing, or is not what it should be.
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values
        self.client = ""
        self.until = math.inf

    @classmethod
    async def read(cls, request: Request) -> "Parameters":
        """Read a request. Refusal if its body is no JSON object and no form, or if its client leaves before the end."""
        try:
            return await cls._read(request)
        except ClientDisconnect:
            raise Refusal(499, "the client has left") from None

    @classmethod
    async def _read(cls, request: Request) -> "Parameters":
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind in (FORM, PARTS):
            try:
                form = (
                    _fields(await request.body()) if kind == FORM else (await request.form(max_files=1)).multi_items()
                )
            except (Refusal, ClientDisconnect):
                raise
            except OSError:  # a large file is written to a temporary one meanwhile
                raise Refusal(503, "Service is busy: there is no room for the file", retry_after=60) from None
            except Exception:  # whatever a parser finds wrong with it
                raise Refusal(400, "Invalid request: the form is damaged") from None
            return cls({**request.query_params, **_values(form)})
        body = await request.body()
        if not body and kind != "application/json":
            return cls(dict(request.query_params))
        try:
            values = json.loads(body)
        except (ValueError, RecursionError):
            raise Refusal(400, "Invalid JSON format") from None
        if not isinstance(values, dict):
            raise Refusal(400, "Invalid JSON format")
        return cls(values)

    def text(self, name: str, default: str | None = None) -> str:
        """A text. Without a default it has to be there, and not to be empty."""
        value = self._values.get(name)
        if value is None or value == "":
            if default is None:
                raise Refusal(400, f"Invalid request: missing {name} parameter")
            return default
        if not isinstance(value, str):
            raise Refusal(400, f"Invalid request: {name} is no string")
        return whole(value)

    def texts(self, name: str) -> tuple[list[str], bool]:
        """One text or a list of them, and whether it is a list."""
        value = self._values.get(name)
        if not isinstance(value, list):
            return [self.text(name)], False
        if not value:
            raise Refusal(400, f"Invalid request: missing {name} parameter")
        if not all(isinstance(each, str) for each in value):
            raise Refusal(400, f"Invalid request: {name} has something that is no string")
        return [whole(each) for each in value], True

    def number(self, name: str, most: int) -> int:
        """A number from 0 to `most`; 0 if it is not there or negative."""
        value = self._values.get(name)
        if value is None or value == "":
            return 0
        try:
            if isinstance(value, bool | float):
                raise ValueError
            number = max(0, int(value))
        except (ValueError, TypeError):
            raise Refusal(400, f"Invalid request: {name} parameter is not a number") from None
        if number > most:
            raise Refusal(400, f"Invalid request: {name} parameter must be <= {most}")
        return number

    def share(self, name: str) -> float | None:
        """A number from 0 to 1; None if it is not there."""
        value = self._values.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            raise Refusal(400, f"Invalid request: {name} is no number from 0 to 1")
        return float(value)

    def flag(self, name: str) -> bool:
        """Whether something is asked for."""
        value = self._values.get(name, False)
        if not isinstance(value, bool):
            raise Refusal(400, f"Invalid request: {name} is neither true nor false")
        return value

    def lists(self, name: str, most: int) -> list[list[str]]:
        """At most so many lists of texts that are not empty; in a form, they are written as JSON."""
        value = self._values.get(name, [])
        if isinstance(value, str):
            with suppress(ValueError, RecursionError):
                value = json.loads(value or "[]")
        every = isinstance(value, list) and all(
            isinstance(each, list) and each and all(isinstance(text, str) and text.strip() for text in each)
            for each in value
        )
        if not every or len(value) > most:
            raise Refusal(400, f"Invalid request: {name} is no list of at most {most} lists of strings")
        return [[whole(text) for text in each] for each in value]

    def choice(self, name: str, known: Sequence[str]) -> str:
        """One of these, the first if it is not there."""
        value = self.text(name, known[0])
        if value not in known:
            raise Refusal(400, f"{value} {name} is not supported")
        return value

    def file(self, name: str) -> UploadFile:
        """A file that was sent."""
        value = self._values.get(name)
        if not isinstance(value, UploadFile):
            raise Refusal(400, f"Invalid request: missing {name} parameter")
        return value


def _values(form: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """The values of a form by name. A text that is there several times is a list, as clients send lists."""
    values = {name: _lines(value) for name, value in form}
    texts = [_lines(value) for name, value in form if name == LISTED]
    return {**values, **({LISTED: texts} if len(texts) > 1 else {})}


def _fields(body: bytes) -> list[tuple[str, str]]:
    """The fields of a form. Bytes that are not percent-encoded are UTF-8 as well: starlette takes them for Latin-1.
    ValueError if it is damaged.
    """
    return parse_qsl(body.decode(), keep_blank_values=True, errors="strict", max_num_fields=FIELDS)


def _lines(value: Any) -> Any:
    """The same with line ends of Unix: browsers send a form with others."""
    return value.replace("\r\n", "\n") if isinstance(value, str) else value
