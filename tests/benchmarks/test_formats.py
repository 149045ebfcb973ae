"""The files of other tasks of sequences, as pairs."""

import unicodedata
from pathlib import Path

import pytest

from benchmarks.formats import FORMATS, converted, letters, main
from dragoman.errors import UserError


@pytest.mark.spec("E4")
@pytest.mark.parametrize(
    ("task", "line", "pair"),
    [
        ("g2p", "chat\tʃ a", ("chat", "ʃ a")),
        ("g2p", "cafe\u0301\tk a f e", ("café", "k a f e")),  # NFC
        ("g2p", "물집 x\tm u l", ("ㅁㅜㄹㅈㅣㅂ x", "m u l")),
        ("inflection", "gehen\tpos=V,tense=PST\tging", ("pos=V tense=PST g e h e n", "ging")),
        ("inflection", "ice cream\tnum=PL\tice creams", ("num=PL i c e ␣ c r e a m", "ice creams")),
        ("inflection-apart", "gehen\tpos=V,tense=PST\tging", ("g e h e n", "pos=V tense=PST", "ging")),
        ("histnorm", "Vnnd\tUnd", ("vnnd", "und")),
        ("histnorm", "1545\t1545", ("0000", "0000")),
        ("histnorm", "1545\t1546", ("1545", "1546")),
        ("histnorm", "zu\tzu jeder", ("zu", "zu jeder")),
        ("histnorm", "o'\to'", ("o'", "o'")),
        ("scan", "IN: jump twice OUT: I_JUMP I_JUMP", ("jump twice", "I_JUMP I_JUMP")),
    ],
)
def test_examples_become_pairs(task: str, line: str, pair: tuple[str, ...]) -> None:
    assert FORMATS[task](line, "file:1") == pair


@pytest.mark.parametrize("line", ["/\t/", "//\t,", "wort\t.", "word", "word\t", ".\tI.I.\tII."])
def test_words_that_are_nothing_but_punctuation_are_no_examples(line: str) -> None:
    assert FORMATS["histnorm"](line, "file:1") is None


def test_letters_of_hangul_stay_apart_and_tell_the_syllable() -> None:
    assert letters("한") == "ㅎㅏㄴ"
    assert letters("값") == "ㄱㅏㅄ"
    assert letters("\u11af") == "ㄹ"  # a letter that stands alone
    decomposed = {letters(chr(code)) for code in range(0xAC00, 0xD7A4)}
    assert len(decomposed) == 0xD7A4 - 0xAC00
    assert all(unicodedata.normalize("NFC", letters_of_one) == letters_of_one for letters_of_one in decomposed)
    assert FORMATS["g2p"]("\u1113\tn", "file:1") == ("\u1113", "n")  # of letters no longer used


@pytest.mark.spec("E4")
@pytest.mark.parametrize(
    ("task", "line", "fault"),
    [
        ("g2p", "chat", "expected 2 columns separated by tabs (word, phones), found 1"),
        ("g2p", "chat\tʃ a\tx", "expected 2 columns separated by tabs (word, phones), found 3"),
        ("g2p", "\tʃ a", "no word"),
        ("g2p", "chat\t ", "no phones"),
        ("inflection", "gehen\tging", "expected 3 columns separated by tabs (lemma, features, form), found 2"),
        ("inflection", "gehen\t\tging", "no features"),
        ("histnorm", "a\tb\tc", "expected 2 columns separated by tabs (old, modern), found 3"),
        ("scan", "jump OUT: I_JUMP", "expected 'IN: command OUT: ACTIONS'"),
    ],
)
def test_a_bad_line_is_told_with_its_place(
    task: str, line: str, fault: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, table = tmp_path / "in.txt", tmp_path / "out.tsv"
    path.write_text(f"\n{line}\n", encoding="utf-8")
    assert main([task, str(path), str(table)]) == 1
    assert capsys.readouterr().err == f"{path}:2: {fault}\n"
    assert not table.exists()


def test_empty_lines_are_left_out(tmp_path: Path) -> None:
    path, table = tmp_path / "in.txt", tmp_path / "out.tsv"
    path.write_text("a\tb c\n\nd\te\n", encoding="utf-8")
    assert main(["g2p", str(path), str(table)]) == 0
    assert table.read_text(encoding="utf-8") == "a\tb c\nd\te\n"
    with pytest.raises(UserError, match="no such file"):
        list(converted(tmp_path / "none.txt", "g2p"))
