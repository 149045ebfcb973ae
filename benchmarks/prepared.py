"""The corpora of `make attention-table`, and configurations for them."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from dragoman.configuration.config import Config
from dragoman.corpus.pharaoh import read_gold
from dragoman.files.reading import read_lines
from dragoman.files.writing import write_atomically
from dragoman.training import checks
from phrasebook import corpus

MARK = " § "  # between the sentences of a document
TESTS = {"dev": 300, "test": 500, "compositional": 500}


class Row(NamedTuple):
    """A configuration, the overrides of it, and its name in the table."""

    name: str
    config: Path
    overrides: Mapping[str, str] = MappingProxyType({})

    @property
    def slug(self) -> str:
        return self.name.replace(", ", "-").replace(" ", "-")


class Corpus(NamedTuple):
    """A prepared corpus: `texts` holds train, dev and the test sets; `gold`, if any, has gold alignments."""

    texts: Path
    tests: tuple[str, ...]
    gold: str | None
    overrides: dict[str, str]

    def config(self, row: Row, run: Path) -> Config:
        """Return the configuration of a row for this corpus and run folder, with one thread, in float32 on every
        machine.
        """
        places = {"run": run, "data.train": self.texts / "train", "data.dev": self.texts / "dev"}
        overrides = {key: str(place) for key, place in places.items()} | self.overrides
        same = {"device.threads": "1", "device.precision": "float32"}
        return checks.load_config(row.config, {**overrides, **same, **row.overrides})


def phrasebook(folder: Path, pairs: int, overrides: dict[str, str]) -> Corpus:
    """Sample the phrasebook; the test set has gold alignments."""
    corpus.write(folder, "en", "fr", {"train": pairs, **TESTS}, seed=1)
    return Corpus(folder, ("test", "compositional"), "test", overrides)


def documents(sentences: Corpus, folder: Path) -> Corpus:
    """Make a corpus of documents of two sentences each."""
    folder.mkdir(parents=True, exist_ok=True)
    for part in ("train", "dev", *sentences.tests):
        for side in ("en", "fr"):
            lines = list(read_lines(sentences.texts / f"{part}.{side}"))
            write(folder / f"{part}.{side}", map(MARK.join, zip(lines[::2], lines[1::2], strict=True)))
    return Corpus(folder, sentences.tests, None, sentences.overrides)


def aligned(files: Path, folder: Path) -> Corpus:
    """Read a corpus whose training and development pairs have gold alignments: `files` is named SOURCE-TARGET and holds
    {train,dev}.{SOURCE,TARGET,talp}.gz, with links `1-1` (sure) and `1p1` (possible) counted from 1.
    """
    folder.mkdir(parents=True, exist_ok=True)
    source, target = files.name.split("-")
    for part in ("train", "dev"):
        for side in (source, target):
            write(folder / f"{part}.{side}", read_lines(files / f"{part}.{side}.gz"))
        links = read_gold(files / f"{part}.talp.gz", one_based=True)
        write(folder / f"{part}.{source}-{target}.align", map(str, links))
    return Corpus(folder, (), "dev", {"data.source": source, "data.target": target})


def write(path: Path, lines: Iterable[str]) -> None:
    with write_atomically(path) as file:
        file.writelines(f"{line}\n" for line in lines)
