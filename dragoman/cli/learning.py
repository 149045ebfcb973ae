"""`train --corrections`: a run goes on with what users have corrected, and is compared with what it was."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from dragoman.cli.options import files_and_overrides
from dragoman.cli.streams import tell
from dragoman.errors import UserError
from dragoman.files.reading import shown
from dragoman.run.folder import RunFolder
from dragoman.threads import process

if TYPE_CHECKING:
    from collections.abc import Callable

    from dragoman.configuration.config import Config
    from dragoman.training.mixing import Corrected


def learn(start: str, database: Path, words: list[str], train: "Callable[[Config], object]") -> None:
    """`train` a run with the corrections of a database, from another run; then compare both. UserError if the new one
    is worse.
    """
    corpora, changes = files_and_overrides(words)
    if corpora:
        raise typer.BadParameter(f"--corrections: the pairs are those of the database, so '{corpora[0]}' has no place")
    from dragoman.cli import gate
    from dragoman.training import folder, mixing

    def check(config: "Config") -> None:
        if process().leads:
            folder.check(RunFolder(Path(config.run)), config)

    mixed = mixing.configure(start, _corrections(start, database), changes, check)
    if process().leads:
        tell(mixed.description)
    train(mixed.config)
    if process().leads:
        sources = [tuple(row[:-1]) for row in mixed.held]
        served = Path(start).parent if start.endswith(".safetensors") else Path(start)
        gate.judge(Path(mixed.config.run), served, list(sources), [row[-1] for row in mixed.held])


def _corrections(start: str, database: Path) -> "list[Corrected]":
    """What was corrected in the languages of a run. One that edits may name its texts otherwise; for it, these are the
    only languages there are.
    """
    from dragoman.serving.corrections import Corrections
    from dragoman.training import mixing

    (source, *_), target, machine = mixing.names(start)
    entries = Corrections.existing(database).entries()
    pairs = {entry.pair for entry in entries}
    pair = (source, target)
    if pair not in pairs and machine is not None and len(pairs) == 1:
        (pair,) = pairs
    if pair not in pairs:
        raise UserError(f"{shown(database)}: has no corrections of translations from {source} to {target}")
    return [
        mixing.Corrected(entry.correction.source, entry.correction.machine, entry.correction.correction)
        for entry in entries
        if entry.pair == pair
    ]
