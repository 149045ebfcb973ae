"""Numbers of symbols: four specials first, and no text can spell a special."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.data.vocabulary import BOS, EOS, PAD, SPECIALS, UNK, Vocabulary
from dragoman.errors import UserError
from dragoman.text.mark import Mark
from tests.golden import Golden


def test_specials_come_first() -> None:
    vocabulary = Vocabulary(["a", "b"])
    assert len(vocabulary) == 6
    assert vocabulary.symbols([UNK, PAD, BOS, EOS, 4, 5]) == [*SPECIALS, "a", "b"]


@pytest.mark.spec("D1")
def test_what_is_not_in_the_vocabulary_is_unknown() -> None:
    assert Vocabulary(["a", "b"]).ids(["b", "c", "a"]) == [5, UNK, 4]


def test_a_text_that_spells_a_special_is_no_special() -> None:
    assert Vocabulary(["a"]).ids(list(SPECIALS)) == [UNK] * 4
    assert Vocabulary(["<s>", "<unk>"]).ids(list(SPECIALS)) == [5, UNK, 4, UNK]


@given(st.lists(st.text(), unique=True))
def test_a_saved_vocabulary_is_the_same(tmp_path_factory: pytest.TempPathFactory, symbols: list[str]) -> None:
    path = tmp_path_factory.mktemp("vocabulary") / "source.vocabulary"
    vocabulary = Vocabulary(symbols)
    vocabulary.save(path)
    assert Vocabulary.load(path) == vocabulary
    assert len(path.read_bytes().splitlines()) == len(symbols)


def test_vocabularies_with_the_same_symbols_in_order_are_equal() -> None:
    assert Vocabulary(["a", "b"]) == Vocabulary(["a", "b"])
    assert hash(Vocabulary(["a", "b"])) == hash(Vocabulary(["a", "b"]))
    assert Vocabulary(["a", "b"]) != Vocabulary(["b", "a"])


def test_a_symbol_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="twice"):
        Vocabulary(["a", "a"])


@pytest.mark.parametrize("line", ["", "a", "1", '["a"]', '"a"', '"\\'])
def test_a_damaged_file_is_told_with_its_line(tmp_path: Path, line: str, golden: Golden) -> None:
    path = tmp_path / "source.vocabulary"
    path.write_text(f'"a"\n{line}\n')
    with pytest.raises(UserError, match=r"source\.vocabulary:2:") as raised:
        Vocabulary.load(path)
    golden(str(raised.value))


def test_marks_stand_between_specials_and_units_and_no_text_is_one(tmp_path: Path) -> None:
    keep = Mark("<keep>")
    vocabulary = Vocabulary(["a", "<keep>"], [keep])
    assert (len(vocabulary), vocabulary.first) == (7, 5)
    assert vocabulary.ids([keep, "<keep>", "a"]) == [4, 6, 5]
    assert vocabulary.symbols([4, 6]) == ["<keep>", "<keep>"]
    assert vocabulary.marked([4, 6]) == [keep, "<keep>"]
    vocabulary.save(tmp_path / "vocabulary")
    assert Vocabulary.load(tmp_path / "vocabulary", [keep]) == vocabulary
    assert Vocabulary.load(tmp_path / "vocabulary") != vocabulary
