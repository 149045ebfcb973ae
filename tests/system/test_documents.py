"""`dragoman translate RUN FILE` of a document: `.po`, and others."""

import gzip
import io
import json
import re
import zipfile
from pathlib import Path

import polib
import pytest

from tests.golden import Golden
from tests.system.conftest import Shell

HEAD = 'msgid ""\nmsgstr ""\n"Language: fr\\n"\n"Plural-Forms: nplurals=2; plural=(n > 1);\\n"\n\n'
BODY = 'msgid "one two"\nmsgstr "le mien"\n\nmsgid "two three"\nmsgstr ""\n\nmsgid "six"\nmsgid_plural "six six"\n'
FORMS = 'msgstr[0] ""\nmsgstr[1] ""\n'


def test_messages_without_a_translation_are_translated(trained: Shell, tmp_path: Path) -> None:
    (tmp_path / "fr.po").write_text(HEAD + BODY + FORMS, "utf-8")
    outcome = trained("translate", "runs/toy", tmp_path / "fr.po", "-o", tmp_path / "new.po")
    assert outcome.code == 0, outcome.err
    assert (
        outcome.err.splitlines()[-1]
        == f"{tmp_path / 'fr.po'}: 3 of 3 texts without a translation have one now, marked as fuzzy"
    )
    kept, filled, plural = polib.pofile(str(tmp_path / "new.po"))
    texts = trained("translate", "runs/toy", stdin="two three\nsix\nsix six\n").lines
    assert all(texts)
    assert (kept.msgstr, kept.flags) == ("le mien", [])
    assert [filled.msgstr, *plural.msgstr_plural.values()] == texts
    assert filled.flags == plural.flags == ["fuzzy"]
    again = trained("translate", "runs/toy", tmp_path / "fr.po")
    assert again.out == (tmp_path / "new.po").read_text("utf-8")


@pytest.mark.parametrize(
    "words", ["--json", "--n-best 2", "--resume", "--show", "--alignments", "--wait 2", "-o fr.po"]
)
def test_what_is_about_lines_is_refused(words: str, copied: Shell, golden: Golden) -> None:
    copied.write("fr.po", HEAD + BODY + FORMS)
    golden(copied.refuses("translate", "runs/toy", "fr.po", *words.split()))
    assert (copied.folder / "fr.po").read_text("utf-8") == HEAD + BODY + FORMS


@pytest.mark.parametrize(
    ("name", "data"), [("x.docx", "picture"), ("x.yaml", r'a: "\UFFFFFFFF"')], ids=["x.docx", "x.yaml"]
)
def test_damaged_documents_are_told_in_a_line(name: str, data: str, copied: Shell, golden: Golden) -> None:
    document = io.BytesIO(data.encode())
    if name == "x.docx":
        document = io.BytesIO(_document("one two"))
        with zipfile.ZipFile(document, "a") as archive:
            archive.writestr("word/media/a.png", data)
        document = io.BytesIO(document.getvalue().replace(data.encode(), b"another"))
    (copied.folder / name).write_bytes(document.getvalue())
    golden(copied.fails("translate", "runs/toy", name, "-o", f"y{name}"))


def test_a_half_of_a_character_is_no_trouble(copied: Shell) -> None:
    copied.write("x.yaml", r'a: "\ud800 one"')
    assert copied("translate", "runs/toy", "x.yaml", "-o", "y.yaml").code == 0
    assert (copied.folder / "y.yaml").read_text("utf-8").startswith("a: ")


@pytest.mark.parametrize("name", ["x.rst", "strings.xml", "x.toml", "app.properties.gz"])
def test_documents_of_other_formats_are_no_lines(name: str, copied: Shell) -> None:
    copied.write(name, "one\n")
    message = copied.fails("translate", "runs/toy", name, "-o", "y")
    assert message.startswith(f"{name}: is not a supported document format; if it has one sentence")
    assert not (copied.folder / "y").exists()


def test_lines_are_not_written_packed(copied: Shell) -> None:
    message = copied.fails("translate", "runs/toy", "test.en", "-o", "y.txt.gz")
    assert message == "y.txt.gz: is written uncompressed; name it without .gz"


def test_an_archive_that_is_no_document_is_told(copied: Shell) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("content.xml", "<x/>")
    (copied.folder / "x.docx").write_bytes(buffer.getvalue())
    message = copied.fails("translate", "runs/toy", "x.docx", "-o", "y.docx")
    assert message == "x.docx: is not a Word or PowerPoint document"


def test_a_template_is_refused(copied: Shell, golden: Golden) -> None:
    copied.write("x.pot", HEAD + BODY + FORMS)
    golden(copied.fails("translate", "runs/toy", "x.pot", "-o", "y.pot"))
    assert copied.fails("score", "runs/toy", "x.pot", "x.pot") == "x.pot: is not a text file with one sentence per line"


@pytest.mark.parametrize("name", ["x.mo", "x.csv", "x.jsonl", "x.csv.gz"])
def test_other_files_of_several_languages_are_refused(name: str, copied: Shell, golden: Golden) -> None:
    copied.write(name, "{}")
    golden(copied.fails("translate", "runs/toy", name))


@pytest.mark.parametrize(
    ("name", "text", "shape"),
    [
        ("x.html", "<p>one <b>two</b></p>\n<pre>six</pre>\n", r"<p>(?=.*<b>.*</b>).*</p>\n<pre>six</pre>\n"),
        ("x.md", "# one two\n\n- `six`\n", r"# .+\n\n- `six`\n"),
        ("x.json", '{"a": "one two", "b": [6]}', r'\{"a": ".+", "b": \[6\]\}'),
        ("x.yml", "a: one two # six\n", r"a: .+ # six\n"),
        ("x.srt", "1\n00:00:01,000 --> 00:00:02,000\none two\n\n", r"1\n00:00:01,000 --> 00:00:02,000\n.+\n\n"),
    ],
)
def test_documents_are_translated(name: str, text: str, shape: str, trained: Shell, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text, "utf-8")
    outcome = trained("translate", "runs/toy", tmp_path / name, "-o", tmp_path / f"new-{name}")
    assert outcome.code == 0, outcome.err
    assert re.search(r": (\d) of \1 texts are translated$", outcome.err.splitlines()[-1])
    written = (tmp_path / f"new-{name}").read_text("utf-8")
    assert re.fullmatch(shape, written)
    assert written != text
    assert trained("translate", "runs/toy", tmp_path / name).out == written


def test_placeholders_of_documents_come_through(trained: Shell, tmp_path: Path) -> None:
    strings = {f"k{n}": f"one {{name{n}}} two %(count)d six https://x.y/{n}" for n in range(8)}
    (tmp_path / "x.json").write_text(json.dumps(strings), "utf-8")
    translations = json.loads(trained("translate", "runs/toy", tmp_path / "x.json").out)
    for n in range(8):
        for span in (f"{{name{n}}}", "%(count)d", f"https://x.y/{n}"):
            assert translations[f"k{n}"].count(span) == 1


def test_a_document_of_bytes_is_not_printed(copied: Shell, golden: Golden) -> None:
    (copied.folder / "x.docx").write_bytes(_document("one two"))
    golden(copied.fails("translate", "runs/toy", "x.docx"))
    assert copied("translate", "runs/toy", "x.docx", "-o", "y.docx").code == 0
    with zipfile.ZipFile(copied.folder / "y.docx") as archive:
        assert b"one two" not in archive.read("word/document.xml")


def _document(text: str) -> bytes:
    space = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("word/document.xml", f'<w:p xmlns:w="{space}"><w:r><w:t>{text}</w:t></w:r></w:p>')
    return stream.getvalue()


@pytest.mark.parametrize(("name", "text"), [("x.json", "{"), ("x.xlf", "<a/>"), ("x.yaml", "a: ["), ("x.srt", "a")])
def test_a_damaged_document_is_told(name: str, text: str, copied: Shell, golden: Golden) -> None:
    copied.write(name, text)
    golden(copied.fails("translate", "runs/toy", name, "-o", "out"))
    assert not (copied.folder / "out").exists()


def test_columns_are_not_read_as_one_source(copied: Shell) -> None:
    copied.write("x.tsv", "one\ntwo\tdeux\n")
    assert copied.fails("translate", "runs/toy", "x.tsv") == "x.tsv:2: expected one column (en), found 2"
    assert copied("translate", "runs/toy", stdin="two\tdeux\n").code == 0


def test_packed_columns_are_lines(copied: Shell) -> None:
    (copied.folder / "x.tsv.gz").write_bytes(gzip.compress(b"one two\n"))
    assert len(copied("translate", "runs/toy", "x.tsv.gz").lines) == 1


@pytest.mark.slow
def test_packed_documents_are_documents(copied: Shell) -> None:
    """By their own name, and by that without `.gz`."""
    (copied.folder / "x.html.gz").write_bytes(gzip.compress(b"<p>one two</p>"))
    (copied.folder / "x.txt.gz").write_bytes(gzip.compress(b"one two\nsix\n"))
    for name in ("x.html", "x.html.gz"):
        outcome = copied("translate", "runs/toy", name)
        assert outcome.out == f"<p>{copied('translate', 'runs/toy', stdin='one two').lines[0]}</p>", outcome.err
    assert len(copied("translate", "runs/toy", "x.txt.gz").lines) == 2
    assert copied.fails("translate", "runs/toy", "x.html", "-o", "y.html.gz").startswith("y.html.gz: documents are")
    assert not (copied.folder / "y.html.gz").exists()


def test_a_catalogue_of_another_language_is_refused(copied: Shell, golden: Golden) -> None:
    copied.write("de.po", HEAD.replace("Language: fr", "Language: de") + BODY + FORMS)
    golden(copied.fails("translate", "runs/toy", "de.po"))
