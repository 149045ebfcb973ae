"""`dragoman init`: a first configuration."""

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.cli.options import Columns, Threads, app
from dragoman.cli.outputs import named
from dragoman.cli.streams import tell
from dragoman.errors import UserError

if TYPE_CHECKING:
    from dragoman.configuration.config import Config


@app.command(epilog="Example: dragoman init train.en train.de -o config.yaml")
def init(
    source: Annotated[
        Path, typer.Argument(metavar="SOURCE", help="Sentences, one per line; or a file with both languages.")
    ],
    target: Annotated[Path | None, typer.Argument(metavar="TARGET", help="Their translations, line by line.")] = None,
    output: Annotated[Path, typer.Option("--output", "-o", callback=named, help="Configuration to write.")] = Path(
        "config.yaml"
    ),
    dev: Annotated[
        str | None,
        typer.Option(metavar="PREFIX", help="Development pairs: PREFIX.en and PREFIX.de, or a file of columns."),
    ] = None,
    columns: Columns = None,
    translation_memory: Annotated[
        bool,
        typer.Option("--translation-memory", help="The model reads translations of similar training sources, too."),
    ] = False,
    epochs: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Epochs of the training, if not as many as still help.")
    ] = None,
    threads: Threads = None,
) -> None:
    """Write a commented configuration with sizes chosen for your sentence pairs; tell what they score without a model,
    and how long training will take here.
    """
    from dragoman.corpus.initialize import initialize
    from dragoman.corpus.sizes import InitOptions

    for line in initialize(source, target, output, dev, columns or (), InitOptions(translation_memory, epochs)):
        tell(line)
    tell(f"{output}: written")  # whatever becomes of what follows
    from dragoman.training import checks

    for line in outlook(checks.load_config(output)):
        tell(line)
    name = shlex.quote(str(output))
    tell(f"What next:\n  dragoman debug data {name}\n  dragoman train {name}")


def outlook(config: "Config") -> Iterator[str]:
    """Yield a line about each thing that is known of a training before it: scores without a model, and its duration
    here. Where training would fail for a fault that the user can fix, a line tells it.
    """
    from dragoman.corpus.examples import read_development
    from dragoman.evaluation import baselines
    from dragoman.training import duration

    data = config.data
    try:
        if not data.pairs:
            dev, judged = read_development(data.dev, data.source, data.target, data.features)
            if judged.empty:
                yield f"data.dev: {data.dev}: {judged}"
            if scores := baselines.measure(data, config.text, config.metrics, dev):
                yield f"without a model: {scores} (data.dev: {data.dev})"
        yield f"training: {duration.measure(config)}"
    except UserError as error:
        yield f"training: would end with an error: {error}"
