"""Requests that get no answer but a line."""

from typing import Any, Final


class Refusal(Exception):  # noqa: N818, as what it says is no error of the service
    """Why a request is not answered: a status of HTTP, a line for people, and after how many seconds to try again."""

    def __init__(self, status: int, line: str, retry_after: int | None = None) -> None:
        super().__init__(line)
        self.status = status
        self.line = line
        self.retry_after = retry_after


_ERROR = {
    "application/json": {
        "schema": {"type": "object", "required": ["error"], "properties": {"error": {"type": "string"}}},
    }
}
REFUSALS: Final[dict[int | str, dict[str, Any]]] = {  # what OpenAPI says of them
    "4XX": {"description": "The request is refused; `error` says why", "content": _ERROR},
    503: {"description": "The service is busy; Retry-After has the seconds to wait", "content": _ERROR},
}
