"""Count the comments for each 100 lines of code in folders and files of the package.

A line of code is neither blank nor part of a docstring; a comment is a line of its own or the end of one.

`python -m tools.comments dragoman/search dragoman/training/step.py`
"""

import ast
import io
import sys
import tokenize
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich import print as rich_print


def docstring_lines(tree: ast.AST) -> Iterator[int]:
    """Yield the lines of texts that stand by themselves."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield from range(node.lineno, (node.end_lineno or node.lineno) + 1)


def count(source: str) -> tuple[int, int]:
    """Return the numbers of comments and of lines of code."""
    docstrings = set(docstring_lines(ast.parse(source)))
    lines = [line for number, line in enumerate(source.splitlines(), 1) if line.strip() and number not in docstrings]
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return sum(token.type == tokenize.COMMENT for token in tokens), len(lines)


def main(arguments: Sequence[str]) -> None:
    """Print a line for each folder or file."""
    for argument in arguments:
        paths = sorted(Path(argument).rglob("*.py")) or [Path(argument)]
        comments, lines = (
            sum(numbers) for numbers in zip(*(count(path.read_text("utf-8")) for path in paths), strict=True)
        )
        rich_print(f"{100 * comments / max(1, lines):5.1f}  {comments:4} in {lines:5}  {argument}")


if __name__ == "__main__":
    main(sys.argv[1:])
