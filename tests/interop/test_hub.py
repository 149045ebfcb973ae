"""Models on the hub: what is uploaded comes back as the same run. The hub is a folder here; no network is used."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

pytest.importorskip("huggingface_hub", reason="needs the extra hub")

import huggingface_hub

import dragoman
from dragoman.cli import app
from dragoman.errors import UserError, missing_library
from dragoman.interop import hub
from dragoman.run.run import Run, facts
from tests import plugin_code, toy
from tests.golden import Golden
from tests.interop import test_huggingface, test_marian
from tests.interop.test_huggingface import segmenter

__all__ = ["segmenter"]  # the fixture
NAME = "me/en-fr"


class Hub:
    """The hub as a folder, with the methods of its library that are used."""

    folder = Path("hub")
    license = ""
    private: bool | None = None

    def model_info(self, name: str) -> Any:
        place = self.folder / name
        if not place.is_dir():
            raise huggingface_hub.errors.HfHubHTTPError(
                "404 Client Error\nRepository Not Found", response=_response(404)
            )
        files = [
            SimpleNamespace(rfilename=path.relative_to(place).as_posix()) for path in place.rglob("*") if path.is_file()
        ]
        return SimpleNamespace(siblings=files, sha="1", card_data=SimpleNamespace(license=self.license or None))

    def snapshot_download(self, name: str, *, revision: str, allow_patterns: Sequence[str]) -> str:
        place = self.folder.parent / "cache" / name
        for file in allow_patterns:
            (place / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(self.folder / name / file, place / file)
        return str(place)

    def create_repo(self, name: str, *, private: bool, exist_ok: bool) -> str:
        Hub.private = private
        (self.folder / name).mkdir(parents=True, exist_ok=exist_ok)
        return f"hub/{name}"

    def create_commit(self, name: str, operations: Sequence[Any], *, commit_message: str) -> None:
        for operation in operations:
            place, content = self.folder / name / operation.path_in_repo, operation.path_or_fileobj
            place.write_bytes(content if isinstance(content, bytes) else Path(content).read_bytes())


def _response(status: int) -> Any:
    import httpx2

    return httpx2.Response(status, request=httpx2.Request("GET", "https://hub.invalid"))


@pytest.fixture
def online(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the hub."""
    monkeypatch.setattr(Hub, "folder", tmp_path / "hub")
    monkeypatch.setattr(Hub, "license", "")
    monkeypatch.setattr(huggingface_hub, "HfApi", Hub)
    return tmp_path / "hub"


def importing(*words: str) -> Any:
    return CliRunner().invoke(app, ["import", *words])


def test_a_run_comes_back(
    online: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = shutil.copytree(toy.trained(tmp_path_factory.getbasetemp()), tmp_path / "run")
    monkeypatch.chdir(tmp_path)
    assert hub.push(folder, NAME) == f"hub/{NAME}"
    assert Hub.private
    names = {path.name for path in (online / NAME).iterdir()}
    assert {"run.json", "config.yaml", "model.safetensors", "README.md", "source.json", "target.vocabulary"} <= names
    assert not {"metrics.jsonl", "validation.jsonl", "model-last.safetensors", "checkpoints", "data"} & names
    card = (online / NAME / "README.md").read_text("utf-8")
    assert card.startswith("---\nlibrary_name: dragoman\npipeline_tag: translation\nlanguage:\n- en\n- fr\n---\n\n# ")
    assert importing(NAME, "-o", "runs/again").exit_code == 0
    result = CliRunner().invoke(app, ["translate", "runs/again"], input="one two\n")
    assert result.stdout == "deux un\n"
    assert hub.push(folder, NAME, public=True)
    assert Hub.private is False


@pytest.mark.slow
@pytest.mark.parametrize("origin", ["file", "package"])
def test_a_run_with_a_plug_in_comes_back(
    origin: str, online: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, golden: Golden
) -> None:
    monkeypatch.chdir(tmp_path)
    plugin_code.write_files(tmp_path)
    with plugin_code.without_plugins():
        dragoman.train("config.yaml", quiet=True)
        if origin == "package":
            proof = json.loads(Path("run/run.json").read_text("utf-8"))
            proof["plugins"] = [{"package": "dragoman-mine", "version": "1.0", "parts": ["score:proximity"]}]
            Path("run/run.json").write_text(json.dumps(proof), "utf-8")
        hub.push(Path("run"), NAME)
        plugin_code.unload()
        result = importing(NAME, "-o", "again")
        assert result.exit_code == 0
        golden(result.stderr)
        for use in (lambda: dragoman.load("again"), lambda: hub.push(Path("again"), NAME)):
            with pytest.raises(
                UserError, match=r"^again: needs score:proximity of .*(mine 1\.0|--code again/code\.mine)"
            ):
                use()
        assert dragoman.load("again", code="again/code.mine.py").translate(["a"])
        assert hub.published(Run.load("again"))["code.mine.py"] == Path("again/code.mine.py")


def test_a_damaged_run_is_not_copied(
    online: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    hub.push(toy.trained(tmp_path_factory.getbasetemp()), NAME)
    (online / NAME / "model.safetensors").write_bytes(b"")
    assert importing(NAME, "-o", "run").exit_code == 1
    assert not (tmp_path / "run").exists()


def test_a_folder_of_another_program_is_imported_with_its_license(
    online: Path, tmp_path: Path, segmenter: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Hub, "license", "cc-by-4.0")
    (online / "me").mkdir(parents=True)
    test_huggingface.folder_of(online / NAME, segmenter)
    for name in ("code.py", "pytorch_model.bin", "tf_model.h5", "deep/config.json"):
        (online / NAME / name).parent.mkdir(exist_ok=True)
        (online / NAME / name).write_text("none", "utf-8")
    assert importing(NAME, "-o", "run", "--source", "en", "--target", "fr").exit_code == 0
    downloaded = {path.name for path in (tmp_path / "cache" / NAME).rglob("*")}
    assert "config.json" in downloaded
    assert not {"code.py", "pytorch_model.bin", "tf_model.h5", "deep"} & downloaded
    run = Run.load("run")
    assert f"({NAME} on the hub)" in dict(facts(run))["imported from"]
    assert "| license | cc-by-4.0 |" in run.folder.card.read_text("utf-8")
    assert "license: cc-by-4.0\n---" in hub.describe(run)
    assert importing(NAME, "-o", "other", "--license", "MIT").exit_code == 0
    assert "| license | MIT |" in Path("other/README.md").read_text("utf-8")


def test_a_path_comes_before_a_name(online: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "me").mkdir()
    assert not hub.is_name(Path(NAME))
    test_marian.folder_of(tmp_path / "me" / "en-fr", test_marian.PLAIN)
    assert importing(NAME, "-o", "run").exit_code == 0
    assert "on the hub" not in dict(facts(Run.load("run")))["imported from"]
    for path in ("model", "/a/b", "a/b/c", "../a", "~/a b"):
        assert not hub.is_name(Path(path))
    assert hub.is_name(Path("you/en-fr"))


@pytest.mark.parametrize("name", ["me/nothing", "me/empty"])
def test_what_is_not_there_is_told_in_one_line(
    name: str, online: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, golden: Golden
) -> None:
    monkeypatch.chdir(tmp_path)
    (online / "me/empty").mkdir(parents=True)
    result = importing(name, "-o", "run")
    assert result.exit_code == 1
    assert not (tmp_path / "run").exists()
    golden(result.stderr)


def test_names_and_the_extra_are_checked_first(
    online: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    folder = toy.trained(tmp_path_factory.getbasetemp())
    for name in ("en-fr", "a/b/c", "me/en fr", "me/en\n"):
        with pytest.raises(UserError, match="expected a name on the hub"):
            hub.push(folder, name)
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    for act in (lambda: hub.push(folder, NAME), lambda: hub.download(NAME)):
        with pytest.raises(UserError) as raised:
            act()
        assert str(raised.value) == str(missing_library("huggingface_hub", "hub"))
    assert not (online / NAME).exists()
