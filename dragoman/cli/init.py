"""`dragoman init`: a first configuration."""

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.cli.options import Also, Columns, Threads, app
from dragoman.cli.outputs import named
from dragoman.cli.streams import tell
from dragoman.errors import UserError

if TYPE_CHECKING:
    from dragoman.configuration.config import Config


@app.command(epilog="Example: dragoman init train.en train.de -o config.yaml")
def init(
    source: Annotated[
        Path, typer.Argument(metavar="SOURCE", help="Source sentences, one per line, or a bilingual file.")
    ],
    target: Annotated[
        Path | None, typer.Argument(metavar="TARGET", help="Translations of the sentences, one per line.")
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", callback=named, help="Configuration file to write.")] = Path(
        "config.yaml"
    ),
    dev: Annotated[
        str | None,
        typer.Option(metavar="PREFIX", help="Development set: PREFIX.en and PREFIX.de, or a file with columns."),
    ] = None,
    columns: Columns = None,
    also: Also = None,
    translation_memory: Annotated[
        bool,
        typer.Option(
            "--translation-memory", help="Add a translation memory: similar training pairs as an additional source."
        ),
    ] = False,
    epochs: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Number of epochs. Default: chosen by the size of the corpus."),
    ] = None,
    threads: Threads = None,
) -> None:
    """Write a commented configuration with sizes suited to the sentence pairs.

    Also reports baseline scores without a model and the estimated training time.
    """
    from dragoman.corpus.initialize import initialize
    from dragoman.corpus.sizes import InitOptions

    options = InitOptions(translation_memory, epochs)
    for line in initialize(source, target, output, dev, columns or (), options, also or ()):
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
        yield f"training would fail: {error}"
