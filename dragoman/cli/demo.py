"""`dragoman demo`: the whole pipeline on an embedded corpus."""

from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.corpus import language
from dragoman.cli.options import Threads, app


@app.command(epilog="Example: dragoman demo --installed de")
def demo(
    folder: Annotated[
        Path | None,
        typer.Argument(metavar="FOLDER", help="Folder for the corpus and the run.", show_default="runs/demo"),
    ] = None,
    installed: Annotated[
        str | None,
        typer.Option(
            metavar="LANGUAGE",
            help="Train on the message catalogs of installed programs, from English into this language.",
        ),
    ] = None,
    threads: Threads = None,
) -> None:
    """Run the whole pipeline in minutes on a built-in corpus or real text: train, translate, evaluate, visualize."""
    from dragoman import demo, installed_demo

    if installed is None:
        demo.main(folder or Path("runs/demo"))
    else:
        installed_demo.main(folder or Path(f"runs/demo-{language(installed)}"), installed)
