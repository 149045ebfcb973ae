"""`make spec`: holds docs/literature.md against code, configuration and the tests marked for its rows."""

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from rich import box
from rich.console import Console
from rich.table import Table

from tools.marks import Mark, marks
from tools.settings import problems_of_setting

ROOT = Path(__file__).resolve().parent.parent
COUNTS = {"A": 14, "B": 23, "C": 14, "D": 15, "E": 4, "F": 6, "G": 4, "H": 14, "I": 2}
IDS = [f"{letter}{number}" for letter, count in COUNTS.items() for number in range(1, count + 1)]
ROW = re.compile(r"\| ([A-Z]\d+) \|(.*)\|")
SPAN = re.compile(r"`([^`]+)`")
STATES = ("built", "planned")


class Home(NamedTuple):
    """A file below dragoman/, and the names in it that do what the row says."""

    file: str
    names: tuple[str, ...]


class Row(NamedTuple):
    """One row of docs/literature.md."""

    id: str
    term: str
    homes: tuple[Home, ...]
    settings: tuple[str, ...]
    status: str


class Report(NamedTuple):
    """The rows, the tests that prove each, and what is wrong with a row ("" holds what concerns none)."""

    rows: list[Row]
    tests: dict[str, list[str]]
    problems: dict[str, list[str]]

    @property
    def proved(self) -> int:
        """How many rows are built, with nothing wrong."""
        return sum(row.status == "built" and row.id not in self.problems for row in self.rows)

    def table(self) -> Table:
        table = Table("row", "term", "status", "home", "tests", box=box.SIMPLE_HEAD)
        for row in self.rows:
            files = [test.partition("::")[0] for test in self.tests.get(row.id, [])]
            tests = [f"{file} ({files.count(file)})" for file in dict.fromkeys(files)]
            homes = [home.file for home in row.homes]
            table.add_row(row.id, row.term, row.status, "\n".join(homes), "\n".join(tests))
        return table


def read_rows(page: str) -> Iterator[Row]:
    """The rows of the page's tables; ValueError for one that cannot be read."""
    for line in page.splitlines():
        match = ROW.fullmatch(line.strip())
        if match is None:
            continue
        row, cells = match[1], [cell.strip() for cell in match[2].split("|")]
        if len(cells) != 6:
            raise ValueError(f"{row}: {len(cells) + 1} cells, expected 7")
        term, _, home, configuration, _, status = cells
        if status not in STATES:
            raise ValueError(f"{row}: status '{status}', expected {' or '.join(STATES)}")
        homes = [Home(file, tuple(names)) for file, *names in map(SPAN.findall, home.split(";")) if file]
        yield Row(row, term, tuple(homes), tuple(SPAN.findall(configuration)), status)


def check(rows: list[Row], found: Iterable[Mark], package: Path) -> Report:
    """Every row against its home below `package`, its configuration and its tests."""
    problems: dict[str, list[str]] = {}
    tests: dict[str, list[str]] = {}
    for mark in found:
        for row_id in mark.rows:
            if row_id is None:
                _add(problems, "", f"{mark.test}: the id of a mark must be written out")
            elif row_id not in IDS:
                _add(problems, "", f"{mark.test}: marked for {row_id}, which is no row of the literature")
            elif not mark.collected:
                _add(problems, row_id, f"{mark.test} is marked, but pytest does not collect it")
            else:
                _add(tests, row_id, mark.test)
    given = [row.id for row in rows]
    if given != IDS:
        missing = " ".join(each for each in IDS if each not in given) or "none"
        wrong = [each for each in given if each not in IDS or given.count(each) > 1]
        extra = " ".join(dict.fromkeys(wrong)) or "none"
        _add(problems, "", f"not the {len(IDS)} rows in order: missing {missing}, unknown or twice {extra}")
    for row in rows:
        for problem in _built(row, tests, package) if row.status == "built" else _planned(row, tests):
            _add(problems, row.id, problem)
    return Report(rows, tests, problems)


def _add(lists: dict[str, list[str]], key: str, value: str) -> None:
    lists.setdefault(key, []).append(value)


def _planned(row: Row, tests: dict[str, list[str]]) -> Iterator[str]:
    if row.id in tests:
        yield f"is planned, yet {tests[row.id][0]} is marked to prove it"


def _built(row: Row, tests: dict[str, list[str]], package: Path) -> Iterator[str]:
    if not row.homes:
        yield "is built, but names no home"
    for home in row.homes:
        file = package / home.file
        if not file.is_file():
            yield f"its home {home.file} does not exist"
        else:
            there = defined(file)
            yield from (f"{home.file} has no {name}" for name in home.names if name not in there)
    for setting in row.settings:
        yield from problems_of_setting(setting)
    if row.id not in tests:
        yield f'no test is marked @pytest.mark.spec("{row.id}")'


def defined(file: Path) -> set[str]:
    """The functions, classes and variables that a module defines at its top."""
    names: set[str] = set()
    for statement in ast.parse(file.read_text(encoding="utf-8"), filename=str(file)).body:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            names.add(statement.name)
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        if isinstance(statement, ast.AnnAssign):
            targets = [statement.target]
        names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return names


def main() -> int:
    """Prints the table and what is wrong; exit status 0 when every row marked built is proved."""
    console = Console(highlight=False, markup=False)
    if not console.is_terminal:
        console.width = 160
    page = ROOT / "docs" / "literature.md"
    try:
        rows = list(read_rows(page.read_text(encoding="utf-8")))
    except ValueError as error:
        console.print(f"docs/literature.md: {error}", soft_wrap=True)
        return 1
    report = check(rows, marks(ROOT / "tests"), ROOT / "dragoman")
    console.print(report.table())
    for row_id, problems in report.problems.items():
        for problem in problems:
            console.print(f"{row_id}: {problem}" if row_id else problem, soft_wrap=True)
    console.print(f"rows: {report.proved} of {len(IDS)}")
    return 1 if report.problems else 0


if __name__ == "__main__":
    sys.exit(main())
