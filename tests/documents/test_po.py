"""Catalogues that are translated: what is asked for, and what becomes of it."""

from collections.abc import Sequence
from pathlib import Path

import polib
import pytest

from dragoman.corpus.catalogues import read_po
from dragoman.documents.document import File
from dragoman.documents.passages import split
from dragoman.documents.po import Catalogue
from dragoman.documents.translated import Sentence, Translated
from dragoman.errors import UserError

HEAD = """msgid ""
msgstr ""
"Language: cs\\n"
"Content-Type: text/plain; charset=ISO-8859-2\\n"
"Plural-Forms: nplurals=3; plural=(n==1) ? 0 : (n>=2 && n<=4) ? 1 : 2;\\n"

"""
BODY = """# kept
#: main.c:1
msgid "open"
msgstr "otevřít"

#, fuzzy
msgid "close"
msgstr "zavříti"

msgctxt "menu"
msgid "save"
msgstr ""

msgid ""
"\\n"
"two \\n"
"lines\\n"
msgstr ""

#, c-format
msgid "%d file"
msgid_plural "%d files"
msgstr[0] ""
msgstr[1] "%d soubory"
msgstr[2] ""

#~ msgid "old"
#~ msgstr ""
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    path = tmp_path / "cs.po"
    path.write_bytes((HEAD + BODY).encode("iso8859-2"))
    return path


def read(place: Path, names: tuple[str, str] = ("en", "cs")) -> Catalogue:
    return Catalogue(File(str(place), place.read_bytes(), names))


def filled(catalogue: Catalogue, lacking: Sequence[str] = ()) -> str:
    """The file with every line in brackets, but for those without a translation."""
    passages = [split(line.text, "en", sentences=False) for line in catalogue.lines]
    said = [
        Translated(each, tuple(Sentence("" if text in lacking else f"<{text}>") for text in each.sentences))
        for each in passages
    ]
    return catalogue.written(said).decode()


def test_what_is_not_translated_is_filled_and_nothing_else(place: Path) -> None:
    catalogue = read(place)
    assert [line.text for line in catalogue.lines] == ["save", "\ntwo \nlines\n", "%d file", "%d files"]
    text = filled(catalogue)
    before, after = polib.pofile(str(place)), polib.pofile(text)
    assert after.metadata == {**before.metadata, "Content-Type": "text/plain; charset=UTF-8"}
    opened, closed, saved, lines, plural, old = after
    assert (opened.msgstr, opened.tcomment, opened.occurrences) == ("otevřít", "kept", [("main.c", "1")])
    assert opened.flags == []
    assert (closed.msgstr, closed.flags) == ("zavříti", ["fuzzy"])
    assert (saved.msgstr, saved.msgctxt, saved.flags) == ("<save>", "menu", ["fuzzy"])
    assert lines.msgstr == "\n<two> \n<lines>\n"
    assert plural.msgstr_plural == {0: "<%d file>", 1: "%d soubory", 2: "<%d files>"}
    assert plural.flags == ["c-format", "fuzzy"]
    assert (old.msgid, old.msgstr, old.obsolete) == ("old", "", True)


def test_escapes_and_comments_that_polib_does_not_know_stay(place: Path) -> None:
    text = (
        HEAD + 'msgid "\\033[1mone\\033[0m \\a\\\\n"\nmsgstr "\\033[1mun \\a\\\\n"\n\nmsgid "\\x1b[1mtwo"\nmsgstr ""\n'
    )
    place.write_text(text + "\n# the end\n#. of it\n", "utf-8")
    assert [line.text for line in read(place).lines] == ["[X1X]two"]
    found = filled(read(place))
    assert text.partition("ISO-8859-2")[2].replace('msgstr ""\n', "").split('msgid "\\x1b')[0] in found
    assert 'msgid "\\x1b[1mtwo"\nmsgstr "<\\x1b[1mtwo>"\n' in found
    assert found.endswith("\n# the end\n#. of it\n")
    assert [each.texts[0] for each in read_po(str(place), ("en", "cs"))] == ["\x1b[1mone\x1b[0m \a\\n", "\x1b[1mtwo"]
    place.write_text("# nothing else\n" + HEAD, "utf-8")
    assert filled(read(place)).count("nothing else") == 1


def test_characters_without_an_escape_are_left_out(place: Path) -> None:
    first, *_ = filled(read(place)).split("<save>")
    catalogue = read(place)
    said = [
        Translated(split(line.text, "en", sentences=False), (Sentence("<sa\0v\x07e>\x1b\x7f"),))
        for line in catalogue.lines[:1]
    ]
    lacking = [Translated(split(line.text, "en", sentences=False), ()) for line in catalogue.lines[1:]]
    found = catalogue.written([*said, *lacking]).decode()
    assert found.startswith(first + "<save>")


def test_a_message_without_a_translation_of_every_line_stays_as_it_is(place: Path) -> None:
    after = polib.pofile(filled(read(place), ["save", "lines", "%d files"]))
    assert [each.msgstr for each in after[2:4]] == ["", ""]
    assert not after[3].flags
    assert after[4].msgstr_plural == {0: "<%d file>", 1: "%d soubory", 2: ""}


@pytest.mark.parametrize(("names", "told"), [(("cs", "en"), "is a translation of"), (("en", "fr"), "has no fr")])
def test_another_language_is_refused(names: tuple[str, str], told: str, place: Path) -> None:
    with pytest.raises(UserError, match=told):
        read(place, names)


def test_a_file_keeps_its_line_ends_and_gets_no_comment() -> None:
    """And nobody is thanked for a translation that a machine has made."""
    text = HEAD.replace("ISO-8859-2", "UTF-8") + 'msgid "one"\nmsgstr ""\n\nmsgid "translator-credits"\nmsgstr ""\n'
    for lines in (text, text.replace("\n", "\r\n")):
        catalogue = Catalogue(File("cs.po", lines.encode(), ("en", "cs")))
        assert [line.text for line in catalogue.lines] == ["one"]
        passage = split("one", "en", sentences=False)
        written = catalogue.written([Translated(passage, (Sentence("jeden"),))]).decode()
        end = "\r\n" if "\r" in lines else "\n"
        assert written.startswith(f'msgid ""{end}')
        assert f'#, fuzzy{end}msgid "one"{end}msgstr "jeden"{end}' in written
        assert written.count("\n") == written.count(end)
