"""`dragoman info`: the contents of a run, or what this machine has."""

import os
import platform
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.options import app
from dragoman.configuration.messages import figure
from dragoman.run.folder import RunFolder
from dragoman.text.normalizer import printable
from dragoman.version import __version__

LIBRARIES = ("torch", "numpy", "sentencepiece", "sacrebleu", "safetensors", "pydantic", "ruamel.yaml", "typer", "rich")


@app.command(epilog="Example: dragoman info runs/en-de")
def info(run: Annotated[Path | None, typer.Argument(metavar="RUN", help="Folder of a run.")] = None) -> None:
    """Show the contents of a run; without RUN, versions and devices of this machine."""
    facts = list(_of_run(run) if run else _of_machine())
    width = max(len(label) for label, _ in facts)
    for label, value in facts:
        typer.echo(printable(f"{label:<{width}}  {value}"))


def _of_run(folder: Path) -> Iterable[tuple[str, str]]:
    from dragoman import inspection
    from dragoman.run.run import Run, facts

    run = Run.load(folder)
    scores = inspection.scores(run, *inspection.development(run))
    yield from facts(run)
    for score in scores:
        yield f"development {score.name}", f"{figure(score.value)} ({score.signature})"
    yield from _files(run.folder)


def _files(folder: "RunFolder") -> Iterable[tuple[str, str]]:
    yield "files", str(folder.path)
    for path in sorted(folder.path.iterdir()):
        inside = [path] if path.is_file() else [inner for inner in path.rglob("*") if inner.is_file()]
        size = sum(file.stat().st_size for file in inside)
        yield f"  {path.name}{'/' if path.is_dir() else ''}", f"{size / 1000:,.1f} kB"


def _of_machine() -> Iterable[tuple[str, str]]:
    from importlib import metadata

    from dragoman import devices
    from dragoman.configuration.config import DeviceConfig

    yield "dragoman", __version__
    yield "device", str(devices.choose(DeviceConfig()))
    yield "processor", f"{platform.machine()}, {devices.processor()}"
    forced = f", set by {devices.KIND_VARIABLE}" if os.environ.get(devices.KIND_VARIABLE) else ""
    yield "kind of processor", f"{devices.kind_of_processor()}{forced}"
    yield "engine int8", f"weights of {devices.switches().int8_bits} bits"
    yield "ONNX int8", "unsigned weights" if devices.switches().unsigned_int8 else "signed weights"
    yield "system", platform.platform()
    yield "python", platform.python_version()
    for name in LIBRARIES:
        yield name, metadata.version(name)
