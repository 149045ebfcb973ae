"""Errors that are answered with a status and a line."""

from typing import Any, Final

from starlette.exceptions import HTTPException


class HTTPError(HTTPException):
    """Why a request is not answered: a status of HTTP, a line for people, and after how many seconds to try again."""

    def __init__(self, status: int, line: str, retry_after: int | None = None) -> None:
        headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
        if status == 408:
            headers["Connection"] = "close"  # or the rest of the body would still be taken
        super().__init__(status, line, headers)


class UnknownKeyError(HTTPError):
    """A client that has no key, or an unknown one."""


class UnknownModelError(HTTPError):
    """A request for a model that does not serve."""


_ERROR = {
    "application/json": {
        "schema": {"type": "object", "required": ["error"], "properties": {"error": {"type": "string"}}}
    }
}
RESPONSES: Final[dict[int | str, dict[str, Any]]] = {  # what OpenAPI says of them
    "4XX": {"description": "The request is rejected; `error` has the reason", "content": _ERROR},
    503: {"description": "The service is busy; retry after the seconds in Retry-After", "content": _ERROR},
}
