"""From the user's files to batches: the corpus is prepared once and opened again."""

import zlib
from pathlib import Path

import numpy as np
import numpy.typing as npt

from dragoman.config import DataConfig, TextConfig
from dragoman.data.batch import Batch, pad
from dragoman.data.corpus import Pair, read_pairs
from dragoman.data.filters import Report
from dragoman.data.language import Language
from dragoman.data.preparation import STORE, prepare
from dragoman.data.store import Store
from dragoman.errors import UserError
from dragoman.text.pipeline import Side


class Dataset:
    """The prepared training pairs and the development pairs of a configuration."""

    def __init__(self, train: Store, dev: list[Pair], source: Language, target: Language, *, seed: int) -> None:
        self.train = train
        self.dev = dev
        self.report = Report(**train.notes["report"])
        self.source = source
        self.target = target
        self._seed = seed

    @classmethod
    def prepare(
        cls, data: DataConfig, text: TextConfig, seed: int, folder: Path, *, keep_units: bool = False
    ) -> "Dataset":
        """Learns the units from the training pairs and writes them, the vocabularies and the ids to `folder`.

        What is there already is used if it was made with the same options from the same files (by size and time of
        change). With `keep_units` (a model was trained with them) the units there are never learnt anew, even from
        changed files. The corpus is read twice and never held; killed halfway, the next call begins anew.
        """
        dev = list(read_pairs(data.dev, data.source, data.target))
        if not dev:
            raise UserError(f"{data.dev}: the development corpus is empty")
        prepare(data, text, seed, folder, keep_units=keep_units)
        source = Language.load(folder, "source", data.source)
        target = Language.load(folder, "target", data.target)
        return cls(Store(folder / STORE), dev, source, target, seed=seed)

    def batch(self, rows: npt.NDArray[np.int64], epoch: int) -> Batch:
        """The pairs in these rows of the store, with the subword dropout of this epoch.

        A function of its arguments alone: a sentence's dropout has a seed made of the run's seed, the epoch,
        the side and the row.
        """
        source = pad([self._ids("source", self.source, int(row), epoch) for row in rows])
        target = pad([self._ids("target", self.target, int(row), epoch) for row in rows])
        return Batch((source,), target, rows)

    def _ids(self, side: Side, language: Language, row: int, epoch: int) -> list[int] | npt.NDArray[np.integer]:
        if not language.text.unit.samples:
            return self.train.columns[side][row]
        text = self.train.columns[f"{side}.text"][row].tobytes().decode()
        return language.ids(text, zlib.crc32(f"{self._seed}:{epoch}:{side}:{row}".encode()))
