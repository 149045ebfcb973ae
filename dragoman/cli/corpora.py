"""Before there is a model, and making one: `init`, `debug`, `train`."""

from pathlib import Path
from typing import Annotated

import typer

from dragoman.commands.options import Configuration, Threads, named, pair

# What typer takes for unknown options are overrides of the configuration.
OVERRIDES = {"ignore_unknown_options": True}

app = typer.Typer()
debug = typer.Typer(no_args_is_help=True, help="Look at a corpus or a configuration before training.")
app.add_typer(debug, name="debug")


@app.command()
def init(
    source: Annotated[
        Path, typer.Argument(metavar="SOURCE", help="Sentences, one a line; or a .tsv, .csv or .jsonl with both.")
    ],
    target: Annotated[Path | None, typer.Argument(metavar="TARGET", help="Their translations, line by line.")] = None,
    output: Annotated[Path, typer.Option("--output", "-o", callback=named, help="Configuration to write.")] = Path(
        "config.yaml"
    ),
    dev: Annotated[
        str | None,
        typer.Option(metavar="PREFIX", help="Development pairs: PREFIX.en and PREFIX.de, or a file of columns."),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(metavar="SOURCE,TARGET", help="Which columns of a .tsv, .csv or .jsonl have the pairs: en,de."),
    ] = None,
) -> None:
    """Write a commented configuration with sizes chosen for your sentence pairs."""
    from dragoman.commands import corpora

    corpora.initialise(source, target, output, dev, pair(columns))


@debug.command("data", context_settings=OVERRIDES)
def debug_data(config: Configuration) -> None:
    """Statistics and problems of the corpora in a configuration."""
    from dragoman.commands import corpora

    corpora.debug_data(config)


def _schema(wanted: bool) -> bool:
    if wanted:
        from dragoman.configuration import document
        from dragoman.training import checks

        typer.echo(document.schema(checks.PARTS), nl=False)
        raise typer.Exit
    return wanted


@debug.command("config", context_settings=OVERRIDES)
def debug_config(
    config: Configuration,
    schema: Annotated[
        bool,
        typer.Option(
            "--schema", callback=_schema, is_eager=True, help="Print the JSON schema of configurations, and exit."
        ),
    ] = False,
) -> None:
    """A configuration checked, with every option spelled out and explained, and the size of its model."""
    from dragoman.commands import configured

    configured.debug_config(config)


@app.command(context_settings=OVERRIDES)
def train(config: Configuration, threads: Threads = None) -> None:
    """Train; the same command again goes on where it stopped.

    With N workers on this machine: torchrun --nproc-per-node N -m -- dragoman train CONFIG
    """
    from dragoman.commands import configured

    configured.train([*config, *(["--device.threads", str(threads)] if threads else [])])
