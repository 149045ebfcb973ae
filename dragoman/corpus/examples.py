"""Read sentence pairs from files with a common prefix, or from one file with columns."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, zip_longest
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dragoman.configuration.components import Path as Keys
from dragoman.configuration.components import Problem
from dragoman.configuration.config import Config
from dragoman.corpus import formats
from dragoman.corpus.features import FORMS, FeatureFile, FeatureFiles, Given, beside
from dragoman.corpus.filters import FilterReport
from dragoman.corpus.pharaoh import Gold, read_pharaoh
from dragoman.errors import UserError
from dragoman.files.reading import LONGEST_TEXT, check_sentences, existing, read_lines


class Pair(NamedTuple):
    """A sentence and its translation, as written."""

    source: str
    target: str


class Example(NamedTuple):
    """A sentence in each source language, and its translation, as written.

    A source may be an array (regions, size) instead of a text. If there are several, a blank text or an array without
    regions means that this sentence lacks the source.
    """

    sources: tuple[Given, ...]
    target: str


def read_pairs(where: str | Path | Sequence[str], source: str, target: str) -> Iterator[Pair]:
    """Yield the pairs of a corpus as `read_texts` reads them."""
    return (Pair(*texts) for texts in read_texts(where, (source, target)))


def read_examples(
    where: str | Path | Sequence[str], sources: tuple[str, ...], target: str, features: tuple[str, ...] = ()
) -> Iterator[Example]:
    """Yield the examples of a corpus with any number of sources; those in `features` are arrays beside the texts."""
    files = {name: open_features(where, name) for name in features}
    texts = tuple(name for name in sources if name not in features)
    for number, lines in enumerate(read_texts(where, (*texts, target), list(files.values()))):
        texts_left = iter(lines)
        yield Example(tuple(files[name][number] if name in files else next(texts_left) for name in sources), lines[-1])


class Development(NamedTuple):
    """The examples that models are judged by, and how many there are beside those left out."""

    examples: list[Example]
    report: FilterReport


def read_development(
    where: str | Path, sources: tuple[str, ...], target: str, features: tuple[str, ...] = ()
) -> Development:
    """The examples of a corpus that have a target and at least one source: there is nothing to judge others by.
    UserError if there are none.
    """
    examples = list(read_examples(where, sources, target, features))
    kept = [example for example in examples if not is_blank(example.target) and not all(map(is_blank, example.sources))]
    development = Development(
        kept, FilterReport(len(examples), len(kept), len(examples) - len(kept), too_long=0, ratio=0)
    )
    if not kept:
        raise UserError(f"{where}: the development corpus is empty" + (f": {development.report}" if examples else ""))
    return development


def is_blank(value: Given) -> bool:
    """Whether it is a text without anything but white space, or an array without regions."""
    return not (len(value) if isinstance(value, np.ndarray) else str(value).strip())


def open_features(where: str | Path | Sequence[str], name: str) -> FeatureFiles:
    """Open the arrays of a corpus: for the prefix `corpus`, the file `corpus.NAME.npy`, .npz or .safetensors. UserError
    if there is no such file.
    """
    return FeatureFiles([FeatureFile(path) for path in feature_files(where, name)])


def feature_files(where: str | Path | Sequence[str], name: str) -> list[Path]:
    """The files that `open_features` opens."""
    return [_first(Path(f"{place}.{name}{form}") for form in FORMS) for place in places(where)]


def read_texts(
    where: str | Path | Sequence[str], names: tuple[str, ...], arrays: Sequence[FeatureFiles] = ()
) -> Iterator[tuple[str, ...]]:
    """Yield the lines of a corpus, one text for each language. A corpus is a prefix, a file of columns, or several of
    these, read one after another.

    `names` are the suffixes of the prefix: `corpus` means `corpus.en` and `corpus.de`, each of which may be compressed
    (`corpus.en.gz`). A file whose name ends as in `formats` has all languages in it. A text with more than LONGEST_TEXT
    characters is cut after LONGEST_TEXT + 1. Raises UserError if a file is missing, files have unequal numbers of
    lines, a row lacks a column, or the number of `arrays` is not the number of lines.
    """
    for number, place in enumerate(places(where)):
        if place.endswith(formats.ENDINGS):
            yield from formats.texts(place, names)
        else:
            paths = [_side(place, name) for name in names]
            yield from beside(side_by_side(paths), paths[-1], [files.files[number] for files in arrays])


def read_aligned(where: str | Path | Sequence[str], source: str, target: str) -> Iterator[tuple[Pair, Gold]]:
    """Yield the pairs of a corpus with the links between their words. Raises the UserErrors of `read_pairs` and
    `read_pharaoh`, and one if the numbers of pairs and of lines in the alignment file differ.
    """
    for place, path in zip(places(where), alignment_files(where, source, target), strict=True):
        both = zip_longest(read_pairs(place, source, target), read_lines(path, LONGEST_TEXT))
        for number, (pair, line) in enumerate(both, start=1):
            if pair is None or line is None:
                more = sum(1 for _ in both)
                counts = [number + more if here is not None else number - 1 for here in (line, pair)]
                raise UserError(
                    f"{path} has {counts[0]:,} lines, {place} has {counts[1]:,} pairs; every pair requires alignments"
                )
            yield pair, read_pharaoh(line, f"{path}:{number}")


def sides(pairs: Iterable[tuple[str, ...]], size: int) -> Iterator[tuple[list[str], ...]]:
    """Yield blocks of `size` pairs (or tuples of more sides) as one list per side; the last block may be smaller."""
    rest = iter(pairs)
    for first in rest:
        block = tuple([text] for text in first)
        for texts in islice(rest, size - 1):  # many long-lived pairs would slow garbage collection
            for side, text in zip(block, texts, strict=True):
                side.append(text)
        yield block


def corpus_files(where: str | Path | Sequence[str], *names: str) -> list[Path]:
    """The files that `read_texts` reads. UserError if one is missing."""
    return [
        path
        for place in places(where)
        for path in (
            formats.files(place, names) if place.endswith(formats.ENDINGS) else [_side(place, name) for name in names]
        )
    ]


def alignment_files(where: str | Path | Sequence[str], source: str, target: str) -> list[Path]:
    """The alignment file of each part of a corpus: `corpus.en-de.align` beside `corpus.en` or `corpus.tsv`. UserError
    if one is missing.
    """
    stems = (formats.stem(place) if place.endswith(formats.ENDINGS) else place for place in places(where))
    return [_side(stem, f"{source}-{target}.align") for stem in stems]


def places(where: str | Path | Sequence[str]) -> list[str]:
    """The prefixes and files of columns of a corpus."""
    return [str(where)] if isinstance(where, (str, Path)) else list(where)


def _side(prefix: str, suffix: str) -> Path:
    path = existing(f"{prefix}.{suffix}")
    if not path.exists():
        formats.check_template(prefix)
        both = f"; and {prefix} is not a bilingual file ({', '.join(formats.FORMATS)})"
        raise UserError(f"{path}: no such file (nor {path.name}.gz){both if Path(prefix).is_file() else ''}")
    return path


def _first(paths: Iterable[Path]) -> Path:
    """The first path that exists. UserError if none does."""
    wanted, *alternatives = paths
    for path in (wanted, *alternatives):
        if path.exists():
            return path
    raise UserError(f"{wanted}: no such file (nor {', '.join(path.name for path in alternatives)})")


def parallel(source: Path, target: Path) -> Iterator[Pair]:
    """Yield the corresponding lines of two files as pairs, as `side_by_side` does. UserError for files of units."""
    for path in (source, target):
        check_sentences(path)
    return (Pair(*texts) for texts in side_by_side([source, target]))


def side_by_side(paths: Sequence[Path], needed: str = "every line requires a translation") -> Iterator[tuple[str, ...]]:
    """Yield the corresponding lines of several files. UserError if a file is missing or has more lines than another;
    it ends with what is `needed`.
    """
    together = zip_longest(*(read_lines(path, LONGEST_TEXT) for path in paths))
    for number, lines in enumerate(together):
        if None in lines:
            more = [line is not None for line in lines]
            counts = [number + longer for longer in more]
            for rest in together:
                counts = [count + (line is not None) for count, line in zip(counts, rest, strict=True)]
            first, second = paths[counts.index(max(counts))], paths[counts.index(min(counts))]
            first, second = sorted((first, second), key=paths.index)
            lengths = dict(zip(paths, counts, strict=True))
            raise UserError(f"{first} has {lengths[first]:,} lines, {second} has {lengths[second]:,}; {needed}")
        yield lines


def missing_files(config: Config) -> Iterator[Problem]:
    """Yield a problem for each corpus with a missing file, unless the run exists: then it has read its files."""
    data = config.data
    if Path(config.run).exists():
        return
    for number, pair in enumerate(data.language_pairs):
        keys: Keys = ("data", "pairs", number) if data.pairs else ("data",)
        texts = tuple(name for name in pair.sources if name not in data.features)
        several = len(pair.train) > 1
        corpora = [((*keys, "train", *[index] * several), name) for index, name in enumerate(pair.train)]
        for path, name in [*corpora, *([((*keys, "dev"), pair.dev)] if pair.dev else [])]:
            try:
                corpus_files(name, *texts, pair.target)
                for feature in data.features:
                    feature_files(name, feature)
                if data.alignments and "train" in path:
                    alignment_files(name, pair.sources[0], pair.target)
            except UserError as error:
                yield Problem(path, str(error), depends_on=((*keys, "source"), (*keys, "target")))
