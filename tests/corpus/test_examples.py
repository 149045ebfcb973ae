"""Pairs come as a stream from files of equal length, and every fault names its place."""

import gzip
from itertools import islice
from pathlib import Path

import pytest

from dragoman.corpus.examples import Pair, alignment_files, corpus_files, read_aligned, read_pairs, sides
from dragoman.corpus.formats import corpora
from dragoman.corpus.pharaoh import read_pharaoh
from dragoman.errors import UserError
from tests.golden import Golden


def write(folder: Path, **files: str) -> str:
    for suffix, text in files.items():
        (folder / f"corpus.{suffix}").write_text(text, newline="")
    return str(folder / "corpus")


def test_a_prefix_means_two_files(tmp_path: Path) -> None:
    prefix = write(tmp_path, en="a\n\nc\r\n", de="A\nB\nC")
    assert list(read_pairs(prefix, "en", "de")) == [Pair("a", "A"), Pair("", "B"), Pair("c", "C")]
    assert corpus_files(prefix, "en", "de") == [tmp_path / "corpus.en", tmp_path / "corpus.de"]


def test_a_line_separator_is_text(tmp_path: Path) -> None:
    prefix = write(tmp_path, en="a\u2028b\n", de="A\u0085B\n")
    assert list(read_pairs(prefix, "en", "de")) == [Pair("a\u2028b", "A\u0085B")]


def test_files_may_be_packed(tmp_path: Path) -> None:
    prefix = write(tmp_path, en="a\n")
    (tmp_path / "corpus.de.gz").write_bytes(gzip.compress(b"A\n"))
    (tmp_path / "more.tsv.gz").write_bytes(gzip.compress(b"b\tB\n"))
    places = [prefix, str(tmp_path / "more.tsv.gz")]
    assert list(read_pairs(places, "en", "de")) == [Pair("a", "A"), Pair("b", "B")]
    assert [path.name for path in corpus_files(places, "en", "de")] == ["corpus.en", "corpus.de.gz", "more.tsv.gz"]


@pytest.mark.parametrize(("en", "de"), [(12, 11), (11, 12), (1, 0)])
def test_unequal_numbers_of_lines_are_told(tmp_path: Path, en: int, de: int) -> None:
    prefix = write(tmp_path, en="a\n" * en, de="A\n" * de)
    with pytest.raises(UserError, match=rf"corpus\.en has {en} lines, .*corpus\.de has {de};"):
        list(read_pairs(prefix, "en", "de"))


def test_columns_are_separated_by_a_tab(tmp_path: Path) -> None:
    path = Path(write(tmp_path, tsv='a "b"\tA\n\t\n') + ".tsv")
    assert list(read_pairs(path, "en", "de")) == [Pair('a "b"', "A"), Pair("", "")]


@pytest.mark.parametrize(("line", "count"), [("b", 1), ("", 1), ("b\tB\tx", 3)])
def test_a_wrong_number_of_columns_is_told(tmp_path: Path, line: str, count: int) -> None:
    path = write(tmp_path, tsv=f"a\tA\n{line}\n") + ".tsv"
    with pytest.raises(UserError) as caught:
        list(read_pairs(path, "en", "de"))
    assert str(caught.value) == f"{path}:2: expected 2 columns separated by one tab, found {count}"


def test_missing_files_are_told(tmp_path: Path, golden: Golden) -> None:
    prefix = write(tmp_path, en="a\n")
    for call in (read_pairs, corpus_files):
        with pytest.raises(UserError, match=r"corpus\.de:") as raised:
            list(call(prefix, "en", "de"))
        golden(str(raised.value))
    with pytest.raises(UserError, match=r"none\.tsv:") as raised:
        list(read_pairs(str(tmp_path / "none.tsv"), "en", "de"))
    golden(str(raised.value))


def test_another_encoding_is_told(tmp_path: Path, golden: Golden) -> None:
    prefix = write(tmp_path, en="a\nb\n", de="A\n")
    (tmp_path / "corpus.de").write_bytes(b"A\nB\xfc\n")
    with pytest.raises(UserError, match=r"corpus\.de:2:") as raised:
        list(read_pairs(prefix, "en", "de"))
    golden(str(raised.value))


def test_pairs_are_a_stream(tmp_path: Path) -> None:
    prefix = write(tmp_path, en="a\nb\n" + "c\n" * 10, de="A\nB\n")
    assert list(islice(read_pairs(prefix, "en", "de"), 2)) == [Pair("a", "A"), Pair("b", "B")]


def test_sides_come_some_pairs_at_a_time() -> None:
    pairs = [Pair(f"a{number}", f"A{number}") for number in range(5)]
    blocks = list(sides(iter(pairs), 2))
    assert [len(sources) for sources, _ in blocks] == [2, 2, 1]
    assert [Pair(*pair) for block in blocks for pair in zip(*block, strict=True)] == pairs
    assert list(sides([], 2)) == []


def test_links_stand_beside_their_pairs(tmp_path: Path) -> None:
    prefix = write(tmp_path, en="a b\nc\n", de="A\nC D\n")
    (tmp_path / "corpus.en-de.align").write_text("0-0 1?0\n\n")
    (tmp_path / "more.tsv").write_text("e\tE\n")
    with gzip.open(tmp_path / "more.en-de.align.gz", "wt") as file:
        file.write("0-0\n")
    where = [prefix, str(tmp_path / "more.tsv")]
    paths = [tmp_path / "corpus.en-de.align", tmp_path / "more.en-de.align.gz"]
    assert alignment_files(where, "en", "de") == paths
    assert list(read_aligned(where, "en", "de")) == [
        (Pair("a b", "A"), read_pharaoh("0-0 1?0", f"{paths[0]}:1")),
        (Pair("c", "C D"), read_pharaoh("", f"{paths[0]}:2")),
        (Pair("e", "E"), read_pharaoh("0-0", f"{paths[1]}:1")),
    ]


@pytest.mark.parametrize("lines", [0, 1, 4])
def test_unequal_numbers_of_links_are_told(tmp_path: Path, lines: int) -> None:
    prefix = write(tmp_path, en="a\nb\n", de="A\nB\n")
    (tmp_path / "corpus.en-de.align").write_text("0-0\n" * lines)
    with pytest.raises(UserError) as error:
        list(read_aligned(prefix, "en", "de"))
    message = f"{prefix}.en-de.align has {lines} lines, {prefix} has 2 pairs; every pair requires alignments"
    assert str(error.value) == message


def test_missing_links_are_told(tmp_path: Path, golden: Golden) -> None:
    prefix = write(tmp_path, en="a\n", de="A\n")
    with pytest.raises(UserError, match=r"corpus\.en-de\.align:") as raised:
        list(read_aligned(prefix, "en", "de"))
    golden(str(raised.value))


@pytest.mark.parametrize("name", ["half.yaml", "mine.pot"])
def test_a_file_that_is_no_prefix_is_told(name: str, tmp_path: Path, golden: Golden) -> None:
    (tmp_path / name).write_text("run: x\n", "utf-8")
    for read in (lambda place: corpus_files(place, "en", "de"), lambda place: corpora([place])):
        with pytest.raises(UserError, match=name) as raised:
            read(str(tmp_path / name))
        golden(str(raised.value))
    for language in ("en", "de"):
        (tmp_path / f"{name}.{language}").touch()
    assert len(corpus_files(str(tmp_path / name), "en", "de")) == 2
