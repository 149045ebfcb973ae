"""Every format keeps the contract: the pairs come back, in order, whatever they are called; a fault is one line."""

import re
import sys
import tracemalloc
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dragoman.corpus import formats, xml
from dragoman.corpus.examples import corpus_files, read_pairs
from dragoman.corpus.formats import ENDINGS, FORMATS
from dragoman.corpus.naming import match
from dragoman.corpus.translation_unit import PluralForm, TranslationState, TranslationUnit
from dragoman.errors import UserError
from dragoman.files.reading import LONGEST_TEXT
from tests import written
from tests.golden import Golden

PAIRS = [("a house", "ein Haus"), ('"quoted", & <b>bold</b>', "„zitiert“, & <b>fett</b>"), ("100 %", "100 % \\n")]
each_format = pytest.mark.parametrize("name", written.WRITERS)


def test_every_format_is_written_here() -> None:
    assert {Path(name).suffix for name in written.WRITERS} == set(FORMATS)


@each_format
def test_the_pairs_come_back_by_the_names_of_their_languages(name: str, tmp_path: Path) -> None:
    path = written.write(tmp_path, name, PAIRS)
    assert list(formats.texts(path, ("en", "de"))) == PAIRS
    assert list(read_pairs(path, "de", "en")) == [(target, source) for source, target in PAIRS]
    assert corpus_files(path, "en", "de") == [Path(path)]


@pytest.mark.parametrize("name", [name for name in written.WRITERS if f"{Path(name).suffix}.gz" in ENDINGS])
def test_what_is_packed_is_read_under_both_names(name: str, tmp_path: Path) -> None:
    path = written.write(tmp_path, f"{name}.gz", PAIRS)
    assert list(formats.texts(path, ("en", "de"))) == PAIRS
    assert list(formats.texts(path.removesuffix(".gz"), ("en", "de"))) == PAIRS


@each_format
def test_which_languages_there_are_is_found(name: str, tmp_path: Path) -> None:
    path = written.write(tmp_path, name, PAIRS)
    languages = formats.find_languages(path)
    assert [language.partition("-")[0] for language in languages.names] == ["en", "de"]
    assert formats.find_languages(path, ("de", "en")).names == ("de", "en")
    assert list(formats.texts(path, languages.names)) == PAIRS


@each_format
def test_a_language_that_is_not_there_is_told(name: str, tmp_path: Path) -> None:
    path = written.write(tmp_path, name, PAIRS)
    for read in (formats.texts, formats.find_languages):
        with pytest.raises(UserError, match=r"^\S*x\.\w+.*\bfr\b|choose two") as raised:
            list(read(path, ("en", "fr")))
        assert "\n" not in str(raised.value)


@each_format
def test_no_pairs_are_no_pairs(name: str, tmp_path: Path) -> None:
    assert list(formats.texts(written.write(tmp_path, name, []), ("en", "de"))) == []


@each_format
def test_a_file_that_is_missing_or_a_folder_is_told(name: str, tmp_path: Path) -> None:
    if name == "x.parquet":
        pytest.importorskip("pyarrow")
    path = str(tmp_path / name)
    for reason in ("no such file", ""):
        with pytest.raises(UserError, match=re.escape(f"{path}: {reason}")):
            list(formats.texts(path, ("en", "de")))
        (tmp_path / name).mkdir(exist_ok=True)


@each_format
def test_of_a_long_text_comes_the_beginning(name: str, tmp_path: Path) -> None:
    path = written.write(tmp_path, name, [("x" * (LONGEST_TEXT + 50), "y")])
    assert list(formats.texts(path, ("en", "de"))) == [("x" * (LONGEST_TEXT + 1), "y")]


# XML has no control characters; a TSV no tabs, and white space at the ends of its lines is text
TEXT = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff"), min_size=1, max_size=8
)


@each_format
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(pairs=st.lists(st.tuples(TEXT, TEXT), max_size=4))
def test_any_text_comes_back(name: str, pairs: list[tuple[str, str]], tmp_path: Path) -> None:
    path = written.write(tmp_path, name, pairs)
    assert [unit.texts for unit in formats.read(path, ("en", "de"))] == pairs


@each_format
def test_strings_of_programs_are_trained_on_without_accelerators(name: str, tmp_path: Path) -> None:
    path = written.write(tmp_path, name, [("_File", "&Datei"), ("Use pg_upgrade", "Benutzen Sie pg_upgrade")])
    of_programs = Path(name).suffix in {".po", ".mo", ".xliff", ".xlf", ".json"}
    label = ("File", "Datei") if of_programs else ("_File", "&Datei")
    assert list(formats.texts(path, ("en", "de"))) == [label, ("Use pg_upgrade", "Benutzen Sie pg_upgrade")]


def test_the_texts_of_one_language_keep_their_accelerators(tmp_path: Path) -> None:
    path = written.write(tmp_path, "x.xliff", [("_File", "&Datei")])
    assert list(formats.texts(path, ("de",))) == [("&Datei",)]


PIECES = [
    *(rb'msgid msgstr msgctxt msgid_plural msgstr[0] msgstr[1] #~ #, \n " "" "a" \\ \" < > </ /> & &a; <!--'.split()),
    *(b"<tu> </tu> <tuv <seg> </seg> <trans-unit> <segment> <source> <target> </target> <g> { } , 3".split()),
    *(b"\n \x00 \x04 \xff \xc3 \xed\xa0\x80 charset=utf-16 charset=rot13 charset=x encoding='x'".split(b" ")),
    b"#, fuzzy\n",
    b'<?xml version="1.0" encoding="utf-16"?>',
    b'<!DOCTYPE tmx [<!ENTITY a "b">]>',
    b'{"en": "\\ud800", "de": "b"}',
    b"\xff\xff\xff\xff",
]
PLACE = re.compile(r"x\.\w+(:\d+|: item \d+)?: ")


def fault(read: Callable[[str, tuple[str, str]], Iterable[object]], path: Path) -> str | None:
    """The message, if reading fails."""
    try:
        list(read(str(path), ("en", "de")))
    except UserError as error:
        return str(error)
    return None


@pytest.mark.slow
@each_format
@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_any_damage_is_read_or_told_in_one_line(name: str, data: st.DataObject, tmp_path: Path) -> None:
    """A part of a sound file is replaced by something else, or the file is cut short."""
    path = Path(written.write(tmp_path, name, PAIRS))
    whole = path.read_bytes()
    begin = data.draw(st.integers(0, len(whole)))
    piece = data.draw(st.one_of(st.sampled_from(PIECES), st.binary(max_size=4), st.none()))
    end = len(whole) if piece is None else data.draw(st.integers(begin, min(begin + 8, len(whole))))
    path.write_bytes(whole[:begin] + (piece or b"") + whole[end:])
    for read in (formats.texts, formats.find_languages):
        message = fault(read, path)
        assert message is None or PLACE.search(message), message
        assert "\n" not in (message or "")
    # in a file of columns, the end of a cell looks like any other part of it
    if piece is None and path.suffix not in (".tsv", ".csv") and fault(formats.texts, path) is None:
        rows = list(formats.texts(str(path), ("en", "de")))
        assert rows == PAIRS[: len(rows)]


DAMAGED: list[tuple[str, bytes, str]] = [
    ("x.json", b'[{"en": "a", "de": "A"}, {"en": "b", "de": 3}]', "item 2: "),
    ("x.json", b'[{"en": "a", "de": "A"}, 3]', "item 2: "),
    ("x.json", b'{"en": {"a": "b"}}', ""),
    ("x.json", b'[\n{"en": }]', "2: "),
    ("x.json", b'[\n"\xff"]', "2: "),
    ("x.po", b'msgid "a"\nmsgstr "b"\n\nnonsense\n', "4: "),
    ("x.po", b'msgid "a"\nmsgstr "b" c"\n', "2: "),
    ("x.po", b'msgid "one\nmsgstr "A"\n', "1: "),
    ("x.po", b'msgid "one"\nmsgstr "A\n"b"\n', "2: "),
    ("x.po", b'msgid "one"\nmsgstr "A\\"\n', "2: "),
    ("x.po", b'msgid "one"\nmsgstr "A"\n"\n', "3: "),
    ("x.po", b'#~ msgid "one"\n#~ msgstr "A\n', "2: "),
    ("x.po", b'msgid "one"\nmsgstr "A"\n\nmsgid "two"\n', "5: "),
    ("x.po", b'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\nmsgid "a"\nmsgstr "\xff"\n', "5: "),
    ("x.mo", b"not a catalogue of messages", ""),
    ("x.mo", written.mo([("a", "b")])[:40], ""),
    ("x.mo", written.mo([("a", "b")])[:-6], ""),
    ("x.tmx", b'<tmx>\n<body>\n<tu><tuv xml:lang="en"><seg>a</seg></tuv></body></tmx>', "3: "),
    ("x.tmx", b"<tmx>\n<tu><tuv><seg>a</seg></tuv></tu></tmx>", "2: "),
    ("x.tmx", b'<!DOCTYPE tmx [\n<!ENTITY a "aaaaaaaa">\n<!ENTITY b "&a;&a;&a;&a;">]>\n<tmx>&b;</tmx>', "2: "),
    ("x.tmx", b'<!DOCTYPE tmx [<!ENTITY a SYSTEM "file:///etc/hostname">]><tmx>&a;</tmx>', "1: "),
    (
        "x.tmx",
        b'<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n<tmx><tu><tuv xml:lang="en"><seg>caf&eacute;</seg></tuv></tu></tmx>',
        "2: ",
    ),
    ("x.tmx", b"<html><body>404</body></html>", "1: "),
    ("x.tmx", b'<?xml version="1.0" encoding="no-such"?><tmx/>', "1: "),
    ("x.xlf", b"<xliff>" + b"<g>" * 2_000, "1: "),
    ("x.xlf", b"<xliff><" + b"g" * 17 * 2**20, "1: "),
    ("x.xlf", b'<xliff>\n<file source-language="en" target-language="fr">' + b"<trans-unit/></file></xliff>", "2: "),
    ("x.parquet", b"PAR1 and nothing else", ""),
]


@pytest.mark.parametrize(("name", "data", "place"), DAMAGED, ids=range(len(DAMAGED)))
def test_a_fault_has_its_place(name: str, data: bytes, place: str, tmp_path: Path, golden: Golden) -> None:
    if name == "x.parquet":
        pytest.importorskip("pyarrow")
    (tmp_path / name).write_bytes(data)
    with pytest.raises(UserError) as raised:
        list(formats.texts(str(tmp_path / name), ("en", "de")))
    mark = ":" if place[:1].isdigit() else ": "
    assert str(raised.value).startswith(f"{tmp_path / name}{mark}{place}")
    golden(str(raised.value))


PO = r"""
msgid ""
msgstr "Language: de_DE\nPlural-Forms: nplurals=2; plural=(n == 1);\n"

#, fuzzy
msgid "fuzzy"
msgstr "unscharf"

#. A comment.
msgctxt "menu"
msgid "open\n"
msgstr "öffnen\n"

# Of a translator.
#. A number \033,
#.of things.
#: main.c:1
msgid "one"
msgid_plural "%d many"
msgstr[0] "%d viele"
msgstr[1] "eins"

# dragoman: confidence 50%
msgid "left"
msgstr ""

#~ msgid "old"
#~ msgstr "alt"
"""
NOTE = r"A number \033, of things."
UNITS = [
    TranslationUnit(("fuzzy", "unscharf"), TranslationState.FUZZY),
    TranslationUnit(("open ", "öffnen "), context="menu", msgctxt="menu"),
    TranslationUnit(("%d many", "%d viele"), context=NOTE, plural=True, form=PluralForm(100, shown=False)),
    TranslationUnit(("one", "eins"), context=NOTE, plural=True, form=PluralForm(1, shown=False, alone=True)),
    TranslationUnit(("left", "")),
    TranslationUnit(("old", "alt"), TranslationState.OBSOLETE),
]


def test_a_po_has_contexts_states_and_plurals(tmp_path: Path) -> None:
    """The form that means one is what the header says, here the second."""
    path = tmp_path / "x.po"
    path.write_text(PO, "utf-8")
    assert list(formats.read(str(path), ("en", "de"))) == UNITS
    trained = [("fuzzy", ""), *(unit.texts for unit in UNITS[1:5])]
    assert list(formats.texts(str(path), ("en", "de"))) == trained
    assert formats.find_languages(str(path)).names == ("en", "de_DE")
    path.write_bytes(
        PO.replace(r"Language: de_DE\n", r"Content-Type: text/plain; charset=ISO-8859-1\n").encode("latin-1")
    )
    assert list(formats.texts(str(path), ("src", "mt"))) == trained
    assert formats.find_languages(str(path)).names == ("source", "target")


def test_of_a_po_that_was_cut_anywhere_nothing_is_read_otherwise(tmp_path: Path) -> None:
    path = Path(written.write(tmp_path, "x.po", PAIRS))
    whole = path.read_bytes()
    for end in range(len(whole)):
        path.write_bytes(whole[:end])
        if fault(formats.texts, path) is None:
            rows = list(formats.texts(str(path), ("en", "de")))
            assert rows == PAIRS[: len(rows)]


def test_a_mo_has_contexts_and_plurals(tmp_path: Path) -> None:
    messages = [("menu\x04open", "öffnen"), ("one\0%d many", "eins\0%d viele"), ("a\0b", "c")]
    expected = [
        TranslationUnit(("open", "öffnen"), context="menu", msgctxt="menu"),
        TranslationUnit(("one", "eins"), plural=True, form=PluralForm(1, shown=False, alone=True)),
        TranslationUnit(("%d many", "%d viele"), plural=True, form=PluralForm(100, shown=False)),
        TranslationUnit(("b", "c"), plural=True, form=PluralForm(1, shown=False, alone=True)),
    ]
    for order in "<>":
        (tmp_path / "x.mo").write_bytes(written.mo(messages, order=order))
        assert list(formats.read(str(tmp_path / "x.mo"), ("en", "de"))) == expected
    (tmp_path / "x.mo").write_bytes(written.mo([("a", "ä")], "Content-Type: text/plain; charset=CHARSET"))
    assert list(formats.texts(str(tmp_path / "x.mo"), ("en", "de"))) == [("a", "ä")]


def test_the_language_of_a_catalogue_may_stand_in_its_path(tmp_path: Path) -> None:
    for path in (tmp_path / "de.mo", tmp_path / "de" / "LC_MESSAGES" / "x.mo"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(written.mo([("a", "b")], "X: y"))
        assert formats.find_languages(str(path)).names == ("en", "de")


def test_inline_codes_are_what_they_stand_for(tmp_path: Path) -> None:
    (tmp_path / "x.tmx").write_text(
        '<tmx><body><tu><tuv lang="en"><seg>a <bpt i="1">&lt;b&gt;</bpt>b<ept i="1">&lt;/b&gt;</ept></seg></tuv>'
        '<tuv lang="de"><seg>A <ph x="1">%s</ph><hi>c</hi></seg></tuv></tu></body></tmx>'
    )
    assert list(formats.texts(str(tmp_path / "x.tmx"), ("en", "de"))) == [("a <b>b</b>", "A %sc")]
    (tmp_path / "x.xlf").write_text(
        '<xliff><file source-language="en" target-language="de"><body><trans-unit><source>a <x id="1" equiv-text="X"/>'
        '<g>b</g></source><target>A <ph id="1" equiv-text="no">%s</ph></target></trans-unit></body></file></xliff>'
    )
    assert list(formats.texts(str(tmp_path / "x.xlf"), ("en", "de"))) == [("a Xb", "A %s")]
    (tmp_path / "x.xliff").write_text(
        '<xliff srcLang="en" trgLang="de"><file><unit><segment><source>a <ph id="1" disp="{n}"/></source><target>'
        '<pc id="2" dispStart="&lt;b>" dispEnd="&lt;/b>">A</pc></target></segment></unit></file></xliff>'
    )
    assert list(formats.texts(str(tmp_path / "x.xliff"), ("en", "de"))) == [("a {n}", "<b>A</b>")]


def xlf(*units: tuple[str, str]) -> str:
    """XLIFF 1.2 with these contents of source and target."""
    elements = (
        f"<trans-unit><source>{source}</source><target>{target}</target></trans-unit>" for source, target in units
    )
    return f'<xliff><file source-language="en" target-language="de"><body>{"".join(elements)}</body></file></xliff>'


def test_codes_that_say_nothing_are_marked_alike_on_both_sides(tmp_path: Path) -> None:
    (tmp_path / "x.xlf").write_text(
        xlf(
            ('Delete <x id="1"/> from <x id="2"/>', 'Aus <x id="2"/> löschen: <x id="1"/>'),
            ('Cut <x id="1" equiv-text="{0}"/>', '<x id="1"/> ausschneiden'),
            ('Pa<x id="1" equiv-text=""/>ste', 'Ein<x id="1"/>fügen'),
            (
                "a <bpt id='1'/>b<ept id='1'/> <g id='2'>c <ph/></g>",
                "A <bx id='1'/>B<ex id='1'/> <g id='2'>C <ph/></g>",
            ),
        ),
        "utf-8",
    )
    units = [
        TranslationUnit(("Delete {1} from {2}", "Aus {2} löschen: {1}"), marked=True),
        TranslationUnit(("Cut {0}", "{0} ausschneiden")),
        TranslationUnit(("Paste", "Einfügen")),
        TranslationUnit(("a {1}b{/1} c {3}", "A {1}B{/1} C {3}"), marked=True),
    ]
    assert list(formats.read(str(tmp_path / "x.xlf"), ("en", "de"))) == units
    (tmp_path / "x.tmx").write_text(
        '<tmx><tu><tuv lang="en"><seg>a <ph x="7"/></seg></tuv><tuv lang="de"><seg><ph x="7"/> A</seg></tuv></tu></tmx>'
    )
    assert list(formats.read(str(tmp_path / "x.tmx"), ("en", "de"))) == [
        TranslationUnit(("a {7}", "{7} A"), marked=True)
    ]
    (tmp_path / "x.xliff").write_text(
        '<xliff srcLang="en" trgLang="de"><segment><source>a<sc id="1"/>b<ec startRef="1"/></source>'
        '<target>A<sc id="1" disp="["/>B<ec startRef="1"/></target></segment></xliff>'
    )
    assert list(formats.read(str(tmp_path / "x.xliff"), ("en", "de"))) == [
        TranslationUnit(("a[b{/1}", "A[B{/1}"), marked=True)
    ]


def test_of_several_texts_of_a_language_each_is_a_unit(tmp_path: Path) -> None:
    tuv = '<tuv xml:lang="{}"><seg>{}</seg></tuv>'
    units = (
        [("en", "a"), ("de", "A"), ("de", ""), ("de", "AA")],
        [("en-US", "color"), ("en-GB", "colour"), ("de", "Farbe")],
    )
    texts = "".join(f"<tu>{''.join(tuv.format(*text) for text in unit)}</tu>" for unit in units)
    (tmp_path / "x.tmx").write_text(f"<tmx><body>{texts}</body></tmx>")
    pairs = [("a", "A"), ("a", "AA"), ("color", "Farbe"), ("colour", "Farbe")]
    assert list(formats.texts(str(tmp_path / "x.tmx"), ("en", "de"))) == pairs
    assert list(formats.texts(str(tmp_path / "x.tmx"), ("en-GB", "de")))[1:] == [("a", "AA"), pairs[3]]


def test_a_state_of_xliff_may_be_fuzzy(tmp_path: Path) -> None:
    target = '<trans-unit><source>a</source><target state="{}">b</target></trans-unit>'
    units = "".join(target.format(state) for state in ("needs-translation", "new", "translated"))
    (tmp_path / "x.xlf").write_text(f'<xliff><file source-language="en" target-language="de">{units}</file></xliff>')
    states = [unit.state for unit in formats.read(str(tmp_path / "x.xlf"), ("en", "de"))]
    assert states == [TranslationState.FUZZY, TranslationState.FUZZY, TranslationState.GOOD]
    segments = (
        '<segment state="initial"><source>a</source><target>b</target></segment><segment><source>c</source></segment>'
    )
    (tmp_path / "x.xlf").write_text(f'<xliff srcLang="en" trgLang="de">{segments}</xliff>')
    rows = list(formats.read(str(tmp_path / "x.xlf"), ("en", "de")))
    assert rows == [TranslationUnit(("a", "b"), TranslationState.FUZZY), TranslationUnit(("c", ""))]


APPROVALS = [
    ('approved="no"', "", TranslationState.FUZZY),
    ('approved="no"', 'state=""', TranslationState.FUZZY),
    ('approved="no"', 'state="translated"', TranslationState.GOOD),
    ('approved="no"', 'state="final"', TranslationState.GOOD),
    ('approved="yes"', "", TranslationState.GOOD),
    ('approved="yes"', 'state="needs-review-translation"', TranslationState.FUZZY),
    ("", "", TranslationState.GOOD),
]


@pytest.mark.parametrize(("unit", "target", "expected"), APPROVALS)
def test_what_is_not_approved_is_fuzzy_unless_it_has_a_state(
    tmp_path: Path, unit: str, target: str, expected: TranslationState
) -> None:
    units = f"<trans-unit {unit}><source>a</source><target {target}>b</target></trans-unit>"
    later = "<trans-unit><source>c</source><target>d</target></trans-unit>"
    (tmp_path / "x.xlf").write_text(
        f'<xliff><file source-language="en" target-language="de">{units}{later}</file></xliff>'
    )
    states = [row.state for row in formats.read(str(tmp_path / "x.xlf"), ("en", "de"))]
    assert states == [expected, TranslationState.GOOD]


def test_a_unit_of_many_languages_lacks_some(tmp_path: Path) -> None:
    tuv = '<tuv xml:lang="{}"><seg>{}</seg></tuv>'
    units = [("en-GB", "a"), ("fr", "b"), ("de", "c")], [("fr", "d"), ("en-GB", "e")]
    texts = "".join(f"<tu>{''.join(tuv.format(*text) for text in unit)}</tu>" for unit in units)
    (tmp_path / "x.tmx").write_text(f"<tmx><body>{texts}</body></tmx>")
    assert list(formats.texts(str(tmp_path / "x.tmx"), ("en", "de"))) == [("a", "c"), ("e", "")]
    with pytest.raises(UserError, match="choose two"):
        formats.find_languages(str(tmp_path / "x.tmx"))


def test_files_of_keys_go_side_by_side(tmp_path: Path, golden: Golden) -> None:
    (tmp_path / "en.json").write_text('{"menu": {"open": "Open", "n": 3}, "list": ["a", "b"], "only": "here"}')
    (tmp_path / "de.json").write_text('{"list": ["A", "B"], "more": "da", "menu": {"open": "Öffnen"}}', "utf-8")
    place = str(tmp_path / "{}.json")
    expected = [("Open", "Öffnen"), ("a", "A"), ("b", "B"), ("here", ""), ("", "da")]
    assert list(formats.texts(place, ("en", "de"))) == expected
    assert corpus_files(place, "en", "de") == [tmp_path / "en.json", tmp_path / "de.json"]
    for wrong in (lambda: corpus_files(place, "en", "fr"), lambda: formats.find_languages(place)):
        with pytest.raises(UserError) as raised:
            wrong()
        golden(str(raised.value))


@pytest.mark.parametrize(
    ("names", "languages", "places"),
    [
        (("en", "de"), ("de-DE", "en_US"), (1, 0)),
        (("en-US", "en-GB"), ("en-GB", "en-US"), (1, 0)),
        (("en", "de"), ("en-GB", "en-US", "de"), (None, 2)),
        (("src", "mt"), ("en", "de"), (0, 1)),
        (("src", "de"), ("de", "en"), (1, 0)),
        (("en", "fr"), ("en", "de"), (0, None)),
        (("en", "fr"), ("", "fr"), (0, 1)),
        (("en", "fr"), ("", ""), (0, 1)),
        (("src", "mt"), ("en", "de", "fr"), (None, None)),
    ],
)
def test_a_name_means_a_language(
    names: tuple[str, ...], languages: tuple[str, ...], places: tuple[int | None, ...]
) -> None:
    assert match(names, languages) == places


def test_a_library_that_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written.write(tmp_path, "x.parquet", PAIRS)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(UserError, match=r"pip install .*'\.\[formats\]'"):
        list(formats.texts(path, ("en", "de")))


@pytest.mark.slow
def test_memory_does_not_grow_with_xml(tmp_path: Path) -> None:
    sizes = []
    for count in (1_000, 5_000):
        path = written.write(tmp_path, "x.tmx", [(f"text number {number}", "Text") for number in range(count)])
        tracemalloc.start()
        assert sum(1 for _ in xml.read_tmx(path, ("en", "de"))) == count
        sizes.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert sizes[1] < 1.5 * sizes[0]


def test_the_first_unit_of_several_languages_tells_which(tmp_path: Path) -> None:
    """And faults have the line of their unit."""
    path = tmp_path / "x.tmx"
    alone = '<tu>\n<tuv xml:lang="en"><seg>a</seg></tuv></tu>\n'
    both = alone.replace("</tu>", '<tuv xml:lang="de"><seg>A</seg></tuv></tu>')
    path.write_text(f"<tmx>{alone}{both}</tmx>")
    assert formats.find_languages(str(path)).names == ("en", "de")
    assert list(formats.texts(str(path), ("en", "de"))) == [("a", ""), ("a", "A")]
    path.write_text(f"<tmx>{alone}{alone}</tmx>\n\n")
    with pytest.raises(UserError, match=r"x\.tmx:1: expected texts in two languages \(it has: en\)"):
        formats.find_languages(str(path))
