"""Configure a training that starts from another run, by the configuration of that run and other pairs."""

import filecmp
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from dragoman.configuration.components import plain
from dragoman.configuration.config import Config
from dragoman.corpus import formats
from dragoman.corpus.examples import corpus_files, read_texts
from dragoman.corpus.formats import corpora
from dragoman.corpus.parts import PARTS, Copied, copy, is_whole
from dragoman.corpus.sizes import FEW
from dragoman.errors import UserError
from dragoman.evaluation.metrics.table import METRICS
from dragoman.run.folder import data_folder
from dragoman.run.run import Run
from dragoman.training.checks import load_config
from dragoman.training.transfer import InitialWeights

# What suits weights that need not be found anew; the rest, the learning rate too, is that run's (docs/starting.md).
OPTIONS: Mapping[str, Any] = {
    "data.temperature": 1,
    "data.weights": [],
    "training.epochs": 30,
    "training.steps": None,
    "training.schedule": {"kind": "plateau", "warmup": 0.02},
    "training.validate_every": None,
    "training.patience": 5,
    "training.freeze": [],
    "training.init_interpolation": [0.25, 0.5, 0.75],
}


class FinetuneConfig(NamedTuple):
    """The configuration of a run that starts from another, and a line that describes it."""

    config: Config
    description: str


def configure(
    place: str, files: Sequence[str], options: Mapping[str, str], check: Callable[[Config], None] = lambda config: None
) -> FinetuneConfig:
    """Return the configuration of the run at `place` for the pairs of these files or prefixes, with these options as
    YAML. Unless they name development pairs, some are set aside: the pairs are copied to a folder beside the new run's,
    in two parts, after `check`. UserError where the run is of more than pairs, or these cannot be read.
    """
    old = InitialWeights.at(place).run
    names = languages(old)
    places = corpora(files, (names[0], names[-1])).places
    corpus_files(places, *names)
    beside = os.path.normpath(old.folder.path / "..")
    run = options.get("run", str(Path(beside, f"{old.folder.path.resolve().name}-{_stem(files[0])}")))
    values = {**OPTIONS, "run": run, "training.init_from": place, "text.vocabulary_from": str(old.folder.path)}
    values |= dict(embeddings(old.config)) | dict(_metric(old.config, read_texts(places, names)))
    folder, aside = data_folder(run), "data.dev" not in options
    values["data.train"] = str(folder / "train") if aside else list(places)
    values["data.dev"] = str(folder / "dev")
    written = {key: json.dumps(value, ensure_ascii=False) for key, value in values.items()}
    config = change_options(old, {**written, **options})
    # Before the pairs are copied, so that wrong options are reported at once.
    check(config)
    copies = ""
    if aside:
        copied = _set_aside(places, names, folder)
        copies = f"{copied.train:,} pair{'s' * (copied.train != 1)} of {', '.join(places)} and {copied.dev:,} for "
        copies += f"development, both in {folder}{copied.left_out}; "
    rate = config.training.optimizer.options["learning_rate"]
    settings = config.training
    limits = f"learning rate {rate}, at most {settings.epochs} epoch{'s' * (settings.epochs != 1)}"
    limits += f", patience {settings.patience}, judged by {settings.metric}"
    return FinetuneConfig(config, f"{config.run}: starts from {place}; {copies}text and model are that run's; {limits}")


def change_options(old: Run, options: dict[str, str]) -> Config:
    """Return the configuration of a run with other options. UserError if it has the same folder."""
    config = load_config(old.folder.config, options)
    if Path(config.run).resolve() == old.folder.path.resolve():
        raise UserError(f"{config.run}: is the run to fine-tune; choose another folder with --run")
    return config


@contextmanager
def own_folder(folder: Path, files: Sequence[str], what: str) -> Iterator[Path]:
    """Yield a new folder for these files, which becomes `folder` when they are written. A `folder` that has the same
    files stays as it is. Raises UserError if its files differ; `what` is in them.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=f".{folder.name}.", dir=folder.parent) as above:
        new_folder = Path(above) / folder.name
        new_folder.mkdir()
        yield new_folder
        with suppress(OSError):  # it is there, perhaps since just now, from another worker
            new_folder.rename(folder)
        if new_folder.exists() and filecmp.cmpfiles(new_folder, folder, files, shallow=False)[0] != [*files]:
            raise UserError(f"{folder}: exists already and has other {what}; choose another folder with --run")


def embeddings(config: Config) -> Iterator[tuple[str, Any]]:
    """Yield the embeddings that a run began with pretrained vectors of, without these."""
    for side in ("source", "target"):
        spec = getattr(config.model.embedding, side)
        if spec.options.get("pretrained"):
            yield f"model.embedding.{side}", {**plain(spec), "pretrained": None}


def _metric(config: Config, rows: Iterator[tuple[str, ...]]) -> Iterator[tuple[str, str]]:
    """Yield the metric that decides where there are too few pairs for that of the run."""
    few = sum(1 for _ in islice(filter(is_whole, rows), FEW)) < FEW
    metric = METRICS.get(config.training.metric)
    if few and metric and metric.for_few_pairs in (spec.kind for spec in config.metrics):
        yield "training.metric", metric.for_few_pairs


def languages(run: Run) -> tuple[str, ...]:
    """Return the languages of a run, the target last. UserError if it has several targets, or needs more than texts."""
    data = run.config.data
    edits = data.edits is not None and data.edits not in data.recalled
    if data.pairs or data.features or edits or data.alignments:
        raise UserError(
            f"{run.folder.path}: has more than texts and their translations in one language (data.pairs, features, "
            "edits or alignments); fine-tune it with a configuration (training.init_from)"
        )
    return (*data.source, data.target)


def _stem(corpus: str) -> str:
    """Return the name of a corpus without its folder and ending."""
    return Path(formats.stem(corpus) if corpus.endswith(formats.ENDINGS) else corpus).name


def _set_aside(places: Sequence[str], names: tuple[str, ...], folder: Path) -> Copied:
    """Copy the pairs to a folder, some of them for development; how many in each part. A folder that has the same pairs
    already stays as it is; UserError if it has others.
    """

    rows = partial(read_texts, places, names)
    files = [f"{part}.{name}" for part in PARTS for name in names]
    with own_folder(folder, files, "pairs") as new_folder:
        copied = copy(rows, ", ".join(places), new_folder, names, aside=True)
    return copied
