"""Requests that get no answer but a line."""


class Refusal(Exception):  # noqa: N818, as what it says is no error of the service
    """Why a request is not answered: a status of HTTP, a line for people, and after how many seconds to try again."""

    def __init__(self, status: int, line: str, retry_after: int | None = None) -> None:
        super().__init__(line)
        self.status = status
        self.line = line
        self.retry_after = retry_after
