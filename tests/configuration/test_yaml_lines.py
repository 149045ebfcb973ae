"""YAML: what scalars mean, where keys stand, what cannot be read, and writing as the inverse of reading."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.configuration import yaml_lines


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"),
        ("NO", "NO"),
        ("yes", "yes"),
        ("on", "on"),
        ("y", "y"),
        ("1e-3", 0.001),
        ("1E3", 1000.0),
        (".5", 0.5),
        ("-2.", -2.0),
        ("1_000", 1000),
        ("007", 7),
        ("0o17", 15),
        ("0x1F", 31),
        ("-3", -3),
        ("true", True),
        ("False", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("2026-11-21", "2026-11-21"),
        ("12:30:45", "12:30:45"),
        ("=", "="),
        ("'1'", "1"),
        ("!!str 1", "1"),
        ("!!bool No", False),
        ("!!bool 'on'", True),
        ("!!null ~", None),
        ("1.2.3", "1.2.3"),
        ("ünïcode", "ünïcode"),
        ('"\\U0001F600"', "😀"),
        ("[1, {a: b}]", [1, {"a": "b"}]),
    ],
)
def test_scalars_of_version_1_2(text: str, value: Any) -> None:
    document = yaml_lines.read(f"key: {text}", "f")
    assert document.faults == []
    assert document.value == {"key": value}
    assert type(document.value["key"]) is type(value)


@pytest.mark.parametrize(("text", "value"), [("yes", True), ("On", True), ("y", True), ("no", False), ("N", False)])
def test_yes_and_no_mean_it_in_version_1_1(text: str, value: bool) -> None:
    assert yaml_lines.read(f"%YAML 1.1\n---\nkey: {text}", "f").value == {"key": value}


def test_the_place_of_every_key_and_item() -> None:
    places = yaml_lines.read("# a comment\na:\n  b: 1\n  c:\n    - x\n    - y: 2\n'd e': 3\n", "f").places
    assert {path: place.line for path, place in places.items()} == {
        ("a",): 2,
        ("a", "b"): 3,
        ("a", "c"): 4,
        ("a", "c", 0): 5,
        ("a", "c", 1): 6,
        ("a", "c", 1, "y"): 6,
        ("d e",): 7,
    }
    assert places["a", "b"].text == "f:3"


def test_anchors_are_copies_and_a_merge_key_is_an_ordinary_one() -> None:
    document = yaml_lines.read("a: &x {n: 1}\nb: *x\n<<: 1", "f")
    assert document.value == {"a": {"n": 1}, "b": {"n": 1}, "<<": 1}
    assert document.value["a"] is not document.value["b"]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("a: 1\n\tb: 2", 2, "a tab; YAML indents with spaces"),
        ("a:\n\tb: 2", 2, "a tab; YAML indents with spaces"),
        ("a: 1\nb: [1, 2\nc: 3", 3, "not readable as YAML (expected ',' or ']', but got ':')"),
        ("a: 1\n  b: 2", 2, "not readable as YAML"),
        ("a: 'open", 1, "not readable as YAML"),
        ("a: 1\nb: @x", 2, "not readable as YAML"),
        ("a: 1\nb: *x", 2, "not readable as YAML (found undefined alias 'x')"),
        ("a: 1\n---\nb: 2", 2, "not readable as YAML (but found another document)"),
        ("a: 1\nb: \x00", 2, "not readable as YAML"),
        ("a: 1\nb: 2\na: 3", 3, "duplicate key, already on line 1"),
        ("b: {c: 1,\n c: 2}", 2, "duplicate key, already on line 1"),
        ("a: 1\nb: .nan", 2, ".nan is not a finite number"),
        ("a: -.inf", 1, "-.inf is not a finite number"),
        ("a: 1e999", 1, "1e999 is not a finite number"),
        ("a: " + "9" * 5000, 1, "99999999999999999999... is too long for a number"),
        ("a: !!python/object x", 1, "the tag !!python/object is not supported"),
        ("%YAML 1.1\n---\na: 1:30", 3, "1:30 is a base-60 number in YAML; quote it to make it text"),
        ("%YAML 1.1\n---\na: 1:30.5", 3, "1:30.5 is a base-60 number in YAML; quote it to make it text"),
        ("a: !mine [1]", 1, "the tag !mine is not supported"),
        ("a: !!int [1]", 1, "the tag !!int is not supported"),
        ("a: !!int {b: 1}", 1, "the tag !!int is not supported"),
        ("a: !!float [1]", 1, "the tag !!float is not supported"),
        ("a: !!bool [x]", 1, "the tag !!bool is not supported"),
        ("a: !!null [x]", 1, "the tag !!null is not supported"),
        ("a: !!bool maybe", 1, 'the tag !!bool does not fit "maybe"'),
        ('a: !!bool "true\\n"', 1, 'the tag !!bool does not fit "true\\n"'),
        ("a: !!null nothing", 1, 'the tag !!null does not fit "nothing"'),
        ('a: "\\ud800"', 1, "half of a surrogate pair; use the character itself"),
        ("? [a, b]\n: 1", 1, "a key must be a word, not a list or a mapping"),
        ("a: &x [*x]", 1, "more than 50 levels"),
        ("[" * 60 + "]" * 60, 1, "more than 50 levels"),
        pytest.param("[" * 5000, 1, "not readable as YAML", marks=pytest.mark.slow),
    ],
)
def test_what_cannot_be_read_has_its_line(text: str, line: int, message: str) -> None:
    (fault,) = yaml_lines.read(text, "f").faults
    assert message in fault.message
    assert "\n" not in fault.message
    assert fault.place.line == line


def test_aliases_inside_aliases_do_not_fill_the_memory() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [" + ", ".join([f"*a{n - 1}"] * 10) + "]" for n in range(1, 12)]
    (fault,) = yaml_lines.read("\n".join(lines), "f").faults
    assert "10000 values" in fault.message


@given(st.binary(max_size=60))
def test_no_text_brings_the_reader_down(noise: bytes) -> None:
    document = yaml_lines.read(noise.decode("latin-1"), "f")
    assert all("\n" not in fault.message for fault in document.faults)


FLOATS = st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**90), 10**90) | FLOATS | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.slow
@given(st.dictionaries(st.text(max_size=9), VALUES, max_size=4))
def test_what_is_written_reads_back(values: dict[str, Any]) -> None:
    document = yaml_lines.read(yaml_lines.write(values), "f")
    assert document.faults == []
    assert (document.value or {}) == values
    assert repr(document.value or {}) == repr(values)


@given(
    st.sampled_from(sorted(yaml_lines.RESERVED | {"NULL", "True", "~", "1e3", "0x1", "-", ".inf", "<<", "2001-01-01"}))
)
def test_texts_that_look_like_something_else_are_quoted(text: str) -> None:
    assert yaml_lines.scalar(text) == f'"{text}"'


def test_writing_is_plain() -> None:
    values = {"a": {"b": [1, 0.5, None], "c": {}, "d": {"kind": "x", "m": True}}, "e f": "so: what"}
    assert yaml_lines.write(values) == (
        'a:\n  b: [1, 0.5, null]\n  c: {}\n  d:\n    kind: x\n    m: true\n"e f": "so: what"\n'
    )


def test_notes_become_comments_beside_or_above() -> None:
    values = {"a": {"b": 1, "c": "x" * 96}, "d": 2}
    notes: dict[yaml_lines.Path, str] = {("a",): "section", ("a", "c"): "a long one", ("d",): "after a block"}
    text = yaml_lines.write(values, notes)
    assert [line.split() for line in text.split("\n")] == [
        [],
        ["a:", "#", "section"],
        ["b:", "1"],
        ["#", "a", "long", "one"],
        ["c:", "x" * 96],
        [],
        ["d:", "2", "#", "after", "a", "block"],
        [],
    ]
    assert yaml_lines.read(text, "f").value == values
    assert max(map(len, text.split("\n"))) <= yaml_lines.WIDEST


def test_an_override_makes_keys_and_replaces_what_is_below() -> None:
    document = yaml_lines.read("a: {b: {c: 1, d: 2}}\nk: kind", "f")
    yaml_lines.override(document, "a.b", "{e: no}")
    yaml_lines.override(document, "x.y.z", "1e-3")
    yaml_lines.override(document, "k.size", "3")
    yaml_lines.override(document, "a.b.f", "")
    assert document.value == {
        "a": {"b": {"e": "no", "f": None}},
        "k": {"kind": "kind", "size": 3},
        "x": {"y": {"z": 0.001}},
    }
    assert document.places["a", "b", "e"].text == "--a.b"
    assert ("a", "b", "c") not in document.places
    assert document.places["x",].text == "--x.y.z"
    assert document.places["k", "kind"].text == "f:2"


def test_a_broken_override_is_a_fault_of_its_key() -> None:
    document = yaml_lines.read("a: 1", "f")
    yaml_lines.override(document, "b.c", "[1, 2")
    (fault,) = document.faults
    assert fault.path == ("b", "c")
    assert fault.place.text == "--b.c"
