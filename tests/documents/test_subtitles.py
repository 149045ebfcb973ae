"""Subtitles: the text is translated, and every other byte stays; a file is scanned in linear time."""

import time
from functools import partial

import pytest

from dragoman.documents import table
from dragoman.documents.document import Document, File
from dragoman.documents.passages import Passage
from dragoman.documents.subtitles import cue
from dragoman.documents.translated import TranslatedSentence, TranslatedText
from dragoman.errors import UserError
from tests.documents.speaking import backwards, nothing, protected, replaced, spoken

SRT = """1
00:00:01,000 --> 00:00:02,500
one two
six seven eight

2
00:00:03.46 --> 00:00:04.5 X1:1
{\\an8}<i>one two</i>


00:00:05,000 --> 00:00:06,000
- one two
- six
  seven

4
00:00:07,000 --> 00:00:08,000
<i>- one {\\b1}two\\Nsix</i>

eight
"""
VTT = """WEBVTT - one

STYLE
::cue { color: red }

NOTE one two

name
00:01.000 --> 00:02.000 align:start
<v Ann Lee>one two</v> <00:01.500>six &amp; seven

one two outside

2
01:00:03.000 --> 01:00:04.000
<c.red>nine</c>
"""
SBV = "0:00:01.000,0:00:02.000\none two\n\n0:00:03.000,0:00:04.000\nsix\n"
ASS = """[Script Info]
Title: one two

[V4+ Styles]
Format: Name, Fontname
Style: one, two

[Events]
Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text
Dialogue: 0,0:00:01.00,0:00:02.00,D,Ann,0,0,0,,{\\an8}one, two\\N{\\i1}six{\\i0} seven
Comment: 0,0:00:01.00,0:00:02.00,D,,0,0,0,,nine
Dialogue: 0,0:00:01.00,0:00:02.00,D,,0,0,0,,{\\p1}m 0 0 l b{\\p0}
Dialogue: 0,0:00:01.00,0:00:02.00,D,,0,0,0,,{\\k20}o{\\k30}ne
"""


def read(name: str, data: str | bytes) -> Document:
    return table.document(File(name, data if isinstance(data, bytes) else data.encode(), ("en", "fr")))


@pytest.mark.parametrize(("name", "text"), [("x.srt", SRT), ("x.vtt", VTT), ("x.sbv", SBV), ("x.ass", ASS)])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_what_is_not_translated_stays_byte_by_byte(name: str, text: str, encoding: str, end: str) -> None:
    data = (("\ufeff" if encoding.startswith("utf-16") else "") + text.replace("\n", end)).encode(encoding)
    document = read(name, data)
    assert spoken(document, nothing) == data
    assert spoken(read(name, spoken(document)), nothing) == spoken(document)
    assert spoken(document) != data


def test_lines_of_srt_keep_their_speakers_codes_and_breaks() -> None:
    document = read("x.srt", SRT)
    texts = [line.text for line in document.lines]
    assert texts == ["one two six seven eight", "one two", "one two", "six seven", "one two six", "eight"]
    assert spoken(document).decode().split("\n") == [
        "1",
        "00:00:01,000 --> 00:00:02,500",
        "EIGHT SEVEN",
        "SIX TWO ONE",
        "",
        "2",
        "00:00:03.46 --> 00:00:04.5 X1:1",
        "{\\an8}<i>TWO ONE</i>",
        "",
        "",
        "00:00:05,000 --> 00:00:06,000",
        "- TWO ONE",
        "- SEVEN",
        "SIX",
        "",
        "4",
        "00:00:07,000 --> 00:00:08,000",
        "<i>- SIX {\\b1}TWO\\NONE</i>",
        "",
        "EIGHT",
        "",
    ]


def test_an_arrow_among_words_is_text() -> None:
    srt = "1\n00:00:01,000 --> 00:00:02,000\none --> two\n3 --> one\nnote: one --> two\n"
    expected = srt.replace("one --> two\n3 --> one\nnote: one --> two", "TWO --> ONE\nNOTE: ONE -->\n3 TWO --> ONE")
    assert spoken(read("x.srt", srt)).decode() == expected


def test_headers_notes_names_and_voices_of_vtt_stay() -> None:
    document = read("x.vtt", VTT)
    assert [line.text for line in document.lines] == ["one two six &amp; seven", "nine"]
    written = spoken(document, protected).decode()
    assert "&amp; SEVEN <00:01.500>SIX <v Ann Lee>TWO ONE</v>\n" in written
    assert "<c.red>NINE</c>\n" in written
    assert written.count("one two") == VTT.count("one two") - 1


def test_dialogues_of_ass_are_translated_but_no_drawings_and_no_karaoke() -> None:
    document = read("x.ass", ASS)
    assert [line.text for line in document.lines] == ["one, two six seven"]
    expected = ASS.replace("one, two\\N{\\i1}six{\\i0} seven", "SEVEN {\\i1}SIX{\\i0}\\NTWO ONE,")
    assert spoken(document).decode() == expected


def test_dialogues_without_a_line_of_their_format_have_ten_fields() -> None:
    ass = "[Events]\nDialogue: 0,0:00:01.00,0:00:02.00,D,Ann,0,0,0,,one, two\n"
    assert spoken(read("x.ass", ass)).decode() == ass.replace("one, two", "TWO ONE,")


def test_a_translation_with_too_few_spaces_has_fewer_lines() -> None:
    text = "1\n00:00:01,000 --> 00:00:02,000\none\ntwo\nsix\n"
    assert spoken(read("x.srt", text), lambda line: replaced("sieben <acht", line)).decode() == text.replace(
        "one\ntwo\nsix", "sieben\n<acht"
    )


@pytest.mark.parametrize("translation", ["ONE <!--3--> TWO", f"ONE <!--{'9' * 5000}--> TWO"])
def test_a_comment_in_a_translation_stands_for_no_code(translation: str) -> None:
    srt = "1\n00:00:01,000 --> 00:00:02,000\none two\n"
    assert spoken(read("x.srt", srt), partial(replaced, translation)).decode() == srt.replace("one two", translation)


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("x.srt", "hello\n", 1),
        ("x.srt", "\nhello\n\n" + SRT, 2),
        ("x.srt", SRT + "\n5\n00:00:01 --> later\none\n", 23),
        ("x.vtt", "00:01.000 --> 00:02.000\none\n", 1),
        ("x.sbv", "hello\n", 1),
        ("x.ass", "hello\n", 1),
    ],
)
def test_what_is_no_subtitle_is_refused_with_its_line(name: str, text: str, line: int) -> None:
    with pytest.raises(UserError, match=rf"^x\.\w+:{line}: invalid subtitle"):
        read(name, text)


CUE = "1\n00:00:01,000 --> 00:00:02,000\n"
HOSTILE = {
    "digits": ("x.srt", "1" * 40_000),
    "digits in times": ("x.srt", CUE + "1:" * 40_000),
    "open tags": ("x.srt", CUE + "<a" * 40_000),
    "an open tag": ("x.srt", CUE + "<" + "a" * 80_000),
    "open codes": ("x.srt", CUE + "{\\" * 40_000),
    "lines": ("x.srt", CUE + "a\n" * 20_000),
    "spaces": ("x.vtt", "WEBVTT\n\n" + CUE + "a " * 40_000),
    "nested elements": ("x.vtt", "WEBVTT\n\n" + CUE + "<i>" * 9_000 + "- a" + "</i>" * 9_000),
    "commas": ("x.ass", "[Events]\nFormat: " + "a," * 40_000 + "\nDialogue: " + "a," * 40_000),
    "braces": ("x.ass", "[Events]\nDialogue: 0,0,0,0,0,0,0,0,0," + "{" * 80_000),
}


@pytest.mark.parametrize(("name", "text"), HOSTILE.values(), ids=HOSTILE)
def test_hostile_files_take_less_than_a_second(name: str, text: str) -> None:
    begin = time.process_time()
    try:
        document = read(name, text)
        passage = Passage(("a",), ("", ""))
        document.written(
            [TranslatedText(passage, (TranslatedSentence("b " * (len(line.text) // 2)),)) for line in document.lines]
        )
    except UserError:
        pass
    assert time.process_time() - begin < 1


def test_text_files_are_written_in_their_encoding() -> None:
    data = b"\xff\xfe" + "one two\r\n".encode("utf-16-le")
    assert spoken(read("x.txt", data), backwards) == b"\xff\xfe" + "TWO ONE\r\n".encode("utf-16-le")


def test_a_cue_alone_is_split_like_those_of_a_file() -> None:
    """Lines of a sentence together, speakers apart; what has no words stays."""
    parts = cue("<i>one two</i>\nsix\n- seven\n♪")
    assert "".join(part if isinstance(part, str) else part.raw for part in parts) == "<i>one two</i>\nsix\n- seven\n♪"
    assert [part.text for part in parts if not isinstance(part, str)] == ["one two six", "seven ♪"]
    assert cue("♪ 12") == ["", "♪ 12", ""]
