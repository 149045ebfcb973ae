"""The mutants that are kept can be made, and the tool tells those that survive from those that are noticed."""

import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tools import mutants
from tools.mutants import DATA, Mutant, Outcome, main, problems, read, run

SHOP = "def price(count):\n    return 3 * count if count < 10 else 2 * count\n"
TESTS = """
from shop import price

def test_few():
    assert price(2) == 6

def test_many():
    assert price(20) == 40
"""
ENTRY = "[[mutant]]\nname = '{}'\nfile = 'shop.py'\ntext = '{}'\nreplacement = '{}'\ntests = ['test_shop.py::{}']\n"
NOTICED = ENTRY.format("few cost more", "3 * count", "4 * count", "test_few")
SURVIVOR = ENTRY.format("ten cost more", "count < 10", "count <= 10", "test_many")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose tests miss one of two mutants. Plugins of pytest would take most of its time."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    (tmp_path / "shop.py").write_text(SHOP, encoding="utf-8")
    (tmp_path / "test_shop.py").write_text(TESTS, encoding="utf-8")
    (tmp_path / "tools").mkdir()
    (tmp_path / DATA).write_text(NOTICED + SURVIVOR, encoding="utf-8")
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    return tmp_path


@pytest.mark.slow
def test_every_mutant_that_is_kept_can_be_made(repository: Path) -> None:
    assert list(problems(read(repository), repository)) == []


def test_there_are_many_in_every_package(repository: Path) -> None:
    mutants = read(repository)
    assert len(mutants) >= 60
    mutants_by_package = Counter(mutant.file.split("/")[1] for mutant in mutants)
    packages = {path.parent.name for path in (repository / "dragoman").glob("*/__init__.py")}
    assert packages - mutants_by_package.keys() == set()
    assert max(mutants_by_package.values()) < len(mutants) / 2


@pytest.mark.slow
def test_survivors_are_told_and_others_are_not(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([], project) == 1
    output = capsys.readouterr()
    first, last = output.out.splitlines()
    assert "ten cost more" in first
    assert "test_shop.py::test_many" in first
    assert last == "2 mutants, 1 survive"
    assert "few cost more" in output.err
    assert (project / "shop.py").read_text("utf-8") == SHOP
    assert main(["--only", "few cost more"], project) == 0
    assert capsys.readouterr().out == "1 mutants, 0 survive\n"


def test_tests_that_fail_without_a_change_tell_nothing(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "shop.py").write_text(SHOP.replace("3 *", "5 *"), encoding="utf-8")
    (project / DATA).write_text(NOTICED.replace("3 *", "5 *"), encoding="utf-8")
    assert main([], project) == 1
    output = capsys.readouterr()
    assert output.out == ""
    assert "fail without any change" in output.err


@pytest.mark.slow
@pytest.mark.parametrize(("endless", "code", "message"), [("true", 0, "is noticed"), ("false", 1, "was not judged")])
def test_only_what_is_endless_is_noticed_by_tests_that_do_not_end(
    endless: str,
    code: int,
    message: str,
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (project / DATA).write_text(f"{NOTICED}endless = {endless}\n", encoding="utf-8")
    monkeypatch.setattr(mutants, "tried", lambda *arguments: Outcome(None, ""))
    assert main([], project) == code
    assert f"'few cost more' {message}: the tests did not end in time" in capsys.readouterr().err


def test_a_run_that_does_not_end_is_ended(project: Path) -> None:
    assert run(["test_shop.py"], project, 0.001).status is None


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"text": "count * 3"}, "occurs 0 times in shop.py"),
        ({"text": "count"}, "occurs 4 times in shop.py"),
        ({"file": "shops.py"}, "occurs 0 times in shops.py"),
        ({"replacement": "3 * count"}, "changes nothing"),
        ({"tests": ()}, "names no tests"),
        ({"tests": ("test_shop.py::test_none",)}, "there is no test test_shop.py::test_none"),
        ({"tests": ("test_shops.py",)}, "there is no test test_shops.py"),
    ],
)
def test_a_mutant_that_cannot_be_made_is_named(project: Path, changed: dict[str, Any], message: str) -> None:
    mutant = Mutant("few cost more", "shop.py", "3 * count", "4 * count", ("test_shop.py::test_few",))
    assert list(problems([mutant], project)) == []
    (problem,) = problems([mutant._replace(**changed)], project)
    assert "few cost more" in problem
    assert message in problem


def test_names_are_checked_before_anything_runs(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--only", "no such"], project) == 1
    assert "no such" in capsys.readouterr().err
    mutant = read(project)[0]
    assert len(list(problems([mutant, mutant], project))) == 2
