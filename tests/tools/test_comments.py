"""The count of comments leaves docstrings and blank lines out, and counts comments at the end of lines."""

from pathlib import Path

import pytest

from tools.comments import count, main

SOURCE = '''"""A module.

Its second paragraph.
"""

import os  # one


def load():
    """Load."""
    # two
    return "# none", os
'''


def test_comments_are_counted_in_lines_of_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert count(SOURCE) == (2, 4)
    (tmp_path / "a.py").write_text(SOURCE, encoding="utf-8")
    (tmp_path / "b.py").write_text("x = 1\n", encoding="utf-8")
    main([str(tmp_path)])
    assert capsys.readouterr().out.split()[:4] == ["40.0", "2", "in", "5"]
