"""How a command ends: 0, or 1 with one line for what the user can mend, 2 for usage, 130 after Ctrl-C."""

import errno
import os
import sys
from typing import Any

import typer
from typer.core import TyperGroup

from dragoman import torchrun
from dragoman.errors import UserError

UNWRITABLE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS, errno.EBADF}
PIPE_CLOSED = 141  # what a shell calls a program that the closed pipe has ended
INTERRUPTED = 130


class Commands(TyperGroup):
    """A group of commands whose faults are lines on standard error. What it does not know is a bug: a traceback."""

    def invoke(self, ctx: Any) -> Any:
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except UserError as error:
            raise _ended(1, str(error)) from error
        except KeyboardInterrupt as error:
            raise _ended(INTERRUPTED, ": ".join(["interrupted", *map(str, error.args)])) from error
        except BrokenPipeError as error:
            raise _ended(PIPE_CLOSED) from error
        except OSError as error:  # a name too long, a folder that may not be entered, a full disk
            where = f"{error.filename}: " if error.filename else ""
            words = error.strerror or str(error)
            raise _ended(1, where + (f"cannot write ({words})" if error.errno in UNWRITABLE else words)) from error
        return result


def _ended(status: int, message: str = "") -> typer.Exit:
    """Tells why the command ends; of several workers, the first on each machine does."""
    if message and torchrun.process().local_rank == 0:
        typer.echo(message, err=True)
    try:
        sys.stdout.flush()
    except OSError:  # nothing more can be written there, and Python must not try again on its way out
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return typer.Exit(status)
