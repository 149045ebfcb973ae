"""The tests marked as proof of a row: found in the source of the tests, without running them."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, TypeGuard

DEFINITIONS = ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef


class Mark(NamedTuple):
    """One use of `pytest.mark.spec`: its place, and the ids given (None: not literals)."""

    test: str  # tests/folder/test_file.py::name
    rows: tuple[str | None, ...]
    collected: bool  # by pytest


def marks(tests: Path) -> Iterator[Mark]:
    """Yield all uses of the mark below the folder, in the order of files and lines.

    A mark at module level (`pytestmark`, or of a parameter) counts for the module.
    """
    for path in sorted(tests.rglob("*.py")):
        file = path.relative_to(tests.parent).as_posix()
        module = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
        for names, call, collected in _calls(module.body, (), path.name.startswith("test_")):
            yield Mark("::".join((file, *names)), tuple(_text(argument) for argument in call.args), collected)


def _calls(
    body: list[ast.stmt], names: tuple[str, ...], collected: bool
) -> Iterator[tuple[tuple[str, ...], ast.Call, bool]]:
    """Yield each call of the mark, with the names of the class and function that it belongs to, and whether pytest
    collects these. A definition counts if no later one has its name.
    """
    last = {statement.name: statement for statement in body if isinstance(statement, DEFINITIONS)}
    for statement in body:
        if isinstance(statement, DEFINITIONS):
            inner, within = (*names, statement.name), collected and last[statement.name] is statement
            within = within and _is_collected(statement)
            for decorator in statement.decorator_list:
                yield from ((inner, call, within) for call in ast.walk(decorator) if _is_mark(call))
            yield from _calls(statement.body, inner, within and isinstance(statement, ast.ClassDef))
        else:
            used = {call for part in ast.walk(statement) if _uses_marks(part) for call in ast.walk(part)}
            mark_calls = (call for call in ast.walk(statement) if _is_mark(call))
            yield from ((names, call, collected and call in used) for call in mark_calls)


def _is_collected(statement: ast.stmt) -> bool:
    """Whether pytest runs what a definition in a module, or in a class that it collects, defines."""
    if not isinstance(statement, DEFINITIONS):
        return False
    decorators = (ast.unparse(decorator).partition("(")[0] for decorator in statement.decorator_list)
    if {"pytest.fixture", "pytest.mark.skip"} & {*decorators}:
        return False
    if isinstance(statement, ast.ClassDef):
        own = {definition.name for definition in statement.body if isinstance(definition, DEFINITIONS)}
        tests = bool(statement.bases) or any(map(_is_collected, statement.body))  # which it may inherit
        return statement.name.startswith("Test") and "__init__" not in own and tests
    return statement.name.startswith("test")


def _uses_marks(node: ast.AST) -> bool:
    """Whether pytest reads the marks in a node: a parameter, or what is assigned to `pytestmark`."""
    if isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        skips = node.value is not None and "pytest.mark.skip(" in ast.unparse(node.value)
        return [ast.unparse(target) for target in targets] == ["pytestmark"] and not skips
    return isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.param"


def _is_mark(node: ast.AST) -> TypeGuard[ast.Call]:
    return isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.spec"


def _text(node: ast.expr) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None
