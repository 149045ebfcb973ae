"""What reading and writing documents costs: time in proportion to their size, whatever is in them."""

import io
import time
import zipfile
from collections.abc import Callable
from functools import partial

import pytest

pytest.importorskip("lxml")
pytest.importorskip("tree_sitter_markdown")

from dragoman.documents import office, table
from dragoman.documents.document import File
from dragoman.errors import UserError
from tests.documents.speaking import same

Make = Callable[[int], bytes]
WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def paragraph(content: str) -> bytes:
    """A document of Word with one paragraph."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        text = f'<w:document xmlns:w="{WORD}"><w:body><w:p>{content}</w:p></w:body></w:document>'
        archive.writestr("word/document.xml", text)
    return stream.getvalue()


def run(text: str, look: str = "") -> str:
    return f"<w:r><w:rPr>{look}</w:rPr><w:t>{text}</w:t></w:r>"


def formatted(n: int, content: str) -> str:
    """A run with a long look."""
    return f"<w:r><w:rPr>{'<w:b/>' * n}</w:rPr>{content}</w:r>"


def repeated(sign: str, n: int, *, start: str = "", end: str = "") -> str:
    return start + sign * n + end


def captions(text: str) -> bytes:
    """A file of WebVTT."""
    return f"WEBVTT\n\n{text}".encode()


def styled(text: str) -> bytes:
    """A dialogue of SubStation Alpha."""
    return f"[Events]\nDialogue: 0,0:00:01.00,0:00:02.00,Default,,0,0,0,,{text}\n".encode()


def pack_many(pack: Callable[[str], bytes], make: Callable[[int], str], n: int) -> bytes:
    return pack(make(n))


OFFICE: dict[str, Callable[[int], str]] = {
    "texts of a run": lambda n: formatted(n, "<w:t>one </w:t>" * n),
    "tabs in a run": lambda n: formatted(n, "<w:t>one</w:t><w:tab/>" * n),
    "signs in a run": lambda n: formatted(n, "<w:t>one </w:t><w:sym/>" * n),
    "a long attribute": lambda n: f'<w:r><w:rPr><w:b w:x="{"x" * n}"/></w:rPr>{"<w:t>a</w:t><w:sym/>" * n}</w:r>',
    "marks in a long look": lambda n: (
        formatted(n, f"<w:t>{'one ' * n}</w:t>") + "<w:bookmarkStart/>".join([run("two ")] * n)
    ),
    "bookmarks": lambda n: run("one") + '<w:bookmarkStart w:id="1"/>' * n,
    "bookmarks between": lambda n: '<w:bookmarkStart w:id="1"/>'.join([run("one ")] * n),
    "runs": lambda n: run("one") * n,
    "looks": lambda n: (run("one ") + run("two ", "<w:i/>")) * n,
    "tabs": lambda n: "<w:r><w:t>one</w:t><w:tab/></w:r>" * n,
    "links": lambda n: f"<w:hyperlink>{run('one ')}{run('two ', '<w:i/>')}</w:hyperlink>" * n,
    "runs of a link": lambda n: f"<w:hyperlink>{(run('one ') + run('two ', '<w:i/>')) * n}</w:hyperlink>",
    "fields": lambda n: run("[X1X] " * n) + f"<w:fldSimple>{run('7')}</w:fldSimple>" * n,
    "open fields": lambda n: run("one") + '<w:r><w:fldChar w:fldCharType="begin"/></w:r>' * n,
    "comments": lambda n: (
        ("<w:commentRangeStart/>" + run("one ") + "<w:commentRangeEnd/><w:r><w:commentReference/></w:r>") * n
    ),
    "errors": lambda n: ("<w:proofErr/>" + run("one ")) * n,
    "controls": lambda n: f"{'<w:sdt><w:sdtContent>' * 80}{run('one')}{'</w:sdtContent></w:sdt>' * 80}" * (n // 80),
    "boxes": lambda n: f"{'<w:r><w:pict><w:p>' * 40}{run('one ') * n}{'</w:p></w:pict></w:r>' * 40}",
    "raised": lambda n: (run("one") + run("1", '<w:vertAlign w:val="superscript"/>')) * n,
    "raised in an attribute": lambda n: run("one") + run("two", f'<w:b w:x="{"vertAlign " * n}"/>'),
}
MARKDOWN: dict[str, Callable[[int], str]] = {
    **{sign: partial(repeated, sign) for sign in ("*a ", "_a ", "**a ", "~~a ", "*a **b _c ", "*a* ", "***")},
    **{sign: partial(repeated, sign) for sign in ("[a", "[a]", "![", "[a](", "`a ", "<a ", "<!--", "$a ", "\\*")},
    **{sign: partial(repeated, sign, end="a") for sign in ("> ", "- ", "1. ", "> - ", "  ", "(", "{", "&", "|")},
    **{sign: partial(repeated, sign) for sign in ("a\n", "a b\n\n", "# a\n", "```\n", "<div>\na\n\n")},
    **{sign: partial(repeated, sign) for sign in ("a<br>", "a <b>", "<code>b ", "[a](b) ", "[^a]: b\n\n")},
    **{
        sign: partial(repeated, sign)
        for sign in ("!!! a\n", "    !!! a\n", "{: .a }\n", "a\n: b\n\n", "[[a]] ", "{{<", ":::a\n")
    },
    **{sign: partial(repeated, sign, end="?") for sign in ("{ #a", " .a", "\\abc{", "[[a", "import 'a", "{% ")},
    "directive": partial(repeated, " ", start="::: a b", end="{"),
    "admonition": partial(repeated, " ", start="!!! a", end="!"),
    "attributes": partial(repeated, " .a ", start="a { .b ", end="?"),
    "spaces": partial(repeated, " ", start="a { .b ", end="?"),
    "deep admonitions": lambda n: "".join(f"{'    ' * depth}!!! a\n" for depth in range(int(n**0.5))),
    "columns": lambda n: "|a" * n + "|\n" + "|-" * n + "|\n" + "|b" * n + "|\n",
    "rows": lambda n: "|a|b|\n|-|-|\n" + "|a|b|\n" * n,
    "references": lambda n: "".join(f"[a{m}]: x\n" for m in range(n)) + "".join(f"[a{m}] " for m in range(n)),
    "placeholders": lambda n: "[X1X] " * n + "`a` " * n,
}
CUE = "00:00:01,000 --> 00:00:02,000\n"
SUBTITLES: dict[str, Callable[[int], str]] = {
    "digits": partial(repeated, "1"),
    "cues": partial(repeated, "1\n" + CUE + "one\n\n"),
    "lines": partial(repeated, "one\n", start=CUE),
    "words": partial(repeated, "one ", start=CUE),
    "times": partial(repeated, CUE),
    "speakers": partial(repeated, "- one\n", start=CUE),
    "codes": partial(repeated, "{\\i1}one ", start=CUE),
    "open codes": partial(repeated, "{\\i1 one ", start=CUE),
    "tags": partial(repeated, "<i>one ", start=CUE),
    "open tags": partial(repeated, "<i one ", start=CUE),
    "breaks": partial(repeated, "one\\N", start=CUE),
    "arrows": partial(repeated, " --> ", start=CUE),
    "colons": partial(repeated, "1:", start="1\n"),
}
KINDS: dict[str, tuple[str, Make]] = {
    **{f".docx {name}": (".docx", partial(pack_many, paragraph, make)) for name, make in OFFICE.items()},
    **{f".md {name!r}": (".md", partial(pack_many, str.encode, make)) for name, make in MARKDOWN.items()},
    **{f".srt {name}": (".srt", partial(pack_many, str.encode, make)) for name, make in SUBTITLES.items()},
    **{f".vtt {name}": (".vtt", partial(pack_many, captions, make)) for name, make in SUBTITLES.items()},
    **{f".ass {name}": (".ass", partial(pack_many, styled, make)) for name, make in SUBTITLES.items()},
}


def test_what_stands_behind_the_root_takes_no_longer_than_other_markup() -> None:
    """Comments within a processing instruction, after what looks like the end of the document."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        text = f'<w:document xmlns:w="{WORD}"><w:p>{run("one")}</w:p></w:document>'
        archive.writestr("word/document.xml", f"{text}<?x </w:document>{'<!--a-->' * 23}b?>")
    assert takes_less(1, ".docx", stream.getvalue())


def seconds(ending: str, data: bytes) -> float:
    """The processor time to read a document and write it, or to refuse it."""
    began = time.process_time()
    try:
        document = table.document(File(f"x{ending}", data, ("en", "fr")))
        read = time.process_time() - began
        translated = [same(line.text) for line in document.lines]
        began = time.process_time()
        document.written(translated)
    except UserError:
        return time.process_time() - began
    return read + time.process_time() - began


def takes_less(limit: float, ending: str, data: bytes) -> bool:
    """Whether it is done in so many seconds, at the second attempt at the latest."""
    return any(seconds(ending, data) < limit for _ in range(2))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_time_grows_with_the_size(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(office, "SMALL", 2**26)
    ending, make = KINDS[kind]
    small = make(1_000)
    limit = 8 * max(min(seconds(ending, small) for _ in range(2)), 0.05)
    assert takes_less(limit, ending, make(4_000))
