"""Texts of further languages, from the catalogues beside that of a language."""

from pathlib import Path

import pytest

from dragoman.corpus import formats, further_languages, installed
from dragoman.corpus.examples import read_texts
from dragoman.corpus.initialize import initialize
from dragoman.corpus.naming import with_further
from dragoman.documents.document import File
from dragoman.documents.po import PoDocument
from dragoman.errors import UserError
from tests import written

PLURAL = "%d cow\0%d cows"


def catalogue(path: Path, language: str, messages: written.Messages) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    header = written.HEADER.replace("Language: de", f"Language: {language}")
    path.write_bytes(written.mo(messages, header))
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A program's catalogues: German, and French with other contexts, gaps and one more form of plurals."""
    catalogue(tmp_path / "de.mo", "de", [("File", "Datei"), ("menu\4Open", "Öffnen"), (PLURAL, "%d Kuh\0%d Kühe")])
    catalogue(tmp_path / "fr.mo", "fr", [("menu\4Open", "Ouvrir"), ("Open", "Ouvert"), (PLURAL, "%d vache\0%d vaches")])
    return tmp_path


def test_texts_belong_to_the_same_message(folder: Path) -> None:
    units = list(formats.read(str(folder / "de.mo"), ("en", "fr", "es", "de")))
    assert [unit.texts for unit in units] == [
        ("File", "", "", "Datei"),
        ("Open", "Ouvrir", "", "Öffnen"),
        ("%d cow", "%d vache", "", "%d Kuh"),
        ("%d cows", "%d vaches", "", "%d Kühe"),
    ]
    assert units[1].context == "menu"
    assert list(read_texts(str(folder / "de.mo"), ("en", "fr", "de")))[1] == ("Open", "Ouvrir", "Öffnen")


FORMS = {
    "de": ("nplurals=2; plural=(n != 1);", ["Kuh", "Kühe"]),
    "fr": ("nplurals=2; plural=(n > 1);", ["vache", "vaches"]),
    "cs": ("nplurals=3; plural=(n==1) ? 0 : (n>=2 && n<=4) ? 1 : 2;", ["kráva", "krávy", "krav"]),
    "pl": ("nplurals=3; plural=(n==1 ? 0 : n%10>=2 && n%10<=4 && n%100/10!=1 ? 1 : 2);", ["krowa", "krowy", "krów"]),
    "lv": ("nplurals=3; plural=(n%10==1 && n%100!=11 ? 0 : n != 0 ? 1 : 2);", ["govs", "govis", "govju"]),
    "ja": ("nplurals=1; plural=0;", ["牛"]),
}


@pytest.mark.parametrize(
    ("language", "other", "expected"),
    [
        ("cs", "pl", ["krowa", "krowy", "krów"]),
        ("de", "cs", ["kráva", "krav"]),
        ("cs", "de", ["Kuh", "Kühe", "Kühe"]),
        ("lv", "fr", ["vache", "vaches", "vache"]),  # of 0
        ("lv", "cs", ["kráva", "krávy", "krav"]),
        ("ja", "cs", ["krav"]),
        ("cs", "ja", ["牛", "牛", "牛"]),
    ],
)
def test_forms_of_plurals_are_of_the_same_number(
    language: str, other: str, expected: list[str], tmp_path: Path
) -> None:
    for name in (language, other):
        rule, forms = FORMS[name]
        header = written.HEADER.replace("Language: de", f"Language: {name}").replace(FORMS["de"][0], rule)
        (tmp_path / f"{name}.mo").write_bytes(written.mo([("cow\0cows", "\0".join(forms))], header))
        text = "\n".join(f'msgstr[{form}] ""' for form in range(len(forms)))
        head = written.po([]).decode().replace("Language: de", f"Language: {name}").replace(FORMS["de"][0], rule)
        (tmp_path / f"{name}.po").write_text(f'{head}\nmsgid "cow"\nmsgid_plural "cows"\n{text}\n', "utf-8")
    units = formats.read(str(tmp_path / f"{language}.mo"), ("en", other, language))
    assert [unit.texts[1] for unit in units] == expected
    document = PoDocument(File("x.po", (tmp_path / f"{language}.po").read_bytes(), ("en", language)))
    texts = further_languages.read_texts(str(tmp_path / f"{language}.mo"), language, other)
    assert list(document.further_texts(texts)) == expected


def test_the_context_of_a_message_is_a_text_as_well(folder: Path) -> None:
    rows = list(read_texts(str(folder / "de.mo"), ("en", "context", "fr", "de")))
    assert rows[:2] == [("File", "", "", "Datei"), ("Open", "menu", "Ouvrir", "Öffnen")]
    header = written.HEADER.replace("Language: de", "Language: cs").replace(FORMS["de"][0], FORMS["cs"][0])
    forms = "%d kráva\0%d krávy\0%d krav"
    (folder / "cs.mo").write_bytes(written.mo([(f"farm\4{PLURAL}", forms)], header))
    of_forms = list(read_texts(str(folder / "cs.mo"), ("en", "context", "fr", "cs")))
    assert of_forms == [
        ("%d cow", "farm", "", "%d kráva"),
        ("2 cows", "farm", "", "2 krávy"),
        ("5 cows", "farm", "", "5 krav"),
    ]


def test_a_comment_is_a_context_but_belongs_to_no_identity(tmp_path: Path) -> None:
    message = '\n#. A {}.\nmsgid "Open"\nmsgstr "{}"\n'
    for language, *of in (("de", "verb", "Öffnen"), ("fr", "word", "Ouvrir")):
        header = written.po([]).decode().replace("Language: de", f"Language: {language}")
        (tmp_path / f"{language}.po").write_text(header + message.format(*of), "utf-8")
    rows = list(read_texts(str(tmp_path / "de.po"), ("en", "context", "fr", "de")))
    assert rows == [("Open", "A verb.", "Ouvrir", "Öffnen")]


def test_what_is_not_finished_is_missing(tmp_path: Path) -> None:
    (tmp_path / "de.po").write_bytes(written.po([("one", "eins"), ("two", "zwei")]))
    french = written.po([("one", "un"), ("two", "")]).replace(b'msgid "one"', b'#, fuzzy\nmsgid "one"')
    (tmp_path / "fr.po").write_bytes(french.replace(b"Language: de", b"Language: fr"))
    assert not further_languages.read_texts(str(tmp_path / "de.po"), "de", "fr").forms


@pytest.mark.parametrize(
    ("path", "language", "other", "there"),
    [
        ("po/de.po", "de", "fr", "po/fr.po"),
        ("po/de.po", "de", "fr", "po/fr.po.gz"),
        ("locale/de/LC_MESSAGES/cow.mo", "de", "fr", "locale/fr/LC_MESSAGES/cow.mo"),
        ("de/LC_MESSAGES/de.mo", "de", "fr", "fr/LC_MESSAGES/de.mo"),
        ("po/cow-de.po", "de", "pt-BR", "po/cow-pt_BR.po"),
        ("po/de_DE.po", "de", "fr", "po/fr.po"),
        ("po/pt_BR.po", "pt-BR", "fr_CA", "po/fr.po"),
        ("po/cow_de.po", "de", "fr", "po/cow_fr.po"),
        ("po/de.po.gz", "de", "fr", "po/fr.po"),
        ("po/de.po", "de", "pt", "po/pt_BR.po"),
        ("po/zh_Hans_CN.po", "zh", "sr", "po/sr@latin.po"),  # whether it is in the same script is in its header
        ("po/de_DE.po", "de", "es", "po/es_419.po"),
    ],
)
def test_the_catalogue_of_a_language_has_its_code_in_place_of_the_other(
    path: str, language: str, other: str, there: str, tmp_path: Path
) -> None:
    (tmp_path / there).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / there).touch()
    assert next(further_languages.find_beside(str(tmp_path / path), language, other)) == tmp_path / there


def test_a_catalogue_is_not_beside_itself_and_not_of_a_third_language(tmp_path: Path) -> None:
    catalogue(tmp_path / "de" / "pt.mo", "pt", [("one", "um")])
    assert not further_languages.read_texts(str(tmp_path / "de" / "pt.mo"), "pt", "pt_BR").forms
    catalogue(tmp_path / "fr" / "pt.mo", "pt", [("one", "um")])  # a user of that name has it
    assert not further_languages.read_texts(str(tmp_path / "de" / "pt.mo"), "de", "fr").forms


@pytest.mark.parametrize(
    ("other", "there", "expected"),
    [
        ("zh_TW", ("zh_CN", "zh_HK"), "zh_HK"),
        ("zh_TW", ("zh_CN", "zh"), ""),
        ("sr", ("sr@latin",), ""),
        ("sr@latin", ("sr", "sr@latin"), "sr@latin"),
        ("pt", ("pt_BR", "pt_PT"), "pt_PT"),
        ("pt_AO", ("pt_BR", "pt"), "pt"),
        ("pt_BR", ("pt_PT",), "pt_PT"),
    ],
)
def test_a_further_catalogue_is_in_the_same_script_and_preferably_of_the_same_region(
    other: str, there: tuple[str, ...], expected: str, tmp_path: Path
) -> None:
    for name in there:
        catalogue(tmp_path / f"{name}.mo", name, [("one", name)])
    catalogue(tmp_path / "de.mo", "de", [("one", "eins")])
    assert further_languages.read_texts(str(tmp_path / "de.mo"), "de", other).find("", "one") == expected


@pytest.mark.parametrize("path", ["po/model.po", "po/decade.po", "de.po/x.mo"])
def test_a_code_within_a_word_is_no_language(path: str, tmp_path: Path) -> None:
    (tmp_path / "po").mkdir()
    (tmp_path / "po" / "mofrl.po").touch()
    (tmp_path / "po" / "frcafr.po").touch()
    assert not list(further_languages.find_beside(str(tmp_path / path), "de", "fr"))


def test_installed_catalogues_have_further_languages(tmp_path: Path) -> None:
    for language, text in (("de", "eins"), ("fr", "un")):
        catalogue(tmp_path / "locale" / language / "LC_MESSAGES" / "cow.mo", language, [("one", text)])
    paths = installed.find("de", [tmp_path / "locale"])
    ((domain, unit),) = installed.read(paths, [], "de", ("fr", "es"))
    assert (domain, unit.texts) == ("cow", ("one", "un", "", "eins"))


def test_a_further_language_is_neither_source_nor_target(tmp_path: Path) -> None:
    assert with_further("en", ("fr", "es"), "de") == ("en", "fr", "es", "de")
    (tmp_path / "x.tsv").write_text("en\tde\none\teins\n", "utf-8")
    for name in ("en", "de"):
        with pytest.raises(UserError, match=f"^--also {name}: is the source or target language already$"):
            with_further("en", ("fr", name), "de")
        with pytest.raises(UserError, match=f"^--also {name}: is the source or target language already$"):
            initialize(tmp_path / "x.tsv", None, tmp_path / "x.yaml", None, also=("fr", name))
    assert with_further("en", ("pt_BR", "zh_TW"), "pt") == ("en", "pt_BR", "zh_TW", "pt")
    with pytest.raises(UserError, match=r"^--also pt-PT: is the source or target language already$"):
        with_further("en", ("pt-PT",), "pt")
    assert with_further("en", ("pt", "pt_BR"), "de") == ("en", "pt", "pt_BR", "de")
    with pytest.raises(UserError, match=r"^--also pt: is named twice$"):
        with_further("en", ("pt-PT", "fr", "pt"), "de")


def test_a_further_language_without_texts_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.tsv").write_text("en\tfr\tde\n" + "one\t\teins\n" * 9, "utf-8")
    with pytest.raises(
        UserError, match=r"x\.tsv: no texts in 'fr' \(--also\), neither here nor in catalogs beside it$"
    ):
        initialize(tmp_path / "x.tsv", None, tmp_path / "x.yaml", str(tmp_path / "x.tsv"), ("en", "de"), also=("fr",))
