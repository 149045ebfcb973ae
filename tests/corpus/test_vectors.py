"""Reading files of word vectors."""

import gzip
from pathlib import Path

import pytest

from dragoman.errors import UserError
from dragoman.training.pretrained import read_vectors
from tests.golden import Golden

LINES = "one 1 2.5 -3\ntwo 0 1e-2 0 \nat home 4 5 6\n"
FOUND = [("one", [1, 2.5, -3]), ("two", [0, 0.01, 0]), ("at home", [4, 5, 6])]


@pytest.mark.parametrize("header", ["", "3 3\n"])
@pytest.mark.parametrize("packed", [False, True])
def test_words_have_their_vectors_with_and_without_a_header(tmp_path: Path, header: str, packed: bool) -> None:
    """A word may have spaces in it, and a line may end with one, as some that are published do."""
    path = tmp_path / ("words.vec.gz" if packed else "words.vec")
    text = (header + LINES).encode()
    path.write_bytes(gzip.compress(text) if packed else text)
    for count in (1, 2, 3, 9):
        assert [(word, vector.tolist()) for word, vector in read_vectors(path, 3, count)] == FOUND[:count]


def test_a_number_may_be_a_word(tmp_path: Path) -> None:
    """A header is a line of two whole numbers, and no line of a file of longer vectors is."""
    (tmp_path / "words.vec").write_text("7 1 2 3\n", "utf-8")
    assert [word for word, _ in read_vectors(tmp_path / "words.vec", 3, 9)] == ["7"]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", 1),
        ("3 4\none 1 2 3 4\n", 1),
        ("one 1 2\n", 1),
        ("3 3\none 1 2 3\ntwo 1 2\n", 3),
        ("one 1 2 3\ntwo 1 2 x\n", 2),
        ("one 1 2 3\n\n", 2),
        ("one 1 2 nan\n", 1),
        ("one 1 2 3\n 1 2 3\n", 2),
    ],
)
def test_a_bad_line_is_told_with_its_number(tmp_path: Path, text: str, line: int, golden: Golden) -> None:
    path = tmp_path / "words.vec"
    path.write_text(text, "utf-8")
    with pytest.raises(UserError) as raised:
        list(read_vectors(path, 3, 9))
    message = str(raised.value)
    assert message.startswith(f"{path}:{line}: ")
    golden(message.removeprefix(f"{path}:"), repr(text))


@pytest.mark.slow
def test_lines_behind_those_that_are_wanted_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "words.vec"
    path.write_text("one 1 2 3\ntwo 1\n", "utf-8")
    assert [word for word, _ in read_vectors(path, 3, 1)] == ["one"]
