"""`dragoman demo`: the whole pipeline on an embedded corpus."""

from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.options import Threads

app = typer.Typer()


@app.command()
def demo(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where the corpus and the run are written.")] = Path(
        "runs/demo"
    ),
    threads: Threads = None,
) -> None:
    """Run the whole pipeline on an embedded corpus, in minutes: train, translate, score, show."""
    from dragoman.demo import main

    main(folder)
