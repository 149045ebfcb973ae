"""The release: what is in its files, and that a packed run is a run."""

import subprocess
import sys
import tarfile
from pathlib import Path
from zipfile import ZipFile

import pytest

import dragoman
from tests import toy
from tests.serving.server import serving
from tools import distribution

FILES = {"dragoman/__init__.py", "dragoman/configs", "configs/own.yaml", "setup.py"}
WHEEL = ["dragoman/__init__.py", "dragoman/configs/own.yaml", "dragoman-1.dist-info/METADATA"]
SDIST = [f"dragoman-1/{name}" for name in ("dragoman/__init__.py", "configs/own.yaml", "setup.py", "PKG-INFO")]
LINKED = "dragoman-1/dragoman/configs/own.yaml"


def test_files_of_the_commit_are_as_expected() -> None:
    assert list(distribution.stray(WHEEL, [*SDIST, LINKED], FILES)) == []


@pytest.mark.parametrize(
    ("wheel", "sdist", "problem"),
    [
        ([*WHEEL, "tests/toy.py"], SDIST, "wheel: tests/toy.py"),
        ([*WHEEL, "dragoman/__pycache__/a.pyc"], SDIST, "wheel: dragoman/__pycache__/a.pyc"),
        (WHEEL[1:], SDIST, "wheel: lacks dragoman/__init__.py"),
        (WHEEL, [*SDIST, "dragoman-1/notes.txt"], "sdist: notes.txt"),
        (WHEEL, [*SDIST, "dragoman-1/dragoman/configs/mine.yaml"], "sdist: dragoman/configs/mine.yaml"),
        (WHEEL, [SDIST[0], *SDIST[2:]], "sdist: lacks configs/own.yaml"),
    ],
)
def test_stray_and_missing_files_are_named(wheel: list[str], sdist: list[str], problem: str) -> None:
    assert list(distribution.stray(wheel, sdist, FILES)) == [problem]


@pytest.mark.slow
def test_a_packed_run_translates(tmp_path: Path) -> None:
    path = tmp_path / "toy-en-fr.zip"
    distribution.pack(toy.trained(tmp_path), path)
    with ZipFile(path) as archive:
        assert {"toy-en-fr/README.md", "toy-en-fr/model.safetensors"} <= set(archive.namelist())
        assert not [name for name in archive.namelist() if "checkpoints" in name or not name.startswith("toy-en-fr/")]
        archive.extractall(tmp_path / "there")
    translator = dragoman.load(tmp_path / "there" / "toy-en-fr")
    assert translator.translate(["one two"])[0].text == "deux un"


@pytest.mark.slow
def test_the_files_of_this_commit_are_built(repository: Path, tmp_path: Path) -> None:
    pytest.importorskip("build")
    if not (repository / ".git").exists():
        pytest.skip("needs a git repository")
    wheel, sdist = distribution.build(tmp_path)
    assert list(distribution.stray(*distribution.names(wheel, sdist), distribution.tracked())) == []
    with tarfile.open(sdist) as archive:
        assert f"{wheel.name.removesuffix('-py3-none-any.whl')}/Makefile" in archive.getnames()


def test_a_folder_with_files_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "old.whl").touch()
    assert distribution.main(["--folder", str(tmp_path)]) == 1
    assert "is not empty; remove the files of an earlier release" in " ".join(capsys.readouterr().out.split())
    assert [path.name for path in tmp_path.iterdir()] == ["old.whl"]


def test_a_command_that_fails_shows_its_errors() -> None:
    with pytest.raises(SystemExit, match="no such thing"):
        distribution._output(sys.executable, "-c", "raise SystemExit('no such thing')")


@pytest.mark.slow
def test_a_service_is_waited_for(tmp_path: Path) -> None:
    pytest.importorskip("uvicorn")
    with serving(toy.trained(tmp_path)) as address, subprocess.Popen([sys.executable, "-c", "input()"]) as other:
        distribution._wait(f"{address}/health", other)
        other.kill()
    with subprocess.Popen([sys.executable, "-c", "pass"]) as ended:
        ended.wait()
        with pytest.raises(SystemExit, match="does not answer"):
            distribution._wait(f"{address}/health", ended)
