"""The corpus of the benchmark: Multi30k if its files are there, otherwise random sentences of similar lengths."""

from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from benchmarks import architecture
from benchmarks.architecture import Sizes
from benchmarks.jobs import lines
from dragoman.configuration import config_file
from dragoman.configuration.config import Config
from dragoman.configuration.data import DataConfig
from dragoman.corpus.examples import read_pairs
from dragoman.data.dataset import Dataset
from dragoman.data.language import Language
from dragoman.errors import UserError
from dragoman.training import checks

TRAIN, DEV, TEST = "train.lc.norm.tok", "val.lc.norm.tok", "test_2016_flickr.lc.norm.tok"
LENGTH, SPREAD, SHORTEST, LONGEST = 13.8, 4.0, 4, 35  # of Multi30k's sentences with 10,000 subwords
DIFFERENCE = 2.0  # standard deviation of the difference between target and source length


class Corpus(NamedTuple):
    """A prepared corpus.

    The means are over training pairs and include end symbols: symbols of a source, of a target, and their product.
    """

    name: str
    source_length: float
    target_length: float
    energies: float


def prepare(files: Path | None, folder: Path, sizes: Sizes, pairs: int) -> Corpus:
    """Write the files that the measurements read to `folder`.

    Multi30k is read from `files`; without them, `pairs` random pairs are made. Raises UserError if files cannot be
    read.
    """
    if files is None:
        name, unit, places = f"{pairs:,} random pairs of the shape of Multi30k", "word", _random(folder, sizes, pairs)
    else:
        name, unit, places = "Multi30k", "bpe", (files / TRAIN, files / DEV, files / TEST)
    train, dev, test = map(str, places)
    data = DataConfig(source="en", target="de", train=(train,), dev=dev)
    config = checks.complete(architecture.config(sizes, data, unit))
    (folder / "config.yaml").write_text(config_file.dump(config), encoding="utf-8")
    prepared = Dataset.prepare(config.data, config.text, config.seed, folder / "run")
    (language,) = prepared.sources
    assert isinstance(language, Language)
    lengths = _symbols(config, language, prepared.target, test, folder / "symbols")
    source, target = lengths.mean(0).tolist()
    return Corpus(name, source, target, float(lengths.prod(1).mean()))


def has_files(files: Path) -> bool:
    """Whether the folder has the files of Multi30k."""
    return any((files / f"{TRAIN}.en{suffix}").is_file() for suffix in ("", ".gz"))


def _random(folder: Path, sizes: Sizes, pairs: int) -> tuple[Path, Path, Path]:
    """Write random sentences, in which each word is a symbol, and return the prefixes of their files."""
    generator = np.random.default_rng(1)
    places = folder / "train", folder / "dev", folder / "test"
    for place, count in zip(places, (pairs, 8, 512), strict=True):
        source = generator.normal(LENGTH, SPREAD, count)
        target = source + generator.normal(0, DIFFERENCE, count)
        for suffix, wanted in (("en", source), ("de", target)):
            lengths = np.clip(wanted.round().astype(int), SHORTEST, LONGEST)
            text = "".join(_sentence(generator, sizes.symbols, length) for length in lengths)
            place.with_name(f"{place.name}.{suffix}").write_text(text, encoding="utf-8")
    return places


def _sentence(generator: np.random.Generator, symbols: int, length: int) -> str:
    return " ".join(f"w{number}" for number in generator.integers(symbols, size=length)) + "\n"


def _symbols(config: Config, source: Language, target: Language, test: str, folder: Path) -> npt.NDArray[np.int64]:
    """Write the corpus in symbols, for other toolkits. Return the lengths of the training pairs (N, 2) with end
    symbols.
    """
    folder.mkdir()
    columns = []
    for name, prefixes in (("train", config.data.train), ("test", (test,))):
        pairs = list(read_pairs(prefixes, config.data.source[0], config.data.target))
        if not pairs:
            raise UserError(f"{', '.join(prefixes)}: the corpus is empty")
        for side, language, texts in zip(("source", "target"), (source, target), zip(*pairs, strict=True), strict=True):
            encoded = [language.text.encode(text) for text in texts]
            path = folder / f"{name}.{side}"
            path.write_text("".join(" ".join(symbols) + "\n" for symbols in encoded), encoding="utf-8")
            if name == "train":
                counts = Counter(symbol for symbols in encoded for symbol in symbols)
                listed = "".join(f"{symbol}\t{count}\n" for symbol, count in counts.most_common())
                (folder / f"vocabulary.{side}").write_text(listed, encoding="utf-8")
                columns.append([len(symbols) + 1 for symbols in encoded])
            assert len(lines(path)) == len(pairs)  # no symbol contains a newline
    return np.array(columns).T
