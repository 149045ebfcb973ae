"""Every result tells where it comes from, and nothing of whose machine that was."""

import json
import platform
import shutil
import socket
import subprocess
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import torch

import dragoman
from benchmarks import provenance
from dragoman import threads
from dragoman.configuration.config import Config
from dragoman.errors import UserError
from tests import toy

# Results from before they told; one that is measured again tells.
MEASURED_BEFORE = Path(__file__).with_name("measured_before.txt").read_text("utf-8").split()


def test_results_tell_where_they_come_from(repository: Path) -> None:
    folder = repository / "benchmarks" / "results"
    untold = {path.relative_to(folder).as_posix(): provenance.origin(path) is None for path in folder.rglob("*.json")}
    assert set(untold) >= set(MEASURED_BEFORE), "some are gone"
    assert {name for name in untold if untold[name]} <= set(MEASURED_BEFORE), "a new result does not"


@pytest.fixture
def build_config(tmp_path: Path) -> Callable[..., Config]:
    def config(folder: str = "corpus", **options: Any) -> Config:
        return toy.config(toy.corpus(tmp_path / folder), tmp_path / folder / "run", options)

    return config


def test_it_has_versions_machine_and_day(build_config: Callable[..., Config], tmp_path: Path) -> None:
    origin = provenance.of(build_config())
    assert (origin.dragoman, origin.torch) == (dragoman.__version__, torch.__version__)
    assert (origin.python, origin.cores) == (platform.python_version(), threads.cores())
    assert platform.machine() in origin.processor
    assert origin.date.count("-") == 2
    text = json.dumps(asdict(origin))
    assert socket.gethostname() not in text.replace(origin.processor, "")
    assert str(tmp_path) not in text
    assert str(provenance.ROOT) not in text


def test_the_digest_is_of_options_and_not_of_places(build_config: Callable[..., Config]) -> None:
    here = provenance.digest(build_config())
    assert provenance.digest(build_config("elsewhere")) == here
    assert provenance.digest(build_config(**{"data.max_length": 99})) != here
    assert provenance.digest(build_config(), build_config()) != here
    whole = build_config(**{"text.source.tokenizer": {"kind": "word", "minimum_frequency": 1}})
    assert provenance.digest(whole) == here, "what is the default counts as if it were written"


def test_the_digest_of_several_pairs_goes_by_names_of_files(tmp_path: Path) -> None:
    def digest(folder: str, train: str = "") -> str:
        place = tmp_path / folder
        pairs = toy.languages(place)
        if train:
            pairs[0]["train"] = str(place / train)
        places = {"run": str(tmp_path / "run"), "data.pairs": json.dumps(pairs), "text.shared_vocabulary": "true"}
        return provenance.digest(dragoman.load_config(place / "toy.yaml", places))

    assert digest("one") == digest("other")
    assert digest("one") != digest("one", "train-cd")


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_it_names_the_commit_and_whether_that_was_changed(
    build_config: Callable[..., Config], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, config = tmp_path / "project", build_config()
    monkeypatch.setattr(provenance, "ROOT", root)
    for name in ("dragoman", "configs", "benchmarks/results"):
        (root / name).mkdir(parents=True)
        (root / name / "a").write_text("a", encoding="utf-8")
    assert (provenance.of(config).commit, provenance.of(config).changed) == ("unknown", True)

    def git(*words: str) -> str:
        identity = "-c", "user.name=somebody", "-c", "user.email=somebody@example.org"
        return subprocess.run(["git", *identity, *words], cwd=root, capture_output=True, text=True, check=True).stdout

    git("init")
    git("add", ".")
    git("commit", "-m", "first")
    assert provenance.of(config).commit == git("rev-parse", "HEAD").strip()
    assert not provenance.of(config).changed
    for name, changed in (("notes", False), ("benchmarks/results/b", False), ("configs/b", True)):
        (root / name).write_text("b", encoding="utf-8")
        assert provenance.of(config).changed is changed, name


def test_without_git_the_commit_is_not_known(
    build_config: Callable[..., Config], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    assert provenance.of(build_config()).commit == "unknown"


def test_a_result_is_read_with_where_it_comes_from(build_config: Callable[..., Config], tmp_path: Path) -> None:
    path, origin = tmp_path / "row.json", provenance.of(build_config())
    provenance.write(path, {"bleu": 1 / 3}, origin)
    assert provenance.read(path) == {"bleu": 1 / 3}
    assert provenance.origin(path) == origin
    path.write_text(json.dumps({"result": 3, "provenance": provenance.UNKNOWN}), encoding="utf-8")
    assert (provenance.read(path), provenance.origin(path)) == (3, None)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"dev": 3.0}', '{"result": 3}'])
def test_a_result_that_does_not_tell_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "row.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=r"^[^\n]*row\.json: [^\n]*$"):
        provenance.read(path)


@pytest.mark.parametrize("partial_origin", ["", "unknown", None, {}, {"commit": "1a2b"}])
def test_half_an_origin_is_none(partial_origin: Any, tmp_path: Path) -> None:
    path = tmp_path / "row.json"
    path.write_text(json.dumps({"result": 3, "provenance": partial_origin}), encoding="utf-8")
    with pytest.raises(UserError, match=r"row\.json: does not tell where its figures come from"):
        provenance.origin(path)
