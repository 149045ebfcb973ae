"""The worked example of docs/extending.md without a fork, word for word: as a file, and as a package in a wheel."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from dragoman.configuration import plugins, yaml_lines
from tests import toy
from tests.contributed import merged
from tests.worked_examples import EXTENDING

SECTION = re.compile(r"^## Without a fork\n(?P<body>(?:(?!## ).*\n)*)", re.MULTILINE)
BLOCK = re.compile(r"^```(?P<language>\w+)\n(?P<text>(?:.*\n)*?)```$", re.MULTILINE)


class PluginExample(NamedTuple):
    """The blocks of the section."""

    python: str
    yaml: str
    bash: str
    toml: str


@pytest.fixture(scope="module")
def example(repository: Path) -> PluginExample:
    section = SECTION.search((repository / EXTENDING).read_text("utf-8"))
    assert section
    return PluginExample(**{block["language"]: block["text"] for block in BLOCK.finditer(section["body"])})


@pytest.fixture
def folder(tmp_path: Path, example: PluginExample) -> Path:
    """A folder with the configuration of the example beside the data of the toy language."""
    toy.corpus(tmp_path)
    toy.write(tmp_path, "test", toy.pairs(2, 3))
    settings = merged(yaml_lines.read(toy.CONFIG, "toy").value, yaml_lines.read(example.yaml, "the example").value)
    settings = merged(settings, {"data": {"train": "train", "dev": "dev"}, "training": {"epochs": 1}})
    (tmp_path / "config.yaml").write_text(json.dumps(settings), "utf-8")
    return tmp_path


def run(folder: Path, *words: str, path: tuple[Path, ...] = ()) -> subprocess.CompletedProcess[str]:
    """Run a command of dragoman, with further folders of packages."""
    places = os.pathsep.join([*map(str, path), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": places, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "dragoman", *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_the_file_of_the_example_works(folder: Path, example: PluginExample) -> None:
    (folder / "cosine.py").write_text(example.python, "utf-8")
    commands = [line.split() for line in example.bash.splitlines()]
    assert [words[:2] for words in commands] == [["dragoman", name] for name in ("debug", "train", "translate")]
    outcomes = [run(folder, *words[1:]) for words in commands]
    assert [outcome.returncode for outcome in outcomes] == [0, 0, 0], outcomes
    assert outcomes[0].stdout.startswith("score:cosine: keeps its contract")
    assert len(outcomes[2].stdout.splitlines()) == 2
    refused = run(folder, "translate", "runs/cosine", "test.en")
    assert refused.returncode == 1
    assert refused.stderr.count("\n") == 1
    assert "--code runs/cosine/code.cosine.py" in refused.stderr


@pytest.fixture(scope="module")
def site(example: PluginExample, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the package of the example is installed from its wheel."""
    source, wheels, site = (tmp_path_factory.mktemp(name) for name in ("source", "wheels", "site"))
    (source / "cosine.py").write_text(example.python, "utf-8")
    (source / "pyproject.toml").write_text(example.toml, "utf-8")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input"]
    build = ["wheel", "--no-build-isolation", "--no-deps", "--no-index", "--quiet", "--wheel-dir", str(wheels)]
    subprocess.run([*pip, *build, str(source)], check=True, capture_output=True)
    (wheel,) = wheels.glob("dragoman_cosine-1.0-*.whl")
    install = ["install", "--no-deps", "--no-index", "--quiet", "--target", str(site), str(wheel)]
    subprocess.run([*pip, *install], check=True, capture_output=True)
    return site


@pytest.mark.slow
def test_a_plug_in_in_a_wheel_of_its_own_passes_debug_part_and_trains(site: Path, folder: Path) -> None:
    checked = run(folder, "debug", "part", "score:cosine", path=(site,))
    assert (checked.returncode, checked.stdout) == (0, "score:cosine: keeps its contract (12 checks)\n"), checked.stderr
    settings = json.loads((folder / "config.yaml").read_text("utf-8"))
    del settings["code"]
    (folder / "config.yaml").write_text(json.dumps(settings), "utf-8")
    described = run(folder, "debug", "config", "config.yaml", path=(site,))
    assert described.stdout.endswith("# plug-in dragoman-cosine 1.0: score:cosine\n")
    assert run(folder, "train", "config.yaml", path=(site,)).returncode == 0
    (record,) = json.loads((folder / "runs/cosine/run.json").read_text("utf-8"))["plugins"]
    assert record == {"package": "dragoman-cosine", "version": "1.0", "parts": ["score:cosine"]}
    words = ("translate", "runs/cosine", "test.en")
    assert len(run(folder, *words, path=(site,)).stdout.splitlines()) == 2
    without = run(folder, *words)
    assert (without.returncode, without.stderr.count("\n")) == (1, 1)
    assert "needs score:cosine of the package dragoman-cosine 1.0" in without.stderr


def test_the_page_names_every_table(repository: Path) -> None:
    section = (repository / EXTENDING).read_text("utf-8").split("## Without a fork")[1].split("\n## ")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    assert sorted(re.findall(r"`(\w+)`", "".join(rows))) == sorted(plugins.TABLES)
