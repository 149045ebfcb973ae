"""`make spec`: compare docs/literature.md with the code, the configuration and the tests marked for its rows.

What follows from these is written to the page: a row is built if a test is marked for it, or documented if it is at
home on a page of docs/ alone, and its homes include the parts that its configuration names.
"""

import argparse
import ast
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from rich import box
from rich.console import Console
from rich.table import Table

from tools.marks import Mark, marks
from tools.settings import parts_of_setting, problems_of_setting

ROOT = Path(__file__).resolve().parent.parent
COUNTS = {"A": 14, "B": 23, "C": 14, "D": 15, "E": 4, "F": 6, "G": 4, "H": 14, "I": 2, "J": 18}
IDS = [f"{letter}{number}" for letter, count in COUNTS.items() for number in range(1, count + 1)]
ROW = re.compile(r"\| ([A-Z]\d+) \|(.*)\|")
SPAN = re.compile(r"`([^`]+)`")
STATES = ("built", "documented", "planned")
PAGE = ROOT / "docs" / "literature.md"


class Home(NamedTuple):
    """A file below dragoman/ and the names in it that implement the row, or a page of docs/ that says why none does."""

    file: str
    names: tuple[str, ...]

    @property
    def is_page(self) -> bool:
        return self.file.endswith(".md")

    def __str__(self) -> str:
        named = ", ".join(f"`{name}`" for name in self.names)
        return f"`{self.file}`: {named}" if named else f"`{self.file}`"


class Row(NamedTuple):
    """One row of docs/literature.md."""

    id: str
    term: str
    homes: tuple[Home, ...]
    settings: tuple[str, ...]
    status: str


class Report(NamedTuple):
    """The rows, the tests that prove each, and the problems of each row ("" for problems of no particular row)."""

    rows: list[Row]
    tests: dict[str, list[str]]
    problems: dict[str, list[str]]

    @property
    def proved(self) -> int:
        """How many rows are built or documented, and have no problems."""
        return sum(row.status != "planned" and row.id not in self.problems for row in self.rows)

    def table(self) -> Table:
        table = Table("row", "term", "status", "home", "tests", box=box.SIMPLE_HEAD)
        for row in self.rows:
            files = [test.partition("::")[0] for test in self.tests.get(row.id, [])]
            tests = [f"{file} ({files.count(file)})" for file in dict.fromkeys(files)]
            homes = [home.file for home in row.homes]
            table.add_row(row.id, row.term, row.status, "\n".join(homes), "\n".join(tests))
        return table


def read_rows(page: str) -> Iterator[Row]:
    """Yield the rows of the page's tables. Raises ValueError for one that cannot be read."""
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


def derived(row: Row, tests: Collection[str]) -> Row:
    """Return a row with the homes of the parts that its configuration names, which replace planned ones, and with the
    status that follows from which rows have `tests`.
    """
    parts: dict[str, list[str]] = {}
    for setting in row.settings:
        for file, name in parts_of_setting(setting):
            parts.setdefault(file, []).append(name)
    homes = {home.file: home.names for home in row.homes if home.names or not parts}
    for file, names in parts.items():
        homes[file] = tuple(dict.fromkeys((*homes.get(file, ()), *names)))
    status = "planned"
    if row.id in tests:
        status = "documented" if homes and all(Home(*home).is_page for home in homes.items()) else "built"
    return row._replace(homes=tuple(Home(*home) for home in homes.items()), status=status)


def filled(page: str, rows: Iterable[Row]) -> str:
    """Return the page with the homes and the status of these rows."""
    rows_by_id = {row.id: row for row in rows}
    lines = page.split("\n")
    for number, line in enumerate(lines):
        match = ROW.fullmatch(line.strip())
        if match is not None:
            cells, row = match[2].split("|"), rows_by_id[match[1]]
            cells[2], cells[5] = f" {'; '.join(map(str, row.homes))} ", f" {row.status} "
            lines[number] = f"| {row.id} |{'|'.join(cells)}|"
    return "\n".join(lines)


def check(rows: list[Row], test_marks: Iterable[Mark], package: Path) -> Report:
    """Check every row against its homes below `package`, its configuration and its tests."""
    problems: dict[str, list[str]] = {}
    tests: dict[str, list[str]] = {}
    for mark in test_marks:
        for row_id in mark.rows:
            if row_id is None:
                _add(problems, "", f"{mark.test}: the id of a mark must be written out")
            elif row_id not in IDS:
                _add(problems, "", f"{mark.test}: marked for {row_id}, which is no row of the literature")
            elif not mark.collected:
                _add(problems, row_id, f"{mark.test} is marked, but pytest does not collect it")
            else:
                _add(tests, row_id, mark.test)
    ids = [row.id for row in rows]
    if ids != IDS:
        missing = " ".join(known_id for known_id in IDS if known_id not in ids) or "none"
        wrong = [known_id for known_id in ids if known_id not in IDS or ids.count(known_id) > 1]
        extra = " ".join(dict.fromkeys(wrong)) or "none"
        _add(problems, "", f"not the {len(IDS)} rows in order: missing {missing}, unknown or twice {extra}")
    for row in rows:
        for problem in () if row.status == "planned" else _row_problems(row, package):
            _add(problems, row.id, problem)
    return Report(rows, tests, problems)


def _add(lists: dict[str, list[str]], key: str, value: str) -> None:
    lists.setdefault(key, []).append(value)


def _row_problems(row: Row, package: Path) -> Iterator[str]:
    """The problems of a row that counts as built."""
    if not row.homes:
        yield "is built, but names no home"
    for home in row.homes:
        file = package.parent / "docs" / home.file if home.is_page else package / home.file
        if not file.is_file():
            yield f"its home {home.file} does not exist"
        elif home.names:
            there = defined(file)
            yield from (f"{home.file} has no {name}" for name in home.names if name not in there)
    for setting in row.settings:
        yield from problems_of_setting(setting)


def defined(file: Path) -> set[str]:
    """Return the functions, classes and variables that a module defines at top level."""
    names: set[str] = set()
    for statement in ast.parse(file.read_text(encoding="utf-8"), filename=str(file)).body:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            names.add(statement.name)
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        if isinstance(statement, ast.AnnAssign):
            targets = [statement.target]
        names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return names


def main(arguments: Sequence[str] | None = None, page: Path = PAGE) -> int:
    """Print the table and the problems. Return the exit status: 0 if the page is true and all built rows are proved."""
    parser = argparse.ArgumentParser(prog="python -m tools.spec", description=__doc__)
    parser.add_argument("--write", action="store_true", help="write homes and status of the rows into the page")
    write = parser.parse_args(arguments).write
    console = Console(highlight=False, markup=False)
    if not console.is_terminal:
        console.width = 160
    text, test_marks = page.read_text(encoding="utf-8"), list(marks(ROOT / "tests"))
    proved = {row for mark in test_marks if mark.collected for row in mark.rows if row}
    try:
        read = list(read_rows(text))
    except ValueError as error:
        console.print(f"{page.name}: {error}", soft_wrap=True)
        return 1
    rows = [derived(row, proved) for row in read]
    report = check(rows, test_marks, ROOT / "dragoman")
    if write:
        page.write_text(filled(text, rows), encoding="utf-8")
    else:
        for before, row in zip(read, rows, strict=True):
            if before != row:
                _add(
                    report.problems,
                    row.id,
                    "home and status follow from configuration and tests: `make spec` writes them",
                )
    console.print(report.table())
    for row_id, problems in report.problems.items():
        for problem in problems:
            console.print(f"{row_id}: {problem}" if row_id else problem, soft_wrap=True)
    documented = " ".join(row.id for row in report.rows if row.status == "documented")
    if documented:
        console.print(f"documented, not built: {documented}")
    console.print(f"rows: {report.proved} of {len(IDS)}")
    return 1 if report.problems else 0


if __name__ == "__main__":
    sys.exit(main())
