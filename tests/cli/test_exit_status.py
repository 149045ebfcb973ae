"""How a command ends."""

import errno
import os
import signal
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from dragoman.cli.exit_status import Commands
from dragoman.errors import UserError


def shows(requested: bool) -> None:
    """What an option that is read before all others does on a full disk."""
    if requested:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


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


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_asks_to_end_is_told_and_has_its_status(number: signal.Signals) -> None:
    app = typer.Typer(cls=Commands)
    cleaned = []

    @app.command()
    def first() -> None:
        assert signal.getsignal(number) != signal.SIG_DFL  # which would end the tests
        try:
            signal.raise_signal(number)
        finally:
            cleaned.append(True)

    @app.command()
    def second() -> None:
        pass

    before = signal.signal(number, signal.SIG_DFL)  # nohup has it ignored
    try:
        outcome = CliRunner().invoke(app, ["first"])
        assert (outcome.exit_code, outcome.stderr) == (128 + number, "terminated\n")
        assert cleaned == [True]
        assert signal.getsignal(number) == signal.SIG_DFL
    finally:
        signal.signal(number, before)


def test_a_pipe_that_rich_finds_closed_has_the_status_of_one() -> None:
    closed = SystemExit(1)
    closed.__context__ = BrokenPipeError()
    assert ended(closed) == (141, "")
    assert ended(SystemExit(1)) == (1, "")


def test_a_full_disk_is_told_when_only_the_version_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    app = typer.Typer(cls=Commands)

    @app.callback()
    def show_version(version: Annotated[bool, typer.Option(is_eager=True, callback=shows)] = False) -> None:
        pass

    app.command("first")(lambda: None)
    outcome = CliRunner().invoke(app, ["--version"])
    assert (outcome.exit_code, outcome.stderr) == (1, "cannot write (No space left on device)\n")


def test_a_signal_that_is_ignored_stays_so() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        app = typer.Typer(cls=Commands)
        app.command("first")(lambda: signal.raise_signal(signal.SIGHUP))
        app.command("second")(lambda: None)
        assert CliRunner().invoke(app, ["first"]).exit_code == 0
    finally:
        signal.signal(signal.SIGHUP, before)


def test_what_a_line_quotes_is_shown_and_not_obeyed() -> None:
    status = ended(UserError("a\x1b]0;title\x07\u202e.gold:1: \x9b2J\x7f is no link"))
    assert status == (1, "a\\x1b]0;title\\x07\\u202e.gold:1: \\x9b2J\\x7f is no link\n")
    assert ended(KeyboardInterrupt("\x1b[2J")) == (130, "interrupted: \\x1b[2J\n")
    code, told_usage = ended(typer.BadParameter("no \x1b[2J"))
    assert code == 2
    assert "no \\x1b[2J" in told_usage
    assert "\x1b[2J" not in told_usage
