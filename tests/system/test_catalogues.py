"""`dragoman translate RUN messages.po`."""

import gzip
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
        == f"{tmp_path / 'fr.po'}: 2 of 2 messages without a translation have one now, marked as fuzzy"
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
    golden(copied.fails("translate", "runs/toy", "fr.po", *words.split()))
    assert (copied.folder / "fr.po").read_text("utf-8") == HEAD + BODY + FORMS


@pytest.mark.parametrize("name", ["x.tmx", "x.json", "x.mo", "x.csv.gz"])
def test_other_files_of_several_languages_are_refused(name: str, copied: Shell, golden: Golden) -> None:
    copied.write(name, "{}")
    golden(copied.fails("translate", "runs/toy", name))


def test_packed_columns_are_lines(copied: Shell) -> None:
    (copied.folder / "x.tsv.gz").write_bytes(gzip.compress(b"one two\n"))
    assert len(copied("translate", "runs/toy", "x.tsv.gz").lines) == 1


def test_a_catalogue_of_another_language_is_refused(copied: Shell, golden: Golden) -> None:
    copied.write("de.po", HEAD.replace("Language: fr", "Language: de") + BODY + FORMS)
    golden(copied.fails("translate", "runs/toy", "de.po"))
