"""`dragoman export`: the model of a run in another form."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import typer

from dragoman.cli.option_rules import Conflicts
from dragoman.cli.options import RunPath, Threads, Weights, command
from dragoman.cli.streams import tell

if TYPE_CHECKING:
    from dragoman.run.run import Run

ENGINES = ("onnx", "ctranslate2")  # formats that `translate --engine` reads


class ExportOptions(NamedTuple):
    """Arguments and options of `dragoman export`."""

    run: RunPath
    onnx: Annotated[
        bool,
        typer.Option("--onnx", help="Write ONNX graphs to the folder `onnx` of the run."),
        Conflicts("--ctranslate2"),
    ] = False
    ctranslate2: Annotated[
        bool, typer.Option("--ctranslate2", help="Write a Transformer to the folder `ctranslate2` of the run.")
    ] = False
    quantization: Annotated[
        Literal["int8", "int16", "float16"] | None,
        typer.Option("--quantization", help="Type of the weight matrices: int8 (ONNX, CTranslate2), int16, float16."),
    ] = None
    weights: Weights = None
    threads: Threads = None


@command(epilog="Example: dragoman export runs/en-de --onnx --quantization int8")
def export(options: ExportOptions) -> None:
    """Export the model of a run for `translate --engine`."""
    if not (options.onnx or options.ctranslate2):
        raise typer.BadParameter("nothing to export: use --onnx or --ctranslate2")
    if options.onnx and options.quantization not in (None, "int8"):
        raise typer.BadParameter(f"--onnx: expected --quantization int8, found {options.quantization}")
    from dragoman import devices
    from dragoman.run.run import Run

    run = Run.load(options.run)
    devices.use_threads(run.config.device)
    engine = next(name for name in ENGINES if getattr(options, name))
    folder = _write_onnx(run, options) if options.onnx else _write_ctranslate2(run, options)
    size = sum(path.stat().st_size for path in folder.iterdir())
    place = shlex.quote(str(options.run))
    tell(f"{folder}: {size / 1e6:,.1f} MB. What next:\n  dragoman translate {place} FILE --engine {engine}")


def _write_onnx(run: "Run", options: ExportOptions) -> Path:
    from dragoman.deployment import export

    return export.write(run, options.weights, int8=options.quantization is not None)


def _write_ctranslate2(run: "Run", options: ExportOptions) -> Path:
    from dragoman.deployment import ctranslate

    return ctranslate.write(run, options.weights, options.quantization)
