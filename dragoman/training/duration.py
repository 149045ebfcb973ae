"""How long a training will take on this machine, measured by a few of its first steps."""

import json
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np

from dragoman.configuration.config import Config, DataConfig
from dragoman.corpus.examples import read_texts
from dragoman.corpus.sample import spread
from dragoman.files import write_atomically
from dragoman.run.folder import RunFolder
from dragoman.training.checks import complete
from dragoman.training.journal import Journal
from dragoman.training.plan import epoch_plan
from dragoman.training.session import assemble
from dragoman.training.stopping import Stop
from dragoman.training.trainer import first_steps
from dragoman.training.workers import Workers

PAIRS = 20_000  # of the training pairs that are prepared to measure with, at most;
REMEMBERED = 1_500  # with a translation memory, which each of them is looked up in, fewer
WARM = 3  # steps that do not count unless these are all: the first ones allocate memory and compile kernels
STEPS = 30  # steps that are measured after them, at most,
SECONDS = 2.0  # and for at most about so long
BUSY = 0.7  # share of the time that the process has to work, or else the processor is taken to have other work
NEVER = 2**53  # steps between saves


class Duration(NamedTuple):
    """The seconds of a pass over the training pairs, without validations; how many passes the configuration allows; the
    device; and whether it had other work at the same time.
    """

    a_pass: float
    passes: float
    device: str
    shared: bool

    def __str__(self) -> str:
        whole = f"{_told(self.a_pass * self.passes)} for {_count(self.passes)}"
        told = f"{_told(self.a_pass)} a pass over the training pairs, {whole}, beside validations; {self.device}"
        return told + ", which other programs kept busy" * self.shared


def _count(passes: float) -> str:
    return f"{passes:,.0f} passes" if passes >= 10 else f"{passes:,.3g} pass{'es' * (passes != 1)}"


def _told(seconds: float) -> str:
    """A duration in the unit that suits it."""
    for unit, size in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.2g} seconds"


def measure(config: Config) -> Duration:
    """Prepare the training pairs, or a sample of them, in a temporary folder, and make steps of that training.
    UserError where it could not begin.
    """
    with TemporaryDirectory(prefix="dragoman-") as place:
        small, share = _sampled(complete(config), Path(place))
        folder = RunFolder(Path(small.run))
        folder.path.mkdir()
        run = assemble(small, folder, Workers(), Journal(folder, quiet=True), Stop())
        sources, target = run.data.offsets
        lengths = np.sum([np.diff(each) for each in (*sources, target)], 0)
        seconds, symbols = list[float](), list[int]()
        began, worked = time.perf_counter(), time.process_time()
        before = began
        for batch in first_steps(run, WARM + STEPS):
            now = time.perf_counter()
            seconds.append(now - before)
            symbols.append(int(lengths[batch.rows].sum()))
            before = now
            if len(seconds) > 1 and now - began > SECONDS:
                break
        waited = run.device.torch_device.type == "cpu" and time.process_time() - worked < BUSY * (before - began)
        first = min(WARM, len(seconds) - 1)
        a_pass = sum(seconds[first:]) / sum(symbols[first:]) * float(lengths.sum()) / share
        steps = epoch_plan(small, run.data, 0).count() / share
        settings = config.training
        limits = [float(limit) for limit in (settings.epochs, settings.steps and settings.steps / steps) if limit]
        return Duration(a_pass, min(limits), str(run.device), waited)


def _sampled(config: Config, place: Path) -> tuple[Config, float]:
    """The configuration of a run in a folder, with random weights, and which share of the training pairs it has: they
    are copied to the folder where they are too many.
    """
    data, share = config.data, 1.0
    if not (data.features or data.alignments):
        data, share = _shared(data, place)
    training = config.training.model_copy(update={"start": None, "save_every": NEVER})
    return config.model_copy(update={"run": str(place / "run"), "data": data, "training": training}), share


def _shared(data: DataConfig, place: Path) -> tuple[DataConfig, float]:
    """The same data with fewer training pairs, and the share that they are of all."""
    most = (REMEMBERED if data.recalled else PAIRS) // len(data.trained)
    kept, every, places = 0, 0, list[tuple[str, ...]]()
    for number, pair in enumerate(data.language_pairs):
        names = (*pair.sources, pair.target)
        rows, count = spread(read_texts(pair.train, names) if pair.train else (), most)
        kept, every = kept + len(rows), every + count
        places.append(pair.train)
        if len(rows) < count:
            path = place / f"{number}.jsonl"
            with write_atomically(path) as file:
                file.writelines(json.dumps(dict(zip(names, texts, strict=True))) + "\n" for texts in rows)
            places[-1] = (str(path),)
    if not data.pairs:  # the sample is one corpus
        one = {"weights": (), "temperature": 1.0} if places[0] != data.train else {}
        return data.model_copy(update={"train": places[0], **one}), kept / max(1, every)
    pairs = (each.model_copy(update={"train": train}) for each, train in zip(data.pairs, places, strict=True))
    return data.model_copy(update={"pairs": tuple(pairs)}), kept / max(1, every)
