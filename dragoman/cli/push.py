"""`dragoman push`: a run for others, on the Hugging Face hub."""

from typing import Annotated

import typer

from dragoman.cli.options import RunPath, app
from dragoman.cli.streams import tell


@app.command(epilog="Example: dragoman push runs/en-de me/en-de")
def push(
    run: RunPath,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name on the hub, such as me/en-de.")],
    public: Annotated[
        bool, typer.Option("--public", help="Let everybody see a new model and these texts; otherwise it is private.")
    ] = False,
) -> None:
    """Upload a run with its card to the Hugging Face hub; `import NAME` downloads it.

    The pairs of its translation memory and its dictionary, if it has them, are uploaded, too.
    """
    from dragoman.interop import hub

    place = hub.push(run, name, public=public)
    tell(f"{place}: uploaded. What next:\n  dragoman import {name} -o RUN")
