"""Configure a training that goes on from a run with corrections of its translations, and its own pairs mixed in."""

import json
import os
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from dragoman.configuration.config import Config
from dragoman.configuration.data import DataConfig
from dragoman.corpus.cleaning import key
from dragoman.corpus.examples import corpus_files, is_blank, read_texts
from dragoman.corpus.parts import divide_lots, lot
from dragoman.data.batching import CorpusMixture
from dragoman.errors import UserError
from dragoman.evaluation.significance import FEWEST
from dragoman.files.writing import write_atomically
from dragoman.run.folder import RunFolder, data_folder
from dragoman.training.starting import OPTIONS, change_options, embeddings, own_folder
from dragoman.training.transfer import InitialWeights

MACHINE = "mt"  # the source of that name is what a model had made, where no source is edited
CORRECTED = 0.25  # the share of the corrections in an epoch
ASIDE = 10  # of as many corrections, one is for development
SEED = 1
Row = tuple[str, ...]  # a text for each source, and the correction


class CorrectedSentence(NamedTuple):
    """A sentence, what a model had made of it (empty if that is not known), and what it should have made."""

    source: str
    machine: str
    correction: str


class CorrectionsConfig(NamedTuple):
    """The configuration of a run that learns from corrections, a line that describes it, and the sentences that it is
    compared by with the run it starts from, of which neither is trained on any.
    """

    config: Config
    description: str
    held: list[Row]


def names(place: str) -> tuple[Row, str, int | None]:
    """Return the sources of a run, its target, and which source is what a model had made, if one is. UserError for a
    run that cannot learn from corrections.
    """
    run = InitialWeights.at(place).run
    data = run.config.data
    edited = data.edits if data.edits not in data.recalled else None
    machine = edited or (MACHINE if len(data.source) == 2 and data.source[1] == MACHINE else None)
    if data.pairs or data.features or data.alignments or len(data.source) > 1 + (machine is not None):
        raise UserError(
            f"{run.folder.path}: requires inputs other than a sentence and its machine translation (edited, or "
            f"named {MACHINE}), so it cannot be trained on corrections"
        )
    return data.source, data.target, data.source.index(machine) if machine else None


def configure(
    place: str,
    corrections: Sequence[CorrectedSentence],
    options: Mapping[str, str],
    check: Callable[[Config], None] = lambda config: None,
) -> CorrectionsConfig:
    """Return the configuration of the run at `place` for corrections, with these options as YAML. They are written to a
    folder beside the new run's: train.*, dev.* with a tenth of them and half of the run's development pairs, and held.*
    with the other half. UserError where there are none, or the run's pairs cannot be read.
    """
    old = InitialWeights.at(place).run
    sources, target, machine = names(place)
    rows = list(dict.fromkeys(_rows(corrections, len(sources), machine)))
    if not rows:
        raise UserError(f"{old.folder.path}: found no corrections to train on")
    data, columns = old.config.data, (*sources, target)
    for where in (data.train, data.dev):
        corpus_files(where, *columns)
    run = options.get("run", f"{os.path.normpath(old.folder.path)}-corrections")
    folder = data_folder(run)
    values = {**OPTIONS, "run": run, "training.init_from": place, "text.vocabulary_from": str(old.folder.path)}
    values |= {
        "training.init_interpolation": [],
        "training.epochs": 10,
        "training.require_gate": True,
        **dict(embeddings(old.config)),
    }
    values |= {"data.train": [str(folder / "train"), *data.train], "data.dev": str(folder / "dev")}
    values["data.weights"] = [CORRECTED, *((1 - CORRECTED) * share for share in _shares(data, columns))]
    written = {name: json.dumps(value, ensure_ascii=False) for name, value in values.items()}
    config = change_options(old, {**written, **options})
    check(config)
    dev_rows = [row for row in read_texts(data.dev, columns) if not any(map(is_blank, row))]
    if len(dev_rows) < 2 * FEWEST:
        raise UserError(
            f"{data.dev}: has {len(dev_rows)} pairs, half of which are held out to compare both runs; expected at "
            f"least {2 * FEWEST}"
        )
    # By a digest of the source: corrections of one sentence are all in one part.
    aside = divide_lots(array("Q", [lot(key(row[0]), SEED) for row in rows]), {"dev": max(1, len(rows) // ASIDE)})
    # Every second pair of the old development data chooses weights; the others compare, and are never seen.
    parts: dict[str, list[Row]] = {"train": [], "dev": dev_rows[::2], "held": dev_rows[1::2]}
    for row in rows:
        parts[aside.get(lot(key(row[0]), SEED), "train")].append(row)
    if not parts["train"]:
        few = "1 correction is" if len(rows) == 1 else f"{len(rows)} corrections are"
        raise UserError(
            f"{old.folder.path}: {few} too few to train on; expected corrections of at least 2 different sentences"
        )
    going_on = RunFolder(Path(config.run)).last_state.is_file()
    _write(parts, columns, folder, going_on=going_on)
    description = (
        f"{config.run}: starts from {place}; {len(rows):,} corrections in {folder}, {CORRECTED:.0%} of each epoch"
    )
    return CorrectionsConfig(config, description, list(read_texts(str(folder / "held"), columns)))


def _rows(corrections: Sequence[CorrectedSentence], sources: int, machine: int | None) -> Iterator[Row]:
    """Yield what a run can learn from: of a line each, and with what a model had made if it reads that."""
    for source, translation, correction in corrections:
        texts = [source] * sources
        if machine is not None:
            texts[machine] = translation
        row = tuple(" ".join(text.split()) for text in (*texts, correction))
        if all(row) and not any(len(text.splitlines()) > 1 for text in (*texts, correction)):
            yield row


def _shares(data: DataConfig, columns: Sequence[str]) -> list[float]:
    """Return what share of the run's own pairs each of its corpora is drawn with."""
    weights = list(data.weights)
    if not weights:
        sizes = tuple(sum(1 for _ in read_texts(place, tuple(columns))) for place in data.train)
        if not all(sizes):
            raise UserError(f"{data.train[sizes.index(0)]}: the corpus is empty")
        weights = list(CorpusMixture.tempered(sizes, data.temperature).weights)
    return [weight / sum(weights) for weight in weights]


def _write(parts: Mapping[str, Sequence[Row]], columns: Sequence[str], folder: Path, *, going_on: bool) -> None:
    """Write the parts to a folder. One that has the same stays as it is, and so does that of a run that is `going_on`;
    UserError if it has others.
    """
    files = [f"{part}.{name}" for part in parts for name in columns]
    if going_on and all((folder / file).is_file() for file in files):
        return
    with own_folder(folder, files, "corrections") as new_folder:
        for part, rows in parts.items():
            for number, name in enumerate(columns):
                with write_atomically(new_folder / f"{part}.{name}") as file:
                    file.writelines(f"{row[number]}\n" for row in rows)
