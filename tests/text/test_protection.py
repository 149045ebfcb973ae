"""What is protected, in each notation; and marks for it, in a text and in a pair."""

import re
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.configuration.components import Spec
from dragoman.errors import UserError
from dragoman.text.protection import KINDS, Protection
from dragoman.text.tokenizer import MARKS
from dragoman.training.checks import load_config
from tests.golden import Golden

ALL = Protection([build() for name, build in KINDS.items() if name != "pattern"])
WHOLE = {  # each is one span of its kind
    "placeholders": [
        *(
            "%d",
            "%1$s",
            "%(count)s",
            "%-5.2f",
            "%'d",
            "%*s",
            "%.*f",
            "%lu",
            "%zd",
            "%%",
            "%1",
            "%L1",
            "%n",
            "%@",
            "%name%",
        ),
        *("{}", "{0}", "{name}", "{0:.2f}", "{{x}}", "{{ x }}", "{n, number}", "${x}", "$x", "%{x}", "#{x}", "$t(a.b)"),
        *("$(FILE_NAME)", "$(EXIF.ISO)"),
        *(
            ":name",
            ":Attribute",
            ":user_id",
            ":smile:",
            "%<count>d",
            "%-10<name>s",
            "%<price>.2f",
            "%#@letters@",
            "%1$#@n@",
        ),
        *("%Ln", "{{{name}}}", "{ $name }", "{ -brand-name }", "{ NUMBER($n, digits: 2) }", "<%= user.name > 1 %>"),
        *("@count", "!name", "%name", "%title", "%error_message", "%PRODUCTNAME", "%status", "%arg", "%lld"),
        *(r"C:\new\table", r"d:\Program Files\no name\r.txt"),
        *("[X12X]", "\\n", "{user.name!r}", "{% if x == 'y' %}", "{%- endif -%}", "$1"),
        "{count, plural, one {item} other {# items}}",
        "{n,selectordinal,offset:1 =0{} few{{x}rd}}",
        "{who, select, her {{n, plural, one {{m, select, a {{k, number}} other {b}}}}} other {they}}",
    ],
    "tags": [
        *("<b>", "</b>", "<br/>", "<br />", '<a href="x>y">', "<a href='{url}' hidden>", "<0>", "</0>", "<x:y>"),
        *("&amp;", "&#160;", "&#xA0;", "<!-- a\nb -->"),
    ],
    "urls": ["https://example.org", "http://a.b/c_(d)?e={f}&g=1#h", "ftp://x/y", "www.example.org", "file:///etc"],
    "emails": ["a@b.org", "first.last+tag@sub.example.org"],
    "numbers": ["7", "-2", "+3", "1,000.5", "10:30", "2024-01-31", "1/2", "0x1F", "1.2.3", "10\u202f000"],
    "whitespace": ["\n", " \n\t", "  ", "\t"],
}
NONE = {
    "placeholders": [
        "50 % of",
        "100%ige",
        "a { b c } d",
        "$ 5",
        "[1]",
        "[note]",
        "50 %off",
        "100 %ige",
        "100% done",
        "5%",
        "Note: this",
        "Note:this",
        "12:30",
        "a :-) :D",
        "std::vector a::b",
        "a@b.org",
        "5 @ 3",
        "Stop! now",
        "a != b",
        "Oh!no",
        "50% or",
        "30 %rabais",
        "(s):text",
        "'it':text",
        "FILE[:LINE]",
        "{ a b }",
    ],
    "tags": ["a < b", "1 <2", "R&D", "R&D;", "&;", "<>", "values <5 and >3"],
    "urls": ["http:", "a://", "wwww.x"],
    "emails": ["a@b", "@a.b"],
    "numbers": ["mp3", "x86_64", "A4"],
    "whitespace": ["a b c"],
}


def find_texts(text: str, *kinds: str) -> list[str]:
    protection = Protection.of([Spec(kind) for kind in kinds])
    assert protection
    return [text[begin:end] for begin, end in protection.find(text)]


@pytest.mark.parametrize("kind", WHOLE)
def test_every_notation_is_one_span(kind: str) -> None:
    for text in WHOLE[kind]:
        assert find_texts(text, kind) == [text]
        assert find_texts(f"a {text} b" if kind != "whitespace" else f"a{text}b", kind) == [text]


@pytest.mark.parametrize("kind", NONE)
def test_what_only_looks_like_it_is_none(kind: str) -> None:
    for text in NONE[kind]:
        assert find_texts(text, kind) == []


def test_what_touches_a_span_is_not_a_part_of_it() -> None:
    assert find_texts("(%d) of %d%%: https://example.org/x, (see www.a.b).", *WHOLE)[:3] == ["%d", "%d", "%%"]
    assert find_texts("(https://example.org/x), www.a.b.", "urls") == ["https://example.org/x", "www.a.b"]
    assert find_texts("{a}{b}%d%s", "placeholders") == ["{a}", "{b}", "%d", "%s"]


def test_a_dollar_does_not_cut_an_amount() -> None:
    """Before a number without separators, it may be a placeholder."""
    for text, number in (
        ("$1,000", "1,000"),
        ("US$5,000.", "5,000"),
        ("$10.99", "10.99"),
        ("$1\u202f000", "1\u202f000"),
    ):
        assert find_texts(text, "placeholders", "numbers") == [number]
    assert find_texts("$1, $2.", "placeholders", "numbers") == ["$1", "$2"]


def test_a_conversion_behind_digits_is_a_placeholder_if_no_word_goes_on_behind_it() -> None:
    """Without digits before it, anything may: `%dx%d`."""
    assert find_texts("100%d, 5 %s: %dx%d", "placeholders", "numbers") == ["100", "%d", "5", "%s", "%d", "%d"]
    assert find_texts("100%dpx, the 1%'s", "placeholders") == []


def test_words_that_touch_a_conversion_are_no_part_of_it() -> None:
    """Another conversion tells that they are words between two, such as a link."""
    assert find_texts("%sclick here%s or %dx%d", "placeholders") == ["%s", "%s", "%d", "%d"]
    assert find_texts("%lldms, %spx: %s", "placeholders") == ["%lld", "%s", "%s"]
    assert find_texts("%statusの%count", "placeholders") == ["%status", "%count"]


def test_in_a_path_there_is_no_line_break() -> None:
    assert find_texts(r"in C:\new\table. Then\nnow D:\tmp, and\tE", "placeholders") == [
        r"C:\new\table",
        r"\n",
        r"D:\tmp",
        r"\t",
    ]
    assert find_texts(r"C:\new or D:\run (C:\no)", "placeholders") == [r"C:\new", r"D:\run", r"C:\no"]


def test_what_is_no_message_has_placeholders_as_ever() -> None:
    """Such as one that is not closed, or more deeply nested than anybody writes."""
    assert find_texts("Add {n, plural, one {item} other {items}", "placeholders") == ["{item}", "{items}"]
    assert find_texts("{x, plural, " + "{a " * 8 + "{b}" + "}" * 9, "placeholders") == ["{b}"]


def test_of_spans_that_begin_together_the_longest_is_one() -> None:
    assert find_texts('<a href="{url}">%d</a> see {{x}}', *WHOLE) == ['<a href="{url}">', "%d", "</a>", "{{x}}"]


@pytest.mark.parametrize(
    "part",
    ["\u3000", "<!--", "a", "a.", "{ ", "%0", "<a ", "{n,plural,{", "(", " x='y'", "<%", " :a", "%sab", "a:\\", " b"],
)
@pytest.mark.parametrize("start", ["", "{", "%", "<a", "http://", "c:\\"])
def test_no_text_takes_long(start: str, part: str) -> None:
    """Nothing is read from each of its places to its end, which would take minutes here."""
    began = time.process_time()
    ALL.find(f"{start}{part * 50_000}"[:50_000])
    assert time.process_time() - began < 1


def test_what_begins_late_in_other_text_is_found() -> None:
    assert find_texts(r"\nhttps://a.b, \ninfo@a.org", *WHOLE) == [r"\n", "https://a.b", r"\n", "info@a.org"]
    assert find_texts("x \n y", "whitespace", "emails") == [" \n "]
    assert Protection([KINDS["whitespace"](), re.compile("x ")]).find("x \n") == [(0, 2), (2, 3)]
    assert find_texts("<!-- a <!-- b -->", "tags") == ["<!-- b -->"]


def test_a_pattern_of_the_users_own_is_a_kind_like_others() -> None:
    named = Protection.named(["tags", r"pattern=@@\w+@@"])
    assert named == Protection.of([Spec("tags"), Spec("pattern", {"regex": r"@@\w+@@"})])
    assert named
    assert [named.find("<b>@@x@@")[number] for number in (0, 1)] == [(0, 3), (3, 8)]
    assert Protection.named([]) is None


def test_a_pattern_that_finds_nothing_at_all_protects_nothing() -> None:
    assert Protection([re.compile("x*")]).find("aaxxa") == [(2, 4)]


def test_marks_are_numbered_from_left_to_right_and_the_last_one_stands_for_all_beyond() -> None:
    text = "".join(f"{{{number}}}" for number in range(20))
    masked = ALL.masked([text])
    assert masked.texts == ("".join([*MARKS, *MARKS[-1:] * 4]),)
    assert [span.text for span in masked.spans] == [f"{{{number}}}" for number in range(20)]
    assert [span.mark for span in masked.spans] == [*MARKS, *MARKS[-1:] * 4]


def test_further_texts_have_the_marks_of_the_same_spans() -> None:
    first, second = MARKS[:2]
    masked = ALL.masked(["", "%d of %s", "%s %s %x"])
    assert masked.texts == ("", f"{first} of {second}", f"{second} %s %x")
    assert masked.number == 1


def test_in_a_pair_only_what_both_have_gets_a_mark() -> None:
    first, second = MARKS[:2]
    masked = ALL.masked_pair(["%d %s %d %x"], "%x %d")
    assert masked.texts == (f"{first} %s %d {second}", f"{second} {first}")
    assert ALL.masked_pair([], "%d").texts == ("%d",)
    assert ALL.masked_pair([" "], "%d").texts == (" ", "%d")


def test_a_text_with_a_mark_of_its_own_is_not_mistaken() -> None:
    masked = ALL.masked([f"a{MARKS[3]}"])
    assert masked.texts == (f"a{MARKS[0]}",)
    assert masked.spans[0].text == MARKS[3]
    assert ALL.masked_pair([f"a{MARKS[3]}"], "b").texts == ("a\ufffd", "b")


@given(st.lists(st.sampled_from([*"ab .5-%d{}<>&;@:/", "%s", "{x}", "<b>", "\n", MARKS[0]])).map("".join))
def test_spans_put_back_give_the_text(text: str) -> None:
    masked = ALL.masked([text])
    spans = iter(masked.spans)
    assert "".join(next(spans).text if piece in MARKS else piece for piece in masked.texts[0]) == text
    assert not list(spans)
    assert [text[span.begin : span.end] for span in masked.spans] == [span.text for span in masked.spans]


def test_a_kind_or_a_pattern_that_is_none_is_told(golden: Golden) -> None:
    for kinds in (["placeholder"], ["pattern=("], ["pattern"], ["tags=x"]):
        with pytest.raises(UserError) as raised:
            Protection.named(kinds)
        golden(str(raised.value))


@pytest.mark.parametrize(
    "data",
    [
        {"data.edits": "en"},
        {"data.alignments": "true", "training.penalties": "supervised"},
        {"data.source": "fr", "data.noise": "infilling"},
        {"data.features": "[en]"},
    ],
    ids=str,
)
def test_where_marks_would_hide_something_they_are_refused(
    tmp_path: Path, golden: Golden, data: dict[str, str]
) -> None:
    (tmp_path / "run.yaml").write_text("data: {source: en, target: fr, train: t, dev: d}\n", "utf-8")
    with pytest.raises(UserError) as raised:
        load_config(tmp_path / "run.yaml", {"text.protect": "[tags, {kind: pattern, regex: x}]", **data})
    golden("\n".join(line for line in str(raised.value).split("\n") if "text.protect" in line))


def test_a_regular_expression_of_a_configuration_is_checked(tmp_path: Path, golden: Golden) -> None:
    (tmp_path / "run.yaml").write_text("data: {source: en, target: fr, train: t, dev: d}\n", "utf-8")
    with pytest.raises(UserError) as raised:
        load_config(tmp_path / "run.yaml", {"text.protect": "{kind: pattern, regex: '('}"})
    golden(str(raised.value))
