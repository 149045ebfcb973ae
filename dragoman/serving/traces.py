"""Where errors come from, without the texts of users that their messages may quote."""

from traceback import extract_tb


def trace_of(error: BaseException | None) -> str:
    """The kinds of an error, and of those that it came from, with the file, line and function of each frame."""
    lines: list[str] = []
    while error is not None:
        frames = [
            f'  File "{frame.filename}", line {frame.lineno}, in {frame.name}'
            for frame in extract_tb(error.__traceback__)
        ]
        lines[:0] = ["Traceback (most recent call last):", *frames, type(error).__qualname__]
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return "\n".join(lines)
