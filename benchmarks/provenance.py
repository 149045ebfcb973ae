"""Where figures come from: a record beside every result, so that others can judge it and measure it again.

A file of results is `{"result": ..., "provenance": {...}}`. Nothing in it tells whose machine it was.
"""

import hashlib
import json
import platform
import subprocess
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import torch

import dragoman
from dragoman import devices, threads
from dragoman.configuration import document
from dragoman.configuration.config import Config, DataConfig, PairConfig
from dragoman.errors import UserError
from dragoman.files import write_atomically
from dragoman.torch_internals import capabilities
from dragoman.training.checks import complete

ROOT = Path(__file__).resolve().parent.parent
CODE = ("dragoman", "benchmarks", "configs", ":!benchmarks/results")  # what figures depend on, as git is told
UNKNOWN = "unknown: measured in November 2026, before results told"

Files = TypeVar("Files", DataConfig, PairConfig)


@dataclass(frozen=True)
class Provenance:
    """What a result was measured with, and on what.

    `commit` is of the code, "unknown" where git does not know it; `changed`: it was not that commit's alone.
    `configuration` is the digest of all options. `date` is when measuring began, or last went on.
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
    """Of what is measured now with models of these configurations."""
    commit = _git("rev-parse", "HEAD")
    name = capabilities().get("cpu_name")
    return Provenance(
        commit=commit or "unknown",
        changed=bool(not commit or _git("status", "--porcelain", "--", *CODE)),
        configuration=digest(*configs),
        processor=", ".join([*([str(name)] if name else []), platform.machine(), devices.processor()]),
        cores=threads.cores(),
        python=platform.python_version(),
        torch=torch.__version__,
        dragoman=dragoman.__version__,
        date=datetime.now(UTC).date().isoformat(),
    )


def digest(*configs: Config) -> str:
    """SHA-256 of complete configurations; of files the names alone count, since folders are others elsewhere."""
    found = hashlib.sha256()
    for config in map(complete, configs):
        pairs = tuple(_named(pair) for pair in config.data.pairs)
        data = _named(config.data).model_copy(update={"pairs": pairs})
        found.update(document.dump(config.model_copy(update={"run": "", "data": data})).encode())
    return found.hexdigest()


def _named(section: Files) -> Files:
    """A section with the names of its files in place of their paths."""
    train, dev = tuple(Path(name).name for name in section.train), Path(section.dev).name
    return section.model_copy(update={"train": train, "dev": dev})


def write(path: Path, result: Any, made: Provenance) -> None:
    """Figures with where they come from."""
    with write_atomically(path) as file:
        json.dump({"result": result, "provenance": asdict(made)}, file)


def read(path: Path) -> Any:
    """The figures that `write` wrote. UserError where there are none."""
    return _read(path)["result"]


def origin(path: Path) -> Provenance | None:
    """Where they come from; None where that is UNKNOWN. UserError where nothing is told."""
    found = _read(path)["provenance"]
    if found == UNKNOWN:
        return None
    try:
        return Provenance(**found)
    except TypeError:
        raise UserError(f"{path}: does not tell where its figures come from; remove it to measure them again") from None


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: cannot read ({error})") from error
    if not isinstance(found, dict) or found.keys() != {"result", "provenance"}:
        raise UserError(f"{path}: does not tell where its figures come from; remove it to measure them again")
    return found


def _git(*words: str) -> str:
    """What git answers; nothing where it is not installed, or this is no checkout."""
    try:
        done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
