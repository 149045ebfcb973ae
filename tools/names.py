"""Check names in the Python code: words that do not say what a variable holds, repeated modules and classes, phrases.

`python -m tools.names` prints a line for each fault and exits with 1 if there is one; `--count` prints only numbers.
"""

import argparse
import ast
import io
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from rich.console import Console

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("dragoman", "phrasebook", "benchmarks", "tools", "tests", "docs")
# A variable, parameter, attribute or function is named for what it holds or does.
EMPTY = frozenset("asked each every found given known made others said some those told".split())
EMPTY_FUNCTIONS = EMPTY | {"always", "kept"}
REPEATED = frozenset(("__init__", "__main__", "table"))  # names that several modules of the package may have
PHRASES = re.compile(
    r"\bwhat (?:is|was) done with\b"
    r"|\b(?:it|that|which|one|file|folder|this|what) is none\b(?! of)"
    r"|\b(?:has|have|had|gets?) (?:a|its|their|the) say\b"
    r"|\b(?:is|are|was|were) (?:told|said)\b(?! apart)"
    r"|\b(?:that|those) of (?:which|those)\b"
    r"|\bwhat else\b"
    r"|\bone behind the other\b"
    r"|\bas it is given\b"
)


class Fault(NamedTuple):
    """A fault in a file, from the first line 1."""

    path: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.text}"


def bound_names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the line and name of every variable, parameter and attribute that is bound, except imports."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()) | ast.arg(arg=name):
                yield node.lineno, name
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield node.lineno, name
            case ast.MatchMapping(rest=str(name)):
                yield node.lineno, name


def prose(tree: ast.AST, source: str) -> Iterator[tuple[int, str]]:
    """Yield docstrings, comments, help of options and descriptions of keys, with their first line."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    for node in ast.walk(tree):
        match node:
            case ast.Module() | ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                if docstring := ast.get_docstring(node, clean=False):
                    yield node.body[0].lineno, docstring
            case ast.keyword(arg="help" | "description" | "epilog", value=ast.Constant(value=str(text))):
                yield node.value.lineno, text


def faults(path: str, source: str) -> Iterator[Fault]:
    """Yield the faults of a file."""
    tree = ast.parse(source)
    for line, name in sorted(set(bound_names(tree))):
        if name.strip("_") in EMPTY:
            yield Fault(path, line, f"'{name}' does not say what it holds")
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.strip("_") in EMPTY_FUNCTIONS:
            yield Fault(path, node.lineno, f"'{node.name}' does not say what the function does")
    for line, text in prose(tree, source):
        for phrase in PHRASES.finditer(text):
            yield Fault(path, line + text.count("\n", 0, phrase.start()), f"'{phrase[0]}': say it in plain words")


def repeated_modules(paths: Sequence[str]) -> Iterator[Fault]:
    """Yield the modules of the package that have the name of an earlier one. Files of `cli/` may, since each is named
    after its command.
    """
    first: dict[str, str] = {}
    for path in paths:
        name = Path(path).stem
        if path.startswith("dragoman/") and not path.startswith("dragoman/cli/") and name not in REPEATED:
            if name in first:
                yield Fault(path, 1, f"{first[name]} has the same name")
            first.setdefault(name, path)


def repeated_classes(files: Mapping[str, str]) -> Iterator[Fault]:
    """Yield the public classes of the package that have the name of one in an earlier file, by path and source. Each
    command may have a class `Options`.
    """
    first: dict[str, str] = {}
    for path, source in files.items():
        names = [node for node in ast.parse(source).body if isinstance(node, ast.ClassDef)]
        for node in names if path.startswith("dragoman/") else ():
            if not node.name.startswith("_") and node.name != "Options":
                if node.name in first:
                    yield Fault(path, node.lineno, f"{first[node.name]} has a class {node.name} too")
                first.setdefault(node.name, path)


def tree_faults(root: Path) -> list[Fault]:
    """Return the faults of a project."""
    paths = [path for folder in FOLDERS for path in sorted((root / folder).rglob("*.py"))]
    names = [path.relative_to(root).as_posix() for path in paths]
    files = {name: path.read_text(encoding="utf-8") for name, path in zip(names, paths, strict=True)}
    in_files = [fault for name, source in files.items() for fault in faults(name, source)]
    return [*in_files, *repeated_modules(names), *repeated_classes(files)]


def main(arguments: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Return the exit status: 1 if there are faults."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", action="store_true", help="print the number of faults in each package")
    options = parser.parse_args(arguments)
    all_faults = tree_faults(root)
    console = Console(highlight=False, markup=False, soft_wrap=True)
    if options.count:
        packages = Counter("/".join(fault.path.split("/")[:-1][:2]) for fault in all_faults)
        for package, count in sorted(packages.items()):
            console.print(f"{count:6} {package}")
        console.print(f"{len(all_faults):6} in all")
    else:
        for fault in all_faults:
            console.print(str(fault))
    return 1 if all_faults else 0


if __name__ == "__main__":
    sys.exit(main())
