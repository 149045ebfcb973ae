"""Random mutants are drawn in proportion, tried by the tests that cover them, and tried once."""

import subprocess
from collections import Counter
from pathlib import Path

import pytest

for library in ("cosmic_ray", "coverage"):
    pytest.importorskip(library)

from tools import random_mutants  # noqa: E402
from tools.random_mutants import draw, list_mutations, main, select  # noqa: E402

SHOP = """from typing import final

@final
class Till:
    def price(self, count: int | None, *, each: int = 3) -> int | None:
        if count is None:
            return None
        total = (
            each
            * count
        )
        return total + 0


def unused() -> bool:
    return True
"""
STOCK = "def spare(count: int) -> int:\n    return 1 - count - 2 - count - 3 - count\n"
TESTS = """
import pytest
from shop.till import Till

@pytest.mark.parametrize("count", [2, 3])
def test_price(count):
    assert Till().price(count) == 3 * count

def test_nothing():
    assert Till().price(None) is None
"""
FOLDERS = ["--folders", "shop", "--tests", "tests"]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A package of two modules, one of which no test covers."""
    files = {"shop/__init__.py": "", "shop/till.py": SHOP, "store/stock.py": STOCK, "tests/test_till.py": TESTS}
    for name, text in {**files, "pytest.ini": "[pytest]\n", ".gitignore": ".mutation\n"}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    return tmp_path


def test_the_draw_is_seeded_and_in_proportion(project: Path) -> None:
    mutations = [list(list_mutations(folder, project)) for folder in ("shop", "store")]
    lines = {mutation.start_pos[0] for mutation in mutations[0]}
    assert lines == {5, 6, 10, 12, 16}  # of line 5 the default and the star, which is dropped when it is drawn
    assert all(mutation.start_pos[1] > 30 for mutation in mutations[0] if mutation.start_pos[0] == 5)
    drawn = draw(mutations, 8, 1, project)
    assert draw(mutations, 8, 1, project) == drawn
    assert draw(mutations, 8, 2, project) != drawn
    places = {(mutation.module_path, mutation.start_pos) for mutation in drawn}
    assert len(places) == 8
    sizes = [len({mutation.start_pos for mutation in mutations_of_folder}) for mutations_of_folder in mutations]
    by_module = Counter(mutation.module_path.name for mutation in drawn)
    assert by_module["stock.py"] == round(8 * sizes[1] / sum(sizes))


def test_near_and_fast_tests_come_first() -> None:
    seconds = {f"tests/search/test_beam.py::{name}": float(number) for number, name in enumerate("cab")}
    seconds |= {"tests/search/test_tree.py::x": 0.1, "tests/search/test_tree.py::y": 0.2, "tests/test_cli.py::z": 5}
    contexts = {
        "tests/search/test_beam.py",
        "tests/search/test_beam.py::b",
        *list(seconds)[3:],
        "tests/test_io.py::failed",
    }
    near, far = select(contexts, "dragoman/search/beam.py", seconds)
    assert [test[-1] for test in near] == ["b", "c", "a"]
    assert [test[-1] for test in far] == ["x", "z", "y"]
    seconds = {f"tests/test_io.py::{number}": 3.0 for number in range(50)}
    groups = select(set(seconds), "dragoman/io.py", seconds)
    assert [len(group) for group in groups] == [20, 20]  # the latter of all left, in a minute
    assert not set(groups[0]) & set(groups[1])
    assert select({"tests/test_io.py::failed"}, "dragoman/search/beam.py", seconds) == []


def test_survivors_are_listed_and_nothing_is_tried_twice(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [*FOLDERS, "--count", "20"]
    assert main([*arguments, "--hours", "0"], project) == 0
    assert "| all | 0 | 0 | 0 | 0 |" in capsys.readouterr().out
    (project / "tests" / "test_till.py").unlink()  # what was copied is tried
    assert main(arguments, project) == 0
    output = capsys.readouterr()
    table, *survivors = output.out.split("\n\n")
    tried, failed, late, survived = map(int, table.splitlines()[-1].split(" | ")[1:5])
    assert (tried, late) == (len(output.err.splitlines()), 0)
    assert failed > survived == len(survivors) > 0
    assert any("3 tests pass" in survivor and "+    return False" in survivor for survivor in survivors)
    assert main(arguments, project) == 0
    again = capsys.readouterr()
    assert (again.out, again.err) == (output.out, "")
    assert (project / "shop" / "till.py").read_text("utf-8") == SHOP
    assert (project / ".mutation" / "run" / "project" / "shop" / "till.py").read_text("utf-8") == SHOP


@pytest.mark.parametrize(
    ("replacement", "outcome"), [("while True: pass", None), ("return 0", 1), ("return 3 * count", 0)]
)
def test_tests_that_do_not_end_are_ended(replacement: str, outcome: int | None, project: Path) -> None:
    source = f"class Till:\n    def price(self, count):\n        {replacement}\n"
    (project / "shop" / "till.py").write_text(source, encoding="utf-8")
    tests = ["tests/test_till.py::test_price[3]"]
    assert random_mutants.run_tests(tests, project / ".", 3)[0] == outcome
