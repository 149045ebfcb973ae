"""`dragoman export`: the model of a run in another form."""

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import typer

from dragoman.cli.option_rules import Requires
from dragoman.cli.options import RunPath, Threads, Weights, command
from dragoman.cli.streams import tell
from dragoman.errors import UserError

if TYPE_CHECKING:
    from dragoman.run.run import Run

QUANTIZED = Requires("--onnx", "--ctranslate2", "--argos")


class ExportOptions(NamedTuple):
    """Arguments and options of `dragoman export`."""

    run: RunPath
    onnx: Annotated[
        bool, typer.Option("--onnx", help="ONNX graphs in the folder `onnx` of the run, for `--engine onnx`.")
    ] = False
    ctranslate2: Annotated[
        bool,
        typer.Option(
            "--ctranslate2", help="A Transformer in the folder `ctranslate2` of the run, for `--engine ctranslate2`."
        ),
    ] = False
    marian: Annotated[
        bool, typer.Option("--marian", help="A model of Marian with its vocabularies."), Requires("--output")
    ] = False
    huggingface: Annotated[
        bool, typer.Option("--huggingface", help="A MarianMT folder of Hugging Face."), Requires("--output")
    ] = False
    argos: Annotated[
        bool,
        typer.Option("--argos", help="A package (.argosmodel) of Argos Translate and LibreTranslate."),
        Requires("--output"),
    ] = False
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Folder or file to write; it must not exist yet."),
        Requires("--marian", "--huggingface", "--argos"),
    ] = None
    quantization: Annotated[
        Literal["int8", "int16", "float16"] | None,
        typer.Option(
            "--quantization", help="Type of the weight matrices: int8; or int16, float16 (CTranslate2, Argos)."
        ),
        QUANTIZED,
    ] = None
    weights: Weights = None
    threads: Threads = None


@command(epilog="Example: dragoman export runs/en-de --onnx --quantization int8")
def export(options: ExportOptions) -> None:
    """Export the model of a run for a faster engine, or for another program."""
    names = [name for name in FORMATS if getattr(options, name)]
    if len(names) != 1:
        wanted = ", ".join(f"--{name}" for name in FORMATS)
        raise typer.BadParameter(f"expected one of {wanted}, found {' and '.join(names) or 'none'}")
    if options.onnx and options.quantization not in (None, "int8"):
        raise typer.BadParameter(f"--onnx: expected --quantization int8, found {options.quantization}")
    from dragoman import devices
    from dragoman.run.run import Run

    if options.output and options.output.exists():
        raise UserError(f"{options.output}: exists already; choose another name")
    run = Run.load(options.run)
    devices.use_threads(run.config.device)
    path = FORMATS[names[0]](run, options)
    files = [path] if path.is_file() else list(path.iterdir())
    size = sum(file.stat().st_size for file in files)
    further = "" if options.output else f". What next:\n  dragoman translate {shlex.quote(str(options.run))} FILE"
    engine = "" if options.output else f" --engine {names[0]}"
    tell(f"{path}: {size / 1e6:,.1f} MB{further}{engine}")


def _write_onnx(run: "Run", options: ExportOptions) -> Path:
    from dragoman.deployment import export

    return export.write(run, options.weights, int8=options.quantization is not None)


def _write_ctranslate2(run: "Run", options: ExportOptions) -> Path:
    from dragoman.deployment import ctranslate

    return ctranslate.write(run, options.weights, options.quantization)


def _write_marian(run: "Run", options: ExportOptions) -> Path:
    from dragoman.interop import marian_export

    return marian_export.write(run, _place(options), options.weights)


def _write_huggingface(run: "Run", options: ExportOptions) -> Path:
    from dragoman.interop import huggingface_export

    return huggingface_export.write(run, _place(options), options.weights)


def _write_argos(run: "Run", options: ExportOptions) -> Path:
    from dragoman.interop import argos_export

    return argos_export.write(run, _place(options), options.weights, options.quantization)


def _place(options: ExportOptions) -> Path:
    assert options.output is not None
    return options.output


FORMATS: dict[str, Callable[["Run", ExportOptions], Path]] = {
    "onnx": _write_onnx,
    "ctranslate2": _write_ctranslate2,
    "marian": _write_marian,
    "huggingface": _write_huggingface,
    "argos": _write_argos,
}
