"""`dragoman shortlist`: which target symbols translate each source symbol, from the training data of a run."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from dragoman.cli import outputs
from dragoman.cli.option_rules import Requires
from dragoman.cli.options import RunPath, Threads, command
from dragoman.cli.streams import one_stream, tell
from dragoman.errors import UserError

if TYPE_CHECKING:
    from dragoman.data.store import Column
    from dragoman.run.run import Run


class ShortlistOptions(NamedTuple):
    """Arguments and options of `dragoman shortlist`."""

    run: RunPath
    source: Annotated[
        Path | None,
        typer.Argument(metavar="SOURCE", help="Training sentences, one per line, if the data of the run were deleted."),
        Requires("TARGET"),
    ] = None
    target: Annotated[
        Path | None, typer.Argument(metavar="TARGET", help="Translations of the sentences, one per line.")
    ] = None
    threads: Threads = None


@command(epilog="Example: dragoman shortlist runs/en-de")
def shortlist(options: ShortlistOptions) -> None:
    """Compute lexical shortlists of target tokens for decoding with `--shortlist`."""
    run, source, target, _ = options
    from dragoman import devices
    from dragoman.data.lexicon import estimate_lexicon
    from dragoman.model.weights import read_tensors
    from dragoman.run.run import Run
    from dragoman.search import shortlist as shortlists

    loaded = Run.load(run)
    if not loaded.config.data.plain:
        raise UserError(
            f"{run}: a shortlist requires a run with a single text source, without data.edits or data.pairs"
        )
    devices.use_threads(loaded.config.device)
    path = run / shortlists.FILE
    outputs.check([("shortlist", path)], (source, target))
    if path.exists():
        read_tensors(path)  # fails if the file is not ours to replace
    columns = _read(loaded, source, target) if source and target else _prepared(loaded)
    sizes = len(loaded.source.vocabulary), len(loaded.target.vocabulary)
    table = estimate_lexicon(*columns, sizes)
    shortlists.write(table, path)
    translated = (table.probabilities[:, 0] > 0).sum()
    pairs = len(columns[0].lengths)
    tell(f"{path}: translations of {translated:,} of {sizes[0]:,} symbols, from {pairs:,} pairs")


def _prepared(run: "Run") -> "tuple[Column, Column]":
    from dragoman.data.preparation import STORE
    from dragoman.data.store import Store

    main = run.folder.main
    path = main.path / STORE
    instead = f"pass text files: dragoman shortlist {run.folder.path} SOURCE TARGET"
    if not path.is_dir():
        raise UserError(f"{path}: no prepared corpus; {instead}")
    try:
        store = Store(path)
    except UserError as error:  # damaged, or from another version
        raise UserError(f"{error}; {instead}") from error
    source, target = ("source", "target") if main == run.folder else ("target", "source")
    for name, language in ((source, run.source), (target, run.target)):
        if store.columns[name].values.max(initial=0) >= len(language.vocabulary):
            raise store.damaged(f"{name}.values")
    return store.columns[source], store.columns[target]


def _read(run: "Run", source: Path, target: Path) -> "tuple[Column, Column]":
    """Return the pairs of two text files that are fit for training."""
    from dragoman.corpus.filters import Filters
    from dragoman.data.lexicon import columns
    from dragoman.text.protection import Protection

    one_stream(source, target)
    filters = Filters(max_length=run.config.data.max_length, max_ratio=run.config.data.max_ratio)
    protection = Protection.of(run.config.text.protect)
    return columns(source, target, (run.source, run.target), filters, protection)
