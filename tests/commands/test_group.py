"""How a command ends."""

import errno
import os

import pytest
import typer
from typer.testing import CliRunner

from dragoman.commands.group import Commands
from dragoman.errors import UserError


def ended(error: BaseException) -> tuple[int, str]:
    """Exit status and standard error of a command that raises."""
    app = typer.Typer(cls=Commands)

    @app.command()
    def first() -> None:
        raise error

    @app.command()
    def second() -> None:
        pass

    outcome = CliRunner().invoke(app, ["first"])
    return outcome.exit_code, outcome.stderr


@pytest.mark.parametrize(
    ("number", "name", "line"),
    [
        (errno.EACCES, "runs/mine", "runs/mine: Permission denied"),
        (errno.ENAMETOOLONG, "long", "long: File name too long"),
        (errno.ENOSPC, "new", "new: cannot write (No space left on device)"),
        (errno.ENOSPC, None, "cannot write (No space left on device)"),
    ],
)
def test_what_the_system_refuses_is_one_line(number: int, name: str | None, line: str) -> None:
    assert ended(OSError(number, os.strerror(number), name)) == (1, f"{line}\n")
    assert ended(OSError("something odd")) == (1, "something odd\n")


def test_what_a_line_quotes_is_shown_and_not_obeyed() -> None:
    told = ended(UserError("a\x1b]0;title\x07\u202e.gold:1: \x9b2J\x7f is no link"))
    assert told == (1, "a\\x1b]0;title\\x07\\u202e.gold:1: \\x9b2J\\x7f is no link\n")
    assert ended(KeyboardInterrupt("\x1b[2J")) == (130, "interrupted: \\x1b[2J\n")
    code, told_usage = ended(typer.BadParameter("no \x1b[2J"))
    assert code == 2
    assert "no \\x1b[2J" in told_usage
    assert "\x1b[2J" not in told_usage
