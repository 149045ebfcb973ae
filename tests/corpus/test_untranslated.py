"""Catalogues that are translated: what is asked for, and what becomes of it."""

from pathlib import Path

import polib
import pytest

from dragoman.corpus.untranslated import Untranslated
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


def test_what_is_not_translated_is_filled_and_nothing_else(place: Path) -> None:
    catalogue = Untranslated(str(place), ("en", "cs"))
    assert catalogue.texts == ["save", "two", "lines", "%d file", "%d files"]
    text, count = catalogue.filled([f"<{each}>" for each in catalogue.texts])
    assert count == len(catalogue) == 3
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


def test_a_message_without_a_translation_of_every_line_stays_as_it_is(place: Path) -> None:
    catalogue = Untranslated(str(place), ("en", "cs"))
    filled, count = catalogue.filled(["", "one", "", "a", ""])
    assert (count, len(catalogue)) == (1, 3)
    after = polib.pofile(filled)
    assert [each.msgstr for each in after[2:4]] == ["", ""]
    assert not after[3].flags
    assert after[4].msgstr_plural == {0: "a", 1: "%d soubory", 2: ""}


@pytest.mark.parametrize(("names", "told"), [(("cs", "en"), "is a translation of"), (("en", "fr"), "has no fr")])
def test_another_language_is_refused(names: tuple[str, str], told: str, place: Path) -> None:
    with pytest.raises(UserError, match=told):
        Untranslated(str(place), names)
