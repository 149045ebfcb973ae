"""`make mutants`: apply each wrong change of mutants.toml, one at a time, and run the tests that must fail."""

import argparse
import ast
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

from rich.console import Console

ROOT = Path(__file__).resolve().parent.parent
DATA = "tools/mutants.toml"
PYTEST = ("-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist")
PASSED, FAILED = 0, 1  # exit statuses of pytest; any other means that no tests were judged


class Mutant(NamedTuple):
    """A wrong change: in a file, a text that occurs once is replaced by another; and the tests that must then fail."""

    name: str
    file: str
    text: str
    replacement: str
    tests: tuple[str, ...]  # files, or file::function
    endless: bool = False  # the tests may hang, which counts as noticed


class Outcome(NamedTuple):
    """The result of a test run. `status` is pytest's exit status, or None if it took too long."""

    status: int | None
    output: str


def read(root: Path) -> list[Mutant]:
    """Read the mutants of a project."""
    tables = tomllib.loads((root / DATA).read_text(encoding="utf-8"))["mutant"]
    return [Mutant(**{**table, "tests": tuple(table["tests"])}) for table in tables]


def problems(mutants: Sequence[Mutant], root: Path) -> Iterator[str]:
    """Yield why mutants cannot be tried, starting with the name."""
    names = [mutant.name for mutant in mutants]
    for mutant in mutants:
        if names.count(mutant.name) > 1:
            yield f"'{mutant.name}': another has the same name"
        path = root / mutant.file
        times = path.read_text(encoding="utf-8").count(mutant.text) if path.is_file() else 0
        if times != 1:
            yield f"'{mutant.name}': its text occurs {times} times in {mutant.file}, and must occur once"
        if mutant.text == mutant.replacement:
            yield f"'{mutant.name}': changes nothing"
        if not mutant.tests:
            yield f"'{mutant.name}': names no tests"
        yield from (f"'{mutant.name}': there is no test {test}" for test in mutant.tests if not _exists(root, test))


def _exists(root: Path, test: str) -> bool:
    file, _, function = test.partition("::")
    return (root / file).is_file() and (not function or function in _functions(root / file))


@cache
def _functions(path: Path) -> frozenset[str]:
    """Return the names of the functions of a module."""
    statements = ast.parse(path.read_text(encoding="utf-8")).body
    return frozenset(statement.name for statement in statements if isinstance(statement, ast.FunctionDef))


def copied(root: Path, folder: Path) -> None:
    """Copy the files of a project that git tracks or would track, as they are now."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=root, check=True, capture_output=True, text=True).stdout.split("\0")
    for name in filter(None, names):
        if (root / name).is_file():  # that were not deleted
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(root / name, folder / name)


def run(tests: Sequence[str], folder: Path, limit: float | None) -> Outcome:
    """Run tests in a copy. After `limit` seconds they are ended, with all processes that they have started."""
    # Bytecode is valid for any source of the same size and second; what killed tests leave is deleted with the copies.
    own = {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1", "TMPDIR": str(folder.parent)}
    command = [sys.executable, *PYTEST, *tests]
    process = subprocess.Popen(
        command,
        cwd=folder,
        env={**os.environ, **own},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return Outcome(None, "")
    return Outcome(process.returncode, output)


def tried(mutant: Mutant, folder: Path, limit: float) -> Outcome:
    """Run the mutant's tests in a copy with the change, which is then undone."""
    path = folder / mutant.file
    source = path.read_text(encoding="utf-8")
    path.write_text(source.replace(mutant.text, mutant.replacement), encoding="utf-8")
    try:
        return run(mutant.tests, folder, limit)
    finally:
        path.write_text(source, encoding="utf-8")


def survivors(mutants: Sequence[Mutant], root: Path, workers: int, limit: float, progress: Console) -> list[str]:
    """Return a line for each mutant not noticed or not judged. Raises RuntimeError if the tests fail without any
    change.
    """
    with tempfile.TemporaryDirectory() as temporary:
        copies = SimpleQueue[Path]()
        for number in range(workers):
            copied(root, Path(temporary, str(number)))
            copies.put(Path(temporary, str(number)))

        def judged(mutant: Mutant) -> Outcome:
            folder = copies.get()
            try:
                return tried(mutant, folder, limit)
            finally:
                copies.put(folder)

        tests = sorted({test for mutant in mutants for test in mutant.tests})
        progress.print("the tests without a change ...")
        unchanged = run(tests, Path(temporary, "0"), None)
        if unchanged.status != PASSED:
            raise RuntimeError(f"the tests fail without any change\n{unchanged.output}")
        pool = ThreadPoolExecutor(workers)
        surviving = []
        try:
            for number, (mutant, outcome) in enumerate(zip(mutants, pool.map(judged, mutants), strict=True), start=1):
                line = verdict(mutant, outcome)
                progress.print(f"{number} of {len(mutants)}: {line}")
                if not noticed(mutant, outcome):
                    surviving.append(line)
        finally:
            pool.shutdown(cancel_futures=True)
    return surviving


def noticed(mutant: Mutant, outcome: Outcome) -> bool:
    """Whether the tests failed, or did not end if the mutant may make them hang."""
    return outcome.status == FAILED or (mutant.endless and outcome.status is None)


def verdict(mutant: Mutant, outcome: Outcome) -> str:
    """Return the result of a mutant, in a line."""
    if outcome.status == PASSED:
        return f"'{mutant.name}' survives: {', '.join(mutant.tests)} pass with it ({mutant.file})"
    if outcome.status == FAILED:
        return f"'{mutant.name}' is noticed"
    if outcome.status is None:
        judged = "is noticed" if mutant.endless else "was not judged"
        return f"'{mutant.name}' {judged}: the tests did not end in time"
    return f"'{mutant.name}' was not judged: pytest ended with {outcome.status}\n{outcome.output}"


def main(arguments: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Return the exit status: 0 if every mutant is noticed."""
    parser = argparse.ArgumentParser(prog="python -m tools.mutants", description=__doc__)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="only these")
    parser.add_argument("--workers", type=int, default=2, help="number of mutants tried in parallel (default 2)")
    parser.add_argument("--limit", type=float, default=300, help="seconds after which tests are ended (default 300)")
    options = parser.parse_args(arguments)
    out = Console(highlight=False, markup=False, soft_wrap=True)
    progress = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)
    mutants = read(root)
    wrong = list(problems(mutants, root))
    unknown = set(options.only or ()) - {mutant.name for mutant in mutants}
    wrong += [f"'{name}': there is no such mutant" for name in sorted(unknown)]
    if wrong:
        for line in wrong:
            progress.print(line)
        return 1
    chosen = [mutant for mutant in mutants if not options.only or mutant.name in options.only]
    try:
        surviving_mutants = survivors(chosen, root, options.workers, options.limit, progress)
    except RuntimeError as error:
        progress.print(str(error))
        return 1
    for line in surviving_mutants:
        out.print(line)
    out.print(f"{len(chosen)} mutants, {len(surviving_mutants)} survive")
    return 1 if surviving_mutants else 0


if __name__ == "__main__":
    sys.exit(main())
