"""Files of terms."""

import os
from pathlib import Path

import pytest

from dragoman.corpus.glossary_file import read, read_kept
from dragoman.errors import UserError
from dragoman.text.glossary import Term
from tests.golden import Golden


def test_a_file_has_terms_with_their_forms(tmp_path: Path) -> None:
    path = tmp_path / "terms.tsv"
    terms = "printer\tDrucker | Druckers\tDruckern\n\nGNU\ngnu\tGnu\nLinux\tLinux\n"
    for header in ("", "source\ttarget\n", "Source\tTARGET\n"):
        path.write_text(header + terms, "utf-8")
        assert read(path).terms == (
            *(Term("printer", ("Drucker", "Druckers", "Druckern")), Term("GNU"), Term("gnu", ("Gnu",)), Term("Linux")),
        )
    path.write_text("GNU\nLinux\n", "utf-8")
    assert read_kept(path).terms == (Term("GNU"), Term("Linux"))


@pytest.mark.parametrize("text", ["\tDrucker", "a\tb\nA\tc", " \tx"])
def test_a_line_without_a_term_is_told(tmp_path: Path, golden: Golden, text: str) -> None:
    path = tmp_path / "terms.tsv"
    path.write_text(f"printer\tDrucker\n{text}\n", "utf-8")
    with pytest.raises(UserError) as error:
        read(path)
    golden(str(error.value).replace(str(tmp_path), "."))


def test_a_table_of_probabilities_is_no_glossary(tmp_path: Path, golden: Golden) -> None:
    path = tmp_path / "dictionary.tsv"
    path.write_text("source\ttarget\tprobability\tcount\nprinter\tDrucker\t1.0\t7\n", "utf-8")
    for reading in (read, read_kept):
        with pytest.raises(UserError) as error:
            reading(path)
        golden(str(error.value).replace(str(tmp_path), "."))


def test_a_list_of_terms_to_keep_has_no_translations(tmp_path: Path, golden: Golden) -> None:
    path = tmp_path / "kept.txt"
    path.write_text("GNU\nprinter\tDrucker\n", "utf-8")
    with pytest.raises(UserError) as error:
        read_kept(path)
    golden(str(error.value).replace(str(tmp_path), "."))


def test_a_csv_has_terms_between_commas(tmp_path: Path, golden: Golden) -> None:
    path = tmp_path / "terms.csv"
    path.write_text('\ufeff"print, queue",Warteschlange|Schlange,Queue\r\nGNU\r\n', "utf-8")
    assert read(path).terms == (Term("print, queue", ("Warteschlange", "Schlange", "Queue")), Term("GNU"))
    for wrong, name in (("printer;Drucker", "semicolons"), ("house\tHaus", "tabs"), (",Drucker", "no term")):
        path.write_text(f"GNU\n{wrong}\n", "utf-8")
        with pytest.raises(UserError) as error:
            read(path)
        golden(str(error.value).replace(str(tmp_path), "."), name)


def test_the_ending_of_a_csv_may_be_in_capitals(tmp_path: Path) -> None:
    (tmp_path / "TERMS.CSV").write_text('"print, queue",Warteschlange\n', "utf-8")
    assert read(tmp_path / "TERMS.CSV").terms == (Term("print, queue", ("Warteschlange",)),)


@pytest.mark.parametrize("mark", [";", ", ", " = ", "   "])
def test_a_file_without_tabs_is_told(tmp_path: Path, mark: str) -> None:
    path = tmp_path / "terms.tsv"
    path.write_text(f"house{mark}Haus\n\nold man{mark}Greis\n", "utf-8")
    with pytest.raises(UserError, match=r"terms.tsv: seems to be separated by .*, expected tabs \(or .csv and commas"):
        read(path)
    assert read_kept(path).terms[0] == Term(f"house{mark}Haus")
    path.write_text(f"house{mark}Haus\nold man\n", "utf-8")
    assert len(read(path)) == 2


def test_a_glossary_may_come_through_a_pipe() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"a\tb\nc\td\n")
    os.close(writing)
    assert read(Path(f"/dev/fd/{reading}")).terms == (Term("a", ("b",)), Term("c", ("d",)))
    os.close(reading)


def test_a_first_line_with_the_languages_is_a_header(tmp_path: Path) -> None:
    path, terms = tmp_path / "terms.tsv", (Term("en", ("de",)), Term("file", ("Datei",)))
    path.write_text("en\tde\nfile\tDatei\n", "utf-8")
    assert read(path, ("en-GB", "de")).terms == terms[1:]
    assert read(path, ("fr", "de")).terms == read(path).terms == terms
    with pytest.raises(UserError, match=r"terms.tsv:1: has en before de, expected terms in de first"):
        read(path, ("de", "en"))
