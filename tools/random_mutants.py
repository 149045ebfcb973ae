"""`make random-mutants`: change random places of the package, one at a time, and run the tests that cover them.

cosmic-ray makes the mutants. They are drawn once with a seed, in each folder in proportion to the places that can be
changed, and kept with their results in `.mutation`, so that a stopped run continues there. Annotations, `@final` and
mutants that do not compile are left out: tests cannot notice the former and cannot miss the latter.
"""

import argparse
import ast
import json
import os
import random
import resource
import shutil
import signal
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from difflib import unified_diff
from importlib import import_module
from itertools import accumulate, islice
from pathlib import Path
from typing import Any

import pytest
from cosmic_ray.ast import ast_nodes, get_ast_from_path
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names
from cosmic_ray.work_db import use_db
from cosmic_ray.work_item import MutationSpec, TestOutcome, WorkerOutcome, WorkItem, WorkResult
from coverage import Coverage, CoverageData
from rich.console import Console

from tools.mutants import ROOT, copied

FOLDERS = [f"dragoman/{name}" for name in "cli documents files search translation serving deployment".split()]
TESTS = "cli corpus deployment documents evaluation run search serving system text training translation visualization"
TESTS += " test_cli.py test_files.py test_inspection.py test_interface.py test_reporting.py"
PYTEST = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--timeout=100", "-m", "not slow"]
PYTEST += ["--ignore=tests/serving/test_page.py"]  # starts a browser
LIBRARIES = "hypothesis jaxtyping lxml torch".split()  # that are imported once, and not for each mutant
AT_MOST = 20  # tests of the nearest file, and as many of others, that try a mutant first
SECONDS = 60  # of processor time for all other tests that run the line, if these pass


class Recorder:
    """A plugin of pytest that assigns covered lines to tests and measures the processor time of those that pass.

    Lines of fixtures belong to all tests of a file: a test may judge what was computed when another one was set up.
    """

    def __init__(self, coverage: Coverage, folders: Sequence[str]) -> None:
        self.coverage = coverage
        self.folders = folders
        self.seconds: dict[str, float] = {}
        self.unusable = set[str]()

    def pytest_collection_finish(self) -> None:
        """Import all modules, so that none of their statements belongs to the test that would import them first."""
        for path in (path for folder in self.folders for path in sorted(Path(folder).rglob("*.py"))):
            with suppress(ImportError):  # of a library that is not installed
                import_module(".".join(path.with_suffix("").parts).removesuffix(".__init__"))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        self.coverage.switch_context(item.nodeid.partition("::")[0])

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        self.coverage.switch_context(item.nodeid)
        start = time.process_time()
        try:
            return (yield)
        finally:
            self.seconds[item.nodeid] = time.process_time() - start
            self.coverage.switch_context("")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not report.passed:
            self.unusable.add(report.nodeid)


def run_tests(tests: Sequence[str], project: Path, limit: int, record: Sequence[str] = ()) -> tuple[int | None, str]:
    """Run tests in a fork, to save the import of libraries. Return pytest's exit status, None after `limit` seconds of
    processor time, and its output. With folders in `record`, their coverage is written beside the project.
    """
    output = project.parent / "output.txt"
    process = os.fork()
    if not process:
        os.setsid()
        os.chdir(project)
        for standard in (1, 2):
            os.dup2(os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND), standard)
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
        # Bytecode is valid for any source of the same size and second: that of a mutant must not be kept.
        os.environ |= {"PYTHONPATH": str(project)} | ({} if record else {"PYTHONDONTWRITEBYTECODE": "1"})
        sys.dont_write_bytecode = not record
        sys.path.insert(0, str(project))
        status: int = pytest.ExitCode.INTERNAL_ERROR
        try:
            status = _record(tests, project, record) if record else pytest.main(["-x", *PYTEST, *tests])
        finally:
            sys.stdout.flush()
            os._exit(status)
    status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    with suppress(ProcessLookupError):
        os.killpg(process, signal.SIGKILL)  # what tests have started
    return status if status >= 0 else None, output.read_text("utf-8", errors="replace")


def _record(tests: Sequence[str], project: Path, folders: Sequence[str]) -> int:
    """Write which lines of the folders each test covers, and the processor time of each test that passes."""
    sources = [str(project / folder) for folder in folders]
    coverage = Coverage(data_file=str(project.parent / "coverage.sqlite"), source=sources, config_file=False)
    recorder = Recorder(coverage, folders)
    with coverage.collect():
        status = pytest.main([*PYTEST, *tests], plugins=[recorder])
    coverage.save()
    usable = {test: seconds for test, seconds in recorder.seconds.items() if test not in recorder.unusable}
    (project.parent / "seconds.json").write_text(json.dumps(usable), encoding="utf-8")
    return status


def list_mutations(folder: str, project: Path) -> Iterator[MutationSpec]:
    """Yield all mutations of the modules in a folder but those of annotations and `@final`."""
    for path in sorted((project / folder).rglob("*.py")):
        nodes = list(ast_nodes(get_ast_from_path(path)))
        spans = list(_ineffective(ast.parse(path.read_text("utf-8"))))
        for name in operator_names():
            if (operator := get_operator(name)).arguments():
                continue
            positions = (position for node in nodes for position in operator().mutation_positions(node))
            for occurrence, (start, end) in enumerate(positions):
                if not any(first <= start < last for first, last in spans):
                    yield MutationSpec(str(path.relative_to(project)), name, occurrence, start, end)


def _ineffective(tree: ast.Module) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Yield where code stands that does nothing: annotations and `@final`."""
    for node in ast.walk(tree):
        annotations = [getattr(node, name, None) for name in ("annotation", "returns")]
        decorators = [part for part in getattr(node, "decorator_list", ()) if ast.unparse(part) == "final"]
        for part in filter(None, [*annotations, *decorators]):
            yield (part.lineno, part.col_offset - (part in decorators)), (part.end_lineno, part.end_col_offset)


def mutate(mutation: MutationSpec, project: Path) -> str:
    """Return the changed source."""
    source = (project / mutation.module_path).read_text("utf-8")
    return str(mutate_code(source, get_operator(mutation.operator_name)(), mutation.occurrence))


def draw(mutations: Sequence[Sequence[MutationSpec]], count: int, seed: int, project: Path) -> list[MutationSpec]:
    """Draw places of each folder, in proportion to all that it has, and a mutation of each that compiles."""
    generator = random.Random(seed)
    places = [defaultdict[Any, list[MutationSpec]](list) for _ in mutations]
    for by_place, mutations_of_folder in zip(places, mutations, strict=True):
        for mutation in mutations_of_folder:
            by_place[mutation.module_path, mutation.start_pos].append(mutation)
    share = count / sum(map(len, places))
    drawn, end = list[MutationSpec](), 0.0
    for by_place in places:
        start, end = end, end + share * len(by_place)
        choices = (generator.choice(by_place[place]) for place in generator.sample(sorted(by_place), len(by_place)))
        drawn += islice((choice for choice in choices if _compiles(mutate(choice, project))), round(end) - round(start))
    generator.shuffle(drawn)
    return drawn


def _compiles(source: str) -> bool:
    try:
        compile(source, "mutant", "exec")
    except SyntaxError:
        return False
    return True


def covering(path: Path, line: int, coverage: CoverageData) -> set[str]:
    """Return the tests and files that run a line; else those of the smallest statement around it, or of the module."""
    tests_by_line = coverage.contexts_by_lineno(str(path))
    statements = [node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.stmt)]
    spans = [range(node.lineno, (node.end_lineno or 0) + 1) for node in statements]
    around = sorted((span for span in spans if line in span), key=len)
    for span in [range(line, line + 1), *around, tests_by_line]:
        if tests := {test for number in span for test in tests_by_line.get(number, ()) if test}:
            return tests
    return set()


def select(contexts: Collection[str], module: str, seconds: Mapping[str, float]) -> list[list[str]]:
    """Choose fast tests: of the file whose name is nearest to the module's, then of as many other files as possible,
    then all that run the line. Tests that run the line come before those of files whose fixtures run it.
    """
    by_file = defaultdict[str, list[str]](list)
    for test in sorted(seconds, key=lambda test: (test not in contexts, seconds[test])):
        file = test.partition("::")[0]
        if test in contexts or file in contexts:
            by_file[file].append(test)
    if not by_file:
        return []
    words = set(Path(module).with_suffix("").parts)
    # tests/search/test_beam.py has two words of dragoman/search/beam.py
    common = {file: len(words & set(Path(file.replace("test_", "")).with_suffix("").parts)) for file in by_file}
    nearest, *other_files = sorted(by_file, key=lambda file: (-common[file], -len(by_file[file]), file))
    ranked = sorted((rank, seconds[test], test) for file in other_files for rank, test in enumerate(by_file[file]))
    groups = [by_file[nearest][:AT_MOST], [test for _, _, test in ranked[:AT_MOST]]]
    left = sorted({test for test in contexts if test in seconds}.difference(*groups), key=lambda test: seconds[test])
    totals = accumulate(seconds[test] for test in left)
    groups.append([test for test, total in zip(left, totals, strict=True) if total <= SECONDS])
    return [group for group in groups if group]


def try_mutant(mutation: MutationSpec, groups: Sequence[Sequence[str]], project: Path, limits: list[int]) -> WorkResult:
    """Run groups of tests with a mutation, until one notices it, in a project that is then as before."""
    path = project / mutation.module_path
    source = path.read_bytes()
    mutant = mutate(mutation, project)
    name = str(mutation.module_path)
    lines = unified_diff(source.decode().splitlines(), mutant.splitlines(), name, name, n=2, lineterm="")
    outcome, output = TestOutcome.SURVIVED, f"{sum(map(len, groups))} tests pass"
    path.write_text(mutant, encoding="utf-8")
    try:
        for group, limit in zip(groups, limits, strict=True):
            status, text = run_tests(group, project, limit)
            if status == pytest.ExitCode.USAGE_ERROR:  # the mutant has changed a parameter that names a case
                functions = list(dict.fromkeys(test.partition("[")[0] for test in group))
                status, text = run_tests(functions, project, 10 * limit)
            if status != pytest.ExitCode.OK:
                outcome, output = TestOutcome.KILLED, "timeout" if status is None else text[-3000:]
                break
    finally:
        path.write_bytes(source)
    return WorkResult(WorkerOutcome.NORMAL if groups else WorkerOutcome.NO_TEST, output, outcome, "\n".join(lines))


def prepare(folder: Path, options: argparse.Namespace, root: Path) -> None:
    """Copy the project, measure which lines its tests cover, and draw mutants."""
    copied(root, folder / "project")
    _, output = run_tests(options.tests, folder / "project", resource.RLIM_INFINITY, options.folders)
    sys.stderr.write(output[-3000:])
    mutations = [list(list_mutations(name, folder / "project")) for name in options.folders]
    drawn = draw(mutations, options.count, options.seed, folder / "project")
    with use_db(folder / "session.sqlite") as session:
        session.add_work_items(WorkItem.single(f"{number:04}", mutation) for number, mutation in enumerate(drawn))


def report(results: Sequence[tuple[WorkItem, WorkResult]], folders: Sequence[str], out: Console) -> None:
    """Print a table by folder and the mutants that survive."""
    counts = {folder: Counter[str]() for folder in folders}
    for item, result in results:
        (folder,) = (folder for folder in folders if str(item.mutations[0].module_path).startswith(f"{folder}/"))
        late = result.output == "timeout"
        counts[folder].update(["tried", "survived" if not result.is_killed else "late" if late else "failed"])
    out.print("| folder | mutants | tests fail | tests do not end | survive | noticed |\n|---|---|---|---|---|---|")
    for name, count in [*counts.items(), ("all", sum(counts.values(), Counter()))]:
        cells = [name, *(str(count[column]) for column in ("tried", "failed", "late", "survived"))]
        share = 1 - count["survived"] / max(1, count["tried"])
        out.print(f"| {' | '.join(cells)} | {share:.1%} |")
    for item, result in results:
        if not result.is_killed:
            out.print(f"\n{item.job_id}: {item.mutations[0].operator_name}, {result.output}\n{result.diff}")


def main(arguments: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Try the mutants that have no result yet, and report all that have one."""
    parser = argparse.ArgumentParser(prog="python -m tools.random_mutants", description=__doc__)
    parser.add_argument("--count", type=int, default=400, help="number of mutants (default 400)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--hours", type=float, default=3, help="start no mutant after so many hours (default 3)")
    parser.add_argument("--folders", nargs="+", default=FOLDERS, help="folders whose modules are changed")
    parser.add_argument(
        "--tests", nargs="+", default=[f"tests/{name}" for name in TESTS.split()], help="files and folders of tests"
    )
    options = parser.parse_args(arguments)
    out, progress = (Console(stderr=stderr, highlight=False, markup=False, soft_wrap=True) for stderr in (False, True))
    deadline = time.monotonic() + 3600 * options.hours
    folder = root / ".mutation"
    for library in LIBRARIES:
        import_module(library)
    if not (folder / "session.sqlite").exists():
        prepare(folder, options, root)
    seconds = json.loads((folder / "seconds.json").read_text("utf-8"))
    coverage = CoverageData(str(folder / "coverage.sqlite"))
    coverage.read()
    shutil.rmtree(folder / "run", ignore_errors=True)  # may hold a mutant of a run that was killed
    shutil.copytree(folder / "project", folder / "run" / "project", symlinks=True)
    with use_db(folder / "session.sqlite") as session:
        for item in sorted(session.pending_work_items, key=lambda item: str(item.job_id)):
            if time.monotonic() > deadline:
                break
            (mutation,) = item.mutations
            tests = covering(folder / "project" / mutation.module_path, mutation.start_pos[0], coverage)
            groups = select(tests, str(mutation.module_path), seconds)
            limits = [60 + round(10 * sum(seconds[test] for test in group)) for group in groups]
            result = try_mutant(mutation, groups, folder / "run" / "project", limits)
            session.set_result(item.job_id, result)
            progress.print(f"{item.job_id}: {result.test_outcome.value} {mutation.module_path}:{mutation.start_pos[0]}")
        report(sorted(session.completed_work_items, key=lambda pair: str(pair[0].job_id)), options.folders, out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
