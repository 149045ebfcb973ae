"""Documents of Word and PowerPoint, which are XML in an archive (extra `documents`): paragraphs are translated."""

import io
import re
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from copy import deepcopy
from itertools import groupby
from typing import Any, NamedTuple

from lxml import etree

from dragoman.corpus.xml import local_name, parse_tree
from dragoman.documents.codes import OriginalFile
from dragoman.documents.document import Document, File
from dragoman.documents.document_segment import DocumentSegment, ElementPlaceholders, is_note, remove_illegal_characters
from dragoman.documents.translated import TranslatedText
from dragoman.errors import UserError

PARTS = re.compile(
    r"word/(document|header\d*|footer\d*|footnotes|endnotes|comments)\.xml"
    r"|ppt/(slides/slide|notesSlides/notesSlide)\d+\.xml|ppt/comments/[^/]+\.xml"
    r"|(word|ppt)/(charts/chart(Ex)?|diagrams/(data|drawing)|drawings/drawing)\d*\.xml"
)
WORD = frozenset(
    [
        "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
        "http://purl.oclc.org/ooxml/wordprocessingml/main",
    ]
)
DRAWING = frozenset(
    ["http://schemas.openxmlformats.org/drawingml/2006/main", "http://purl.oclc.org/ooxml/drawingml/main"]
)
SPACES = WORD | DRAWING  # in which paragraphs, runs and texts have the same names
# Elements of other namespaces whose text stands in no paragraph: values of charts, comments of PowerPoint.
CHARTS = ("http://schemas.openxmlformats.org/drawingml/2006/chart", "http://purl.oclc.org/ooxml/drawingml/chart")
EXTENDED = "http://schemas.microsoft.com/office/drawing/2014/chartex"
SLIDES = (
    "http://schemas.openxmlformats.org/presentationml/2006/main",
    "http://purl.oclc.org/ooxml/presentationml/main",
)
VALUES = (*(f"{{{space}}}v" for space in CHARTS), f"{{{EXTENDED}}}v", f"{{{EXTENDED}}}pt")
REMARKS = tuple(f"{{{space}}}text" for space in SLIDES)
NUMBERS = ("{*}numCache", "{*}numLit", "{*}numDim")  # around values that are numbers, not names
CUTS = ("tab", "br", "cr")  # where a line ends
OBJECTS = ("{*}p", "{*}drawing", "{*}fldChar", "{*}footnoteReference")  # in no container whose text is translated
CONTAINERS = ("bdo", "customXml", "dir", "hyperlink", "ins", "moveTo", "sdt", "smartTag")  # of runs within a paragraph
FIELDS = ("fldSimple", "fld")  # of which Word computes the text
FORMULAS = ("oMath", "oMathPara")
GONE = ("del", "moveFrom")  # what was there before a change
RANGES = {  # what begins or ends a part of a text
    "bookmarkStart": ("open", "bookmark"),
    "bookmarkEnd": ("close", "bookmark"),
    "commentRangeStart": ("open", "comment"),
    "commentRangeEnd": ("close", "comment"),
}
HYPHEN = "\u2011"  # one at which no line is broken
# An archive may unpack to RATIO times its size, or to SMALL bytes.
RATIO, SMALL = 100, 2**20
NAMESPACES = 200  # declared around a paragraph: each copy of a run copies them
# Copies of formatting may have COPIED characters, and as many as its part of the document times COPIES.
COPIED, COPIES = 2**20, 4
_SPACE = "{http://www.w3.org/XML/1998/namespace}space"
_UNSEEN = re.compile(r"<\w+:(?:lang|noProof)\b[^>]*>|\s(?:lang|dirty|err)=\"[^\"]*\"")  # in how a run looks
_RAISED = re.compile(r'<\w+:vertAlign\b[^<>]*\bval="superscript|\sbaseline="[1-9]')
_CODE = re.compile("\0([<>/])([0-9]+)\0")


class Office(Document):
    """The paragraphs of a document with its headers, footers, notes, comments, charts and diagrams. What looks
    otherwise than most of its line is an element in it, and so is a link; fields, pictures and notes are tags.
    UserError for a file of another format.
    """

    def __init__(self, file: File) -> None:
        self._file = file
        self._sizes: dict[str, int] = {}
        self._originals: dict[str, OriginalFile] = {}
        self._trees = dict(self._read())
        if not self._trees:
            raise UserError(f"{file.name}: is not a Word or PowerPoint document")
        self._paragraphs = [paragraph for part in self._trees for paragraph in self._read_part(part)]
        self.lines = [paragraph.line for paragraph in self._paragraphs]

    def _read(self) -> Iterator[tuple[str, Any]]:
        for entry, data in self._entries():
            if PARTS.fullmatch(entry.filename):
                self._sizes[entry.filename] = len(data)
                tree = parse_tree(f"{self._file.name}: {entry.filename}", data)
                self._originals[entry.filename] = OriginalFile(tree, data)
                yield entry.filename, tree

    def _read_part(self, part: str) -> Iterator["Paragraph | Value"]:
        root = self._trees[part].getroot()
        yield from _paragraphs(root, _Copies(f"{self._file.name}: {part}", self._sizes[part]))
        for element in root.iter(*VALUES, *REMARKS):
            value = Value(element)
            if value.line.worded and next(element.iterancestors(*NUMBERS), None) is None:
                yield value

    def _entries(self) -> Iterator[tuple[zipfile.ZipInfo, bytes]]:
        """Yield what is in the archive. UserError where that is damaged, or too much."""
        try:
            with zipfile.ZipFile(io.BytesIO(self._file.data)) as archive:
                limit = min(self._file.unpacked, max(SMALL, RATIO * len(self._file.data)))
                if sum(entry.file_size for entry in archive.infolist()) > limit:
                    raise UserError(f"{self._file.name}: unpacks to more than {limit:,} bytes")
                for entry in archive.infolist():
                    yield entry, archive.read(entry)
        except UserError:
            raise
        except Exception as error:  # whatever is wrong with an archive: zipfile promises no kind of error
            raise UserError(f"{self._file.name}: invalid Office document ({error})") from None

    def written(self, translated: Sequence[TranslatedText]) -> bytes:
        for paragraph, translation in zip(self._paragraphs, translated, strict=True):
            if translation.complete:
                paragraph.fill(paragraph.line.written(translation))
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as new:
            for entry, data in self._entries():
                if tree := self._trees.get(entry.filename):
                    data = self._originals[entry.filename].serialized([tree.getroot()])
                new.writestr(entry, data)
        return buffer.getvalue()


class TextRun(NamedTuple):
    """Siblings in a paragraph that are one thing: runs of the same look, a link, or, without a text, a field or a
    picture.
    """

    nodes: list[Any]
    text: str | None = None
    look: str | None = None
    within: tuple["TextRun", ...] = ()  # of a link or the like with runs of several looks

    @property
    def raised(self) -> bool:
        """Whether its text stands raised."""
        return self.look is not None and _RAISED.search(self.look) is not None

    @property
    def range(self) -> tuple[str, str] | None:
        """Whether it opens or closes a part of the text, and which."""
        node = self.nodes[0]
        if local_name(node) not in RANGES:
            return None
        kind, name = RANGES[local_name(node)]
        number = next((value for key, value in node.attrib.items() if key.endswith("}id")), "")
        return kind, f"{name} {number}"

    def with_text(self, text: str) -> list[Any]:
        """The same with another text. Runs become one."""
        if self.look is not None and not text:
            return []
        node = self.nodes[0] if self.look is None else deepcopy(self.nodes[0])
        for element in _texts(node):
            element.text, text = text, ""
            if etree.QName(element).namespace in WORD:  # DrawingML has no such attribute
                element.set(_SPACE, "preserve")
        return [node]

    def with_nodes(self, nodes: list[Any]) -> list[Any]:
        """The same around other runs than those within."""
        if not nodes:
            return self.with_text("")
        _replace([node for piece in self.within for node in piece.nodes], nodes)
        return self.nodes


class Paragraph:
    """A line of a paragraph: pieces, of which those that look as most of it does are plain text."""

    def __init__(self, pieces: Sequence[TextRun]) -> None:
        self.line = DocumentSegment(escape=remove_illegal_characters)
        self._pieces = pieces
        self._usual = _usual(pieces)
        self._kept = ElementPlaceholders("".join(piece.text or "" for piece in pieces))
        self._coded: list[TextRun] = []  # by the numbers of their codes
        self.line.quoted = self._kept.restore
        self._read(pieces, self._usual)

    def _read(self, pieces: Sequence[TextRun], usual: TextRun) -> None:
        line = self.line
        for place, piece in enumerate(pieces):
            if piece.text is not None and piece.look is not None and piece.look == usual.look:
                line.add(piece.text)
                continue
            number = len(self._coded)
            self._coded.append(piece)
            before = pieces[place - 1].text or "" if place else ""
            after = pieces[place + 1].text or "" if place + 1 < len(pieces) else ""
            if piece.text is not None and not (piece.raised and is_note(before, piece.text, after)):
                line.mark(f"\0<{number}\0", "open", str(number))
                if piece.within:
                    self._read(piece.within, _usual(piece.within))
                else:
                    line.add(piece.text)
                line.mark(f"\0>{number}\0", "close", str(number))
            elif piece.text is None and local_name(piece.nodes[0]) not in GONE and any(map(_has_text, piece.nodes)):
                line.add(self._kept.placeholder(f"\0/{number}\0"))  # a field stands for words
            elif piece.range:
                line.mark(f"\0/{number}\0", *piece.range)
            else:
                line.mark(f"\0/{number}\0")

    @property
    def formatting(self) -> int:
        """How many characters of formatting its translation may have: that of most of its text around every tag."""
        looks = [self._usual, *(_usual(piece.within) for piece in self._coded if piece.within)]
        return max(len(piece.look or "") for piece in looks) * len(self.line.marks)

    def fill(self, written: str) -> None:
        """Put a translation with its tags in place of the pieces."""
        parts = _CODE.split(written)
        levels = [_Level(self._usual)]
        levels[-1].add_text(parts[0])
        for sign, number, text in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
            piece = self._coded[int(number)]
            if sign == "<":
                levels.append(_Level(_usual(piece.within) if piece.within else piece))
            elif sign == ">":
                within = levels.pop().nodes()
                levels[-1].node_groups.append(piece.with_nodes(within) if piece.within else within)
            else:
                levels[-1].add(piece)
            levels[-1].add_text(text)
        _replace([node for piece in self._pieces for node in piece.nodes], levels[-1].nodes())


class Value:
    """The text of an element that stands in no paragraph: a category or name in a chart, a comment of PowerPoint."""

    def __init__(self, element: Any) -> None:
        self._element = element
        self.line = DocumentSegment(element.text or "", raw=element.text or "", escape=remove_illegal_characters)

    def fill(self, written: str) -> None:
        """Set the text of the element."""
        self._element.text = written


class _Level:
    """What is written of a line, or of an element in it, so far; its text looks as that of a piece."""

    def __init__(self, usual: TextRun) -> None:
        self.node_groups: list[list[Any]] = []
        self._usual = usual
        self._text = ""
        self._begun, self._ended = dict[str, int](), dict[str, int]()  # where ranges begin and end

    def add_text(self, text: str) -> None:
        if self._usual.look is None:  # a link or the like, which has all its text in one place
            self._text += text
        elif text:
            self.node_groups.append(self._usual.with_text(text))

    def add(self, piece: TextRun) -> None:
        if piece.range:
            kind, name = piece.range
            (self._begun if kind == "open" else self._ended)[name] = len(self.node_groups)
        self.node_groups.append(piece.nodes)

    def nodes(self) -> list[Any]:
        for name in self._begun.keys() & self._ended.keys():
            one, other = self._begun[name], self._ended[name]
            if other < one:  # ranges that overlap go with their words, and each begins before it ends
                self.node_groups[one], self.node_groups[other] = self.node_groups[other], self.node_groups[one]
        own = self._usual.with_text(self._text) if self._usual.look is None else []
        return [*own, *(node for group in self.node_groups for node in group)]


def _usual(pieces: Sequence[TextRun]) -> TextRun:
    """The first piece that looks as most of their text does; a plain run if none of them looks like a run."""
    sizes: Counter[str] = Counter()
    for piece in pieces:
        if piece.look is not None:
            sizes[piece.look] += len(piece.text or "")
    looking = (piece for piece in pieces if piece.look is not None)
    return max(looking, key=lambda piece: sizes[piece.look or ""], default=None) or _plain(pieces)


def _plain(pieces: Sequence[TextRun]) -> TextRun:
    """A run that looks like nothing in particular."""
    space = etree.QName(pieces[0].nodes[0]).namespace
    run = etree.Element(etree.QName(space, "r"))
    etree.SubElement(run, etree.QName(space, "t"))
    return TextRun([run], "", "")


def _paragraphs(root: Any, copies: "_Copies") -> Iterator[Paragraph]:
    """Yield the lines of all paragraphs that have words. Fields may go on over several."""
    field, runs = Field(), defaultdict[Any, list[Any]](list)
    for run in root.iter("{*}r"):
        if (element := next(run.iterancestors("{*}p"), None)) is not None:
            runs[element].append(run)
    for element in list(root.iter("{*}p")):
        if etree.QName(element).namespace in SPACES:
            copies.check(element)
            _split_runs(runs[element], copies)
            for pieces in _cut(element, field):
                paragraph = Paragraph(pieces)
                if paragraph.line.worded:
                    copies.count(paragraph.formatting)
                    yield paragraph


class _Copies:
    """How many characters of formatting the runs of a translated part may copy: in proportion to its size."""

    def __init__(self, part: str, size: int) -> None:
        self._part, self._left = part, COPIED + COPIES * size

    def count(self, characters: int) -> None:
        """Raise UserError if these are too many."""
        self._left -= characters
        if self._left < 0:
            raise UserError(f"{self._part}: has too much formatting for the number of its texts")

    def check(self, paragraph: Any) -> None:
        """Raise UserError if a paragraph is within so many namespaces that its runs cannot be copied."""
        if len(paragraph.nsmap) > NAMESPACES:
            raise UserError(f"{self._part}: declares more than {NAMESPACES} namespaces")


class Field:
    """How many fields are open, one in the other, in the runs read so far."""

    depth = 0

    def follow(self, node: Any) -> None:
        for character in node.iter("{*}fldChar"):
            kind = next((value for name, value in character.attrib.items() if name.endswith("fldCharType")), "")
            self.depth += {"begin": 1, "end": -1}.get(kind, 0)


def _split_runs(runs: Sequence[Any], copies: _Copies) -> None:
    """Give every text, picture and the like of a paragraph a run of its own with the same formatting. Hyphens become a
    part of their words.
    """
    worded = any(child.text and any(map(str.isalpha, child.text)) for run in runs for child in run.iter("{*}t"))
    for run in runs:
        hyphens = [child for child in run if worded and local_name(child) in ("noBreakHyphen", "softHyphen")]
        for child in hyphens:
            if local_name(child) == "noBreakHyphen":
                text = etree.Element(etree.QName(etree.QName(child).namespace, "t"))
                text.text = HYPHEN
                child.addprevious(text)
            run.remove(child)
        if hyphens and all(local_name(child) == "rPr" for child in run):
            run.getparent().remove(run)
            continue
        look = [child for child in run if local_name(child) == "rPr"]
        groups = list(_grouped([child for child in run if local_name(child) != "rPr"]))
        if len(groups) > 1:
            copies.count(len(_look(run)) * len(groups))
        for group in groups[:0:-1]:
            other = etree.SubElement(run, run.tag, run.attrib)
            other.extend([*map(deepcopy, look), *group])
            run.addnext(other)


def _grouped(children: Sequence[Any]) -> Iterator[list[Any]]:
    """Yield what of a run may share a run: texts side by side; all between two tabs or line breaks, if that is texts;
    and anything else alone.
    """
    names = [local_name(child) for child in children]
    cuts = [place for place, name in enumerate(names) if name in CUTS]
    first, last = (cuts[0], cuts[-1]) if cuts else (0, 0)
    lines = all(name in ("t", *CUTS) for name in names[first:last])
    group: list[Any] = []
    for place, (child, name) in enumerate(zip(children, names, strict=True)):
        joins = (lines and first < place <= last) or name == names[place - 1] == "t"
        if group and not joins:
            yield group
            group = []
        group.append(child)
    yield from [group] if group else []


def _cut(paragraph: Any, field: Field) -> Iterator[list[TextRun]]:
    """Yield the pieces of each line of a paragraph, with the bookmarks and comments among them. What else there is
    stays, and so do those before and after all pieces of which the other half is in another line.
    """
    for pieces in _pieces(paragraph, field):
        halves = Counter(piece.range[1] for piece in pieces if piece.range)
        inner = [number for number, piece in enumerate(pieces) if not piece.range or halves[piece.range[1]] > 1]
        if any(not piece.range for piece in pieces):
            yield pieces[inner[0] : inner[-1] + 1]


def _pieces(paragraph: Any, field: Field) -> Iterator[list[TextRun]]:
    groups: list[list[TextRun]] = []
    for node in paragraph:
        name, content = local_name(node), local_name(node[-1]) if len(node) else ""
        before = field.depth
        field.follow(node)
        if before or field.depth:
            _group(groups, TextRun([node], look=None), begun=before > 0)
        elif name in CUTS or (name == "r" and content in CUTS):
            yield from [_joined(groups)] if groups else []
            groups = []
            yield from _inner_lines(node)
        elif name == "r" and content == "t":
            _group(groups, TextRun([node], _text(node), _look(node)))
        elif name in CONTAINERS and next(node.iter(*OBJECTS), None) is None:
            groups.append([TextRun([node], _text(node), within=_within(node))])
        elif content == "commentReference" and groups and local_name(groups[-1][-1].nodes[0]) == "commentRangeEnd":
            groups[-1][-1].nodes.append(node)
        elif name in ("r", *CONTAINERS, *FIELDS, *FORMULAS, *RANGES, *GONE):
            groups.append([TextRun([node])])
    yield from [_joined(groups)] if groups else []


def _inner_lines(run: Any) -> Iterator[list[TextRun]]:
    """Yield the lines between the tabs and line breaks of a run, which stay in it."""
    for is_text, texts in groupby(run, key=lambda child: local_name(child) == "t"):
        if is_text:
            nodes = list(texts)
            yield [TextRun(nodes, "".join(node.text or "" for node in nodes), "")]


def _within(node: Any) -> tuple[TextRun, ...]:
    """The runs of a link or the like, if they look different and there is nothing else in it."""
    runs, groups = list(node.iter("{*}r")), list[list[TextRun]]()
    if len({run.getparent() for run in runs}) == 1 and all(len(run) and local_name(run[-1]) == "t" for run in runs):
        for run in runs:
            _group(groups, TextRun([run], _text(run), _look(run)))
    return tuple(_joined(groups)) if len(groups) > 1 else ()


def _group(groups: list[list[TextRun]], piece: TextRun, *, begun: bool = True) -> None:
    """Add a piece, to the last group if it is of the same kind: a run of the same look, or the same field."""
    last = groups[-1][-1] if groups and begun else None
    if last and last.look == piece.look and (last.text is None) == (piece.text is None):
        groups[-1].append(piece)
    else:
        groups.append([piece])


def _joined(groups: Sequence[Sequence[TextRun]]) -> list[TextRun]:
    """Each group as one piece."""
    return [
        group[0]
        if len(group) == 1
        else TextRun(
            [node for piece in group for node in piece.nodes],
            None if group[0].text is None else "".join(piece.text or "" for piece in group),
            group[0].look,
        )
        for group in groups
    ]


def _replace(nodes: Sequence[Any], replacements: Sequence[Any]) -> None:
    """Put other nodes where these are, all of which have one parent."""
    parent = nodes[0].getparent()
    place = parent.makeelement("place")
    nodes[0].addprevious(place)
    for node in nodes:
        parent.remove(node)
    for node in replacements:
        place.addprevious(node)
    parent.remove(place)


def _look(run: Any) -> str:
    """How a run looks."""
    looks = (etree.tostring(node, encoding="unicode", with_tail=False) for node in run if local_name(node) == "rPr")
    return "".join(_UNSEEN.sub("", look) for look in looks)


def _texts(node: Any) -> list[Any]:
    return list(node.iter("{*}t"))


def _text(node: Any) -> str:
    return "".join(element.text or "" for element in node.iter("{*}t"))


def _has_text(node: Any) -> bool:
    return next(node.iter("{*}t"), None) is not None
