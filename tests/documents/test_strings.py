"""JSON and YAML whose strings are translated."""

import json
import random
import time
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from dragoman.documents import table
from dragoman.documents.document import File
from dragoman.errors import UserError
from tests.documents.speaking import Say, backwards, nothing, protected, replaced, same, spoken

JSON = r"""{
    "title": "one two",
    "list": ["one", 2, null, true, "1.5", ["two six"]],
    "@title": {"description": "what it is"},
    "next": {"html": "a <b>\"one\"</b> two", "n": 12e3,
      "lines": "one two\nsix\t{name} seven", "":""}
}
"""
YAML_FILE = """# one
en: &all
  title: one two   # two
  double: "one \\"two\\""
  single: 'one ''two'''
  anchored: &x one two
  again: *x
  tagged: !!str 12
  custom: !own one
  number: 12
  switch: yes
  list: [one two, "three"]
  plain: one
    two
  block: |
    one two
    six

  folded: >-
    one
    two

    six
  # end
  last: one
"""


def written(name: str, text: str, say: Say = backwards) -> str:
    return spoken(table.document(File(name, text.encode(), ("en", "fr"))), say).decode()


def test_strings_of_json_are_translated_and_nothing_else_changes() -> None:
    text = written("x.json", JSON)
    assert json.loads(text) == {
        "title": "TWO ONE",
        "list": ["ONE", 2, None, True, "1.5", ["SIX TWO"]],
        "@title": {"description": "what it is"},
        "next": {
            "html": 'TWO <b>"ONE"</b> A',
            "n": 12e3,
            "lines": "TWO ONE\nSIX\tSEVEN {NAME}",
            "": "",
        },
    }
    assert written("x.json", JSON, same) == written("x.json", JSON, nothing) == JSON


@pytest.mark.parametrize(
    ("code", "target", "expected"),
    [
        ("en", "fr", "fr"),
        ("en_US", "pt-BR", "pt_BR"),
        ("en-GB", "pt_BR", "pt-BR"),
        ("de", "fr", "de"),
        ("x", "fr", "x"),
    ],
)
def test_the_language_that_an_arb_names_is_that_of_the_translation(code: str, target: str, expected: str) -> None:
    text = f'{{"@@locale": "{code}", "a": "one two", "@a": {{"description": "one"}}, "b": {{"@@locale": "en"}}}}'
    document = table.document(File("app.arb", text.encode(), ("en", target)))
    assert [line.text for line in document.lines] == ["one two"]
    changed = text.replace(f'{{"@@locale": "{code}"', f'{{"@@locale": "{expected}"', 1).replace("one two", "TWO ONE")
    assert spoken(document).decode() == changed


def test_entities_and_lone_tags_of_strings_come_through() -> None:
    """Entities are read as what they stand for, and written as they were."""
    original = r"""{"a": "one&nbsp;two &lt;3 &copy; A&amp;B", "b": "is <icon/> two", "c": "AT&T &amp; x?a=1&b=2"}"""
    document = table.document(File("x.json", original.encode(), ("en", "fr")))
    assert [line.text for line in document.lines] == ["one\u00a0two <3 &copy; A&B", "is two", "AT&T &amp; x?a=1&b=2"]
    assert written("x.json", original, same) == original
    strings = json.loads(written("x.json", original.replace("&copy;", "&eacute;")))
    assert strings["a"] == "A&amp;B É &lt;3 TWO ONE"


@pytest.mark.parametrize("entity", ["&amp;", "&copy;", "&#8482;", "&#x3e;", "&brandName;"])
def test_entities_of_symbols_are_read_by_no_model(entity: str) -> None:
    """And so are those that a program replaces; an entity alone is no text."""
    assert written("x.json", f'{{"a": "one {entity} two", "b": "{entity}"}}', protected) == (
        f'{{"a": "{entity} TWO ONE", "b": "{entity}"}}'
    )
    document = table.document(File("x.json", f'{{"a": "one {entity} two", "b": "{entity}"}}'.encode(), ("en", "fr")))
    assert [line.text for line in document.lines] == [f"one {entity} two"]


@pytest.mark.parametrize("entity", ["&zwj;", "&shy;", "&#8203;", "&#x202E;"])
def test_entities_of_invisible_characters_stay_entities(entity: str) -> None:
    document = table.document(File("x.json", f'{{"a": "one{entity}two"}}'.encode(), ("en", "fr")))
    assert [line.text for line in document.lines] == [f"one{entity}two"]


def test_many_symbols_are_read_in_linear_time() -> None:
    text = " ".join(f"&#{number};" for number in range(0x2190, 0x2BF0)) + " one &eacute;"
    begin = time.process_time()
    document = table.document(File("x.json", json.dumps({"a": text}).encode(), ("en", "fr")))
    assert json.loads(spoken(document, same)) == {"a": text}
    assert time.process_time() - begin < 1


def test_a_conversion_of_ruby_is_no_tag() -> None:
    document = table.document(File("x.json", b'{"a": "one %<count>d two, 50%<b>six</b>"}', ("en", "fr")))
    assert [line.text for line in document.lines] == ["one %<count>d two, 50%six"]
    assert "%<count>d" in spoken(document, protected).decode()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.json", '{"a": "%s"}'),
        ("x.yaml", 'a: "%s"\n'),
        ("x.po", 'msgid ""\nmsgstr "Language: fr\\n"\n\nmsgid "%s"\nmsgstr ""\n'),
        ("x.srt", "1\n00:00:01,000 --> 00:00:02,000\n%s\n\n"),
    ],
)
def test_numbered_tags_of_strings_come_through(name: str, text: str) -> None:
    """As React's translations have them; `<1 two` is none."""
    assert "ONE<0/> <1><2>TWO</2> A</1>" in written(name, text % "<1>a <2>two</2></1> one<0/>")
    document = table.document(File(name, (text % "one <1 two").encode(), ("en", "fr")))
    assert [line.text for line in document.lines] == ["one <1 two"]


def test_marks_of_byte_order_and_line_ends_stay() -> None:
    text = '\ufeff{"a":\r\n "one two"}\r\n'
    assert written("x.json", text) == text.replace("one two", "TWO ONE")
    block = "a: |\r\n  one two\r\n  six\r\nb: >-\r\n  two\r\n\r\n  nine\r\nc: one\r\n"
    expected = block.replace("one two", "TWO ONE").replace("six", "SIX").replace("c: one", "c: ONE")
    assert written("x.yaml", block) == expected.replace("  two", "  TWO").replace("nine", "NINE")


def test_json_stays_ascii_where_it_escapes() -> None:
    assert written("x.json", '{"a": "\\u00e9t\\u00e9"}', same) == '{"a": "\\u00e9t\\u00e9"}'
    assert written("x.json", '{"a": "été"}', same) == '{"a": "été"}'


def test_json_that_escapes_nothing_has_letters_as_they_are() -> None:
    """Even if it had no other than ASCII before it was translated."""
    accented: Say = partial(replaced, "été")
    assert written("x.json", '{"a": "one"}', accented) == '{"a": "été"}'
    assert written("x.json", '{"a": "one\\n", "b": "\\u006fne"}', accented).count("\\u00e9t\\u00e9") == 2


KEYS = st.text(max_size=4).filter(lambda key: not key.startswith("@"))
JSONS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner),
    max_leaves=12,
)


@pytest.mark.slow
@given(JSONS, st.sampled_from([None, 2]), st.booleans())
def test_whatever_json_has_comes_back(value: Any, indent: int | None, ascii_alone: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_alone)
    try:
        text.encode()
    except UnicodeEncodeError:
        return
    assert json.loads(written("x.json", text, same)) == json.loads(text)
    assert written("x.json", text, nothing) == text


def test_strings_of_yaml_are_translated_and_nothing_else_changes() -> None:
    result = written("x.yaml", YAML_FILE)
    expected = YAML_FILE
    for before, after in (
        ("en: &all", "fr: &all"),
        ("title: one two ", "title: TWO ONE "),
        ('"one \\"two\\""', '"\\"TWO\\" ONE"'),
        ("'one ''two'''", "'''TWO'' ONE'"),
        ("&x one two", "&x TWO ONE"),
        ('[one two, "three"]', '[TWO ONE, "THREE"]'),
        ("plain: one\n    two\n", "plain: TWO ONE\n"),
        ("    one two\n    six\n", "    TWO ONE\n    SIX\n"),
        ("    one\n    two\n\n    six\n", "    TWO ONE\n\n    SIX\n"),
        ("last: one", "last: ONE"),
    ):
        assert before in expected
        expected = expected.replace(before, after)
    assert result == expected


@pytest.mark.parametrize(
    "string", ["a: b", "# a", "- a", "12", "a, [b", "'a", '"a"', "a\\b", "{a}", "*a", " a ", "a #b"]
)
@pytest.mark.parametrize("style", ["%s", "'%s'", '"%s"', "|\n  %s\n", ">-\n  %s\n", "[%s]"])
def test_what_yaml_would_misread_is_quoted(string: str, style: str) -> None:
    document = table.document(File("x.yml", f"key: {style % 'one'}\nother: one".encode(), ("en", "fr")))
    translation = same(string)
    content = YAML(typ="safe").load(document.written([translation, translation]).decode())
    value = content["key"][0] if style == "[%s]" else content["key"]
    assert (value.removesuffix("\n"), content["other"]) == (translation.text, translation.text)


@pytest.mark.parametrize("seed", range(10))
def test_yaml_of_every_shape_comes_back(seed: int) -> None:
    generator = random.Random(seed)
    value = {"root": _tree(generator, 4), "more": 1}
    text = _dumped(value)
    assert YAML(typ="safe").load(written("x.yaml", text, same)) == value
    content = YAML(typ="safe").load(written("x.yaml", text))
    assert list(_strings(content)) == [backwards(string).text.replace("B>", "b>") for string in _strings(value)]


WORDS = "one two: six# 'seven' \"eight\" %{name} - été <b>nine</b>".split()


@pytest.mark.parametrize(
    ("key", "languages", "expected"),
    [
        ("en", ("en", "no"), '"no"'),
        ("no", ("no", "en"), "en"),
        ("'no'", ("no", "en"), "'en'"),
        ('&en "en-US"', ("en", "fr"), '&en "fr"'),
        ("en-US", ("en", "pt_BR"), "pt-BR"),
        ("en_US", ("en", "pt-BR"), "pt_BR"),
        ("en", ("en_GB", "pt_BR"), "pt-BR"),
        ("source", ("source", "target"), "target"),
        ("off", ("en", "fr"), "off"),
        ("site", ("en", "fr"), "site"),
        ("1.0", ("en", "fr"), "1.0"),
    ],
)
def test_a_language_that_is_the_only_key_becomes_the_target(
    key: str, languages: tuple[str, str], expected: str
) -> None:
    """In quotes where many readers would take it for a truth value; other keys stay as they are written."""
    below = "  yes: one two # {0}\n  no: {0}\n  null: one\n  1.0: six\n"
    text = f"# {key}\n{key}:\n" + below
    document = table.document(File("x.yml", text.encode(), languages))
    assert spoken(document, same).decode() == f"# {key}\n{expected}:\n" + below
    assert [line.text for line in document.lines] == ["one two", "one", "six"]


@pytest.mark.parametrize("name", ["x.yaml", "x.json"])
def test_the_language_that_a_file_says_it_is_in_becomes_the_target(name: str) -> None:
    for key in ("locale", "lang", "language", "@@locale"):
        text = json.dumps({key: "en-GB", "a": "one two", "b": {"lang": "one six"}})
        expected = json.dumps({key: "fr", "a": "TWO ONE", "b": {"lang": "SIX ONE"}})
        assert written(name, text) == expected
        if not key.startswith("@"):
            assert written(name, text.replace("en-GB", "one two")) == expected.replace("fr", "TWO ONE")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("title: one two\nlocale: en\nother: six\n", "title: TWO ONE\nlocale: fr\nother: SIX\n"),
        ("locale: &l en\nlang: *l\ntitle: one two\n", "locale: &l fr\nlang: *l\ntitle: TWO ONE\n"),
        ("title: one\nlang: en\na: [one, {language: one}]\nlocale: 'en'\n",
         "title: ONE\nlang: fr\na: [ONE, {language: ONE}]\nlocale: 'fr'\n"),
        ("a: one\nlang: en\n---\nb: two\nlang: en\n", "a: ONE\nlang: fr\n---\nb: TWO\nlang: fr\n"),
    ],
)  # fmt: skip
def test_the_language_of_a_file_of_yaml_may_stand_anywhere(text: str, expected: str) -> None:
    assert written("x.yaml", text) == expected


def test_what_other_readers_take_for_a_truth_value_is_quoted() -> None:
    document = table.document(File("x.yml", b"key: one", ("en", "it")))
    assert document.written([same("no")]) == b'key: "no"'


def _tree(generator: random.Random, depth: int) -> Any:
    if depth == 0 or generator.random() < 0.2:
        words = generator.choices(WORDS, k=generator.randint(1, 6))
        return " ".join(words) + generator.choice(["", "", "\nten", "\n"])
    if generator.random() < 0.3:
        return [_tree(generator, depth - 1) for _ in range(generator.randint(1, 3))]
    return {f"k{number}": _tree(generator, depth - 1) for number in range(generator.randint(1, 3))}


def _dumped(value: Any) -> str:
    from io import StringIO

    stream = StringIO()
    YAML(typ="safe", pure=True).dump(value, stream)
    return stream.getvalue()


def _strings(value: Any) -> Any:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for child in value.values() if isinstance(value, dict) else value:
            yield from _strings(child)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("x.json", '{\n"a": }', r"x\.json:2: not JSON"),
        ("x.json", "[" * 100_000, r"x\.json:1: not JSON \(too deep\)"),
        ("x.yaml", "a: b\nc: [", r"x\.yaml:\d: invalid YAML"),
        ("x.yaml", r'a: "\U00110000"', r"x\.yaml: invalid YAML \(an escape is no character\)"),
        ("x.yaml", r'a: "\UFFFFFFFF"', r"x\.yaml: invalid YAML \(an escape is no character\)"),
        pytest.param("x.yaml", "[" * 100_000, r"x\.yaml:\d: invalid YAML", marks=pytest.mark.slow),
    ],
)
def test_what_cannot_be_read_is_told_with_its_line(name: str, text: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        written(name, text)


@pytest.mark.parametrize(
    ("label", "read", "translated_text", "expected"),
    [
        ("_File", "File", "Fichier", "_Fichier"),
        ("&File", "File", "Datei", "&Datei"),
        ("~Print...", "Print...", "Imprimer...", "Im~primer..."),
        ("E_xit", "Exit", "Quitter le texte", "Quitter le te_xte"),
        ("Save &As", "Save As", "Enregistrer un ami", "Enregistrer un &ami"),
        ("_Öffnen", "Öffnen", "Open", "_Open"),
        ("_Open…", "Open…", "開く…", "開く(_O)…"),
        ("&Close", "Close", "닫기", "닫기(&C)"),
        ("Close (&C)", "Close", "Fermer", "&Fermer"),
        ("閉じる(_C)", "閉じる", "Close", "_Close"),
        ("开 (&O)...", "开...", "Open...", "&Open..."),
        ("Name (&N):", "Name:", "Nom :", "&Nom :"),
        ("S_ave as", "Save as", "Sauver", "S_auver"),
        ("C_lear", "Clear", "Vider la cour", "Vider _la cour"),
        ("_Delete %d", "Delete %d", "%d x", "%d _x"),
        ("_File", "File", "_Fichier", "_Fichier"),
        ("_File", "File", "123", "123"),
    ],
)
def test_an_accelerator_is_carried_over(label: str, read: str, translated_text: str, expected: str) -> None:
    for name, form in (("x.json", '{"a": "%s"}'), ("x.yaml", 'a: "%s"\n')):
        document = table.document(File(name, (form % label).encode(), ("en", "fr")))
        (line,) = document.lines
        assert line.text == read
        assert document.written([same(translated_text)]).decode() == form % expected
        assert spoken(document, nothing).decode() == form % label


@pytest.mark.parametrize(
    "text",
    [
        "Set old_role",
        "AT&T",
        "R&D",
        "user_name",
        "_id",
        "Use the _id field.",
        "a_b_c",
        "Tom & Jerry",
        "__init__",
        "A && B",
        "Players (~8)",
        "Tiles (&8)",
        "Use (_i) here",
        "Use (_i).",
        "T_max value",
        "X_train shape",
    ],
)
def test_a_mark_of_an_identifier_is_no_accelerator(text: str) -> None:
    document = table.document(File("x.json", json.dumps({"a": text}).encode(), ("en", "fr")))
    assert [line.text for line in document.lines] == [text]


def test_an_accelerator_goes_between_tags_and_is_escaped_like_the_text() -> None:
    assert written("x.json", '{"a": "<b>&amp;One</b> two"}') == '{"a": "TWO <b>&amp;ONE</b>"}'
    assert written("x.json", '{"a": "Two <b>_one</b>"}') == '{"a": "<b>_ONE</b> TWO"}'


def test_bytes_that_are_no_text_are_told_with_their_line() -> None:
    with pytest.raises(UserError, match=r"x\.json:2: is not UTF-8"):
        table.document(File("x.json", b'{"a":\n"\xff"}', ("en", "fr")))


def test_aliases_of_aliases_take_no_longer_than_what_is_written() -> None:
    lines = ["a0: &a0 [one, two]", *(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 60))]
    assert "a0: &a0 [ONE, TWO]" in written("x.yaml", "\n".join(lines))


def test_a_copied_message_of_icu_is_no_translation() -> None:
    """Nobody has translated its branches. Beside other text it is a span of it."""
    message = "{n, plural, one {# file} other {# files in {m, plural, other {# folders}}}}"
    (line,) = table.document(File("x.json", json.dumps({"a": message}).encode(), ("en", "fr"))).lines
    assert not same(line.text).complete
    assert replaced("{n, plural, one {# Datei} other {# Dateien}}", message).complete
    assert not replaced("", message).complete
    assert same(f"Total: {message}").complete
    assert same("{name}").complete
    catalogue = f'msgid ""\nmsgstr "Language: fr\\n"\n\nmsgid "{message}"\nmsgstr ""\n'
    assert written("x.po", catalogue, same).endswith('msgstr ""\n')
