"""Shortlists of Firefox's models: the candidates of a text are those of its engine, and damaged files are refused."""

import struct
from pathlib import Path

import pytest
import torch

from dragoman.data.vocabulary import EOS, SPECIALS, UNK
from dragoman.errors import UserError
from dragoman.interop import imported_run, marian_shortlist, table
from dragoman.search.shortlist import Shortlist
from dragoman.translation.loading import load
from tests.builders import pairs
from tests.interop.test_marian import PLAIN, SYMBOLS, VOCABULARY, folder_of

pytestmark = pytest.mark.spec("J5")
LISTS = [[0], [1, 5], [], [9, 2, 3], [4], [5, 8], [], [7], [], [6]]  # of each source symbol
FREQUENT = 3


def file_of(lists: list[list[int]], frequent: int = FREQUENT, checksum: int | None = None) -> bytes:
    """A shortlist as `marian-conv` writes it."""
    offsets = [sum(map(len, lists[:number])) for number in range(len(lists) + 1)]
    ids = [number for numbers in lists for number in sorted(numbers)]
    data = struct.pack(f"<4Q{len(offsets)}Q{len(ids)}I", frequent, 3, len(offsets), len(ids), *offsets, *ids)
    total = marian_shortlist._checksum(data) if checksum is None else checksum
    return struct.pack("<2Q", marian_shortlist.MAGIC, total) + data


def pack(path: Path, data: bytes, *, shared: bool = True) -> Path:
    folder = folder_of(path, PLAIN)
    (folder / "lex.50.50.enfr.s2t.bin").write_bytes(data)
    if not shared:
        (folder / "vocab.yml").unlink()
        for name in ("vocab.src.yml", "vocab.trg.yml"):
            (folder / name).write_text(VOCABULARY, "utf-8")
    return folder


def own_id(number: int) -> int:
    """Our id for one of Marian's."""
    return {0: EOS, 1: UNK}.get(number, number - 2 + len(SPECIALS))


@pytest.mark.parametrize("shared", [True, False])
def test_the_candidates_are_those_of_the_engine(shared: bool, tmp_path: Path) -> None:
    """The symbols of the lowest ids, those listed for the source's symbols, and these themselves if shared."""
    foreign = table.read(pack(tmp_path / "marian", file_of(LISTS), shared=shared))
    assert foreign.files[-1].name == "lex.50.50.enfr.s2t.bin"
    assert foreign.shortlist is not None
    lexicon, frequent, translations = foreign.shortlist
    shortlist = Shortlist([lexicon], frequent, translations, torch.device("cpu"))
    texts = [[3, 4], [9], [2, 5, 5, 1]]
    sources = pairs([[own_id(n) for n in text] for text in texts], [[4]] * 3).sources
    for text, allowed in zip(texts, shortlist.allowed(sources), strict=True):
        wanted = {*range(FREQUENT), *(text if shared else [])}
        for number in [*text, 0]:
            wanted |= {*LISTS[number]}
        assert {*allowed.nonzero().flatten().tolist()} == {*range(len(SPECIALS)), *map(own_id, wanted)}


def test_an_imported_run_translates_with_its_shortlist(tmp_path: Path) -> None:
    foreign = table.read(pack(tmp_path / "marian", file_of(LISTS)))
    imported_run.write(foreign, tmp_path / "run", ("en", "de"), "")
    assert foreign.shortlist_option == "--shortlist 1,3"  # two of the three are special symbols
    assert "| shortlist | `--shortlist 1,3` |" in (tmp_path / "run" / "README.md").read_text("utf-8")
    (translation,) = load(tmp_path / "run", shortlist=(1, 3)).translate(["cat no"])
    allowed = {SYMBOLS[number] for number in (2, 3, 4, 9)}
    assert str(translation)
    assert {*str(translation).split()} <= allowed


def test_a_folder_without_one_has_none(tmp_path: Path) -> None:
    assert table.read(folder_of(tmp_path, PLAIN)).shortlist_option is None


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (bytes(100), "expected a binary shortlist of Marian; without this file the model can be imported"),
        (b"\xf5", "expected a binary shortlist of Marian"),
        (file_of(LISTS[:9]), "expected lists of 10 source symbols, found 9"),
        (file_of(LISTS)[:-4], "expected 180 bytes, found 176"),
        (file_of(LISTS, checksum=7), "expected the checksum 0x7, found 0x"),
        (file_of([*LISTS[:9], [10]]), "expected ids of 10 target symbols, found 10"),
        (file_of([*LISTS[:9], [3] * 1001]), "expected at most 1,000 candidates of a symbol, found 1,001"),
    ],
)
def test_damaged_files_are_refused_in_one_line(data: bytes, message: str, tmp_path: Path) -> None:
    folder = pack(tmp_path, data)
    with pytest.raises(UserError) as raised:
        table.read(folder)
    assert str(raised.value).startswith(f"{folder / 'lex.50.50.enfr.s2t.bin'}: {message}")


def test_offsets_that_go_back_are_refused(tmp_path: Path) -> None:
    data = bytearray(file_of(LISTS)[16:])
    data[32 + 8 * 4 : 32 + 8 * 5] = struct.pack("<Q", 1)
    total = struct.pack("<2Q", marian_shortlist.MAGIC, marian_shortlist._checksum(bytes(data)))
    with pytest.raises(UserError, match="expected offsets in ascending order up to 11"):
        table.read(pack(tmp_path, total + data))


def test_several_shortlists_are_not_chosen_among(tmp_path: Path) -> None:
    folder = pack(tmp_path, file_of(LISTS))
    (folder / "lex.100.100.enfr.s2t.bin").write_bytes(file_of(LISTS))
    with pytest.raises(UserError, match=r"expected one shortlist, found lex\.100\.100.*, lex\.50\.50"):
        table.read(folder)
