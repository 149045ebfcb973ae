"""`dragoman export`: the model of a run in another form."""

import shlex
from typing import Annotated

import typer

from dragoman.cli.options import RunPath, Threads, Weights, app
from dragoman.cli.streams import tell


@app.command(epilog="Example: dragoman export runs/en-de --onnx --int8")
def export(
    run: RunPath,
    onnx: Annotated[bool, typer.Option("--onnx", help="Write ONNX graphs to the folder `onnx` of the run.")] = False,
    int8: Annotated[bool, typer.Option("--int8", help="Quantize weight matrices to 8-bit integers.")] = False,
    weights: Weights = None,
    threads: Threads = None,
) -> None:
    """Export the model of a run for `translate --engine onnx`."""
    if not onnx:
        raise typer.BadParameter("nothing to export: use --onnx (ONNX Runtime) or --onnx --int8 (smaller and faster)")
    from dragoman import devices
    from dragoman.deployment import export
    from dragoman.run.run import Run

    loaded = Run.load(run)
    devices.use_threads(loaded.config.device)
    folder = export.write(loaded, weights, int8=int8)
    size = sum(path.stat().st_size for path in folder.iterdir())
    tell(f"{folder}: {size / 1e6:,.1f} MB. What next:\n  dragoman translate {shlex.quote(str(run))} FILE --engine onnx")
