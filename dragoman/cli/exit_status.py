"""Exit statuses: 0; 1 with one line for an error that the user can fix; 2 for usage; 128 + number after a signal."""

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
from dragoman.configuration.messages import LIMITS, explain
from dragoman.errors import Terminated, UserError
from dragoman.text.normalizer import printable

UNWRITABLE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS, errno.EBADF}
UsageError: type[Any] = typer.BadParameter.__mro__[1]  # its module depends on the version of typer
PIPE_CLOSED = 141  # the status that shells give a program ended by a closed pipe
ENDED_BY = 128  # plus the number of the signal: the status that shells give a program ended by a signal
ENDING = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


class Commands(TyperGroup):
    """A group of commands that report errors as lines on standard error. An unknown exception is a bug: a traceback."""

    def make_context(self, *args: Any, **options: Any) -> Any:
        with _reported():  # --version and --help, too, which end here
            return super().make_context(*args, **options)

    def invoke(self, ctx: Any) -> Any:
        with _reported(), _tell_apart():
            result = super().invoke(ctx)
            sys.stdout.flush()
            return result


@contextmanager
def _reported() -> Iterator[None]:
    """Turn errors that a user can mend into a line on standard error and an exit status."""
    try:
        yield
    except UsageError as error:
        error.message = printable(_describe(error))
        raise
    except UserError as error:
        raise _ended(1, str(error)) from error
    except KeyboardInterrupt as error:
        number = error.number if isinstance(error, Terminated) else signal.SIGINT
        word = "interrupted" if number == signal.SIGINT else "terminated"
        raise _ended(ENDED_BY + number, ": ".join([word, *map(str, error.args)])) from error
    except BrokenPipeError as error:
        raise _ended(PIPE_CLOSED) from error
    except OSError as error:  # a name that is too long, a folder without permission, a full disk
        where = f"{error.filename}: " if error.filename else ""
        words = error.strerror or str(error)
        raise _ended(1, where + (f"cannot write ({words})" if error.errno in UNWRITABLE else words)) from error
    except SystemExit as error:
        if isinstance(error.__context__, BrokenPipeError):  # which rich has turned into an exit with status 1
            raise _ended(PIPE_CLOSED) from error
        raise


@contextmanager
def _tell_apart() -> Iterator[None]:
    """Turn signals that ask the process to end into an exception, as Ctrl-C is, so that nothing is left half-written. A
    signal that is ignored (nohup) stays ignored.
    """

    def end(number: int, frame: FrameType | None) -> None:
        raise Terminated(number)

    before = {}
    try:
        for number in ENDING:
            if signal.getsignal(number) == signal.SIG_DFL:
                before[number] = signal.signal(number, end)
    except ValueError:  # not the main thread: signals are handled elsewhere
        pass
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _describe(error: Any) -> str:
    """Return the message for a usage error; for a value of the wrong type, in this project's words."""
    from pydantic import ValidationError

    if isinstance(error.__cause__, ValidationError):  # typer's message is that of pydantic
        (first, *_) = errors = error.__cause__.errors()
        kind = {"int_parsing": int, "float_parsing": float}.get(first["type"], Any)
        if kind is not Any or first["type"] in LIMITS:
            return explain(errors, kind, first["input"])[0]
        return str(first["msg"]).removeprefix("Value error, ")
    return str(error.message)


def _ended(status: int, message: str = "") -> typer.Exit:
    """Report why the command ends; of several workers, only the first on each machine does."""
    if message and threads.process().local_rank == 0:
        typer.echo(printable(message), err=True)
    try:
        sys.stdout.flush()
    except OSError:  # nothing more can be written there, and Python must not try again at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return typer.Exit(status)
