"""The architecture holds: imports flow one way, and the checks that keep it so are themselves awake."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    pytest.importorskip("importlinter", reason="needs import-linter")
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as run; run()"]
    return subprocess.run(
        [*command, "--no-cache", "--no-logo"], cwd=folder, capture_output=True, text=True, check=False
    )


def test_imports_flow_one_way(repository: Path) -> None:
    outcome = lint_imports(repository)
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
    assert "3 kept, 0 broken" in outcome.stdout


def test_every_package_in_the_layers_exists(repository: Path) -> None:
    options = tomllib.loads((repository / "pyproject.toml").read_text(encoding="utf-8"))
    layers = options["tool"]["importlinter"]["contracts"][0]["layers"]
    named = {name.strip(" ()") for line in layers for name in line.split("|")}
    package = repository / "dragoman"
    there = {path.stem for path in package.glob("*.py")} | {path.parent.name for path in package.glob("*/__init__.py")}
    assert named == there - {"__init__"}


@pytest.mark.parametrize(
    ("importer", "imported", "contract"),
    [
        ("text/normalizer.py", "dragoman.model.build", "A module imports only from the layers below its own"),
        (
            "search/beam.py",
            "dragoman.evaluation.metrics.table",
            "A module imports only from the layers below its own",
        ),
        ("model/shapes.py", "dragoman.model.build", "No package has an import cycle among its modules"),
        ("demo.py", "phrasebook.corpus", "The package works without the generator of its corpus"),
    ],
)
def test_a_forbidden_import_is_noticed(
    repository: Path, tmp_path: Path, importer: str, imported: str, contract: str
) -> None:
    for path in (file for name in ("dragoman", "phrasebook") for file in (repository / name).rglob("*.py")):
        copy = tmp_path / path.relative_to(repository)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes())
    (tmp_path / "pyproject.toml").write_bytes((repository / "pyproject.toml").read_bytes())
    with (tmp_path / "dragoman" / importer).open("a", encoding="utf-8") as file:
        file.write(f"\nimport {imported}\n")
    outcome = lint_imports(tmp_path)
    assert outcome.returncode == 1
    assert f"{contract} BROKEN" in outcome.stdout
