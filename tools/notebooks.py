"""Execute the notebooks of `notebooks/` and store their outputs.

`python -m tools.notebooks [NAME...]` runs each notebook from top to bottom in a temporary folder, with one thread, and
writes it back without anything that differs from run to run, such as times and versions. It exits with 1 if a cell
fails, if a notebook takes more than a minute of processor time, or if its outputs are large; `--check` writes nothing.
"""

import argparse
import os
import resource
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat import NotebookNode
from rich.console import Console

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "notebooks"
SECONDS = 60.0  # processor time of a notebook, starting Python included
CELL_SECONDS = 600  # a cell that takes longer by the clock hangs, even on a busy machine
OUTPUT_BYTES = 100_000
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
# The same results on every run: one thread, and sets of strings in the same order. Logs are plain text of one width.
ENVIRONMENT = {
    "COLUMNS": "120",
    "NO_COLOR": "1",
    "OMP_NUM_THREADS": "1",
    "PYTHONHASHSEED": "0",
    "PYTHONPATH": str(ROOT),
}


class Execution(NamedTuple):
    """An executed notebook, the processor time that it took in seconds, and the error of a cell, if there was one."""

    notebook: NotebookNode
    seconds: float
    error: str | None = None


def paths(names: Sequence[str] = ()) -> list[Path]:
    """Return the notebooks with these names, without their suffix; all of them without names."""
    return [FOLDER / f"{name}.ipynb" for name in names] or sorted(FOLDER.glob("*.ipynb"))


def read(path: Path) -> NotebookNode:
    """Read a notebook."""
    notebook: NotebookNode = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    return notebook


def execute(notebook: NotebookNode) -> Execution:
    """Execute a notebook in a temporary folder, with a new kernel."""
    executables = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"  # of `!dragoman`
    before = _processor_time()
    error = None
    with tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(
            notebook,
            timeout=CELL_SECONDS,
            kernel_name="python3",
            resources={"metadata": {"path": folder}},
            record_timing=False,
            coalesce_streams=True,
            extra_arguments=["--log-level=ERROR"],  # no warning that messages on this machine are not encrypted
        )
        try:
            client.execute(env={**os.environ, **ENVIRONMENT, "PATH": executables})
        except CellExecutionError as failure:
            error = str(failure)
    return Execution(normalized(notebook), _processor_time() - before, error)


def _processor_time() -> float:
    """Return the seconds of all processes that this one started and that have ended: kernels, and what they start."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def normalized(notebook: NotebookNode) -> NotebookNode:
    """Return a copy without metadata, and with cells numbered in their order."""
    cells = [_normalized_cell(number, cell) for number, cell in enumerate(notebook.cells, 1)]
    contents = {"cells": cells, "metadata": METADATA, "nbformat": 4, "nbformat_minor": 5}
    node: NotebookNode = nbformat.from_dict(contents)  # type: ignore[no-untyped-call]
    return node


def _normalized_cell(number: int, cell: NotebookNode) -> dict[str, Any]:
    common = {"id": f"cell-{number}", "cell_type": cell.cell_type, "metadata": {}, "source": cell.source}
    if cell.cell_type != "code":
        return common
    outputs = [{**output, "metadata": {}} if "metadata" in output else dict(output) for output in cell.outputs]
    return {**common, "execution_count": cell.execution_count, "outputs": outputs}


def text(notebook: NotebookNode) -> str:
    """Return the contents of the file of a notebook."""
    return f"{nbformat.writes(notebook)}\n"  # type: ignore[no-untyped-call]


def output_bytes(notebook: NotebookNode) -> int:
    """Return the size of all outputs in the file."""
    outputs = [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]
    return sum(len(str(output).encode()) for cell_outputs in outputs for output in cell_outputs)


def problems(execution: Execution) -> list[str]:
    """Return why an executed notebook is not fit to be stored."""
    size = output_bytes(execution.notebook)
    return [
        *([execution.error] if execution.error else []),
        *([f"{execution.seconds:.0f} seconds, at most {SECONDS:.0f} expected"] if execution.seconds > SECONDS else []),
        *([f"{size:,} bytes of outputs, at most {OUTPUT_BYTES:,} expected"] if size > OUTPUT_BYTES else []),
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Return the exit status: 1 if there are problems."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", metavar="NAME", nargs="*", help="notebooks, without .ipynb; default: all")
    parser.add_argument("--check", action="store_true", help="write no file")
    options = parser.parse_args(arguments)
    console = Console(highlight=False, markup=False, soft_wrap=True)
    status = 0
    for path in paths(options.names):
        execution = execute(read(path))
        size = output_bytes(execution.notebook)
        console.print(f"{path.stem}: {execution.seconds:.1f} seconds of a core, {size:,} bytes of outputs")
        for problem in problems(execution):
            console.print(f"{path.stem}: {problem}")
            status = 1
        if not options.check and not problems(execution):
            path.write_text(text(execution.notebook), encoding="utf-8")
    return status


if __name__ == "__main__":
    sys.exit(main())
