"""The notebooks run from top to bottom in a minute, and are stored with their outputs and nothing else."""

import json
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).resolve().parent.parent / "notebooks"
NAMES = [path.stem for path in sorted(FOLDER.glob("*.ipynb"))]


@pytest.fixture(params=NAMES)
def path(request: pytest.FixtureRequest) -> Path:
    return FOLDER / f"{request.param}.ipynb"


@pytest.fixture
def cells(path: Path) -> list[dict[str, Any]]:
    """The cells with code."""
    notebook = json.loads(path.read_text("utf-8"))
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def test_every_cell_was_executed_in_order_without_an_error(cells: list[dict[str, Any]]) -> None:
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    outputs = list(chain.from_iterable(cell["outputs"] for cell in cells))
    assert outputs
    assert [output for output in outputs if output["output_type"] == "error"] == []


def test_no_output_names_a_folder_of_the_machine(cells: list[dict[str, Any]]) -> None:
    text = json.dumps([cell["outputs"] for cell in cells])
    assert [folder for folder in ("/tmp/", "/home/", "/usr/", ".venv", str(FOLDER.parent)) if folder in text] == []


def test_a_notebook_is_stored_without_what_differs_from_run_to_run(path: Path) -> None:
    pytest.importorskip("nbformat")
    from tools import notebooks

    notebook = notebooks.read(path)
    assert path.read_text("utf-8") == notebooks.text(notebooks.normalized(notebook))
    assert notebooks.output_bytes(notebook) <= notebooks.OUTPUT_BYTES


def test_every_notebook_is_linked_from_the_documentation(path: Path, repository: Path) -> None:
    assert f"(notebooks/{path.name})" in (repository / "README.md").read_text("utf-8")
    assert f"../notebooks/{path.stem}\n" in (repository / "docs" / "index.md").read_text("utf-8")


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_notebook_runs_within_its_limits(path: Path) -> None:
    pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    from tools import notebooks

    assert notebooks.problems(notebooks.execute(notebooks.read(path))) == []
