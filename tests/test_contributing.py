"""The worked examples of CONTRIBUTING.md and docs/extending.md, word for word: each part takes few files, and works."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

import pytest

from tests import toy
from tests.worked_examples import (
    CHANGELOG,
    CONTRIBUTING,
    EXTENDING,
    Cost,
    add_command,
    add_transform,
    costs,
    examples,
    follow,
)
from tools import mutants

EXAMPLES = examples()
CONTRACTS = (  # of scores and cells, beside what each test file has of its table
    "tests/model/test_recurrent.py",
    "tests/model/attention/test_attention.py",
    "tests/model/attention/sources/test_combinations.py",
    "tests/model/decoder/test_at_once.py",
    "tests/contracts/test_contracts.py",
)


class Copy(NamedTuple):
    """A copy of the project that follows all examples, and the files that each has changed there."""

    root: Path
    changed: dict[str, set[str]]
    transform: list[str]  # the files of the text transform


@pytest.fixture(scope="module")
def copy(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Copy:
    root = tmp_path_factory.mktemp("copy") / "project"
    mutants.copied(repository, root)
    changed = {}
    for example in EXAMPLES:
        before = contents(root)
        follow(example, root)
        after = contents(root)
        changed[example.name] = {name for name in after if after[name] != before.get(name)}
    before = contents(root)
    transform = add_transform(root)
    after = contents(root)
    assert {name for name in after if after[name] != before.get(name)} == set(transform)
    add_command(root, "count")
    subprocess.run(ruff("check", "--fix", "--select=I", "--quiet"), cwd=root, check=True)
    return Copy(root, changed, transform)


def contents(root: Path) -> dict[str, bytes]:
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def ruff(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "ruff", *arguments]


def test_there_is_an_example_of_every_part_of_the_table() -> None:
    assert [example.name for example in examples(EXTENDING)] == [cost.name for cost in costs()]
    assert {"score", "search", "output", "metric", "objective", "embedding", "constraint"} == {
        example.name for example in examples(EXTENDING)
    }
    assert [example.name for example in examples(CONTRIBUTING)] == ["cell"]


@pytest.mark.slow
def test_a_part_takes_the_files_that_the_table_says(copy: Copy) -> None:
    parts = examples(EXTENDING)
    assert [Cost(part.name, len(copy.changed[part.name]), part.file, part.test) for part in parts] == costs()
    for part in EXAMPLES:
        assert copy.changed[part.name] == {part.file, part.test, CHANGELOG}


@pytest.mark.slow
def test_the_examples_are_written_as_the_project_is(copy: Copy) -> None:
    for command in (ruff("format", "--check"), ruff("check")):
        done = subprocess.run(command, cwd=copy.root, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_parts_work(copy: Copy) -> None:
    """Their own tests, the contract tests that find them in their tables, and what contributed.py does with them."""
    names = [name for part in EXAMPLES for name in (part.kind, *part.tests)]
    files = {*CONTRACTS, *(part.test for part in EXAMPLES)}
    tests = [*sorted(files), "tests/contributed.py", "-rA", "-k", " or ".join([*names, "contributed"])]
    outcome = mutants.run(tests, copy.root, None)
    assert outcome.status == mutants.PASSED, outcome.output
    passed = re.findall(r"^PASSED (\S+)", outcome.output, re.MULTILINE)
    for part in (part for part in EXAMPLES if part.tests):
        assert [test for test in passed if test.startswith(tuple(f"{part.test}::{name}" for name in part.tests))]
    assert "tests/model/test_recurrent.py::test_a_step_is_the_printed_equation[residual]" in passed
    for file in CONTRACTS:
        assert [test for test in passed if test.startswith(file)]


@pytest.mark.slow
def test_the_command_works(copy: Copy, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    run = toy.trained(tmp_path_factory.getbasetemp())
    (tmp_path / "text").write_text("one two\n\nthree\n", "utf-8")

    def dragoman(*words: str) -> str:
        command, own = [sys.executable, "-m", "dragoman", *words], {**os.environ, "PYTHONPATH": str(copy.root)}
        return subprocess.run(command, cwd=tmp_path, env=own, capture_output=True, text=True, check=True).stdout

    assert dragoman("count", str(run), "text") == "2\n0\n1\n"
    assert "Count the symbols that a run reads in each line." in dragoman("--help")


@pytest.mark.slow
def test_a_text_transform_takes_one_file_and_one_option(copy: Copy) -> None:
    folders = [Path(path).parent.as_posix() for path in copy.transform]
    assert folders == ["dragoman/translation/transforms", "dragoman/cli", "tests/translation"]


@pytest.mark.slow
def test_the_text_transform_works(copy: Copy) -> None:
    outcome = mutants.run([copy.transform[-1]], copy.root, None)
    assert outcome.status == mutants.PASSED, outcome.output


def test_the_mutant_of_the_page_is_one_of_the_list(repository: Path) -> None:
    block = re.search(r"```toml\n(.*?)```", (repository / CONTRIBUTING).read_text("utf-8"), re.DOTALL)
    assert block
    (mutant,) = tomllib.loads(block[1])["mutant"]
    assert mutant in tomllib.loads((repository / "tools" / "mutants.toml").read_text("utf-8"))["mutant"]
