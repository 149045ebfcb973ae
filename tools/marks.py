"""The tests marked as proof of a row: found in the source of the tests, without running them."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, TypeGuard


class Mark(NamedTuple):
    """One use of `pytest.mark.spec`: its place, and the ids given (None: not literals)."""

    test: str  # tests/folder/test_file.py::name
    rows: tuple[str | None, ...]
    collected: bool  # by pytest


def marks(tests: Path) -> Iterator[Mark]:
    """Yield all uses of the mark below the folder, in the order of files and lines.

    A mark at module level (`pytestmark`, or in a list of parameters) counts for the module.
    """
    for path in sorted(tests.rglob("*.py")):
        file = path.relative_to(tests.parent).as_posix()
        module = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
        for names, call in _calls(module.body, ()):
            collected = path.name.startswith("test_") and all(name.lower().startswith("test") for name in names)
            yield Mark("::".join((file, *names)), tuple(_text(argument) for argument in call.args), collected)


def _calls(body: list[ast.stmt], names: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], ast.Call]]:
    """Yield each call of the mark, with the names of the class and function that it belongs to."""
    for statement in body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            inner = (*names, statement.name)
            for decorator in statement.decorator_list:
                yield from ((inner, call) for call in ast.walk(decorator) if _is_mark(call))
            yield from _calls(statement.body, inner)
        else:
            yield from ((names, call) for call in ast.walk(statement) if _is_mark(call))


def _is_mark(node: ast.AST) -> TypeGuard[ast.Call]:
    return isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.spec"


def _text(node: ast.expr) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None
