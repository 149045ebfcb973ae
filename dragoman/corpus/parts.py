"""Clean pairs as files of columns, and corpora as training and development pairs: parts with no source in common."""

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryFile
from typing import NamedTuple

import numpy as np

from dragoman.corpus.cleaning import CleanPair, key
from dragoman.corpus.examples import is_blank
from dragoman.corpus.filters import FilterReport
from dragoman.corpus.naming import CONTEXT
from dragoman.errors import UserError
from dragoman.files.writing import write_atomically

TRAIN = "train"
FILE, DOMAIN = "file", "domain"  # columns beside those of the languages and of contexts
SHARE = 0.05  # the fraction of the pairs that is set aside,
MOST = 1_000  # but at most so many pairs, unless all sources are repeated more often
SEED = 1
PARTS = "train", "dev"


class PairWithOrigin(NamedTuple):
    """A pair, and the file or domain that it is from."""

    entry: CleanPair
    origin: str


def paths(prefix: Path, sizes: dict[str, int]) -> dict[str, Path]:
    """PREFIX.tsv, or PREFIX.train.tsv and one for each other part of any size."""
    if not any(sizes.values()):
        return {TRAIN: Path(f"{prefix}.tsv")}
    return {part: Path(f"{prefix}.{part}.tsv") for part in (TRAIN, *(part for part in sizes if sizes[part]))}


def write(
    rows: Iterable[PairWithOrigin],
    prefix: Path,
    names: Sequence[str],
    origins: str,
    sizes: dict[str, int],
    seed: int,
    group: Callable[[str], str] = key,
) -> dict[Path, int]:
    """Write the rows, with columns for the languages, which end with the target, for the `origins` and for contexts;
    how many there are in each file.

    Parts other than the first have as many pairs as `sizes` says, where sources that occur several times allow it. A
    source belongs to a part by its key, which `group` returns, and the seed, whatever the order of the rows. All files
    appear when everything is written, and none if anything fails. UserError where one exists, or nothing would be left
    to train on.
    """
    part_paths = paths(prefix, sizes)
    _refuse(part_paths.values())
    prefix.parent.mkdir(parents=True, exist_ok=True)
    lots = array("Q")
    with TemporaryFile("w+", encoding="utf-8", newline="\n", dir=prefix.parent) as spool:
        for entry, origin in rows:
            spool.write("\t".join([entry.source, *entry.further, entry.target, origin, entry.context]) + "\n")
            lots.append(lot(group(entry.source), seed))
        spool.seek(0)
        _refuse(part_paths.values())  # reading takes time, and what is there by now is somebody else's
        wanted = {part: size for part, size in sizes.items() if size}
        if len(lots) <= sum(wanted.values()):
            sets = " and ".join(f"{size:,} for {part}" for part, size in wanted.items())
            raise UserError(f"{len(lots):,} pairs are too few to set aside {sets}")
        part_of = divide_lots(lots, wanted)
        counts = dict.fromkeys(part_paths, 0)
        try:
            with ExitStack() as stack:
                files = {part: stack.enter_context(write_atomically(path)) for part, path in part_paths.items()}
                for file in files.values():
                    file.write("\t".join([*names, origins, CONTEXT]) + "\n")
                for number, line in zip(lots, spool, strict=True):
                    part = part_of.get(number, TRAIN)
                    files[part].write(line)
                    counts[part] += 1
        except BaseException:  # some of them may be there already, and are a part of a corpus
            for path in part_paths.values():
                path.unlink(missing_ok=True)
            raise
    return {part_paths[part]: count for part, count in counts.items()}


def _refuse(paths: Iterable[Path]) -> None:
    """UserError if one of the files exists."""
    for path in paths:
        if path.exists():
            raise UserError(f"{path}: exists already; remove it, or choose another name")


def lot(key: str, seed: int) -> int:
    """A number for the sources with this key, by which they belong to a part."""
    return int.from_bytes(blake2b(f"{seed}\t{key}".encode(), digest_size=8).digest(), "little")


def divide_lots(lots: "array[int]", sizes: dict[str, int]) -> dict[int, str]:
    """The part of each lot that is not trained on: the first lots that fit, in ascending order."""
    part_of: dict[int, str] = {}
    rest = zip(*np.unique(np.frombuffer(lots, np.uint64), return_counts=True), strict=True)
    for part, size in sizes.items():
        for number, count in rest:
            if count <= size:
                part_of[int(number)] = part
                size -= int(count)
            if not size:
                break
    return part_of


class Copied(NamedTuple):
    """The numbers of pairs to train on and of those set aside, and of all, with those left out."""

    train: int
    dev: int
    report: FilterReport

    @property
    def left_out(self) -> str:
        """A remark for the user where pairs are left out; empty if none are."""
        return f"; {self.report}" if self.report.empty else ""


def copy(
    rows: Callable[[], Iterator[tuple[str, ...]]], named: str, folder: Path, languages: Sequence[str], *, aside: bool
) -> Copied:
    """Write the rows of the corpus that is `named` so to train.* in a folder and, with `aside`, some of them to dev.*.
    A row has a text in each language, the target last.

    Those with a blank target, or blank sources only, are left out: nothing can be learned from them, or judged by them.
    No two parts have first sources with the same key (`parts.lot`). UserError if no row would be left to train on.
    """
    lots, blank = array("Q"), 0
    for row in rows():
        if is_whole(row):
            lots.append(lot(key(row[0]), SEED))
        else:
            blank += 1
    report = FilterReport(len(lots) + blank, len(lots), blank, too_long=0, ratio=0)
    if not lots:
        raise UserError(f"{named}: the corpus is empty" + (f": {report}" if blank else ""))
    part_of = divide_lots(lots, {"dev": _size(lots)}) if aside else {}
    counts = dict.fromkeys(PARTS, 0)
    kept = filter(is_whole, rows())
    with ExitStack() as stack:
        files = {
            part: [stack.enter_context(write_atomically(folder / f"{part}.{language}")) for language in languages]
            for part in PARTS[: 1 + aside]
        }
        for number, row in zip(lots, kept, strict=True):
            part = part_of.get(number, "train")
            for file, text in zip(files[part], row, strict=True):
                file.write(text + "\n")
            counts[part] += 1
        if not counts["train"]:
            raise UserError("too few pairs to hold out a development set; add development pairs")
    return Copied(counts["train"], counts["dev"], report)


def is_whole(row: tuple[str, ...]) -> bool:
    """Whether a row has a target and at least one source."""
    *sources, target = row
    return not is_blank(target) and not all(map(is_blank, sources))


def _size(lots: "array[int]") -> int:
    """How many pairs to set aside: enough for at least one source with all of its translations."""
    _, repeated = np.unique(np.frombuffer(lots, np.uint64), return_counts=True)
    return max(int(repeated.min()), min(MOST, int(SHARE * len(lots))))
