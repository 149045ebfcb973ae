"""How long a training will take on this machine, measured by a few of its first steps."""

import json
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np

from dragoman.configuration import components
from dragoman.configuration.components import Spec
from dragoman.configuration.config import Config, TextConfig
from dragoman.configuration.data import DataConfig
from dragoman.corpus.examples import read_pairs, read_texts
from dragoman.corpus.sample import spread
from dragoman.corpus.translation_memory import MEMORIES, FuzzyMemory
from dragoman.data.recall import FuzzyMatcher
from dragoman.files.writing import write_atomically
from dragoman.run.folder import RunFolder
from dragoman.text.normalizer import Normalizer
from dragoman.text.pretokenizer import PRETOKENIZERS
from dragoman.training.checks import complete
from dragoman.training.journal import TrainingLog
from dragoman.training.plan import steps_of_epoch
from dragoman.training.session import assemble
from dragoman.training.trainer import first_steps
from dragoman.training.workers import SignalHandler, Workers

PAIRS = 20_000  # of the training pairs that are prepared to measure with, at most;
REMEMBERED = 1_500  # with a translation memory, in which each of them is looked up, fewer
INDEXED = 50_000  # training pairs that they are looked up in, at most
WARM = 3  # steps that do not count unless these are all: the first ones allocate memory and compile kernels
STEPS = 30  # steps that are measured after them, at most,
SECONDS = 2.0  # and for at most about so long
BUSY = 0.7  # share of the time that the process has to work, or else the processor is taken to have other work
NEVER = 2**53  # steps between saves


class Duration(NamedTuple):
    """The seconds of per epoch, without validations; how many passes the configuration allows; the
    device; whether it had other work at the same time; and the seconds of looking all pairs up in a translation memory.
    """

    a_pass: float
    passes: float
    device: str
    shared: bool
    looking_up: float = 0.0

    def __str__(self) -> str:
        whole = f"{_format_seconds(self.a_pass * self.passes)} for {_count(self.passes)}"
        beside = f" and {_format_seconds(self.looking_up)} for translation memory look-ups" if self.looking_up else ""
        busy = ", busy with other programs" if self.shared else ""
        a_pass = _format_seconds(self.a_pass)
        return f"{a_pass} per epoch, {whole}, beside validations{beside}; {self.device}{busy}"


def _count(passes: float) -> str:
    return f"{passes:,.0f} passes" if passes >= 10 else f"{passes:,.3g} pass{'es' * (passes != 1)}"


def _format_seconds(seconds: float) -> str:
    """Return a duration in the unit that suits it."""
    for unit, size in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.0f} seconds" if seconds >= 10 else f"{seconds:.2g} seconds"


def measure(config: Config) -> Duration:
    """Prepare the training pairs, or a sample of them, in a temporary folder, and make steps of that training.
    UserError where it could not begin.
    """
    with TemporaryDirectory(prefix="dragoman-") as place:
        small, share, looking_up = _sample_config(complete(config), Path(place))
        folder = RunFolder(Path(small.run))
        folder.path.mkdir()
        run = assemble(small, folder, Workers(), TrainingLog(folder, quiet=True), SignalHandler())
        sources, target = run.data.offsets
        lengths = np.sum([np.diff(side) for side in (*sources, target)], 0)
        seconds: list[float] = []
        symbols: list[int] = []
        began, worked = time.perf_counter(), time.process_time()
        before = began
        for batches in first_steps(run, WARM + STEPS):
            now = time.perf_counter()
            seconds.append(now - before)
            symbols.append(sum(int(lengths[batch.rows].sum()) for batch in batches))
            before = now
            if len(seconds) > 1 and now - began > SECONDS:
                break
        waited = run.device.torch_device.type == "cpu" and time.process_time() - worked < BUSY * (before - began)
        # By symbols: steps of short and of long sentences take different times, and the sample may have more of one.
        first = min(WARM, len(seconds) - 1)
        a_pass = sum(seconds[first:]) / sum(symbols[first:]) * float(lengths.sum()) / share
        steps = steps_of_epoch(small, run.data) / share
        settings = config.training
        # Training ends at the first limit that it reaches.
        limits = [float(limit) for limit in (settings.epochs, settings.steps and settings.steps / steps) if limit]
        return Duration(a_pass, min(limits), str(run.device), waited, looking_up)


class _Sample(NamedTuple):
    """The configuration of a run in a folder, with random weights; which share of the training pairs it has; and the
    seconds of looking all of them up.
    """

    config: Config
    share: float
    looking_up: float


def _sample_config(config: Config, place: Path) -> _Sample:
    """Copy training pairs to the folder if they are too many."""
    data, share, looking_up = config.data, 1.0, 0.0
    if data.recalled and not (data.features or data.alignments):
        data, share, looking_up = _share_memory_data(data, config.text, place)
    elif not (data.features or data.alignments):
        data, share = _share_data(data, place)
    training = config.training.model_copy(update={"init_from": None, "save_every": NEVER})
    small = config.model_copy(update={"run": str(place / "run"), "data": data, "training": training})
    return _Sample(small, share, looking_up)


def _share_memory_data(data: DataConfig, text: TextConfig, place: Path) -> tuple[DataConfig, float, float]:
    """Return fewer training pairs, with what the memory of all of them answers as further sources; the share that they
    are of all; and the seconds of looking all of them up.
    """
    names = (*data.source, data.target)
    # Spread over the whole corpus: its beginning may be of one source, or sorted by length.
    rows, count = spread(read_texts(data.train, names), REMEMBERED)
    began = time.perf_counter()
    pairs, _ = spread(read_pairs(data.train, data.queried_source, data.target), INDEXED)
    normalize, tokenize = Normalizer(lowercase=text.source.lowercase), PRETOKENIZERS[text.source.pretokenizer]
    memory = components.build(MEMORIES, data.translation_memory, pairs, normalize, tokenize)
    assert isinstance(memory, FuzzyMemory)
    recall, column = FuzzyMatcher(memory, data.queried_source, data.recalled), data.source.index(data.queried_source)
    indexed = time.perf_counter()
    answered = [(*row[:-1], *recall.texts(row[column], row[-1]), row[-1]) for row in rows]
    looked_up = time.perf_counter()
    looking_up = (indexed - began) * count / max(1, len(pairs)) + (looked_up - indexed) * count / max(1, len(rows))
    train = _write_corpus(place / "0.jsonl", (*data.inputs, data.target), answered)
    corpora = {"train": train, "dev": train[0], "weights": (), "temperature": 1.0}
    update = {**corpora, "source": data.inputs, "translation_memory": Spec("none")}
    return data.model_copy(update=update), len(rows) / max(1, count), looking_up


def _share_data(data: DataConfig, place: Path) -> tuple[DataConfig, float]:
    """Return the same data with fewer training pairs, and the share that they are of all."""
    most = PAIRS // len(data.trained)
    kept, total = 0, 0
    places: list[tuple[str, ...]] = []
    for number, pair in enumerate(data.language_pairs):
        names = (*pair.sources, pair.target)
        rows, count = spread(read_texts(pair.train, names) if pair.train else (), most)
        kept, total = kept + len(rows), total + count
        places.append(pair.train)
        if len(rows) < count:
            places[-1] = _write_corpus(place / f"{number}.jsonl", names, rows)
    if not data.pairs:  # the sample is one corpus
        one = {"weights": (), "temperature": 1.0} if places[0] != data.train else {}
        return data.model_copy(update={"train": places[0], **one}), kept / max(1, total)
    pairs = (pair.model_copy(update={"train": train}) for pair, train in zip(data.pairs, places, strict=True))
    return data.model_copy(update={"pairs": tuple(pairs)}), kept / max(1, total)


def _write_corpus(path: Path, names: Sequence[str], rows: Iterable[Sequence[str]]) -> tuple[str]:
    """Write a corpus with these columns."""
    with write_atomically(path) as file:
        file.writelines(json.dumps(dict(zip(names, texts, strict=True))) + "\n" for texts in rows)
    return (str(path),)
