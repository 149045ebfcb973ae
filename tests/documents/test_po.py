"""Catalogues that are translated: what is asked for, and what becomes of it."""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import polib
import pytest

from dragoman.corpus import catalogues
from dragoman.corpus.further_languages import Texts
from dragoman.documents.document import File
from dragoman.documents.passages import split_text
from dragoman.documents.po import PoDocument
from dragoman.documents.translated import TranslatedSentence, TranslatedText
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


def read(place: Path, names: tuple[str, str] = ("en", "cs")) -> PoDocument:
    return PoDocument(File(str(place), place.read_bytes(), names))


def filled(catalogue: PoDocument, lacking: Sequence[str] = ()) -> str:
    """The file with every line in brackets, but for those without a translation."""
    passages = [split_text(line.text, "en", sentences=False) for line in catalogue.lines]
    translations = [
        TranslatedText(
            passage, tuple(TranslatedSentence("" if text in lacking else f"<{text}>") for text in passage.sentences)
        )
        for passage in passages
    ]
    return catalogue.written(translations).decode()


def test_what_is_not_translated_is_filled_and_nothing_else(place: Path) -> None:
    catalogue = read(place)
    assert [line.text for line in catalogue.lines] == ["save", "\ntwo \nlines\n", "%d file", "5 files", "%d files"]
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
    result = filled(read(place))
    assert text.partition("ISO-8859-2")[2].replace('msgstr ""\n', "").split('msgid "\\x1b')[0] in result
    assert 'msgid "\\x1b[1mtwo"\nmsgstr "<\\x1b[1mtwo>"\n' in result
    assert result.endswith("\n# the end\n#. of it\n")
    assert [entry.texts[0] for entry in catalogues.read(str(place), ("en", "cs"))] == [
        "\x1b[1mone\x1b[0m \a\\n",
        "\x1b[1mtwo",
    ]
    place.write_text("# nothing else\n" + HEAD, "utf-8")
    assert filled(read(place)).count("nothing else") == 1


def test_characters_without_an_escape_are_left_out(place: Path) -> None:
    first, *_ = filled(read(place)).split("<save>")
    catalogue = read(place)
    translations = [
        TranslatedText(split_text(line.text, "en", sentences=False), (TranslatedSentence("<sa\0v\x07e>\x1b\x7f"),))
        for line in catalogue.lines[:1]
    ]
    lacking = [TranslatedText(split_text(line.text, "en", sentences=False), ()) for line in catalogue.lines[1:]]
    result = catalogue.written([*translations, *lacking]).decode()
    assert result.startswith(first + "<save>")


SLAVIC = "nplurals=3; plural=(n%10==1 && n%100!=11 ? 0 : n%10>=2 && n%10<=4 && (n%100<10 || n%100>=20) ? 1 : 2);"
ENGLISH = "nplurals=2; plural=(n != 1);"
JAPANESE = "nplurals=1; plural=0;"
MILLIONS = "nplurals=3; plural=(n == 1) ? 0 : n != 0 && n % 1000000 == 0 ? 1 : 2;"


def plural(header: str, singular: str, many: str, forms: dict[int, str], target: str) -> polib.POFile:
    """A catalogue with one message, whose forms are filled; `header` is its Plural-Forms, if it has one."""
    lines = [f'"Plural-Forms: {header}\\n"'] if header else []
    texts = [f'msgstr[{form}] "{text}"' for form, text in forms.items()]
    text = "\n".join(['msgid ""', 'msgstr ""', *lines, "", f'msgid "{singular}"', f'msgid_plural "{many}"', *texts, ""])
    return polib.pofile(filled(PoDocument(File("x.po", text.encode(), ("en", target)))))


@pytest.mark.parametrize(
    ("header", "singular", "forms", "target", "expected"),
    [
        (MILLIONS, "one", {0: "", 1: ""}, "fr", ["<one>", "<%d>", "<%d>"]),
        (SLAVIC, "one", {0: "", 1: "", 2: ""}, "uk", ["<%d>", "<%d>", "<%d>"]),  # also the form of 21
        (SLAVIC, "%d one", {0: "", 1: "x"}, "uk", ["<%d one>", "x", "<%d>"]),
        (ENGLISH, "one", {0: "", 1: ""}, "de", ["<one>", "<%d>"]),
        (JAPANESE, "one", {0: "", 1: ""}, "ja", ["<%d>"]),  # a template has two
        (JAPANESE, "one", {0: "", 1: "x"}, "ja", ["<%d>", "x"]),
    ],
)
def test_a_plural_has_the_forms_of_its_header(
    header: str, singular: str, forms: dict[int, str], target: str, expected: list[str]
) -> None:
    """The form of 1 is translated from the singular, unless other numbers have it and only the plural tells them."""
    (message,) = plural(header, singular, "%d", forms, target)
    assert message.msgstr_plural == dict(enumerate(expected))


@pytest.mark.parametrize(
    ("header", "target", "declared"),
    [
        ("", "pt_BR", "nplurals=2; plural=(n > 1);"),
        ("nplurals=INTEGER; plural=EXPRESSION;", "ja", JAPANESE),
        ("nplurals=2; plural=n/0;", "uk", SLAVIC),
        ("nplurals=1; plural=n>1;", "de-AT", ENGLISH),
        ("", "tlh", None),
    ],
)
def test_a_header_without_forms_gets_those_of_its_language(header: str, target: str, declared: str | None) -> None:
    catalogue = plural(header, "%d one", "%d", {0: "", 1: ""}, target)
    assert catalogue.metadata.get("Plural-Forms") == declared
    count = int(declared[9]) if declared else 2
    assert catalogue[0].msgstr_plural == {
        form: "<%d one>" if not form and count > 1 else "<%d>" for form in range(count)
    }


def test_a_plural_without_any_form_gets_two_where_nothing_is_known_of_the_language() -> None:
    text = 'msgid ""\nmsgstr ""\n\nmsgid "one"\nmsgid_plural "many"\nmsgstr ""\n'
    catalogue = PoDocument(File("x.po", text.encode(), ("en", "xx")))
    assert polib.pofile(filled(catalogue))[0].msgstr_plural == {0: "<one>", 1: "<many>"}


def test_forms_that_a_number_tells_apart_are_translated_with_one() -> None:
    """With the placeholder instead, if the number gets lost."""
    forms = 'msgid ""\nmsgstr "Plural-Forms: nplurals=3; plural=(n==1) ? 0 : (n>=2 && n<=4) ? 1 : 2;\\n"\n\n'
    message = 'msgctxt "menu"\nmsgid "%d _cow"\nmsgid_plural "%d _cows"\nmsgstr[0] ""\nmsgstr[1] ""\nmsgstr[2] ""\n'
    catalogue = PoDocument(File("cs.po", f"{forms}{message}".encode(), ("en", "cs")))
    assert [line.text for line in catalogue.lines] == ["%d _cow", "2 _cows", "%d _cows", "5 _cows", "%d _cows"]
    further = catalogue.further_texts(Texts({("menu", "%d _cows"): ["%d vaches"]}))
    assert further == ["", "2 vaches", "%d vaches", "5 vaches", "%d vaches"]
    texts = ["%d kráva", "2 krávy", "x", "pět krav", "%d krav"]
    translated = [
        TranslatedText(split_text(line.text, "en", sentences=False), (TranslatedSentence(text),))
        for line, text in zip(catalogue.lines, texts, strict=True)
    ]
    assert catalogue.count(translated) == (3, 3)
    (entry,) = polib.pofile(catalogue.written(translated).decode())
    assert entry.msgstr_plural == {0: "%d kráva", 1: "%d krávy", 2: "%d krav"}
    assert entry.tcomment == "dragoman: msgstr[2] was translated without its number (5)"
    again = PoDocument(File("cs.po", f"{forms}# {entry.tcomment}\n{message}".encode(), ("en", "cs")))
    (entry,) = polib.pofile(again.written(translated).decode())
    assert entry.tcomment == "dragoman: msgstr[2] was translated without its number (5)"
    passage, lacking = translated[4].passage, (TranslatedSentence(""),)
    translated[4] = TranslatedText(passage, lacking)
    assert catalogue.count(translated) == (2, 3)


LOST = "# dragoman: msgstr[{}] was translated without its number (5)\n"
NOTE = "# dragoman: msgstr[2] was translated without its number, and needs one\n"  # of a translator


@pytest.mark.parametrize(
    ("comments", "form", "expected"),
    [
        (LOST.format(2), "", ""),
        (f"{NOTE}{LOST.format(2)}# dragoman: confidence 12%\n", "", NOTE),
        (LOST.format(2), "krav", LOST.format(2)),  # that form is not translated again
    ],
)
def test_comments_on_an_earlier_draft_are_removed_with_it(comments: str, form: str, expected: str) -> None:
    forms = 'msgid ""\nmsgstr "Plural-Forms: nplurals=3; plural=(n==1) ? 0 : (n>=2 && n<=4) ? 1 : 2;\\n"\n\n'
    message = f'msgid "%d cow"\nmsgid_plural "%d cows"\nmsgstr[0] ""\nmsgstr[1] ""\nmsgstr[2] "{form}"\n'
    catalogue = PoDocument(File("cs.po", f"{forms}{comments}{message}".encode(), ("en", "cs")))
    (entry,) = polib.pofile(filled(catalogue))
    assert "".join(f"# {line}\n" for line in entry.tcomment.splitlines()) == expected


HEBREW = "nplurals=3; plural=(n==1 ? 0 : n==2 ? 1 : 2);"
ARABIC = "nplurals=6; plural=(n==0 ? 0 : n==1 ? 1 : n==2 ? 2 : n%100>=3 && n%100<=10 ? 3 : n%100>=11 ? 4 : 5);"


@pytest.mark.parametrize(
    ("header", "drafts", "expected"),
    [
        (HEBREW, {"2 files": "שני קבצים", "3 files": "3 קבצים"}, ["<%d file>", "שני קבצים", "%d קבצים"]),
        (HEBREW, {"2 files": "2 קבצים", "3 files": "קבצים"}, ["<%d file>", "%d קבצים", "<%d files>"]),
        (HEBREW, {"2 files": "3 קבצים"}, ["<%d file>", "<%d files>", "<%d files>"]),
        (HEBREW, {"2 files": "2 של 2"}, ["<%d file>", "<%d files>", "<%d files>"]),
        (ARABIC, {"0 files": "لا ملفات", "2 files": "ملفان"}, ["لا ملفات", "<%d file>", "ملفان"]),
        (ARABIC, {"0 files": "0 ملف", "2 files": "٢ ملفات"}, ["%d ملف", "<%d file>", "<%d files>"]),
    ],
)
def test_a_form_for_one_number_may_lack_it(
    header: str, drafts: dict[str, str], expected: list[str], tmp_path: Path
) -> None:
    """And no draft has a number that stands for the placeholder."""
    head = f'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n"Plural-Forms: {header}\\n"\n\n'
    message = '#, c-format\nmsgid "%d file"\nmsgid_plural "%d files"\nmsgstr[0] ""\n'
    catalogue = PoDocument(File("x.po", f"{head}{message}".encode(), ("en", "ar")))
    translated = [
        TranslatedText(
            split_text(line.text, "en", sentences=False),
            (TranslatedSentence(drafts.get(line.text, "" if line.text[0].isdigit() else f"<{line.text}>")),),
        )
        for line in catalogue.lines
    ]
    (tmp_path / "new.po").write_bytes(catalogue.written(translated))
    (entry,) = polib.pofile(str(tmp_path / "new.po"))
    assert list(entry.msgstr_plural.values())[:3] == expected
    if shutil.which("msgfmt"):
        command = ["msgfmt", "--check-format", "--use-fuzzy", "-o", "new.mo", "new.po"]
        subprocess.run(command, cwd=tmp_path, check=True)


def test_accelerators_of_labels_are_carried_over() -> None:
    text = 'msgid ""\nmsgstr ""\n"Language: fr\\n"\n\nmsgid "_Save &amp; close"\nmsgstr ""\n'
    catalogue = PoDocument(File("x.po", text.encode(), ("en", "fr")))
    assert [line.text for line in catalogue.lines] == ["Save &amp; close"]
    translation = TranslatedText(
        split_text("Save &amp; close", "en", sentences=False), (TranslatedSentence("Tout &amp; sauver"),)
    )
    assert polib.pofile(catalogue.written([translation]).decode())[0].msgstr == "Tout &amp; _sauver"


def test_a_header_that_names_no_language_gets_the_target_language() -> None:
    message = '\nmsgid "one"\nmsgstr "%s"\n'
    for language, text, names, written in (
        ("", "", ("en", "pt-BR"), "pt_BR"),
        ("en_US", "", ("en", "fr"), "fr"),
        ("fr_CA", "", ("en", "fr"), "fr_CA"),
        ("", "un", ("src", "tgt"), ""),
    ):
        head = f'msgid ""\nmsgstr ""\n"Language: {language}\\n"\n'
        catalogue = PoDocument(File("x.po", (head + message % text).encode(), names))
        assert polib.pofile(filled(catalogue)).metadata["Language"] == written
    with pytest.raises(UserError, match="is a translation to en_US, and the run translates en to fr"):
        PoDocument(File("x.po", (head.replace(": ", ": en_US") + message % "One").encode(), ("en", "fr")))


def test_a_message_without_a_translation_of_every_line_stays_as_it_is(place: Path) -> None:
    after = polib.pofile(filled(read(place), ["save", "lines", "5 files", "%d files"]))
    assert [entry.msgstr for entry in after[2:4]] == ["", ""]
    assert not after[3].flags
    assert after[4].msgstr_plural == {0: "<%d file>", 1: "%d soubory", 2: ""}


@pytest.mark.parametrize(
    ("names", "message"), [(("cs", "en"), "is a translation to cs, and the run"), (("en", "fr"), "has no fr")]
)
def test_another_language_is_refused(names: tuple[str, str], message: str, place: Path) -> None:
    with pytest.raises(UserError, match=message):
        read(place, names)


def test_a_file_keeps_its_line_ends_and_gets_no_comment() -> None:
    """And nobody is thanked for a translation that a machine has made."""
    text = HEAD.replace("ISO-8859-2", "UTF-8") + 'msgid "one"\nmsgstr ""\n\nmsgid "translator-credits"\nmsgstr ""\n'
    for lines in (text, text.replace("\n", "\r\n")):
        catalogue = PoDocument(File("cs.po", lines.encode(), ("en", "cs")))
        assert [line.text for line in catalogue.lines] == ["one"]
        passage = split_text("one", "en", sentences=False)
        written = catalogue.written([TranslatedText(passage, (TranslatedSentence("jeden"),))]).decode()
        end = "\r\n" if "\r" in lines else "\n"
        assert written.startswith(f'msgid ""{end}')
        assert f'#, fuzzy{end}msgid "one"{end}msgstr "jeden"{end}' in written
        assert written.count("\n") == written.count(end)
