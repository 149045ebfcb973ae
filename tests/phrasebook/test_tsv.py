"""Tables of the lexicon: what is read, and every fault with its line."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from dragoman.errors import UserError
from phrasebook import tsv
from tests.golden import Golden


class Row(NamedTuple):
    """A verb and its forms."""

    verb: str
    gender: str
    present: tuple[str, ...]


def row(verb: str, gender: str, present: str) -> Row:
    return Row(verb, tsv.one_of(gender, "mf"), tsv.by_person(present))


HEADER = "verb\tgender\tpresent\n"
READ = "lire\tf\tlis lis lit lisons lisent\n"


def write(folder: Path, text: str) -> Path:
    path = folder / "x.tsv"
    path.write_bytes(text.encode())
    return path


def test_cells_are_the_arguments_and_a_dash_is_nothing(tmp_path: Path) -> None:
    path = write(tmp_path, HEADER + READ)
    assert tsv.read(path, row) == [Row("lire", "f", ("lis", "lis", "lit", "lisons", "lisent"))]
    assert tsv.read(write(tmp_path, HEADER + "lire\t-\tété\n"), Row) == [("lire", "", "été")]


def test_a_spreadsheet_may_have_written_it(tmp_path: Path) -> None:
    path = write(tmp_path, "\ufeff" + (HEADER + READ).replace("\n", "\r\n"))
    assert [entry.verb for entry in tsv.read(path, row)] == ["lire"]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        pytest.param("", 1, id="nothing"),
        pytest.param("verb\tpresent\n" + READ, 1, id="other columns"),
        pytest.param(HEADER + READ + "rire\tf\n", 3, id="fewer cells"),
        pytest.param(HEADER + READ + "\n", 3, id="empty line"),
        pytest.param(HEADER + "rire\t\tris ris rit rions rient\n", 2, id="empty cell"),
        pytest.param(HEADER + "rire \tf\tris ris rit rions rient\n", 2, id="space at the end"),
        pytest.param(HEADER + "rire\tn\tris ris rit rions rient\n", 2, id="no such gender"),
        pytest.param(HEADER + "rire\tf\tris ris rit rions riez rient\n", 2, id="six forms"),
        pytest.param(HEADER + READ + READ, 3, id="twice"),
    ],
)
def test_what_is_wrong_is_told_with_file_and_line(text: str, line: int, tmp_path: Path, golden: Golden) -> None:
    path = write(tmp_path, text)
    with pytest.raises(UserError) as raised:
        tsv.read(path, row)
    assert str(raised.value).startswith(f"{path}:{line}: ")
    golden(str(raised.value))


def test_another_encoding_is_told_with_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "x.tsv"
    path.write_bytes((HEADER + READ + "être\tf\t-\n").encode("latin-1"))
    with pytest.raises(UserError, match=r"x\.tsv:3: not UTF-8"):
        tsv.read(path, row)
