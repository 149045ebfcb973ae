"""The run that `dragoman localize` starts from."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from dragoman.cli.corpus import FurtherCounts, without_context
from dragoman.cli.streams import tell
from dragoman.cli.train import trained
from dragoman.configuration.data import COLUMNS
from dragoman.corpus import installed, parts, tables, translation_memory
from dragoman.corpus.cleaning import Cleaner, CleanPair, Rules
from dragoman.corpus.examples import Pair, read_pairs
from dragoman.corpus.initialize import initialize
from dragoman.corpus.naming import find_nearest, is_language, measure_distance, missing, with_further
from dragoman.corpus.parts import PairWithOrigin
from dragoman.corpus.sizes import InitOptions
from dragoman.data.recall import MEMORY
from dragoman.errors import UserError
from dragoman.run.run import Run
from dragoman.training import checks, starting
from dragoman.training.finishing import describe_finished

RUNS: Final = Path("runs")
EPOCHS: Final = 5  # over the messages of other programs
ASIDE: Final = 500  # messages of installed programs for development


class Parent(NamedTuple):
    """A run to start from, and the names of its languages, the target last."""

    run: Run
    names: tuple[str, ...]


def load_parent(folder: Path) -> Parent:
    """Return the run in a folder. UserError if it has anything but sentence pairs in one direction."""
    run = Run.load(folder)
    return Parent(run, starting.languages(run))


def check_languages(where: str, names: Sequence[str], languages: tuple[str, str]) -> None:
    """UserError if the first or the last of the names is of another language than the wanted one, or in another script.
    A source that is not known is any.
    """
    pair = names[0], names[-1]
    for name, wanted in zip(pair, languages, strict=True):
        if is_language(name) and is_language(wanted) and measure_distance(wanted, name) is None:
            raise UserError(
                f"{where}: translates {pair[0]} to {pair[1]}; expected {languages[0] or pair[0]} to {languages[1]}, "
                "in the same scripts"
            )


def choose_parent(languages: tuple[str, str]) -> Parent:
    """Return the run below RUNS that translates between these languages, preferably to the same region; of several, an
    imported one, or else that trained on the most text. UserError if there is none.
    """
    parents = find_parents(RUNS, languages)
    if not parents:
        source, target = languages
        raise UserError(
            f"no run below {RUNS} translates from {source} to {target}; name one with --parent, such as an imported "
            "model (dragoman import), or train one with --installed"
        )

    def distance(parent: Parent) -> int:
        return measure_distance(languages[1], parent.names[-1]) or 0

    parent = min(parents, key=lambda parent: (distance(parent), -(sum(parent.run.target.counts) or float("inf"))))
    alternatives = f" ({len(parents) - 1} other{'s' * (len(parents) > 2)}: --parent)" if len(parents) > 1 else ""
    region = f", which translates to {parent.names[-1]}" if distance(parent) > 1 else ""
    tell(f"parent: {parent.run.folder.path}{alternatives}{region}")
    return parent


def find_parents(folder: Path, languages: tuple[str, str]) -> list[Parent]:
    """Return the runs in a folder, and in the folders in it, that translate between these languages in the same script,
    and did not start from another run.
    """
    parents: list[Parent] = []
    for config in sorted([*folder.glob("*/config.yaml"), *folder.glob("*/*/config.yaml")]):
        try:
            parent = load_parent(config.parent)
            parent.run.weights()
            folder_of_run = parent.run.folder
            is_finished = not folder_of_run.last_state.is_file() or describe_finished(parent.run.config, folder_of_run)
        except UserError:  # no finished run, or of another kind
            continue
        pairs = zip(languages, (parent.names[0], parent.names[-1]), strict=True)
        is_first = parent.run.config.training.init_from is None
        if is_finished and is_first and all(measure_distance(*pair) is not None for pair in pairs):
            parents.append(parent)
    return parents


def train_installed(languages: tuple[str, str], also: Sequence[str]) -> Parent:
    """Train a run on the messages of the programs on this machine, or continue its training. Return it."""
    source, target = languages
    if not source.startswith(installed.ENGLISH):
        raise UserError(f"--installed: installed catalogs translate from English, not from {source}")
    names = with_further(installed.ENGLISH, also, target)
    stem = RUNS / f"installed-{'-'.join(names)}"
    train, dev = (Path(f"{stem}.{part}.tsv") for part in ("train", "dev"))
    if not (Path(f"{stem}.yaml").is_file() or (train.is_file() and dev.is_file())):
        columns = without_context(names)
        paths = installed.find(target, installed.folders(os.environ))
        if other_names := installed.describe_folders(target, paths):
            tell(other_names)
        units = installed.read(paths, [], target, columns[1:-1])
        cleaner, further = Cleaner(Rules(drop_copies=True)), FurtherCounts(columns)
        entries = (PairWithOrigin(entry, domain) for domain, unit in units if (entry := cleaner(unit)))
        rows = list(further.counted(entries))
        further.check(f"--installed {target}")
        parts.write(rows, stem, columns, parts.DOMAIN, {"dev": ASIDE}, parts.SEED)
    return _train(stem, train, names, str(dev))


def train_on_corpus(corpus: Path, languages: tuple[str, str], also: Sequence[str]) -> Parent:
    """Train a run that is named after a corpus on it, or continue its training. Return it. Columns may name another
    region. UserError if the run has another corpus or other languages.
    """
    source, target = languages
    return _train(RUNS / corpus.name.partition(".")[0], corpus, with_further(source, also, target))


@contextmanager
def widened_memory(parent: Parent, messages: Sequence[CleanPair]) -> Iterator[str | None]:
    """Yield a corpus of a catalog's messages and of the pairs that the parent looks up. None if there are no messages,
    or if it looks nothing up.
    """
    data = parent.run.config.data
    if not messages or not data.recalled:
        yield None
        return
    names = data.queried_source, data.target
    columns = [dict(zip(parent.names, (entry.source, *entry.further, entry.target), strict=True)) for entry in messages]
    pairs = [Pair(texts[names[0]], texts[names[1]]) for texts in columns]
    with TemporaryDirectory(prefix="dragoman-") as folder:
        path = Path(folder) / MEMORY
        translation_memory.write(path, [*pairs, *read_pairs(parent.run.folder.path / MEMORY, *names)], names)
        yield str(path)


def _train(stem: Path, corpus: Path, names: Sequence[str], dev: str | None = None) -> Parent:
    """Train the run `stem` on a corpus in these languages, with a new configuration if there is none."""
    config_file = Path(f"{stem}.yaml")
    if not config_file.is_file():
        columns = tables.names(str(corpus)) if corpus.name.endswith((*COLUMNS, *tables.OBJECTS)) else []
        source, *also, target = find_nearest(names, columns, str(corpus))
        options = InitOptions(translation_memory=True, epochs=EPOCHS)
        initialize(corpus, None, config_file, dev, (source, target), options, also)
    config = checks.load_config(config_file, {"run": str(stem)})
    if not {str(corpus), f"{stem}-data/train"}.issuperset(config.data.train):
        raise UserError(f"{config_file}: trains on {', '.join(config.data.train)}, not on {corpus}; rename either")
    check_languages(str(config_file), (*config.data.source, config.data.target), (names[0], names[-1]))
    sources = config.data.source
    if absent := [name for name in names[1:-1] if all(measure_distance(name, source) is None for source in sources)]:
        raise missing(absent, sources, str(config_file))
    trained(config)
    return load_parent(stem)
