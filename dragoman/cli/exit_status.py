"""How a command ends: 0, 1 with one line for what the user can mend, 2 for usage, 128 and its number after a signal."""

import errno
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import typer
from typer.core import TyperGroup

from dragoman import threads
from dragoman.errors import Terminated, UserError
from dragoman.text.printable import printable

UNWRITABLE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS, errno.EBADF}
UsageError: type[Any] = typer.BadParameter.__mro__[1]  # its home depends on the version of typer
PIPE_CLOSED = 141  # what a shell calls a program that the closed pipe has ended
ENDED_BY = 128  # and the number of the signal: what a shell calls a program that a signal has ended
ENDING = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


class Commands(TyperGroup):
    """A group of commands whose faults are lines on standard error. What it does not know is a bug: a traceback."""

    def invoke(self, ctx: Any) -> Any:
        try:
            with _told_apart():
                result = super().invoke(ctx)
                sys.stdout.flush()
        except UsageError as error:
            error.message = printable(_told(error))
            raise
        except UserError as error:
            raise _ended(1, str(error)) from error
        except KeyboardInterrupt as error:
            number = error.number if isinstance(error, Terminated) else signal.SIGINT
            word = "interrupted" if number == signal.SIGINT else "terminated"
            raise _ended(ENDED_BY + number, ": ".join([word, *map(str, error.args)])) from error
        except BrokenPipeError as error:
            raise _ended(PIPE_CLOSED) from error
        except OSError as error:  # a name too long, a folder that may not be entered, a full disk
            where = f"{error.filename}: " if error.filename else ""
            words = error.strerror or str(error)
            raise _ended(1, where + (f"cannot write ({words})" if error.errno in UNWRITABLE else words)) from error
        return result


@contextmanager
def _told_apart() -> Iterator[None]:
    """Signals that ask to end raise an exception, as Ctrl-C does, so that nothing is left behind half-written. One that
    is ignored (nohup) stays so.
    """

    def end(number: int, frame: FrameType | None) -> None:
        raise Terminated(number)

    before = {}
    try:
        for number in ENDING:
            if signal.getsignal(number) == signal.SIG_DFL:
                before[number] = signal.signal(number, end)
    except ValueError:  # not the main thread: somebody else handles signals
        pass
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _told(error: Any) -> str:
    """A mistake in the words of a command, a value that has not its option's type in this project's words."""
    from pydantic import ValidationError

    from dragoman.configuration.messages import LIMITS, explain

    if isinstance(error.__cause__, ValidationError):  # typer's message is pydantic's
        (first, *_) = errors = error.__cause__.errors()
        kind = {"int_parsing": int, "float_parsing": float}.get(first["type"], Any)
        if kind is not Any or first["type"] in LIMITS:
            return explain(errors, kind, first["input"])[0]
        return str(first["msg"]).removeprefix("Value error, ")
    return str(error.message)


def _ended(status: int, message: str = "") -> typer.Exit:
    """Tells why the command ends; of several workers, the first on each machine does."""
    if message and threads.process().local_rank == 0:
        typer.echo(printable(message), err=True)
    try:
        sys.stdout.flush()
    except OSError:  # nothing more can be written there, and Python must not try again on its way out
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return typer.Exit(status)
