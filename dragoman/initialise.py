"""A first configuration for the user's files, with sizes that suit them."""

import re
import zlib
from array import array
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dragoman import config as configuration
from dragoman.components import Spec
from dragoman.config import Config
from dragoman.data.corpus import COLUMNS, Pair, corpus_files, parallel, read_pairs
from dragoman.errors import UserError
from dragoman.files import write_atomically
from dragoman.text.normalise import Normaliser
from dragoman.text.tokenise import punctuation

DEVELOPMENT = ("dev", "valid", "val", "validation", "tune")  # usual names of the files that judge training
SHARE, MOST = 0.05, 1_000  # of the pairs are set aside where there are no such files, at most so many
SAMPLED = 200_000  # pairs that are looked at closely
BYTES = 256  # symbols that subwords always have
JOINT = 0.5  # of its text in common letters, from which on languages share their symbols too

APART = re.compile(r"\S [.,]( |$)")  # as tokenised text has it
TOGETHER = re.compile(r"[^\s.,][.,]( |$)")


class Corpus(NamedTuple):
    """Where the pairs are, as a configuration says it: prefix (or .tsv), and the languages."""

    train: str
    dev: str
    source: str
    target: str


class Sample(NamedTuple):
    """What the choice of sizes depends on, of the first 200,000 pairs; `pairs` counts all."""

    pairs: int
    words: float  # mean of both sides
    longest: int  # words; 99 % of the sentences have no more
    distinct: int  # different words, both languages
    characters: int  # different characters, both languages
    shared: float  # how much of one language's text could be spelled with the other's, letter for letter
    tokenised: bool  # punctuation stands apart

    def __str__(self) -> str:
        kind = "tokenised" if self.tokenised else "natural"
        return (
            f"{self.pairs:,} pairs of {kind} text, {self.words:.1f} words a sentence, 99 % of them up to "
            f"{self.longest}; {self.distinct:,} different words, {self.characters:,} characters"
        )


class Size(NamedTuple):
    """Sizes for corpora of up to so many pairs."""

    pairs: float
    symbols: int
    embedding: int
    encoder: int
    decoder: int
    dropout: float
    batch: int
    epochs: int


# More pairs allow more symbols and a wider network, and need less dropout.
SIZES = (
    Size(5_000, 1_000, 128, 128, 256, 0.4, 32, 100),
    Size(20_000, 2_000, 128, 128, 256, 0.35, 32, 60),
    Size(100_000, 6_000, 192, 192, 384, 0.35, 64, 45),
    Size(1_000_000, 12_000, 256, 256, 512, 0.2, 80, 20),
    Size(float("inf"), 24_000, 512, 512, 1024, 0.1, 128, 8),
)


def initialise(source: Path, target: Path | None, config: Path, dev: str | None) -> list[str]:
    """Write a commented configuration for the pairs in two files (or a .tsv); the lines to tell about it.

    Where no development pairs are given or found beside the files, some pairs are set aside: the files are copied
    into a folder beside the configuration, in two parts. UserError where the configuration exists already.
    """
    if config.exists():
        raise UserError(f"{config}: exists already; choose another name with -o, or remove it")
    corpus, told = _corpus(source, target, config, dev)
    sample = look(corpus)
    told = [str(sample), *told]
    values = choose(corpus, sample, f"runs/{corpus.source}-{corpus.target}")
    head = "".join(f"# {line}\n" for line in told)
    with write_atomically(config) as file:
        file.write(
            f"{head}# Sizes were chosen for that; change whatever you like.\n\n{configuration.commented(values)}"
        )
    return told


def _corpus(source: Path, target: Path | None, config: Path, dev: str | None) -> tuple[Corpus, list[str]]:
    """The corpus as it stands where the files allow it, otherwise copied."""
    if target is None:
        if not str(source).endswith(COLUMNS):
            raise UserError(
                f"{source}: alone, expected a .tsv file of two columns; or give a second file, its translation"
            )
        names, prefix = ("source", "target"), str(source)
    else:
        names, prefix = languages(source, target)
    found = dev or (_beside(prefix, *names) if prefix else None)
    if found:
        next(read_pairs(found, *names), None)
    if prefix and found:
        return Corpus(prefix, found, *names), [f"training pairs: {prefix}; development pairs: {found}"]
    folder = config.with_name(f"{config.stem}-data")
    if folder.exists():
        raise UserError(f"{folder}: exists already, and the pairs should be copied there; remove it, or name --dev")
    counts = _copy(
        lambda: parallel(source, target) if target else read_pairs(prefix, *names), folder, names, aside=not found
    )
    corpus = Corpus(str(folder / "train"), found or str(folder / "dev"), *names)
    if found:
        return corpus, [f"{counts[0]:,} pairs copied to {corpus.train}; development pairs: {found}"]
    return corpus, [f"no development pairs given (--dev) or found: {counts[1]:,} pairs set aside in {corpus.dev}"]


def languages(source: Path, target: Path) -> tuple[tuple[str, str], str]:
    """Names of the languages, and the prefix that the files share up to them (empty: none)."""
    plain = [path.with_suffix("") if path.suffix == ".gz" else path for path in (source, target)]
    suffixes, stems = ([path.suffix[1:] for path in plain], [path.with_suffix("") for path in plain])
    if all(suffixes) and suffixes[0] != suffixes[1]:
        return (suffixes[0], suffixes[1]), str(stems[0]) if stems[0] == stems[1] else ""
    if plain[0].name == plain[1].name:
        raise UserError(
            f"{source} and {target}: cannot tell the languages; name the files like corpus.en and corpus.de"
        )
    return (stems[0].name, stems[1].name), ""


def _beside(prefix: str, source: str, target: str) -> str | None:
    """Development pairs under a usual name in the same folder: dev.en for train.en, x.dev.en for x.train.en."""
    folder, name = Path(prefix).parent, Path(prefix).name
    for usual in DEVELOPMENT:
        for candidate in {name.replace("train", usual), usual}:
            found = str(folder / candidate)
            try:
                corpus_files(found, source, target)
            except UserError:
                continue
            if found != prefix:
                return found
    return None


def _copy(pairs: Callable[[], Iterator[Pair]], folder: Path, names: tuple[str, str], *, aside: bool) -> tuple[int, int]:
    """Write the pairs to train.* and, if some are to be set aside, dev.*: how many in each.

    Which ones is decided by the source text alone, so that no sentence stands on both sides.
    """
    last = _last_aside(pairs()) if aside else -1
    parts = ("train", "dev") if aside else ("train",)
    counts = [0, 0]
    with ExitStack() as stack:
        files = [[stack.enter_context(write_atomically(folder / f"{part}.{name}")) for name in names] for part in parts]
        for pair in pairs():
            part = int(_lot(pair) <= last)
            for file, text in zip(files[part], pair, strict=True):
                file.write(text + "\n")
            counts[part] += 1
        if not counts[0]:
            raise UserError("too few pairs to set some aside for development; give others with --dev")
    return counts[0], counts[1]


def _lot(pair: Pair) -> int:
    return zlib.crc32(pair.source.encode())


def _last_aside(pairs: Iterator[Pair]) -> int:
    """The lot up to which pairs are set aside."""
    lots = np.unique(np.fromiter(map(_lot, pairs), np.uint32))
    return int(lots[max(1, min(MOST, int(SHARE * len(lots)))) - 1]) if len(lots) else -1


def look(corpus: Corpus) -> Sample:
    """What there is to know about a corpus before sizes are chosen. UserError where it is empty."""
    normalise = Normaliser(lowercase=False)
    words: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
    lengths = array("i")
    apart = together = pairs = 0
    stream = read_pairs(corpus.train, corpus.source, corpus.target)
    for pair in islice(stream, SAMPLED):
        pairs += 1
        for side, text in enumerate(map(normalise, pair)):
            found = [text[begin:end] for begin, end in punctuation(text)]
            words[side].update(found)
            lengths.append(len(found))
            apart += len(APART.findall(text))
            together += len(TOGETHER.findall(text))
    if not pairs:
        raise UserError(f"{corpus.train}: the corpus is empty")
    letters = [_letters(side) for side in words]
    return Sample(
        pairs=pairs + sum(1 for _ in stream),
        words=sum(lengths) / len(lengths),
        longest=int(np.percentile(np.frombuffer(lengths, np.int32), 99)),
        distinct=len(words[0].keys() | words[1].keys()),
        characters=len(letters[0].keys() | letters[1].keys()),
        shared=sum(min(share, letters[1].get(letter, 0.0)) for letter, share in letters[0].items()),
        tokenised=apart > together,
    )


def _letters(words: Counter[str]) -> dict[str, float]:
    """The share of each character in a text with so many of each word."""
    counts: Counter[str] = Counter()
    for word, count in words.items():
        for character in word:
            counts[character] += count
    return {character: count / counts.total() for character, count in counts.items()}


def choose(corpus: Corpus, sample: Sample, run: str) -> Config:
    """A configuration with sizes for such a corpus: the conditional GRU with additive attention, tied embeddings."""
    size = next(size for size in SIZES if sample.pairs <= size.pairs)
    joint = sample.shared >= JOINT
    # Every word that differs from the others can become a symbol, so half as many can be learnt from any text.
    symbols = min(max(size.symbols, BYTES + 2 * sample.characters), BYTES + sample.characters + sample.distinct // 2)
    if not joint:
        symbols = max(BYTES + sample.characters, symbols // 2)
    side = {
        "tokeniser": "whitespace" if sample.tokenised else "punctuation",
        "unit": Spec("bpe", {"size": symbols}),
    }
    longest = max(100, 50 * round(1 + 1.6 * sample.longest / 50))
    dropout = {"dropout": size.dropout}
    validate_every = 2_000 if sample.pairs > 200_000 else None
    return Config.model_validate(
        {
            "run": run,
            "data": {**corpus._asdict(), "max_length": longest},
            "text": {"joint": joint, "source": side, "target": side},
            "model": {
                "embedding": {"size": size.embedding, "dropout": 0.2, "tie": "all" if joint else "output"},
                "encoder": Spec("rnn", {"size": size.encoder, **dropout}),
                "decoder": Spec("rnn", {"size": size.decoder, "attend": "between", "features": "deep", **dropout}),
                "output": Spec("full", {"label_smoothing": 0.1}),
            },
            "training": {
                "epochs": size.epochs,
                "batch": {"size": size.batch},
                "schedule": Spec("plateau", {"warmup": 300}),
                "validate_every": validate_every,
            },
            "metrics": [Spec("bleu", {"tokenise": "none"} if sample.tokenised else {}), Spec("chrf")],
        }
    )
