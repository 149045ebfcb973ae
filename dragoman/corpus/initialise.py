"""A first configuration for the user's files, with sizes that suit them."""

import re
import shlex
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from pydantic_core import from_json

from dragoman.configuration import document
from dragoman.configuration.components import Spec
from dragoman.configuration.config import COLUMNS, Config
from dragoman.corpus import formats, objects
from dragoman.corpus.dev_split import PARTS, copy
from dragoman.corpus.examples import Pair, corpus_files, parallel, read_pairs
from dragoman.corpus.sample import Sample, look
from dragoman.errors import UserError
from dragoman.files import read_lines, shown, write_atomically

DEVELOPMENT = ("dev", "valid", "val", "validation", "tune")  # usual names of development files
SCHEMA = "dragoman.schema.json"  # beside the configuration; editors accept no name with a space
FEW = 10_000  # pairs below which BLEU is near 0, or jumps about, for much of a training: chrF decides there
JOINT = 0.5  # least share of common letters (Sample.shared) for which languages share an inventory


class Corpus(NamedTuple):
    """The corpora as a configuration names them: prefixes (or files of columns) and the languages."""

    train: str
    dev: str
    source: str
    target: str


class InitOptions(NamedTuple):
    """What the user asks for: a model that reads a translation memory, and the number of epochs."""

    memory: bool = False
    epochs: int | None = None


DEFAULTS = InitOptions()


class Size(NamedTuple):
    """Sizes for corpora of at most `pairs` pairs."""

    pairs: float
    symbols: int
    embedding: int
    encoder: int
    decoder: int
    dropout: float
    batch: int
    epochs: int


FEW_EPOCHS = 10  # in so many, or fewer, a network does not learn its pairs by heart, and needs little dropout

# More pairs allow more symbols and a wider network, and need less dropout.
SIZES = (
    Size(5_000, 1_000, 128, 128, 256, 0.4, 32, 100),
    Size(20_000, 2_000, 128, 128, 256, 0.35, 32, 60),
    Size(100_000, 6_000, 192, 192, 384, 0.35, 64, 45),
    Size(1_000_000, 12_000, 256, 256, 512, 0.2, 80, 20),
    Size(float("inf"), 24_000, 512, 512, 1024, 0.1, 128, 8),
)


def initialise(
    source: Path,
    target: Path | None,
    config: Path,
    dev: str | None,
    columns: Sequence[str] = (),
    options: InitOptions = DEFAULTS,
) -> list[str]:
    """Write a commented configuration for the pairs in two files, or in two `columns` of one file, and beside it the
    JSON schema with which editors complete and check it. Returns the lines to print for the user.

    If no development pairs are given or found beside the files, some pairs are set aside: the files are copied into a
    folder beside the configuration, split into two parts. UserError if the configuration exists already.
    """
    if config.exists():
        raise UserError(f"{config}: exists already; choose another name with -o, or remove it")
    schema = config.with_name(SCHEMA)
    if schema.exists() and not _is_schema(schema):
        raise UserError(f"{schema}: exists already and is another file, and the schema should be there; rename it")
    for path in filter(None, (source, target)):
        if str(path) == "-" or path.is_fifo():
            raise UserError(f"{path}: init reads its files more than once, so it takes no stream; write it to a file")
    names, prefix, named = languages(source, target, columns)
    found = dev or (_beside(prefix, *names) if prefix else None)
    if found:
        next(read_pairs(found, *names), None)  # raises UserError if it cannot be read
    folder = config.with_name(f"{config.stem}-data")
    with ExitStack() as stack:
        if prefix and found:
            corpus, told = Corpus(prefix, found, *names), f"training pairs: {prefix}; development pairs: {found}"
        else:
            stack.enter_context(_new(folder, names))
            corpus, told = _copied(source, target, names, folder, found)
        sample = look(corpus.train, corpus.source, corpus.target)
        about = [str(sample), told, *named]
        lines = [
            *about,
            "The sizes below were chosen for that; change whatever you like. What stands here are the options that",
            f"matter most: dragoman debug config {shlex.quote(str(config))} prints all of them.",
        ]
        values = choose(corpus, sample, f"runs/{corpus.source}-{corpus.target}", options)
        with write_atomically(schema) as file:
            file.write(document.schema())
        with write_atomically(config) as file:
            file.write(f"# yaml-language-server: $schema={SCHEMA}\n")
            file.writelines([*(f"# {line}\n" for line in lines), "\n", document.commented(values)])
    return about


def _is_schema(path: Path) -> bool:
    """Whether an earlier `init` wrote the file."""
    try:
        found = from_json("\n".join(read_lines(path)))
    except (UserError, ValueError):
        return False
    return isinstance(found, dict) and found.get("title") == document.TITLE


@contextmanager
def _new(folder: Path, names: tuple[str, str]) -> Iterator[None]:
    """A new folder for the pairs in these languages, removed again if the block raises an exception."""
    if folder.exists():
        raise UserError(f"{folder}: exists already, and the pairs should be copied there; remove it, or name --dev")
    try:
        yield
    except BaseException:
        with suppress(OSError):
            for path in (folder / f"{part}.{name}" for part in PARTS for name in names):
                path.unlink(missing_ok=True)
            folder.rmdir()
        raise


def _copied(
    source: Path, target: Path | None, names: tuple[str, str], folder: Path, dev: str | None
) -> tuple[Corpus, str]:
    """Copy the pairs to files with a common prefix, setting some aside unless there are development pairs. Returns the
    corpus and a line to print for the user.
    """

    def pairs() -> Iterator[Pair]:
        return read_pairs(str(source), *names) if target is None else parallel(source, target)

    if next(pairs(), None) is None:
        raise UserError(f"{source}: the corpus is empty")
    train, aside = copy(pairs, folder, names, aside=not dev)
    corpus = Corpus(str(folder / "train"), dev or str(folder / "dev"), *names)
    if dev:
        return corpus, f"{train:,} pairs copied to {corpus.train}; development pairs: {dev}"
    return corpus, f"no development pairs given (--dev) or found: {aside:,} pairs set aside in {corpus.dev}"


class Languages(NamedTuple):
    """The names of the languages; the common prefix of the two files (empty if there is none) or the file of columns;
    and lines that say how the columns were found.
    """

    names: tuple[str, str]
    prefix: str
    told: tuple[str, ...] = ()


def languages(source: Path, target: Path | None, columns: Sequence[str] = ()) -> Languages:
    if target is None:
        return _of_columns(source, columns)
    if columns:
        raise UserError("--columns: is for one file of columns, and there are two files")
    if formats.of_one_language(source, target):
        place, names = objects.pattern(source, target)
        return Languages(names, place, (f"{place}: {names[0]}, {names[1]}",))
    first, second = (path.with_suffix("") if path.suffix == ".gz" else path for path in (source, target))
    if first.suffix and second.suffix and first.suffix != second.suffix:
        same = first.with_suffix("") == second.with_suffix("")
        return Languages((first.suffix[1:], second.suffix[1:]), str(first.with_suffix("")) if same else "")
    if first.stem == second.stem:
        raise UserError(f"{source} and {target}: which languages? Name the files like corpus.en and corpus.de")
    return Languages((first.stem, second.stem), "")


def _of_columns(path: Path, wanted: Sequence[str]) -> Languages:
    if not str(path).endswith(formats.ENDINGS):
        endings = ", ".join(formats.FORMATS)
        raise UserError(f"{path}: expected a second file, its translation, or one with both ({endings})")
    found = formats.languages(str(path), wanted)
    source, target = found.names
    for name in found.names:
        if re.search(r"[/\\\x00-\x1f\x7f-\x9f]", name):  # the pairs may have to be copied
            raise UserError(f"{shown(path)}: '{name}' cannot be the end of a file's name; call the column otherwise")
    told = f"columns {source}, {target}"
    if found.header:
        told = f"line {found.header.line} is a header and no pair, {told}"
    elif str(path).endswith(COLUMNS):
        told = f"no header, {told}"
    return Languages((source, target), str(path), (f"{shown(path)}: {told}",))


def _beside(prefix: str, source: str, target: str) -> str | None:
    """The prefix of development files with a usual name in the same folder: dev.en for train.en, x.dev.en for
    x.train.en.
    """
    folder, name = Path(prefix).parent, Path(prefix).name
    for usual in DEVELOPMENT:
        for candidate in (name.replace("train", usual), usual):
            found = str(folder / candidate)
            try:
                corpus_files(found, source, target)
            except UserError:
                continue
            if found != prefix:
                return found
    return None


def sizes(pairs: int) -> Size:
    """The line of the table for a corpus of so many pairs."""
    return next(size for size in SIZES if pairs <= size.pairs)


def choose(
    corpus: Corpus, sample: Sample, run: str, options: InitOptions = DEFAULTS, size: Size | None = None
) -> Config:
    """A configuration of this size, by default one that suits the corpus: conditional GRU, additive attention, tied
    embeddings. With a number of epochs, the learning rate falls over all of them.
    """
    size = size or sizes(sample.pairs)
    embedded, dropout, epochs = 0.2, size.dropout, options.epochs or size.epochs
    if epochs <= FEW_EPOCHS < size.epochs:
        embedded, dropout = 0.1, min(0.15, dropout)
    schedule = Spec("cosine", {"warmup": 0.1}) if options.epochs else Spec("plateau", {"warmup": 300})
    memory = {"memory": Spec("nearest", {"threshold": 0.4})} if options.memory else {}
    joint = sample.shared >= JOINT
    tokeniser = "whitespace" if sample.tokenised else "punctuation"
    symbols = {
        side: sample.both.symbols(size.symbols) if joint else inventory.symbols(size.symbols // 2)
        for side, inventory in (("source", sample.source), ("target", sample.target))
    }
    sides = {side: {"tokeniser": tokeniser, "unit": Spec("bpe", {"size": count})} for side, count in symbols.items()}
    longest = max(100, 50 * round(1 + 1.6 * sample.longest / 50))
    rest = {"layers": 1, "dropout": dropout}
    looks = {"attend": "between", "feed": "nothing", "features": "deep"}
    bleu, chrf = Spec("bleu", {"tokenise": "none"} if sample.tokenised else {}), Spec("chrf")
    metrics = [chrf, bleu] if sample.pairs < FEW else [bleu, chrf]
    validate_every = 2_000 if sample.pairs > 200_000 else None
    return Config.model_validate(
        {
            "run": run,
            "data": {**corpus._asdict(), **memory, "max_length": longest},
            "text": {"joint": joint, **sides},
            "model": {
                "embedding": {"size": size.embedding, "dropout": embedded, "tie": "all" if joint else "output"},
                "combination": "hierarchical" if options.memory else "concatenation",
                "encoder": Spec("rnn", {"cell": "gru", "size": size.encoder, "direction": "bidirectional", **rest}),
                "decoder": Spec("rnn", {"cell": "gru", "size": size.decoder, **looks, **rest}),
                "output": Spec("full", {"label_smoothing": 0.1}),
            },
            "training": {
                "epochs": epochs,
                "batch": {"size": size.batch},
                "optimiser": Spec("adam", {"learning_rate": 0.001}),
                "schedule": schedule,
                "validate_every": validate_every,
                "metric": metrics[0].kind,
            },
            "search": Spec("beam", {"size": 5}),
            "metrics": metrics,
        }
    )
