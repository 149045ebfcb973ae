"""Split a corpus into training and development pairs."""

from array import array
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dragoman.corpus.cleaning import key
from dragoman.corpus.examples import Pair, is_blank
from dragoman.corpus.filters import Report
from dragoman.corpus.parts import divided, lot
from dragoman.errors import UserError
from dragoman.files.writing import write_atomically

SHARE = 0.05  # the fraction of the pairs that is set aside,
MOST = 1_000  # but at most so many pairs, unless all sources are repeated more often
SEED = 1
PARTS = "train", "dev"


class Copied(NamedTuple):
    """The numbers of pairs to train on and of those set aside, and of all, with those left out."""

    train: int
    dev: int
    report: Report

    @property
    def left_out(self) -> str:
        """A remark for the user where pairs are left out; empty if none are."""
        return f"; {self.report}" if self.report.empty else ""


def copy(
    pairs: Callable[[], Iterator[Pair]], named: str, folder: Path, languages: tuple[str, str], *, aside: bool
) -> Copied:
    """Write the pairs of the corpus that is `named` so to train.* in a folder and, with `aside`, some of them to dev.*.

    Those with a blank side are left out: nothing can be learnt from them, or judged by them. No two parts have sources
    with the same key (`parts.lot`). UserError if no pair would be left to train on.
    """
    lots, blank = array("Q"), 0
    for pair in pairs():
        if any(map(is_blank, pair)):
            blank += 1
        else:
            lots.append(lot(key(pair.source), SEED))
    report = Report(len(lots) + blank, len(lots), blank, too_long=0, ratio=0)
    if not lots:
        raise UserError(f"{named}: the corpus is empty" + (f": {report}" if blank else ""))
    part_of = divided(lots, {"dev": _size(lots)}) if aside else {}
    counts = dict.fromkeys(PARTS, 0)
    kept = (pair for pair in pairs() if not any(map(is_blank, pair)))
    with ExitStack() as stack:
        files = {
            part: [stack.enter_context(write_atomically(folder / f"{part}.{language}")) for language in languages]
            for part in PARTS[: 1 + aside]
        }
        for number, pair in zip(lots, kept, strict=True):
            part = part_of.get(number, "train")
            for file, text in zip(files[part], pair, strict=True):
                file.write(text + "\n")
            counts[part] += 1
        if not counts["train"]:
            raise UserError("too few pairs to set some aside for development; give others with --dev")
    return Copied(counts["train"], counts["dev"], report)


def _size(lots: "array[int]") -> int:
    """How many pairs to set aside: enough for at least one source with all of its translations."""
    _, repeated = np.unique(np.frombuffer(lots, np.uint64), return_counts=True)
    return max(int(repeated.min()), min(MOST, int(SHARE * len(lots))))
