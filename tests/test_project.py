"""What pyproject.toml says fits the rest of the repository."""

import re
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import dragoman


@pytest.fixture(scope="module")
def project(repository: Path) -> dict[str, Any]:
    table: dict[str, Any] = tomllib.loads((repository / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return table


def name_of(requirement: str) -> str:
    """The normalised name of a distribution: `ruamel.yaml>=0.18` is ruamel-yaml."""
    return re.sub(r"[-_.]+", "-", re.split(r"[\[<>=!~; ]", requirement)[0]).lower()


def test_there_is_one_version(project: dict[str, Any]) -> None:
    assert project["version"] == dragoman.__version__


def test_the_command_exists(project: dict[str, Any]) -> None:
    module, _, function = project["scripts"]["dragoman"].partition(":")
    assert callable(getattr(import_module(module), function))


def test_every_dependency_is_pinned_within_its_range(project: dict[str, Any], repository: Path) -> None:
    lines = (repository / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    versions = {name_of(name): version for name, version in pins.items()}
    for requirement in [*project["dependencies"], *project["optional-dependencies"]["dev"]]:
        lowest = requirement.partition(">=")[2]
        pinned = versions[name_of(requirement)]
        assert release(pinned) >= release(lowest), requirement


def release(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())


def test_data_files_travel_with_the_package(repository: Path) -> None:
    options = tomllib.loads((repository / "pyproject.toml").read_text(encoding="utf-8"))
    patterns = options["tool"]["setuptools"]["package-data"]["dragoman"]
    package = repository / "dragoman"
    packed = {path for pattern in patterns for path in package.glob(pattern)}
    data = {path for path in package.rglob("*") if path.is_file() and path.suffix not in (".py", ".pyc")}
    assert data == packed
