"""Files that are read and written by one command."""

import sys
from pathlib import Path

import pytest

from dragoman.cli import outputs
from dragoman.errors import UserError


@pytest.mark.parametrize("name", ["text", "+text"])
def test_a_file_that_receives_standard_output_is_not_read(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in `dragoman translate RUN text >> text`, which would never end."""
    monkeypatch.chdir(tmp_path)
    with Path(name).open("a", encoding="utf-8") as file:
        monkeypatch.setattr(sys, "stdout", file)
        with pytest.raises(UserError, match=r"text: is an input file and receives standard output"):
            outputs.check([("--output", None)], [Path(name)])
        outputs.check([("--output", None)], [Path("-")])
