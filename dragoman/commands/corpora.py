"""The commands that look at a corpus before there is a model: `init`, `debug data`."""

import shlex
from collections.abc import Sequence
from pathlib import Path

import typer

from dragoman.commands.lines import one_line, tell
from dragoman.commands.options import overrides
from dragoman.configuration import document
from dragoman.configuration.config import TABLES
from dragoman.corpus import initialise as first
from dragoman.corpus import statistics, tables
from dragoman.corpus.examples import feature_files, read_examples
from dragoman.corpus.features import FeatureFile
from dragoman.text.printable import printable


def initialise(source: Path, target: Path | None, config: Path, dev: str | None, columns: Sequence[str]) -> None:
    """Write a first configuration, and tell what it was made for and what comes next."""
    for line in first.initialise(source, target, config, dev, columns):
        tell(line)
    name = shlex.quote(str(config))
    tell(f"{config}: written. What next:\n  dragoman debug data {name}\n  dragoman train {name}")


def debug_data(words: Sequence[str]) -> None:
    """Print what the corpora of a configuration look like and which of their lines deserve a look.

    Only what concerns data is checked: the parts of the model, which `debug config` checks, would take torch.
    """
    config = document.load(*overrides(words))
    data, tokenisers = config.data, (config.text.source.tokeniser, config.text.target.tokeniser)
    for pair in data.language_pairs:
        texts = tuple(name for name in pair.sources if name not in data.features)
        for name, where in (("train", pair.train), ("dev", (pair.dev,))):
            for place in where:
                header = tables.about_header(place, (*texts, pair.target)) if place.endswith(TABLES) else None
                if header:
                    typer.echo(printable(f"data.{name}: {place}: {one_line(header)}\n"))
            for source in texts if where else ():
                found = statistics.describe(where, source, pair.target, sources=texts, tokenisers=tokenisers)
                about = f", {source} and {pair.target}" if data.pairs or len(pair.sources) > 1 else ""
                typer.echo(printable(f"data.{name}: {', '.join(where)}{about}\n{found}\n"))
            for path in (path for each in data.features for path in feature_files(where, each)):
                typer.echo(printable(f"data.{name}: {path}\n{statistics.describe_features(FeatureFile(path))}\n"))
            if data.features:
                count = sum(1 for _ in read_examples(where, pair.sources, pair.target, data.features))
                typer.echo(printable(f"data.{name}: {', '.join(where)}, {count:,} lines in {pair.target}\n"))
    if data.alignments:
        links = statistics.describe_links(data.train, data.source[0], data.target, tokenisers=tokenisers)
        typer.echo(printable(str(links)))
