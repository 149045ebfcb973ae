"""A catalogue with everything that a `.po` may have, and checks of what is written for it."""

import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import polib
import pytest

PLURALS = {
    "ja": "nplurals=1; plural=0;",
    "de": "nplurals=2; plural=(n != 1);",
    "cs": "nplurals=3; plural=(n==1) ? 0 : (n>=2 && n<=4) ? 1 : 2;",
    "ar": "nplurals=6; plural=(n==0 ? 0 : n==1 ? 1 : n==2 ? 2 : n%100>=3 && n%100<=10 ? 3 : n%100>=11 ? 4 : 5);",
}
COMMAND = ("msgfmt", "--check", "--check-accelerators=_", "--use-fuzzy", "-o")
FILLED = 12  # messages of BODY without a translation
BODY = r"""#  A comment of a translator that goes on until it is longer than the seventy-eight columns of a line.
#
#. One of the source, which goes on until it is longer than the seventy-eight columns of a line as well.
#.
#: one.c:1 two.c:2 three/with/a/name/that/is/long/four.c:4 five/with/a/name/that/is/longer/six.c:6
#, fuzzy, c-format, range: 0..10
#| msgctxt "before"
#| msgid "one %d"
#| msgid_plural "six %d"
msgctxt "count"
msgid "two %d"
msgid_plural "two six %d"
{finished}

# A plural of which nothing is translated.
#, c-format
msgid "%d one"
msgid_plural "%d six"
{missing}

#: one.c:7
msgid "one six two"
msgstr "zwei sechs eins"

msgctxt "menu"
msgid "one six two"
msgstr ""

msgctxt "menu"
msgid "_One two"
msgstr ""

msgid "&Two three"
msgstr ""

msgctxt ""
msgid "four"
msgstr ""

#, no-c-format
#, no-wrap
msgid ""
"one two three four five six one two three four five six one two three four "
"five six"
msgstr ""

#, c-format
msgid ""
"\n"
"four %s \"five\"\t\\\n"
"six\n"
msgstr ""

#: one.c
#, fuzzy
msgid "five six"
msgstr ""

# note
# dragoman: confidence 12%
#, fuzzy
msgid "five four"
msgstr ""

#note without a space
#.of the source
#:one.c:8
#,c-format
msgid "%s three"
msgstr ""

#=, c-format
msgid "three %s"
msgstr ""

#, c-format
#| msgid "before %s"
msgid "six %s"
msgstr ""

#~| msgid "two two"
#~ msgctxt "menu"
#~ msgid "two one"
#~ msgstr "eins zwei"

# of a plural that is no longer there
#, fuzzy
#~ msgid "one %d"
#~ msgid_plural "ones %d"
#~ msgstr[0] "eins %d"
#~ msgstr[1] ""

#~ msgid "three one"
#~ msgstr ""

# after the last message
"""


def catalogue(language: str) -> str:
    """The text of a catalogue in a language of PLURALS."""
    forms = range(int(PLURALS[language].partition("=")[2].partition(";")[0]))
    finished = "\n".join(f'msgstr[{form}] "sechs %d"' for form in forms)
    missing = "\n".join(f'msgstr[{form}] ""' for form in forms)
    fields = {
        "Project-Id-Version": "one 1",
        "Report-Msgid-Bugs-To": "",
        "X-Long": "one two three four five six one two three four five six one two three four five six",
        "PO-Revision-Date": "2026-11-29 12:00+0000",
        "Last-Translator": "Nobody <nobody@example.org>",
        "Language-Team": "none",
        "Language": language,
        "MIME-Version": "1.0",
        "Content-Type": "text/plain; charset=UTF-8",
        "Content-Transfer-Encoding": "8bit",
        "Plural-Forms": PLURALS[language],
    }
    header = "".join(f'"{name}: {text}\\n"\n' for name, text in fields.items())
    body = BODY.replace("{finished}", finished).replace("{missing}", missing)
    return f'# Messages of a program.\n#\nmsgid ""\nmsgstr ""\n{header}\n{body}'


class Message(NamedTuple):
    """What another program reads of a message: all but the translation, its flags, and the translators' comments."""

    fixed: tuple[object, ...]
    texts: list[str]
    flags: list[str]
    comments: list[str]


def _by_polib(text: str) -> list[Message]:
    # polib refuses these comments
    for tight, spaced in {"#note": "# note", "#.of": "#. of", "#:one": "#: one", "#,c": "#, c", "#=,": "# =,"}.items():
        text = text.replace(f"\n{tight}", f"\n{spaced}")
    file = polib.pofile(text)
    header = Message((file.header, file.metadata), [], [], [])
    return [header] + [
        Message(
            tuple(text for name, text in vars(entry).items() if name not in ("linenum", *CHANGED)),
            list(entry.msgstr_plural.values()) or [entry.msgstr],
            entry.flags,
            entry.tcomment.split("\n") if entry.tcomment else [],
        )
        for entry in file
    ]


CHANGED = ("msgstr", "msgstr_plural", "flags", "tcomment")


def _by_translate_toolkit(text: str) -> list[Message]:
    pypo = pytest.importorskip("translate.storage.pypo", reason="needs translate-toolkit")
    names = "automaticcomments sourcecomments prev_msgctxt prev_msgid prev_msgid_plural msgctxt msgid msgid_plural"
    return [
        Message(
            (unit.obsolete, *(getattr(unit, name) for name in names.split())),
            list(map(str, unit.target.strings)) if unit.hasplural() else [unit.target],
            [flag.strip() for line in unit.typecomments for flag in line[2:].split(",")],
            [line.rstrip("\n") for line in unit.othercomments],
        )
        for unit in pypo.pofile.parsestring(text.encode()).units
    ]


READERS = {"polib": _by_polib, "translate-toolkit": _by_translate_toolkit}


def check_messages(reader: str, before: str, after: str, *, calibrated: bool | None) -> list[list[str]]:
    """Check that a program reads all of a catalogue in the one written for it, and that drafts are marked.
    Return the texts of messages that have a translation now.
    """
    drafts: list[list[str]] = []
    for old, new in zip(READERS[reader](before), READERS[reader](after), strict=True):
        assert old.fixed == new.fixed
        if old == new:
            continue
        assert not any(text.strip() for text in old.texts)
        assert all(text.strip() for text in new.texts)
        assert sorted(new.flags) == sorted({*old.flags, "fuzzy"})
        (kept, _), (written, confidences) = (_comments(message) for message in (old, new))
        assert written == kept
        assert calibrated is None or confidences == calibrated
        drafts.append(new.texts)
    return drafts


def _comments(message: Message) -> tuple[list[str], int]:
    """Return the comments of a message that are not of a draft, and the number of confidences."""
    of_draft = ("dragoman: confidence", "dragoman: msgstr[")
    kept = [line for line in message.comments if not line.removeprefix("# ").startswith(of_draft)]
    return kept, sum("dragoman: confidence" in line for line in message.comments)


def check_lines(before: str, after: str) -> None:
    """Check that every line of a catalogue is in the other one, but for translations, flags and confidence."""
    lines = iter(after.split("\n"))
    for line in before.split("\n"):
        if not line.startswith(("msgstr", "#,", "# dragoman: confidence")):
            assert line in lines, line


def check_by_msgfmt(path: Path) -> None:
    """Check that msgfmt accepts a catalogue, drafts included."""
    if not shutil.which("msgfmt"):
        pytest.skip("msgfmt of GNU gettext is not installed")
    done = subprocess.run([*COMMAND, path.with_suffix(".mo"), path], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
