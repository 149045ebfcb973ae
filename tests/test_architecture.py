"""ARCHITECTURE.md names every file of the package in the row of its folder, and no other file."""

import re
from collections import defaultdict
from pathlib import Path

ROW = re.compile(r"^\| `([\w/.]+/)`[^|]* \| (.*) \|$", re.MULTILINE)
LEFT_OUT = {"__init__.py", "__main__.py"}


def files_by_folder(page: str) -> dict[str, set[str]]:
    """The files that the table of folders names."""
    files: dict[str, set[str]] = defaultdict(set)
    for folder, text in ROW.findall(page):
        files[folder] |= set(re.findall(r"`(\w+\.py)`", text))
    return files


def test_every_file_is_in_the_row_of_its_folder(repository: Path) -> None:
    package: dict[str, set[str]] = defaultdict(set)
    for path in (repository / "dragoman").rglob("*.py"):
        if path.name not in LEFT_OUT:
            folder = path.parent.relative_to(repository / "dragoman").as_posix()
            package[f"{folder}/"].add(path.name)
    assert files_by_folder((repository / "ARCHITECTURE.md").read_text("utf-8")) == package


def test_every_path_exists(repository: Path) -> None:
    """Paths in code font, relative to the package or the repository."""
    page = (repository / "ARCHITECTURE.md").read_text("utf-8")
    paths = set(re.findall(r"`([\w/]+/(?:[\w.]+)?)`", page)) - {"terms/"}
    missing = [
        path for path in paths if not any((root / path).exists() for root in (repository, repository / "dragoman"))
    ]
    assert missing == []


def test_the_layers_are_those_that_are_checked(repository: Path) -> None:
    page = (repository / "ARCHITECTURE.md").read_text("utf-8")
    layers = re.findall(
        r'^    "(.*)",$',
        (repository / "pyproject.toml").read_text("utf-8").partition("\nlayers = [")[2].partition("]")[0],
        re.MULTILINE,
    )
    assert "\n".join(layers) in page
