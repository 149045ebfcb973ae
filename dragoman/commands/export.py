"""`dragoman export`: the model of a run in another form."""

import shlex
from pathlib import Path

from dragoman import devices
from dragoman.commands.lines import tell
from dragoman.deployment import export
from dragoman.run import Run


def onnx(run: Path, weights: str | None, *, int8: bool) -> None:
    """Write the ONNX graphs of a run, and tell how to use them."""
    loaded = Run.load(run)
    devices.use_threads(loaded.config.device)
    folder = export.write(loaded, weights, int8=int8)
    size = sum(path.stat().st_size for path in folder.iterdir())
    tell(f"{folder}: {size / 1e6:,.1f} MB. What next:\n  dragoman translate {shlex.quote(str(run))} FILE --engine onnx")
