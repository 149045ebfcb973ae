"""Which files are translated as documents, which line by line, and which are refused."""

from pathlib import Path

import pytest

from dragoman.cli.translate_documents import is_document
from dragoman.documents import table
from dragoman.errors import UserError

LINES = (
    "test.txt corpus words.TXT mono.en train.de dev.fr_FR new.zh-Hans test.src test.tgt dev.tok corpus.bpe mono.en.gz "
    "test.txt.gz part.00 flickr.2016 train.32k test.ref dev.hyp eng_Latn.devtest text.english columns.tsv new.code"
).split()
OTHERS = (
    "a.rst a.sbk a.adoc a.toml a.lrc a.dfxp a.smi a.php a.js a.svg a.wiki a.jsonc a.properties a.strings a.xml a.ini "
    "a.ipynb a.tex a.pdf a.doc a.odt a.epub a.xlsx a.ts a.py a.html.bak a.rst.gz a.unknown"
).split()


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run of which the source is called code."""
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.yaml").write_text("data: {source: code, target: fr, train: t, dev: d}\n", "utf-8")
    return tmp_path / "run"


def touched(folder: Path, name: str) -> Path:
    path = folder / name
    path.touch()
    return path


def test_names_of_texts_are_lines(tmp_path: Path, run: Path) -> None:
    for name in LINES:
        assert not is_document(touched(tmp_path, name), [run]), name


def test_whatever_the_table_has_is_a_document(tmp_path: Path, run: Path) -> None:
    for ending in table.FORMATS.keys() - {".txt"}:
        for name in (f"a{ending}", f"A.fr{ending.upper()}", f"a{ending}.gz"):
            assert is_document(touched(tmp_path, name), [run]), name


def test_all_else_is_refused(tmp_path: Path, run: Path) -> None:
    for name in OTHERS:
        with pytest.raises(UserError) as refused:
            is_document(touched(tmp_path, name), [run])
        assert str(refused.value) == (
            f"{tmp_path / name}: is not a supported document format; if it has one sentence per line, rename it to .txt"
        )


def test_a_file_that_is_missing_is_left_to_what_reads_it(tmp_path: Path) -> None:
    assert not is_document(tmp_path / "a.rst", [])
