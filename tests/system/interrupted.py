"""Commands that are interrupted anywhere: forked from a process that has loaded everything, so that each takes moments.

A moment is counted in what a command does to the file system (a file opened, renamed or removed; a folder made or
removed), before each of which the process can be sent a signal, or in calls of one of the functions in drive.py; a full
disk is a limit to the size of its files.
"""

import multiprocessing
import os
import pickle
import pkgutil
import resource
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from multiprocessing.context import ForkServerContext
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any, cast

import dragoman

ACTS = {"open", "os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.truncate", "shutil.rmtree"}
LOADED = [  # what the commands import when they run; what needs an extra that is not there is left out
    *(module.name for module in pkgutil.walk_packages(dragoman.__path__, "dragoman.") if "__main__" not in module.name),
    "tests.system.drive",
]


@dataclass(frozen=True)
class Interruption:
    """What happens to a command: signals before these acts, counted from 1, or at a moment (its name, and how often it
    has come), or a disk that is full when a file has so many bytes.
    """

    signals: tuple[tuple[int, signal.Signals], ...] = ()
    disk: int | None = None
    moment: tuple[str, int, signal.Signals] | None = None

    def __str__(self) -> str:
        sent = [f"{number.name} before act {moment}" for moment, number in self.signals]
        return ", ".join(sent) or ("nothing" if self.disk is None else f"a disk full after {self.disk:,} bytes")


@dataclass(frozen=True)
class End:
    """How a command ended, what it said, and how many acts it had."""

    code: int
    out: str
    err: str
    acts: int


NOTHING = Interruption()


def preloaded() -> ForkServerContext:
    """Return a context whose processes are forked from one that has loaded everything."""
    os.environ |= {"OMP_NUM_THREADS": "1"}
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(LOADED)
    return context


def run(
    folder: Path,
    words: Sequence[str],
    interruption: Interruption = NOTHING,
    stdin: str = "",
    patience: float = 300,
    variables: Mapping[str, str] = {},
) -> End:
    """Run `dragoman WORDS` in a folder. TimeoutError where it does not end within `patience` seconds."""
    with TemporaryDirectory() as place:
        files = {name: Path(place, name) for name in ("in", "out", "err", "acts")}
        files["in"].write_text(stdin, encoding="utf-8")
        files["acts"].touch()
        os.mkfifo(files["err"])  # which a full disk does not stop
        with open(os.open(files["err"], os.O_RDWR | os.O_NONBLOCK), "rb") as errors:
            child = preloaded().Process(
                target=_work, args=(folder, list(words), interruption, files, {"COLUMNS": "200", **variables})
            )
            child.start()
            child.join(patience)
            if child.exitcode is None:
                child.kill()
                child.join()
                raise TimeoutError(f"dragoman {' '.join(words)}: {interruption}")
            err = (errors.read() or b"").decode()
        return End(child.exitcode, files["out"].read_text(encoding="utf-8"), err, files["acts"].stat().st_size)


def _work(
    folder: Path, words: list[str], interruption: Interruption, files: dict[str, Path], variables: dict[str, str]
) -> None:
    """What the forked process does."""
    os.chdir(folder)
    os.environ |= variables
    for name, stream in (("in", 0), ("out", 1), ("err", 2)):
        os.dup2(os.open(files[name], os.O_RDONLY if name == "in" else os.O_WRONLY | os.O_CREAT), stream)
    sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w"), os.fdopen(2, "w", 1)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell has its background jobs ignore
    counter = os.open(files["acts"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    pending = list(interruption.signals)
    acts = 0

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal acts
        if event not in ACTS:
            return
        acts += 1
        if interruption.disk is None:
            os.write(counter, b".")
        while pending and pending[0][0] <= acts:
            os.kill(os.getpid(), pending.pop(0)[1])

    from dragoman.cli import main

    _hasten_demo()
    if words[0] == "export":
        _hasten_export(folder.parent / "graphs")
    operators = stand_in_operators() if words[0] == "features" else None
    if interruption.moment is not None:
        from tests.system import drive

        drive.arrange(*interruption.moment)
    sys.addaudithook(watch)
    if interruption.disk is not None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (interruption.disk, resource.RLIM_INFINITY))
    sys.argv = ["dragoman", *words]
    main()
    del operators


def stand_in_operators() -> Any:
    """Operators that the import of a torchvision made for another torch asks for; timm does without them. They are
    there as long as what is returned. None if torchvision fits torch, since it declares them itself.
    """
    import torch

    try:
        import_module("torchvision")
    except RuntimeError:
        library = cast(Any, torch.library).Library("torchvision", "FRAGMENT")
        for name in ("nms", "qnms"):
            if not hasattr(torch.ops.torchvision, name):
                library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        return library
    return None


def _hasten_export(graphs: Path) -> None:
    """Graphs are made before the first command, and read by all: making them takes long and is no act of a command."""
    from dragoman.deployment import tracing
    from dragoman.run.run import Run

    if not graphs.exists():
        graphs.write_bytes(pickle.dumps(tracing.trace(Run.load(Path("runs/toy")).model(None))))
    graphs_of_model = pickle.loads(graphs.read_bytes())
    vars(tracing)["trace"] = lambda model: graphs_of_model


def _hasten_demo() -> None:
    """The demos with small corpora and a few steps."""
    from dragoman import demo, installed_demo
    from dragoman.configuration.config import Config
    from dragoman.training import starting
    from dragoman.training.checks import load_config

    units = {f"text.{side}.tokenizer": "word" for side in ("source", "target")}
    sizes = {"model.embedding.size": "12", "model.encoder": "{kind: rnn, size: 12}", "model.decoder.size": "12"}
    few = {"training.steps": "4", "training.save_every": "2", "training.validate_every": "2"}

    def loaded(path: Path) -> Config:
        return load_config(path, {**units, **sizes, **few, "training.schedule": "constant", "search": "greedy"})

    demo.SIZES = dict.fromkeys(demo.SIZES, 10) | {"train": 100}
    vars(installed_demo).update(FEWEST=10, MOST=40, ENOUGH=20, WORDS=1, SIZES={"dev": 4, "test": 6}, ASIDE=4)
    for module in (demo, installed_demo):
        vars(module)["checks"] = SimpleNamespace(load_config=loaded)
    vars(starting)["OPTIONS"] = {**starting.OPTIONS, "training.epochs": 2}
