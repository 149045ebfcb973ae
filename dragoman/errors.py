"""Exceptions that are reported without a traceback: a fault of the user's input, and a request to end; and where
others come from.
"""

from traceback import extract_tb


class UserError(Exception):
    """A fault of the user's input. The message is one line that names file, line, key and what was expected.

    The command line prints only the message and exits with status 1; any other uncaught exception is a bug.
    """


def missing_library(name: str | None, extra: str) -> UserError:
    """Return the error for a library that is not installed and belongs to an extra (pyproject.toml)."""
    # An extra of a package that is not published can only be installed from its folder.
    command = f"pip install -c constraints.txt -e '.[{extra}]'"
    return UserError(f"{name} is not installed; run `{command}` in the checkout of dragoman")


def describe(error: BaseException) -> str:
    """Return the first line of a library's message, at most 200 characters, or the type of the error if it has none."""
    lines = str(error).strip().splitlines()
    return lines[0][:200] if lines else type(error).__name__


class Terminated(KeyboardInterrupt):
    """The system or another program has asked this process to end (SIGTERM, SIGHUP). `number` is that of the signal."""

    def __init__(self, number: int, *words: str) -> None:
        super().__init__(*words)
        self.number = number


def trace_of(error: BaseException | None) -> str:
    """The kinds of an error, and of those that it came from, with the file, line and function of each frame. Messages,
    which may quote texts of users, are left out.
    """
    lines: list[str] = []
    while error is not None:
        frames = [
            f'  File "{frame.filename}", line {frame.lineno}, in {frame.name}'
            for frame in extract_tb(error.__traceback__)
        ]
        lines[:0] = ["Traceback (most recent call last):", *frames, type(error).__qualname__]
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return "\n".join(lines)
