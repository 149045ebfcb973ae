"""Documents of Word and PowerPoint whose paragraphs are translated."""

import io
import random
import re
import zipfile

import pytest

pytest.importorskip("docx")
import docx
from docx.document import Document
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.oxml import OxmlElement, parse_xml
from docx.oxml.ns import nsmap, qn
from docx.text.paragraph import Paragraph

from dragoman.corpus.xml import local_name
from dragoman.documents.document import File
from dragoman.documents.office import Office
from dragoman.errors import UserError
from tests.documents.speaking import Say, backwards, nothing, same, spoken


def packed(document: Document) -> bytes:
    stream = io.BytesIO()
    document.save(stream)
    return stream.getvalue()


def opened(data: bytes) -> Office:
    return Office(File("x.docx", data, ("en", "fr")))


def written(document: Document, say: Say = backwards) -> Document:
    return docx.Document(io.BytesIO(spoken(opened(packed(document)), say)))


def linked(paragraph: Paragraph, text: str) -> None:
    link = OxmlElement("w:hyperlink")
    link.set(qn("r:id"), paragraph.part.relate_to("http://x.y", RELATIONSHIP_TYPE.HYPERLINK, is_external=True))
    run = paragraph.add_run(text)
    link.append(run._r)
    paragraph._p.append(link)


def field(paragraph: Paragraph, shown: str) -> None:
    for kind in ("begin", "separate", "end"):
        run = paragraph.add_run()
        mark = OxmlElement("w:fldChar")
        mark.set(qn("w:fldCharType"), kind)
        run._r.append(mark)
        if kind == "separate":
            paragraph.add_run(shown)


def looks(paragraph: Paragraph) -> list[tuple[str, bool | None]]:
    return [(run.text, run.bold) for run in paragraph.runs]


def test_looks_go_with_their_words() -> None:
    document = docx.Document()
    paragraph = document.add_paragraph("one two ")
    paragraph.add_run("six").bold = True
    paragraph.add_run(" ni")
    paragraph.add_run("ne")
    assert looks(written(document).paragraphs[0]) == [("NINE ", None), ("SIX", True), (" TWO ONE", None)]


def test_links_fields_and_breaks_stay() -> None:
    document = docx.Document()
    paragraph = document.add_paragraph("one ")
    linked(paragraph, "two six")
    paragraph.add_run(" page ")
    field(paragraph, "7 of nine")
    paragraph.add_run("\tbehind it\nthe line")
    result = written(document).paragraphs[0]
    assert result.text == "7 of nine PAGE SIX TWO ONE\tIT BEHIND\nLINE THE"
    (link,) = result.hyperlinks
    assert (link.text, link.address) == ("SIX TWO", "http://x.y")
    assert [element.get(qn("w:fldCharType")) for element in result._p.iter(qn("w:fldChar"))] == [
        "begin",
        "separate",
        "end",
    ]


def body(paragraph: str) -> Document:
    """A document with a paragraph in XML."""
    document = docx.Document()
    spaces = " ".join(f'xmlns:{name}="{nsmap[name]}"' for name in ("w", "m"))
    document.element.body.insert(0, parse_xml(f"<w:p {spaces}>{paragraph}</w:p>"))
    return document


def run(text: str) -> str:
    return f'<w:r><w:t xml:space="preserve">{text}</w:t></w:r>'


def test_formulas_stay_among_their_words() -> None:
    formula = "<m:oMath><m:r><m:t>x=1</m:t></m:r></m:oMath>"
    paragraph = written(body(run("one two ") + formula + run(" six"))).paragraphs[0]
    assert "".join(element.text for element in paragraph._p.iter("{*}t")) == "SIX x=1 TWO ONE"


@pytest.mark.parametrize("name", ["moveTo", "bdo", "customXml"])
def test_what_stands_around_runs_is_translated_in_its_place(name: str) -> None:
    paragraph = written(body(run("one ") + f"<w:{name}>{run('two six')}</w:{name}>" + run(" nine"))).paragraphs[0]
    assert "".join(element.text for element in paragraph._p.iter("{*}t")) == "NINE SIX TWO ONE"
    assert "".join(element.text for element in paragraph._p.iter(qn(f"w:{name}")).__next__().iter("{*}t")) == "SIX TWO"


BOLD = "<w:r><w:rPr><w:b/></w:rPr><w:t>%s</w:t></w:r>"


@pytest.mark.parametrize("name", ["hyperlink", "ins", "moveTo"])
def test_looks_within_links_and_changes_go_with_their_words(name: str) -> None:
    inner = run("two ") + BOLD % "six" + run(" nine")
    paragraph = written(body(run("one ") + f"<w:{name}>{inner}</w:{name}>" + run(" ten"))).paragraphs[0]._p
    assert "".join(element.text for element in paragraph.iter("{*}t")) == "TEN NINE SIX TWO ONE"
    (around,) = paragraph.iter(qn(f"w:{name}"))
    runs = [(element[-1].text, element.find(qn("w:rPr")) is not None) for element in around]
    assert runs == [("NINE ", False), ("SIX", True), (" TWO", False)]
    whole = written(body(f"<w:{name}>{inner}</w:{name}>")).paragraphs[0]._p
    assert [element.text for element in whole.iter("{*}t")] == ["NINE ", "SIX", " TWO"]


@pytest.mark.parametrize("name", ["hyperlink", "ins"])
def test_a_field_among_the_words_of_a_link_costs_none_of_them(name: str) -> None:
    field = f'<w:fldSimple w:instr="PAGE">{run("7")}</w:fldSimple>'
    document = body(run("see ") + field + run(" of ") + f"<w:{name}>{run('big manual')}</w:{name}>")
    office = opened(packed(document))
    (paragraph,) = office._paragraphs
    paragraph.fill("\0<1\0BIG \0/0\0 MANUAL\0>1\0 SEE OF")
    elements = office._trees["word/document.xml"].iter("{*}t")
    assert "".join(element.text for element in elements) == "BIG  MANUAL7 SEE OF"


def test_what_was_deleted_stays_where_it_was() -> None:
    deleted = "<w:del><w:r><w:delText>four </w:delText></w:r></w:del>"
    paragraph = written(body(run("one ") + deleted + run("two")), same).paragraphs[0]._p
    assert [element.text for element in paragraph.iter("{*}t", "{*}delText")] == ["one ", "four ", "two"]
    gone = f"<w:moveFrom>{run('four ')}</w:moveFrom>"
    paragraph = written(body(run("one ") + gone + run("two"))).paragraphs[0]._p
    assert sorted(element.text.strip() for element in paragraph.iter("{*}t")) == ["TWO ONE", "four"]


def test_raised_numbers_of_notes_stay() -> None:
    raised = '<w:r><w:rPr><w:vertAlign w:val="superscript"/></w:rPr><w:t>%s</w:t></w:r>'
    paragraph = written(body(run("one two") + raised % "1" + run(" six"))).paragraphs[0]
    assert [element.text for element in paragraph.runs] == ["SIX TWO", "1", " ONE"]
    paragraph = written(body(run("one 2") + raised % "nd" + run(" six"))).paragraphs[0]
    assert paragraph.text == "SIX 2ND ONE"


def test_comments_and_bookmarks_are_around_what_they_were_around() -> None:
    for name in ("commentRange", "bookmark"):
        begin, end = f'<w:{name}Start w:id="1"/>', f'<w:{name}End w:id="1"/>'
        paragraph = written(body(run("one ") + begin + run("two") + end + run(" six"))).paragraphs[0]
        parts = [
            element.text or local_name(element)
            for element in paragraph._p.iter("{*}t", qn(f"w:{name}Start"), qn(f"w:{name}End"))
        ]
        assert [element.strip() for element in parts] == ["SIX", f"{name}Start", "TWO", f"{name}End", "ONE"]
        whole = written(body(begin + run("one two") + end)).paragraphs[0]._p
        assert [local_name(element) for element in whole] == [f"{name}Start", "r", f"{name}End"]


def order(paragraph: str) -> list[str]:
    """The words of a translated paragraph, and the ranges and references among them."""
    kinds = [qn(f"w:{name}") for name in ("bookmarkStart", "bookmarkEnd", "commentRangeStart", "commentRangeEnd")]
    elements = written(body(paragraph)).paragraphs[0]._p.iter("{*}t", qn("w:commentReference"), *kinds)
    return " ".join(element.text or f"{local_name(element)}{element.get(qn('w:id'))}" for element in elements).split()


def test_ranges_at_the_edges_of_a_line_and_over_each_other() -> None:
    def mark(name: str, number: int = 1) -> str:
        return f'<w:{name} w:id="{number}"/>'

    begin, end = mark("bookmarkStart"), mark("bookmarkEnd")
    assert order(begin + run("one ") + end + run("two six")) == "SIX TWO bookmarkStart1 ONE bookmarkEnd1".split()
    assert order(run("one two ") + begin + run("six") + end) == "bookmarkStart1 SIX bookmarkEnd1 TWO ONE".split()
    assert order(begin + run("one two")) == ["bookmarkStart1", "TWO", "ONE"]
    reference = f"<w:r>{mark('commentReference')}</w:r>"
    comment = mark("commentRangeStart") + run("two ") + mark("commentRangeEnd") + reference
    wanted = "SIX commentRangeStart1 TWO commentRangeEnd1 commentReference1 ONE"
    assert order(run("one ") + comment + run("six")) == wanted.split()
    over = [
        run("one "),
        begin,
        run("two "),
        mark("bookmarkStart", 2),
        run("six "),
        end,
        run("nine "),
        mark("bookmarkEnd", 2),
    ]
    words = order("".join(over) + run("ten"))
    for number in "12":
        assert words.index(f"bookmarkStart{number}") < words.index(f"bookmarkEnd{number}")
    assert [word for word in words if word.isupper()] == "TEN NINE SIX TWO ONE".split()


def test_a_paragraph_without_words_stays_as_it_is() -> None:
    document = body(run("12") + "<w:r><w:softHyphen/></w:r>" + run("34"))
    assert len(list(written(document).paragraphs[0]._p.iter(qn("w:softHyphen")))) == 1


def test_a_hyphen_that_breaks_no_line_is_a_part_of_its_word() -> None:
    hyphen, soft = "<w:r><w:noBreakHyphen/></w:r>", "<w:r><w:softHyphen/></w:r>"
    document = body(run("one") + hyphen + run("two s") + soft + run("ix"))
    assert [element.text for element in opened(packed(document)).lines] == ["one\u2011two six"]
    paragraph = written(document).paragraphs[0]
    assert paragraph.text == "SIX ONE\u2011TWO"
    assert all(len(element) for element in paragraph._p)


def test_tables_heads_and_feet_are_translated() -> None:
    document = docx.Document()
    document.add_heading("a title", 1)
    table = document.add_table(1, 2)
    table.cell(0, 0).text, table.cell(0, 1).text = "a cell", "12"
    document.sections[0].header.paragraphs[0].text = "the head"
    document.sections[0].footer.paragraphs[0].text = "the foot"
    result = written(document)
    assert [paragraph.text for paragraph in result.paragraphs] == ["TITLE A"]
    assert result.paragraphs[0].style.name == "Heading 1"
    assert [cell.text for cell in result.tables[0].row_cells(0)] == ["CELL A", "12"]
    assert result.sections[0].header.paragraphs[0].text == "HEAD THE"
    assert result.sections[0].footer.paragraphs[0].text == "FOOT THE"


@pytest.mark.parametrize("seed", range(10))
def test_documents_of_every_shape_come_back(seed: int) -> None:
    generator = random.Random(seed)
    document = docx.Document()
    for _ in range(8):
        paragraph = document.add_paragraph(style=generator.choice(["Normal", "List Bullet", "Heading 2"]))
        for _ in range(generator.randint(1, 6)):
            kind = generator.choice(["run", "run", "bold", "italic", "link", "field", "tab"])
            text = generator.choice(["one ", "two six ", "nine ", "& <ten> ", "{name} "])
            if kind == "link":
                linked(paragraph, text)
            elif kind == "field":
                field(paragraph, text.strip())
                paragraph.add_run(" ")
            else:
                run = paragraph.add_run(text + ("\t" if kind == "tab" else ""))
                run.bold, run.italic = kind == "bold" or None, kind == "italic" or None
    before, after = document.paragraphs, written(document, same).paragraphs
    assert [block.text for block in after] == [block.text for block in before]
    assert [_marked(block) for block in after] == [_marked(block) for block in before]
    there = written(document).paragraphs
    assert [len(block.hyperlinks) for block in there] == [len(block.hyperlinks) for block in before]
    assert [sorted(block.text.lower().split()) for block in there] == [sorted(block.text.split()) for block in before]
    unchanged = written(document, nothing).paragraphs
    assert [_marked(block) for block in unchanged] == [_marked(block) for block in before]


def _marked(paragraph: Paragraph) -> list[tuple[str, bool | None, bool | None]]:
    """The characters of a paragraph and how they look."""
    return [(character, run.bold, run.italic) for run in paragraph.runs for character in run.text if character.strip()]


def test_every_other_file_of_a_document_stays_as_it_is() -> None:
    document = docx.Document()
    document.add_paragraph("one two")
    before = packed(document)
    after = spoken(opened(before))
    with zipfile.ZipFile(io.BytesIO(before)) as old, zipfile.ZipFile(io.BytesIO(after)) as new:
        assert old.namelist() == new.namelist()
        changed = [name for name in old.namelist() if old.read(name) != new.read(name)]
    assert set(changed) <= {"word/document.xml", "word/footnotes.xml", "word/endnotes.xml"}


SLIDE = (
    '<p:sld xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" xmlns:p="urn:p"><a:p><a:pPr/>'
    '<a:r><a:rPr lang="en" b="1"/><a:t>one</a:t></a:r><a:r><a:rPr lang="en"/><a:t> two six</a:t></a:r>'
    "<a:br/><a:r><a:t>nine ten</a:t></a:r><a:endParaRPr/></a:p></p:sld>"
)


def test_slides_are_translated() -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("ppt/slides/slide1.xml", SLIDE)
    with zipfile.ZipFile(io.BytesIO(spoken(opened(stream.getvalue())))) as archive:
        slide = archive.read("ppt/slides/slide1.xml").decode()
    assert "SIX TWO </a:t>" in slide
    assert 'b="1"/><a:t>ONE</a:t>' in slide  # a:t has no attributes in the schema
    assert "<a:br/><a:r><a:t" in slide
    assert slide.endswith("TEN NINE</a:t></a:r><a:endParaRPr/></a:p></p:sld>")


def test_lines_within_a_run_are_translated_in_it() -> None:
    bold = "<w:rPr><w:b/></w:rPr>"
    inner = "<w:t>two six</w:t><w:t> nine</w:t><w:br/><w:t>ten one</w:t><w:tab/><w:t>six two</w:t>"
    paragraph = written(body(run("one ") + f"<w:r>{bold}{inner}</w:r>" + run(" end"))).paragraphs[0]
    assert paragraph.text == "NINE SIX TWO ONE\nONE TEN\tEND TWO SIX"
    assert [element.bold for element in paragraph.runs if element.text.strip()] == [True, None, True, None, True]
    assert len(paragraph._p.findall(".//" + qn("w:br"))) == 1
    spaced = written(body(f"<w:r>{bold}<w:t>a</w:t><w:br/><w:t>one  two</w:t><w:br/><w:t>b</w:t></w:r>"))
    (text,) = [element for element in spaced.element.iter(qn("w:t")) if element.text == "TWO ONE"]
    assert text.get("{http://www.w3.org/XML/1998/namespace}space") == "preserve"


def formatted(elements: int) -> bytes:
    """A run with a long look and as many texts, each beside a sign."""
    return packed(body(f"<w:r><w:rPr>{'<w:b/>' * elements}</w:rPr>{'<w:t>one</w:t><w:sym/>' * elements}</w:r>"))


def test_formatting_that_would_be_copied_too_often_is_refused() -> None:
    assert len(opened(formatted(100)).lines) == 1
    with pytest.raises(UserError, match=r"x\.docx: word/document\.xml: has too much formatting for the number of its"):
        opened(formatted(1_500))
    spaces = "".join(f' xmlns:n{number}="urn:{number}"' for number in range(300))
    with pytest.raises(UserError, match=r"x\.docx: word/document\.xml: declares more than 200 namespaces"):
        opened(packed(body(f"<w:r{spaces}><w:t>one</w:t></w:r><w:r><w:pict{spaces}><w:p/></w:pict></w:r>")))


DRAWING = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
PARAGRAPH = "<a:p><a:r><a:t>one two</a:t></a:r></a:p>"
CHART = f"""<c:chart xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart" {DRAWING}>
<c:title><c:tx><c:rich>{PARAGRAPH}</c:rich></c:tx></c:title>
<c:ser><c:tx><c:strRef><c:f>Sheet1!$B$1</c:f>
<c:strCache><c:pt idx="0"><c:v>six nine</c:v></c:pt></c:strCache></c:strRef></c:tx>
<c:cat><c:multiLvlStrCache><c:lvl><c:pt><c:v>ten one</c:v></c:pt></c:lvl></c:multiLvlStrCache></c:cat>
<c:val><c:numCache><c:formatCode>General</c:formatCode><c:pt><c:v>12E3 x</c:v></c:pt></c:numCache></c:val>
</c:ser></c:chart>"""
EXTENDED = f"""<cx:chartSpace xmlns:cx="http://schemas.microsoft.com/office/drawing/2014/chartex" {DRAWING}>
<cx:data><cx:strDim><cx:lvl><cx:pt idx="0">ten one</cx:pt></cx:lvl></cx:strDim>
<cx:numDim><cx:lvl><cx:pt>12E3 x</cx:pt></cx:lvl></cx:numDim></cx:data>
<cx:tx><cx:rich>{PARAGRAPH}</cx:rich></cx:tx>
<cx:tx><cx:txData><cx:v>six nine</cx:v></cx:txData></cx:tx></cx:chartSpace>"""
REMARK = (
    '<p:cmLst xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main">'
    "<p:cm><p:text>one two</p:text></p:cm></p:cmLst>"
)
COMMENTS = f'<w:comments xmlns:w="{nsmap["w"]}"><w:comment><w:p>{run("one two")}</w:p></w:comment></w:comments>'


@pytest.mark.parametrize(
    ("part", "content", "expected"),
    [
        ("ppt/charts/chart1.xml", CHART, ["TWO ONE", "NINE SIX", "ONE TEN"]),
        ("word/charts/chart2.xml", CHART, ["TWO ONE", "NINE SIX", "ONE TEN"]),
        ("ppt/charts/chartEx1.xml", EXTENDED, ["ONE TEN", "TWO ONE", "NINE SIX"]),
        ("ppt/diagrams/data1.xml", f"<x {DRAWING}>{PARAGRAPH}</x>", ["TWO ONE"]),
        ("word/diagrams/drawing1.xml", f"<x {DRAWING}>{PARAGRAPH}</x>", ["TWO ONE"]),
        ("ppt/drawings/drawing1.xml", f"<x {DRAWING}>{PARAGRAPH}</x>", ["TWO ONE"]),
        ("ppt/comments/comment1.xml", REMARK, ["TWO ONE"]),
        ("ppt/comments/modernComment_1_0.xml", f"<x {DRAWING}>{PARAGRAPH}</x>", ["TWO ONE"]),
        ("word/comments.xml", COMMENTS, ["TWO ONE"]),
    ],
)
def test_charts_diagrams_and_comments_are_translated(part: str, content: str, expected: list[str]) -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr(part, content)
    document = opened(stream.getvalue())
    with zipfile.ZipFile(io.BytesIO(spoken(document))) as archive:
        xml = archive.read(part).decode()
    texts = re.findall(r">([^<>]*[A-Za-z][^<>]*)</", xml)
    assert [text for text in texts if text.replace(" ", "").isupper() and "12" not in text] == expected
    assert len(document.lines) == len(expected)
    assert re.sub(r">[^<>]*<", "><", xml) == re.sub(r">[^<>]*<", "><", content)
    assert xml.count("12E3 x") == content.count("12E3 x")
    assert xml.count("Sheet1!$B$1") == content.count("Sheet1!$B$1")


@pytest.mark.parametrize("data", [b"", b"hello", b"PK\x03\x04 damaged"])
def test_what_is_no_document_is_told(data: bytes) -> None:
    with pytest.raises(UserError, match=r"x\.docx: invalid Office document"):
        opened(data)


@pytest.mark.slow
def test_a_bomb_is_refused() -> None:
    stream = io.BytesIO()
    with (
        zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("word/document.xml", "w", force_zip64=True) as entry,
    ):
        for _ in range(520):
            entry.write(bytes(2**20))
    with pytest.raises(UserError, match="unpacks to more than"):
        opened(stream.getvalue())


@pytest.mark.parametrize(("size", "refused"), [(900_000, False), (1_200_000, True)])
def test_a_small_archive_may_not_unpack_to_more_than_a_megabyte(size: int, refused: bool) -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("ppt/slides/slide1.xml", SLIDE + " " * size)
    if refused:
        with pytest.raises(UserError, match=r"x\.docx: unpacks to more than 1,048,576 bytes"):
            opened(stream.getvalue())
    else:
        assert opened(stream.getvalue()).lines
