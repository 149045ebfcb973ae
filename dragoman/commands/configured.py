"""The commands that start from a configuration: `train`, `debug data`, `debug config`."""

import os
import shlex
from collections.abc import Sequence
from pathlib import Path

import typer

from dragoman import config as configuration
from dragoman import initialise as first
from dragoman import inspection
from dragoman.data import statistics
from dragoman.data.vocabulary import SPECIALS
from dragoman.run import Run
from dragoman.training import session

CHARACTERS = 200  # assumed where the data alone say how many symbols there are


def overrides(words: Sequence[str]) -> tuple[Path, dict[str, str]]:
    """The configuration file and the `--section.key VALUE` or `--section.key=VALUE` among the words of a command."""
    files: list[str] = []
    found: dict[str, str] = {}
    rest = iter(words)
    for word in rest:
        if not word.startswith("--") or word == "--":
            files.append(word)
            continue
        key, equals, value = word.removeprefix("--").partition("=")
        if not equals:
            value = next(rest, "--")
        if value.startswith("--") and not equals:
            raise typer.BadParameter(f"--{key} needs a value: --{key} VALUE")
        found[key] = value
    if len(files) != 1:
        raise typer.BadParameter(f"expected one configuration file, found {' and '.join(files) or 'none'}")
    return Path(files[0]), found


def train(words: Sequence[str]) -> None:
    """Train the run of a configuration, or go on with it, and tell what can be done with it then."""
    folder = session.train(session.load_config(*overrides(words)))
    if os.environ.get("RANK", "0") == "0":
        finished = Run.load(folder.path)
        inspection.write_page(folder.report, [inspection.view(finished, *inspection.development(finished))])
        run = shlex.quote(str(folder.path))
        typer.echo(
            f"{folder.path}: trained. What next:\n"
            f"  dragoman translate {run} FILE     translate the lines of a file, or of standard input\n"
            f"  open {shlex.quote(str(folder.report))}    curves, scores and attention on one page\n"
            f"  dragoman info {run}               what is in the folder",
            err=True,
        )


def _symbols(side: configuration.LanguageConfig) -> int:
    """How many symbols a model for this configuration has, as far as can be known without the data."""
    return len(SPECIALS) + int(side.unit.options.get("size", CHARACTERS))


def debug_data(words: Sequence[str]) -> None:
    """Print what the corpora of a configuration look like and which of their lines deserve a look."""
    config = session.load_config(*overrides(words))
    data = config.data
    for name, where in (("train", data.train), ("dev", (data.dev,))):
        found = statistics.describe(where, data.source, data.target, tokeniser=config.text.source.tokeniser)
        typer.echo(f"data.{name}: {', '.join(where)}\n{found}\n")


def initialise(source: Path, target: Path | None, config: Path, dev: str | None) -> None:
    """Write a first configuration, and tell what it was made for and what comes next."""
    for line in first.initialise(source, target, config, dev):
        typer.echo(line, err=True)
    name = shlex.quote(str(config))
    typer.echo(f"{config}: written. What next:\n  dragoman debug data {name}\n  dragoman train {name}", err=True)


def debug_config(words: Sequence[str]) -> None:
    """Print a configuration with every option spelled out and explained, and what its model has to learn."""
    config = session.complete(session.load_config(*overrides(words)))
    typer.echo(configuration.commented(config), nl=False)
    sizes = [_symbols(side) for side in (config.text.source, config.text.target)]
    parts = inspection.parameters(config.model, *sizes)
    typer.echo(
        f"\n# With {sizes[0]:,} and {sizes[1]:,} symbols (the data may give fewer), {sum(parts.values()):,} parameters:"
    )
    for part, count in parts.items():
        typer.echo(f"# {part:<20}{count:>12,}")
