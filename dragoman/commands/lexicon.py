"""`dragoman lexicon`: which target symbols translate each source symbol, from what a run was trained on."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from dragoman import devices
from dragoman.commands import outputs
from dragoman.commands.lines import one_stream, tell
from dragoman.corpus.examples import parallel, sides
from dragoman.corpus.filters import Filters
from dragoman.data.language import Language
from dragoman.data.lexicon import estimate
from dragoman.data.preparation import BLOCK, STORE
from dragoman.data.store import Column, Rows, Store
from dragoman.errors import UserError
from dragoman.model.weights import read_tensors
from dragoman.run import Run
from dragoman.search import candidates


def lexicon(folder: Path, files: tuple[Path, Path] | None) -> None:
    """Write the lexicon of a run, from its prepared corpus or from text files."""
    run = Run.load(folder)
    if not run.config.data.plain:
        raise UserError(f"{folder}: a lexicon needs a run of one text, without data.edits or data.pairs")
    devices.use_threads(run.config.device)
    path = run.folder.path / candidates.FILE
    outputs.check([("lexicon", path)], files or ())
    if path.exists():
        read_tensors(path)  # or it is not ours to be replaced
    source, target = _read(run, *files) if files else _prepared(run)
    sizes = len(run.source.vocabulary), len(run.target.vocabulary)
    found = estimate(source, target, sizes)
    candidates.write(found, path)
    known = np.count_nonzero(found.probabilities[:, 0])
    pairs = len(source.lengths)
    tell(f"{path}: translations of {known:,} of {sizes[0]:,} symbols, from {pairs:,} pairs")


def _prepared(run: Run) -> tuple[Column, Column]:
    main = run.folder.main
    path = main.path / STORE
    instead = f"name text files: dragoman lexicon {run.folder.path} SOURCE TARGET"
    if not path.is_dir():
        raise UserError(f"{path}: no prepared corpus; {instead}")
    try:
        store = Store(path)
    except UserError as error:  # damaged, or of another version
        raise UserError(f"{error}; {instead}") from error
    source, target = ("source", "target") if main == run.folder else ("target", "source")
    for name, language in ((source, run.source), (target, run.target)):
        if store.columns[name].values.max(initial=0) >= len(language.vocabulary):
            raise store.damaged(f"{name}.values")
    return store.columns[source], store.columns[target]


def _read(run: Run, source: Path, target: Path) -> tuple[Column, Column]:
    """The pairs of text files that are fit to be trained on."""
    one_stream(source, target)
    filters = Filters(max_length=run.config.data.max_length, max_ratio=run.config.data.max_ratio)
    parts: list[tuple[Rows, Rows]] = []
    for sources, targets in sides(parallel(source, target), BLOCK):
        first, written = _rows(run.source, sources)
        second, also = _rows(run.target, targets)
        kept = filters.keep(np.where(written, first.lengths - 1, 0), np.where(also, second.lengths - 1, 0))
        parts.append((first.chosen(kept), second.chosen(kept)))
    if not filters.report.kept:
        raise UserError(f"{source}, {target}: no pair to learn from: {filters.report}")
    return _column([each for each, _ in parts]), _column([each for _, each in parts])


def _rows(language: Language, lines: list[str]) -> tuple[Rows, npt.NDArray[np.bool_]]:
    """The ids of these lines, and which of them are not blank."""
    texts = list(map(language.text.normalise, lines))
    return language.rows(texts), np.array([bool(text.strip()) for text in texts])


def _column(parts: Sequence[Rows]) -> Column:
    lengths = np.concatenate([part.lengths for part in parts])
    return Column(np.concatenate([part.values for part in parts]), np.concatenate([[0], np.cumsum(lengths)]))
