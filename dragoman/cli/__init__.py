"""The command line: one thin function per command. What a command needs is imported when it runs, torch above all."""

import os
import sys
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated

import typer

from dragoman import __version__
from dragoman.cli import augment, corpora, runs, translating
from dragoman.commands.group import Commands
from dragoman.commands.options import Threads

app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Attentional sequence-to-sequence learning: train a small translator, use it, look inside it.",
)


def _version(wanted: bool) -> bool:
    if wanted:
        typer.echo(f"dragoman {__version__}")
        raise typer.Exit
    return wanted


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Tell the version and exit.")
    ] = False,
) -> None:
    pass


@app.command()
def demo(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where the corpus and the run are written.")] = Path(
        "runs/demo"
    ),
    threads: Threads = None,
) -> None:
    """The whole path on an embedded corpus, in minutes: train, translate, score, show."""
    from dragoman import demo

    demo.main(folder)


for part in (corpora, translating, runs):
    app.add_typer(part.app)
app.add_typer(augment.app, name="augment")


def main() -> None:
    """The program `dragoman`."""
    # Python has None for a stream that was closed before it began (`<&-`). One that fails when it is used is told.
    if sys.stdin is None:
        sys.stdin = os.fdopen(os.open(os.devnull, os.O_WRONLY))
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w")
    if not os.environ.get("COLUMNS", "1").strip("0 "):
        del os.environ["COLUMNS"]  # no width at all, where nothing would be printed, is an unknown one
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", newline="\n")
    app(prog_name="dragoman")
