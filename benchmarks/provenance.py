"""Provenance of figures: a record with every result, so that others can judge it and measure it again.

A file of results is `{"result": ..., "provenance": {...}}`. Nothing in it identifies the machine's owner.
"""

import hashlib
import json
import platform
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import torch

import dragoman
from dragoman import devices, threads
from dragoman.configuration import config_file
from dragoman.configuration.config import Config
from dragoman.configuration.data import DataConfig, PairConfig
from dragoman.errors import UserError
from dragoman.files.writing import write_atomically
from dragoman.torch_internals import capabilities
from dragoman.training.checks import complete

ROOT = Path(__file__).resolve().parent.parent
# The paths, for git, that figures depend on.
CODE = ("dragoman", "phrasebook", "benchmarks", "configs", ":!benchmarks/results")
UNKNOWN = "unknown: measured in November 2026, before results told"

Files = TypeVar("Files", DataConfig, PairConfig)


@dataclass(frozen=True)
class Provenance:
    """The code, configuration and machine that a result was measured with.

    `commit` is that of the code, "unknown" if git does not know it; `changed` says that there were uncommitted changes.
    `configuration` is the digest of all options. `date` is when measuring began or was last continued.
    """

    commit: str
    changed: bool
    configuration: str
    processor: str
    cores: int
    python: str
    torch: str
    dragoman: str
    date: str


def of(*configs: Config) -> Provenance:
    """Return the provenance of a measurement made now with models of these configurations."""
    commit = _git("rev-parse", "HEAD")
    name = capabilities().get("cpu_name")
    return Provenance(
        commit=commit or "unknown",
        changed=bool(not commit or _git("status", "--porcelain", "--", *CODE)),
        configuration=digest(*configs),
        processor=", ".join([*([str(name)] if name else []), platform.machine(), devices.processor(), *_gpu(configs)]),
        cores=threads.cores(),
        python=platform.python_version(),
        torch=torch.__version__,
        dragoman=dragoman.__version__,
        date=datetime.now(UTC).date().isoformat(),
    )


def _gpu(configs: Sequence[Config]) -> Iterator[str]:
    """Yield the name of the GPU, if there is one that these configurations use."""
    if torch.cuda.is_available() and any(config.device.name != "cpu" for config in configs):
        yield torch.cuda.get_device_name()


def digest(*configs: Config) -> str:
    """Return the SHA-256 of complete configurations; only the names of files and runs count, since folders differ
    elsewhere.
    """
    hasher = hashlib.sha256()
    for config in map(complete, configs):
        pairs = tuple(_named(pair) for pair in config.data.pairs)
        data = _named(config.data).model_copy(update={"pairs": pairs})
        training = config.training.model_copy(update={"init_from": _name(config.training.init_from)})
        text = config.text.model_copy(update={"vocabulary_from": _name(config.text.vocabulary_from)})
        named = {"run": "", "data": data, "training": training, "text": text}
        hasher.update(config_file.dump(config.model_copy(update=named)).encode())
    return hasher.hexdigest()


def _named(section: Files) -> Files:
    """Return a section with the names of its files instead of their paths."""
    train, dev = tuple(Path(name).name for name in section.train), Path(section.dev).name
    return section.model_copy(update={"train": train, "dev": dev})


def _name(place: str | None) -> str | None:
    return place and Path(place).name


def write(path: Path, result: Any, origins: Provenance) -> None:
    """Write figures with their provenance."""
    with write_atomically(path) as file:
        json.dump({"result": result, "provenance": asdict(origins)}, file)


def read(path: Path) -> Any:
    """Read the figures that `write` wrote. Raises UserError if there are none."""
    return _read(path)["result"]


def origin(path: Path) -> Provenance | None:
    """Read the provenance of figures; None if it is UNKNOWN. Raises UserError if there is none."""
    stored = _read(path)["provenance"]
    if stored == UNKNOWN:
        return None
    try:
        return Provenance(**stored)
    except TypeError:
        raise UserError(f"{path}: does not tell where its figures come from; remove it to measure them again") from None


def _read(path: Path) -> dict[str, Any]:
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: cannot read ({error})") from error
    if not isinstance(stored, dict) or stored.keys() != {"result", "provenance"}:
        raise UserError(f"{path}: does not tell where its figures come from; remove it to measure them again")
    return stored


def _git(*words: str) -> str:
    """Return the output of git; empty if it is not installed, or if this is not a checkout."""
    try:
        done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
