"""The command line, with a file for each command. Commands import what they need when they run, torch above all."""

import os
import sys
from importlib import import_module
from io import TextIOWrapper
from typing import Annotated

import typer

from dragoman.cli.options import MODULES, PANEL_OF, app
from dragoman.version import __version__

__all__ = ["app", "main"]


def _version(wanted: bool) -> bool:
    if wanted:
        typer.echo(f"dragoman {__version__}")
        raise typer.Exit
    return wanted


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


for name in PANEL_OF:
    import_module(f"dragoman.cli.{MODULES.get(name, name)}")
for added in app.registered_commands:
    added.rich_help_panel = PANEL_OF[str(added.name or getattr(added.callback, "__name__", ""))]
for group in app.registered_groups:
    group.rich_help_panel = PANEL_OF[str(group.name)]


def main() -> None:
    """The program `dragoman`."""
    # Python has None for a stream that was closed before it began (`<&-`). One that fails on use is reported.
    if sys.stdin is None:
        sys.stdin = os.fdopen(os.open(os.devnull, os.O_WRONLY))
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w")
    if not os.environ.get("COLUMNS", "1").strip("0 "):
        del os.environ["COLUMNS"]  # a width of 0, at which nothing would be printed, means an unknown one
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape", newline="\n")  # names of files as they are
    app(prog_name="dragoman")
