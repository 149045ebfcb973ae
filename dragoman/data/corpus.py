"""Reading sentence pairs: two files of the same prefix, or one with two columns."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, zip_longest
from pathlib import Path
from typing import NamedTuple

from dragoman.config import TSV
from dragoman.data.pharaoh import Gold, read_pharaoh
from dragoman.errors import UserError
from dragoman.files import read_lines


class Pair(NamedTuple):
    """A sentence and its translation, as written."""

    source: str
    target: str


def read_pairs(where: str | Path | Sequence[str], source: str, target: str) -> Iterator[Pair]:
    """The pairs of a corpus, one after another: of a prefix, a .tsv, or several of them in turn.

    `source` and `target` are the suffixes behind the prefix: `corpus` means `corpus.en` and `corpus.de`, each
    of which may be packed (`corpus.en.gz`). A .tsv (or .tsv.gz) has the source and the target in two columns
    that a tab separates, without quoting. Raises UserError for missing files, unequal numbers of lines, and
    lines without exactly two columns.
    """
    for place in places(where):
        if place.endswith(TSV):
            yield from _columns(place)
        else:
            yield from parallel(_side(place, source), _side(place, target))


def read_aligned(where: str | Path | Sequence[str], source: str, target: str) -> Iterator[tuple[Pair, Gold]]:
    """The pairs of a corpus with the links between their words. UserError as `read_pairs` and `read_pharaoh`, and where
    an alignment file has not as many lines as its place has pairs.
    """
    for place, path in zip(places(where), alignment_files(where, source, target), strict=True):
        both = zip_longest(read_pairs(place, source, target), read_lines(path))
        for number, (pair, line) in enumerate(both, start=1):
            if pair is None or line is None:
                more = sum(1 for _ in both)
                counts = [number + more if here is not None else number - 1 for here in (line, pair)]
                raise UserError(
                    f"{path} has {counts[0]:,} lines, {place} has {counts[1]:,} pairs; every pair needs its links"
                )
            yield pair, read_pharaoh(line, f"{path}:{number}")


def sides(pairs: Iterable[Pair], size: int) -> Iterator[tuple[list[str], list[str]]]:
    """The sources and the targets of `size` pairs at a time; the last block may be smaller."""
    rest = iter(pairs)
    while True:
        sources: list[str] = []
        targets: list[str] = []
        for source, target in islice(rest, size):  # many pairs that live long would keep the garbage collector busy
            sources.append(source)
            targets.append(target)
        if not sources:
            return
        yield sources, targets


def corpus_files(where: str | Path | Sequence[str], source: str, target: str) -> list[Path]:
    """The files that `read_pairs` reads. UserError where one is missing."""
    return [
        path
        for place in places(where)
        for path in ([_table(place)] if place.endswith(TSV) else [_side(place, source), _side(place, target)])
    ]


def alignment_files(where: str | Path | Sequence[str], source: str, target: str) -> list[Path]:
    """The file of links of each place: `corpus.en-de.align` beside `corpus.en` or `corpus.tsv`. UserError where one is
    missing.
    """
    stems = (
        place.removesuffix(".gz").removesuffix(".tsv") if place.endswith(TSV) else place for place in places(where)
    )
    return [_side(stem, f"{source}-{target}.align") for stem in stems]


def places(where: str | Path | Sequence[str]) -> list[str]:
    """The prefixes and .tsv files of a corpus."""
    return [str(where)] if isinstance(where, (str, Path)) else list(where)


def _side(prefix: str, suffix: str) -> Path:
    plain, packed = Path(f"{prefix}.{suffix}"), Path(f"{prefix}.{suffix}.gz")
    if plain.exists():
        return plain
    if packed.exists():
        return packed
    raise UserError(f"{plain}: no such file (nor {packed.name})")


def _table(place: str) -> Path:
    if not Path(place).exists():
        raise UserError(f"{place}: no such file")
    return Path(place)


def parallel(source: Path, target: Path) -> Iterator[Pair]:
    """The lines of two files side by side. UserError where one is missing or has more lines than the other."""
    both = zip_longest(read_lines(source), read_lines(target))
    for pairs, lines in enumerate(both):
        if None in lines:
            more = 1 + sum(1 for _ in both)
            counts = [pairs + (0 if line is None else more) for line in lines]
            raise UserError(
                f"{source} has {counts[0]:,} lines, {target} has {counts[1]:,}; every line needs its translation"
            )
        yield Pair(*lines)


def _columns(path: str) -> Iterator[Pair]:
    for number, line in enumerate(read_lines(path), start=1):
        columns = line.split("\t")
        if len(columns) != len(Pair._fields):
            raise UserError(f"{path}:{number}: expected 2 columns separated by one tab, found {len(columns)}")
        yield Pair(*columns)
