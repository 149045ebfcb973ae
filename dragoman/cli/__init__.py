"""The command line, with a file for each command. Commands import what they need when they run, torch above all."""

import os
import sys
from importlib import import_module
from io import TextIOWrapper
from typing import Annotated

import typer

from dragoman.cli.exit_status import Commands
from dragoman.version import __version__

app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Attentional sequence-to-sequence learning: train a small translator, use it, look inside it.",
    epilog="Example: dragoman init train.en train.de && dragoman train config.yaml",
)


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


# The modules of commands, in the order of the help.
PANELS = {
    "Try": "demo info",
    "Prepare": "init corpus debug augment features",
    "Train": "train distil average",
    "Translate": "translate postedit serve corrections export shortlist dictionary",
    "Look inside": "explain align score report",
    "Evaluate": "evaluate judge tune calibrate gate",
}


for panel, names in PANELS.items():
    for name in names.split():
        part: typer.Typer = import_module(f"dragoman.cli.{name}").app
        app.add_typer(part)
        for registered in part.registered_commands:
            registered.rich_help_panel = panel
        for group in part.registered_groups:
            group.rich_help_panel = panel


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
