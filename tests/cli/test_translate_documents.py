"""Which files are translated as documents, which line by line, and which are refused."""

from pathlib import Path

import pytest

import dragoman
from dragoman.cli import translate_documents
from dragoman.cli.streams import Portion
from dragoman.cli.translate_documents import is_document
from dragoman.corpus.features import Given
from dragoman.documents import table
from dragoman.errors import UserError
from dragoman.training import session
from dragoman.translation.translation import Translation
from dragoman.translation.translator import Translator
from tests import toy

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


MESSAGES = """
msgid ""
msgstr "Language: {}\\nContent-Type: text/plain; charset=UTF-8\\n"

# Of a translator.
#. Of the source,
#. in two lines.
msgid "one two"
msgstr "{}"

#. Of no use.
msgctxt "menu"
msgid "_One three"
msgstr "{}"

msgid "two\\n"
"three"
msgstr "{}"
"""


@pytest.fixture(scope="module")
def with_context(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    """One that has learned nothing, from English, German and contexts to French."""
    folder = toy.corpus(tmp_path_factory.mktemp("two"))
    for part in ("train", "dev"):
        lines = (folder / f"{part}.en").read_text("utf-8").splitlines()
        german = map(toy.german, lines)
        (folder / f"{part}.de").write_text("".join(f"{line}\n" for line in german), "utf-8")
        (folder / f"{part}.context").write_text("one\n" * len(lines), "utf-8")
    options = {"data.source": ["en", "de", "context"], "training.epochs": None, "training.steps": 1}
    return dragoman.load(session.train(toy.config(folder, folder / "run", options), quiet=True).path)


def test_a_catalogue_is_read_with_those_of_the_other_languages_beside_it(
    with_context: Translator, tmp_path: Path
) -> None:
    lines: list[tuple[Given, ...]] = []

    def translate(portion: Portion[tuple[Given, ...]]) -> list[Translation]:
        lines.extend(portion.lines)
        return with_context.translate(portion.lines)

    (tmp_path / "fr.po").write_text(MESSAGES.format("fr", "", "", ""), "utf-8")
    (tmp_path / "de.po").write_text(MESSAGES.format("de", "eins zwei", "_Eins drei", "zwei\\ndrei"), "utf-8")
    translate_documents.fill(tmp_path / "fr.po", tmp_path / "new.po", with_context, None, translate)
    first, second, *parts_of_third = lines
    expected = ("one two", "eins zwei", "Of the source, in two lines."), ("One three", "Eins drei", "menu")
    assert (first, second) == expected
    assert parts_of_third == [("two", "zwei", ""), ("three", "drei", "")]
    (tmp_path / "de.po").unlink()
    lines.clear()
    translate_documents.fill(tmp_path / "fr.po", tmp_path / "new.po", with_context, None, translate)
    assert [line[1] for line in lines] == [""] * 4


def test_other_documents_have_no_further_languages(with_context: Translator, tmp_path: Path) -> None:
    (tmp_path / "fr.json").write_text('{"a": "one two"}', "utf-8")
    with pytest.raises(UserError, match=r"contains one source, but the run expects 3$"):
        translate_documents.fill(tmp_path / "fr.json", tmp_path / "new.json", with_context, None, lambda portion: [])
