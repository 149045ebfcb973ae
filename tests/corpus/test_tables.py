"""Files of columns: which columns, what is a header, and every fault with its line."""

import gzip
import json
from pathlib import Path

import pytest

from dragoman.corpus import formats, tables
from dragoman.corpus.tables import header, languages, read_table
from dragoman.errors import UserError
from dragoman.files.reading import LONGEST_TEXT
from tests.golden import Golden


def write(folder: Path, name: str, text: str) -> str:
    data = text.encode()
    (folder / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return str(folder / name)


@pytest.mark.parametrize("packed", ["", ".gz"])
@pytest.mark.parametrize(
    ("name", "text", "named"),
    [
        ("x.tsv", 'a "b"\tA\nc, d\tC\n', False),
        ("x.tsv", 'en\tde\na "b"\tA\nc, d\tC\n', True),
        ("x.tsv", '\ufeffid\tde\tnote\ten\r\n1\tA\t\ta "b"\r\n2\tC\t?\tc, d\r\n', True),
        ("x.csv", '"a ""b""",A\n"c, d",C\n', False),
        ("x.csv", '\ufeffde,en,n\r\nA,"a ""b""",1\r\n\r\nC,"c, d",2\r\n', True),
        ("x.jsonl", '{"de": "A", "en": "a \\"b\\"", "n": 1}\n\n{"en": "c, d", "de": "C"}\n', False),
    ],
)
def test_columns_are_found_by_name_or_else_by_place(
    name: str, text: str, named: bool, packed: str, tmp_path: Path
) -> None:
    path = write(tmp_path, name + packed, text)
    assert list(read_table(path, ("en", "de"))) == [('a "b"', "A"), ("c, d", "C")]
    assert (header(path, ("en", "de")) is not None) == named


@pytest.mark.parametrize("first", ["de-DE\tEN\tnote", "Target\tsource\tid", "de\tsrc\tid"])
def test_a_header_may_call_the_languages_otherwise(first: str, tmp_path: Path) -> None:
    path = write(tmp_path, "x.tsv", f"{first}\nA\ta\t1\n")
    names = ("source", "target") if "source" in first else ("src", "de") if "src" in first else ("en", "de")
    assert list(read_table(path, names)) == [("a", "A")]
    assert languages(path, names) == (names, 1)


@pytest.mark.parametrize("first", ["German\tEnglish", "en\tfr", "de-DE\tde-AT", "source\ttarget\tid", "fr\ten\tid"])
def test_a_header_of_other_languages_is_no_pair(first: str, tmp_path: Path, golden: Golden) -> None:
    path = write(tmp_path, "x.tsv", first + "\n" + "\t".join("Aa1"[: len(first.split("\t"))]) + "\n")
    for read in (read_table, languages, header):
        with pytest.raises(UserError, match=r"x\.tsv:1:") as raised:
            list(read(path, ("en", "de")) or ())
        golden(str(raised.value), first)


def test_several_sources_are_columns_too(tmp_path: Path) -> None:
    path = write(tmp_path, "x.tsv", "pe\tmt\tsrc\n3\t2\t1\n")
    assert list(read_table(path, ("src", "mt", "pe"))) == [("1", "2", "3")]
    path = write(tmp_path, "y.tsv", "1\t2\t3\n")
    assert list(read_table(path, ("src", "mt", "pe"))) == [("1", "2", "3")]


def test_a_name_may_stand_for_both_sides_where_columns_go_by_place(tmp_path: Path) -> None:
    path = write(tmp_path, "x.tsv", "en\tde\na\tb\n")
    assert list(read_table(path, ("en", "en"))) == [("en", "de"), ("a", "b")]


def test_an_end_of_line_inside_a_cell_is_a_space(tmp_path: Path) -> None:
    path = write(tmp_path, "x.csv", 'en,de\r\n"a\r\nb\nc",A\r\n')
    assert list(read_table(path, ("en", "de"))) == [("a b c", "A")]
    path = write(tmp_path, "x.jsonl", '{"en": "a\\r\\nb\\nc", "de": "A\\ud83d\\ude00 \\ud83d"}\n')
    assert list(read_table(path, ("en", "de"))) == [("a b c", "A\U0001f600 \ufffd")]


@pytest.mark.parametrize("separator", [",", ";", "|", "\t"])
@pytest.mark.parametrize("form", ["sep=%s", '"sep=%s"', "SEP=%s\r"])
def test_the_separator_that_excel_declares_is_used_and_no_row(separator: str, form: str, tmp_path: Path) -> None:
    rows = (
        ["en,de", "a,A", '"b,;|\t",B']
        if separator == ","
        else [f"en{separator}de", f"a{separator}A", f'"b,;|\t"{separator}B']
    )
    path = write(tmp_path, "x.csv", "\n".join([form % separator, *rows, ""]))
    assert list(read_table(path, ("de", "en"))) == [("A", "a"), ("B", "b,;|\t")]
    assert list(tables.row_lines(path, ("en", "de"))) == [3, 4]
    assert languages(path) == (("en", "de"), 2)
    bare = write(tmp_path, "y.csv", f"{form % separator}\na{separator}A\n")
    assert list(read_table(bare, ("en", "de"))) == [("a", "A")]
    assert list(tables.rows(bare)) == [(2, ["a", "A"])]
    assert list(tables.rows(write(tmp_path, "z.csv", form % separator))) == []


def test_what_declares_no_separator_is_a_row(tmp_path: Path) -> None:
    assert list(tables.rows(write(tmp_path, "x.csv", "sep=x,A\n"))) == [(1, ["sep=x", "A"])]
    assert list(tables.rows(write(tmp_path, "x.csv", "a,A\nsep=;\n"))) == [(1, ["a", "A"]), (2, ["sep=;"])]
    assert list(tables.rows(write(tmp_path, "x.tsv", "sep=;\n"))) == [(1, ["sep=;"])]


def test_of_a_long_cell_comes_the_beginning(tmp_path: Path) -> None:
    long = "x" * (3 * LONGEST_TEXT)  # more than Python's csv reads by default
    for name, text in (("x.tsv", f"a\t{long}\tb\n"), ("x.csv", f"a,{long},b\n")):
        ((first, second, third),) = read_table(write(tmp_path, name, text), ("1", "2", "3"))
        assert (first, third) == ("a", "b")
        assert second == "x" * (LONGEST_TEXT + 1)


@pytest.mark.parametrize("name", ["x.tsv", "x.csv", "x.jsonl"])
def test_an_empty_file_has_no_rows(name: str, tmp_path: Path) -> None:
    path = write(tmp_path, name, "")
    assert list(read_table(path, ("en", "de"))) == []
    assert header(path, ("en", "de")) is None
    assert languages(path).names == ("source", "target")


@pytest.mark.parametrize(
    ("name", "text", "place", "message"),
    [
        ("x.tsv", "1\ta\tA\n", 1, "expected 2 columns separated by one tab, found 3 (otherwise line 1 must"),
        ("x.tsv", "a\tA\nb\n", 2, "expected 2 columns separated by one tab, found 1"),
        ("x.tsv", "en\tde\tx\na\tA\n", 2, "expected 3 columns separated by tabs, found 2"),
        ("x.tsv", "en\tde\ten\na\tA\tb\n", 1, "more than one column is called en"),
        ("x.csv", "en;de\na;A\n", 1, "seems to be separated by semicolons"),
        ("x.csv", "one\na;A\n", 1, "expected 2 columns separated by one comma, found 1"),
        ("x.csv", 'en,de\n"a\nb",A\nc\n', 4, "expected 2 columns separated by one comma, found 1"),
        ("x.csv", 'en,de\na,A\n"b\nc,C\n', 3, "not a row of CSV"),
        ("x.csv", 'en,de\na"b"c,A\n"b"c,C\n', 3, "not a row of CSV"),
        ("x.jsonl", '{"en": "a", "de": 3}\n', 1, "de: expected a text, found 3"),
        ("x.jsonl", '{"en": "a"}\n{"en": "b", "de": ["A"]}\n', 2, 'de: expected a text, found ["A"]'),
        ("x.jsonl", '{"en": "a", "de": "A"}\n{"en": \n', 2, "not JSON"),
        ("x.jsonl", "[" * 100_000, 1, "not JSON"),
        ("x.jsonl", '["a", "A"]\n', 1, "expected a JSON object"),
    ],
)
def test_a_row_that_has_not_what_is_asked_for_is_told(
    name: str, text: str, place: int, message: str, tmp_path: Path
) -> None:
    path = write(tmp_path, name, text)
    with pytest.raises(UserError) as error:
        list(read_table(path, ("en", "de")))
    assert str(error.value).startswith(f"{path}:{place}: {message}")


@pytest.mark.parametrize("name", ["x.jsonl", "x.json"])
def test_a_key_that_is_null_or_missing_is_not_translated(name: str, tmp_path: Path, golden: Golden) -> None:
    """As in Parquet and in files of keys; but a key that no object has is a mistake."""
    rows: list[dict[str, str | None]] = [{"en": "a", "de": None}, {"en": "b"}, {"de": "C", "en": "c"}]
    lines = map(json.dumps, rows)
    path = write(tmp_path, name, "\n".join(lines) if name == "x.jsonl" else json.dumps(rows))
    assert formats.find_languages(path).names == ("en", "de")
    assert list(formats.texts(path, ("en", "de"))) == [("a", ""), ("b", ""), ("c", "C")]
    rows[0].pop("de")
    later = write(tmp_path, f"y{name[1:]}", "\n".join(map(json.dumps, rows)) if name == "x.jsonl" else json.dumps(rows))
    assert formats.find_languages(later, ("en", "de")).names == ("en", "de")
    with pytest.raises(UserError, match=r"x\.jsonl?: ") as raised:
        list(formats.texts(path, ("en", "fr")))
    golden(str(raised.value))


@pytest.mark.parametrize("name", ["x.tsv", "x.csv", "x.jsonl"])
def test_a_row_that_is_too_long_is_told(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, golden: Golden
) -> None:
    monkeypatch.setattr(tables, "LONGEST_ROW", 30)
    path = write(tmp_path, name, json.dumps({"en": "x" * 90}))
    with pytest.raises(UserError, match=":1:") as raised:
        list(read_table(path, ("en", "de")))
    golden(str(raised.value))


@pytest.mark.parametrize(
    ("name", "text", "wanted", "names", "named"),
    [
        ("x.tsv", "en\tde\nyes\tja\n", (), ("en", "de"), True),
        ("x.tsv", "EN-us\tpt_BR\nyes\tsim\n", (), ("EN-us", "pt_BR"), True),
        ("x.csv", "Source,Target\nyes,ja\n", (), ("Source", "Target"), True),
        ("x.csv", "English,German\nyes,ja\n", (), ("English", "German"), True),
        ("x.tsv", "id\tsrc\tmt\n1\tyes\tja\n", (), ("src", "mt"), True),
        ("x.tsv", "source_text\ttarget_text\tscore\nyes\tja\t1\n", (), ("source_text", "target_text"), True),
        ("x.tsv", "src\tmt\tpe\na\tb\tc\n", ("mt", "pe"), ("mt", "pe"), True),
        ("x.tsv", "word\tgloss\na\tb\n", ("gloss", "word"), ("gloss", "word"), True),
        ("x.tsv", "Where are you?\tWo bist du?\n", (), ("source", "target"), False),
        ("x.tsv", "no\tnein\n", (), ("source", "target"), False),
        ("x.tsv", "en\ten\n", (), ("source", "target"), False),
        ("x.tsv", "yes\tja\n", ("en", "de"), ("en", "de"), False),
        ("x.jsonl", '{"id": 7, "question": "a", "answer": "b"}\n', (), ("question", "answer"), False),
        ("x.jsonl", '{"id": "7", "de": "a", "en": "b"}\n', (), ("de", "en"), False),
        ("x.jsonl", '{"id": "7", "de": "a", "en": "b"}\n', ("en", "de"), ("en", "de"), False),
    ],
)
def test_the_first_row_may_name_the_languages(
    name: str, text: str, wanted: tuple[str, ...], names: tuple[str, ...], named: bool, tmp_path: Path
) -> None:
    columns = languages(write(tmp_path, name, text), wanted)
    assert columns.names == names
    assert (columns.header is not None) == named


@pytest.mark.parametrize(
    ("name", "text", "wanted"),
    [
        ("x.tsv", "src\tmt\tpe\na\tb\tc\n", ()),
        ("x.tsv", "1\tyes\tja\n", ()),
        ("x.tsv", "1\tyes\tja\n", ("en", "de")),
        ("x.tsv", "en\tde\nyes\tja\n", ("en", "fr")),
        ("x.tsv", "en\tde\tHere it is.\n", ()),
        ("x.jsonl", '{"a": "1", "b": "2", "c": "3"}\n', ()),
        ("x.jsonl", '{"en": "1", "de": "2"}\n', ("en", "fr")),
        ("x.jsonl", '{"en": "1"}\n', ()),
        ("x.json", '[{"en": "a house"}, {"en": "a dog"}]', ("en", "de")),
        ("x.json", '[{"en": "a house"}]', ("de", "fr")),
        ("x.json", '[{"en": "a house"}]', ()),
        ("x.json", '[{"n": 1}]', ()),
        ("x.csv", "n,word,gloss\n1,yes,ja\n", ("word", "sense")),
    ],
)
def test_what_is_not_clear_is_told_with_what_to_write(
    name: str, text: str, wanted: tuple[str, ...], tmp_path: Path, golden: Golden
) -> None:
    path = write(tmp_path, name, text)
    with pytest.raises(UserError, match=r"x\.\w+:") as error:
        formats.find_languages(path, wanted)
    golden(str(error.value))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.json", '[{"en": "1"}, {"en": "2"}]'),
        ("x.jsonl", '{"en": "1"}\n'),
        ("x.tsv", "en\tfr\n1\t2\n"),
        ("x.csv", "n,en,gloss\n1,2,3\n"),
    ],
)
def test_of_the_columns_that_are_asked_for_the_missing_one_is_told(name: str, text: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"\bhas no de\b"):
        formats.find_languages(write(tmp_path, name, text), ("en", "de"))


def test_an_empty_list_has_no_rows(tmp_path: Path) -> None:
    path = write(tmp_path, "x.json", "[]")
    assert formats.find_languages(path).names == ("source", "target")
    assert formats.find_languages(path, ("en", "de")).names == ("en", "de")


def test_a_dictionary_may_have_a_header(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("word,ipa\nab,a b\n", "utf-8")
    assert languages(str(tmp_path / "x.csv")) == (("word", "ipa"), 1)
    (tmp_path / "x.tsv").write_text("form\tForm\nab\ta b\n", "utf-8")  # a pair of English and German
    assert languages(str(tmp_path / "x.tsv")).header is None
