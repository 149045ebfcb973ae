"""The tool that executes notebooks: what it stores, and what it refuses to store."""

from pathlib import Path
from typing import Any

import pytest

nbformat = pytest.importorskip("nbformat")
pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

from tools import notebooks  # noqa: E402


def notebook(*sources: str) -> Any:
    cells = [nbformat.v4.new_code_cell(source, metadata={"tags": ["a"]}) for source in sources]
    return nbformat.v4.new_notebook(cells=cells, metadata={"language_info": {"name": "python", "version": "3.0"}})


def test_what_differs_from_run_to_run_is_not_stored() -> None:
    first, second = (notebooks.text(notebooks.normalized(notebook("1", "2"))) for _ in range(2))
    assert first == second  # nbformat draws the ids of cells
    assert "tags" not in first
    assert "version" not in first


def test_large_outputs_and_long_executions_are_problems() -> None:
    executed = notebook("1")
    executed.cells[0].outputs = [nbformat.v4.new_output("stream", text="a" * notebooks.OUTPUT_BYTES)]
    (size,) = notebooks.problems(notebooks.Execution(executed, 1.0))
    assert "bytes of outputs" in size
    (duration,) = notebooks.problems(notebooks.Execution(notebook("1"), notebooks.SECONDS + 1))
    assert "61 seconds" in duration


@pytest.mark.slow
def test_a_notebook_is_executed_in_a_folder_of_its_own_and_written_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(notebooks, "FOLDER", tmp_path)
    path = tmp_path / "some.ipynb"
    code = "import os, torch\nprint(torch.get_num_threads(), os.listdir())\nopen('file', 'w').close()"
    path.write_text(notebooks.text(notebook(code)), "utf-8")
    assert notebooks.main(["some"]) == 0
    (output,) = notebooks.read(path).cells[0].outputs
    assert output.text == "1 []\n"
    assert [file.name for file in tmp_path.iterdir()] == ["some.ipynb"]
    before = path.read_text("utf-8")
    assert "some: " in capsys.readouterr().out
    path.write_text(before.replace("1 []", "2 []"), "utf-8")
    assert notebooks.main(["some", "--check"]) == 0
    assert "2 []" in path.read_text("utf-8")


@pytest.mark.slow
def test_a_notebook_whose_cell_fails_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notebooks, "FOLDER", tmp_path)
    (tmp_path / "wrong.ipynb").write_text(notebooks.text(notebook("1 / 0")), "utf-8")
    before = (tmp_path / "wrong.ipynb").read_bytes()
    assert notebooks.main([]) == 1
    assert (tmp_path / "wrong.ipynb").read_bytes() == before
