"""The commands that make the model of a configuration: `train`, `debug config`."""

import shlex
from collections.abc import Sequence
from pathlib import Path

import typer

from dragoman import inspection, torchrun
from dragoman.commands.lines import tell
from dragoman.commands.options import overrides
from dragoman.configuration import document
from dragoman.configuration.config import DataConfig, LanguageConfig
from dragoman.data.vocabulary import SPECIALS
from dragoman.model.inputs import Regions
from dragoman.run import Run, RunFolder
from dragoman.training import checks, session
from dragoman.training.finishing import finished
from dragoman.training.objectives.table import OBJECTIVES

CHARACTERS = 200  # assumed where the data alone say how many symbols there are
NUMBERS = 2048  # assumed of a region


def train(words: Sequence[str]) -> None:
    """Train the run of a configuration, or go on with it, and tell what can be done with it then. A run that was
    finished before is left alone.
    """
    config = checks.load_config(*overrides(words))
    before = finished(config, RunFolder(Path(config.run)))
    folder = session.train(config)
    if not torchrun.process().leads:
        return
    both = OBJECTIVES[config.training.objective.kind].both_directions
    for each in (folder, folder.reverse) if both else (folder,):
        if not (before and _is_newer(each.report, each.validation)):
            loaded = Run.load(each.path)
            inspection.write_page(each.report, [inspection.view(loaded, *inspection.development(loaded))])
    if not before:
        run = shlex.quote(str(folder.path))
        tell(
            f"{folder.path}: trained. What next:\n"
            f"  {_use(config.data, run)}\n"
            f"  open {shlex.quote(str(folder.report))}    curves, scores and attention on one page\n"
            f"  dragoman info {run}               what is in the folder"
        )


def _is_newer(path: Path, other: Path) -> bool:
    return path.is_file() and path.stat().st_mtime >= other.stat().st_mtime


def _use(data: DataConfig, run: str) -> str:
    """The command that a trained run is for, and what that does."""
    if data.edits and not data.features and len(data.source) <= 2:
        source = " --source FILE" * (len(data.source) - 1)
        return f"dragoman postedit {run}{source} --translation FILE     correct the lines of a file"
    if len(data.source) > 1 or data.features:
        files = "".join(f" --source {shlex.quote(f'{name}=FILE')}" for name in data.source)
        return f"dragoman translate {run}{files}     translate what is in files, line by line"
    to = " --to LANGUAGE" if data.pairs else ""
    return f"dragoman translate {run} FILE{to}     translate the lines of a file, or of standard input"


def _symbols(side: LanguageConfig) -> int:
    """How many symbols a model for this configuration has, as far as can be known without the data."""
    return len(SPECIALS) + int(side.unit.options.get("size", CHARACTERS))


def debug_config(words: Sequence[str]) -> None:
    """Print a configuration with every option spelled out and explained, and what its model has to learn."""
    config = checks.complete(checks.load_config(*overrides(words)))
    typer.echo(document.commented(config, checks.PARTS), nl=False)
    data, target = config.data, _symbols(config.text.target)
    symbols = _symbols(config.text.source)
    regions = {name: Regions(NUMBERS, name not in config.model.start_only) for name in data.features}
    sources = [regions.get(name, symbols) for name in (data.source or data.sides)]
    parts = inspection.parameters(config.model, data.sequences(sources), target)
    known = [symbols] * (len(sources) - len(regions))
    told = f"{' and '.join(f'{size:,}' for size in (*known, target))} symbols (the data may give fewer)"
    told += f", {NUMBERS:,} numbers in a region of {' and '.join(regions)} (the data know)" if regions else ""
    typer.echo(f"\n# With {told}, {sum(parts.values()):,} parameters:")
    for part, count in parts.items():
        typer.echo(f"# {part:<20}{count:>12,}")
