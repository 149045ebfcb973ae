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
        typer.Argument(metavar="FOLDER", help="Where corpus and run are written.", show_default="runs/demo"),
    ] = None,
    installed: Annotated[
        str | None,
        typer.Option(metavar="LANGUAGE", help="Translate what the programs of this machine say, from English."),
    ] = None,
    threads: Threads = None,
) -> None:
    """Run the whole pipeline in minutes, on an embedded corpus or on real text: train, translate, score, show."""
    from dragoman import demo, installed_demo

    if installed is None:
        demo.main(folder or Path("runs/demo"))
    else:
        installed_demo.main(folder or Path(f"runs/demo-{language(installed)}"), installed)
