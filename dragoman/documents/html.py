"""HTML: its texts are translated, and its markup comes through as it is written."""

import html
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple
from unicodedata import category

from dragoman.documents.document import File, TextDocument
from dragoman.documents.document_segment import DocumentSegment, ElementPlaceholders, Part, is_note, join_surrogates
from dragoman.errors import UserError

INLINE = frozenset(
    "a abbr acronym b bdi bdo big blink cite data del dfn em font i ins label mark meter nobr output picture progress "
    "q rb ruby s small span strike strong sub sup time tt u".split()
)
VOID = frozenset("img source wbr".split())  # in a line, without a text
ANNOTATIONS = frozenset("rp rt rtc".split())  # of ruby: how the text before them is read
VERBATIM = frozenset("code kbd math pre samp script style svg textarea var".split())
RAW = frozenset("script style textarea".split())  # hold no tags but their own end
BLOCKS = RAW | {"pre"}
RAISED = [("open", "sup"), ("text", ""), ("close", "sup")]
SHIFTED = re.compile("iso-2022|hz|utf-7", re.IGNORECASE)  # encodings of which all bytes are those of ASCII
DECLARED = 2048  # characters in which an encoding is declared
_DECLARATION = re.compile(
    r"""(<(?:meta\s+charset|meta\s[^<>]*?;\s*charset|\?xml\s[^<>]*?\sencoding)\s*=\s*["']?)(?!utf-?8\b)([a-z][\w.:-]*)""",
    re.IGNORECASE,
)
_ENTITY = re.compile(r"&(?:[a-zA-Z]\w{1,30}|#\d{1,7}|#[xX][0-9a-fA-F]{1,6});", re.ASCII)
_ENTITIES = re.compile(f"({_ENTITY.pattern})", re.ASCII)
_WORD = re.compile(r"\w")
# Elements whose end tag may be left out.
UNCLOSED = frozenset("caption colgroup dd dt li optgroup option p rp rt tbody td tfoot th thead tr".split())
EMPTY = frozenset("area base br col embed hr img input link meta param source track wbr".split())

# React's translations have tags with a number for a name and nothing else: <1>here</1>, <0/>.
_TAG = re.compile(
    # The name in a conversion of Ruby is no tag: %<count>d
    r"""(?!(?<=%)(?<!\d%)<\w+>[-+0#]*\d*(?:\.\d+)?[a-zA-Z](?![a-zA-Z]))"""
    r"""<(?P<end>/?)(?P<name>[a-zA-Z][^\s/<>"']*+|[0-9]++(?=\s*/?>))(?P<rest>(?:[^<>"']|"[^"]*"|'[^']*')*+)>"""
)
_PAIRS = (("<!--", "-->"), ("<![CDATA[", "]]>"), ("<!", ">"), ("<?", ">"))
_UNTRANSLATED = re.compile(
    r"""(?<![\w-])(?:translate\s*=\s*["']?no(?![\w-])|class\s*=\s*(?:["'](?:[^"']*\s)?)?notranslate(?![\w-]))""",
    re.IGNORECASE,
)


# Languages that are written from right to left.
RIGHT_TO_LEFT = frozenset("ar arc ckb dv fa he iw ks ps sd ug ur yi".split())
_CODE = re.compile("[a-z]{2,3}(?:[-_][a-z0-9]{2,8})*", re.IGNORECASE)
# The attributes of a tag that say its language and direction. The quoted values of others are skipped.
_ATTRIBUTE = re.compile(
    r"""(?P<begin>(?<=\s)(?:(?:xml:)?lang|(?P<direction>dir))\s*=\s*(?P<quote>["']?))(?P<value>[a-z][\w-]*)(?P=quote)"""
    r"""|"[^"]*"|'[^']*'""",
    re.IGNORECASE,
)


class Token(NamedTuple):
    """A tag (with its name), a text, or anything else, as it is written."""

    raw: str
    kind: str = "text"  # text, open, close, empty, block, or other: a comment or the like
    name: str = ""
    kept: bool = False  # whether what is in this element is not to be translated

    @property
    def inline(self) -> bool:
        """Whether a sentence may go on after it: a text, a comment, a processing instruction, or the tag of an element
        that stands in a line, as those that HTML does not know (`<x-y>`, `<o:p>`, `<1>`) do.
        """
        name = self.name
        if not name:
            return self.kind == "text" or (self.kind == "other" and self.raw.startswith(("<!--", "<?")))
        return name in INLINE or name in VOID or name.isdecimal() or "-" in name or ":" in name


class Builder:
    """A line, from the tags and texts of it, each with what is written for it."""

    def __init__(self) -> None:
        self._tokens: list[tuple[Token, str]] = []

    def add(self, token: Token, raw: str | None = None) -> None:
        """Add a tag or a text, which is written as `raw` if not as it is."""
        self._tokens.append((token, token.raw if raw is None else raw))

    def parts(self) -> Iterator[Part]:
        """Yield the line if it has words, and what stands around it: space and comments, as they are written."""
        if not self._tokens:
            return
        inner = [number for number, (token, raw) in enumerate(self._tokens) if token.kind != "other" and raw.strip()]
        begin, end = (inner[0], inner[-1] + 1) if inner else (0, 0)
        yield from self._raw(0, begin)
        yield from _stripped(self._line(begin, end))
        yield from self._raw(end, len(self._tokens))

    def _raw(self, begin: int, end: int) -> Iterator[str]:
        yield from filter(None, ["".join(raw for _, raw in self._tokens[begin:end])])

    def _line(self, begin: int, end: int) -> DocumentSegment:
        line = DocumentSegment()
        for token, raw in self._tokens[begin:end]:
            line.raw += raw
            if token.kind == "text":
                line.say(html.unescape(token.raw))
            else:
                line.mark(token.raw, "empty" if token.kind == "other" else token.kind, token.name)
        return line


def _stripped(line: DocumentSegment) -> Iterator[Part]:
    """Yield a line if it has words, and the space around it as it is written."""
    if not line.worded:
        yield from [line.raw] if line.raw else []
        return
    before, after = (len(line.raw) - len(rest) for rest in (line.raw.lstrip(), line.raw.rstrip()))
    first = int(line.text.startswith(" "))
    text = line.text.strip(" ")
    marks = [mark._replace(offset=min(max(0, mark.offset - first), len(text))) for mark in line.marks]
    yield from [line.raw[:before]] if before else []
    yield DocumentSegment(text, marks, line.raw[before : len(line.raw) - after], _escaped)
    yield from [line.raw[-after:]] if after else []


class Page(TextDocument):
    """A page or a piece of one. An element among words that stays has a placeholder. Elements that say that they are in
    the first of two languages say afterwards that they are in the second.
    """

    def __init__(self, text: str, languages: tuple[str, str] | None = None) -> None:
        kept = ElementPlaceholders(text)
        super().__init__(parts(text, kept, languages), kept)


class Html(Page):
    """A file of HTML, in UTF-8 or in the encoding that it says. Afterwards it is in UTF-8, and says so."""

    def __init__(self, file: File) -> None:
        declared = _DECLARATION.search(file.data[:DECLARED].decode("latin-1"))
        try:
            text = _decoded(file, declared[2]) if declared and SHIFTED.match(declared[2]) else file.text
        except UserError:
            if declared is None:
                raise
            text = _decoded(file, declared[2])
        begin = _DECLARATION.sub(r"\1UTF-8", text[:DECLARED], count=1)
        super().__init__(begin + text[DECLARED:], file.languages)


def _decoded(file: File, encoding: str) -> str:
    try:
        return file.data.decode(encoding)
    except (LookupError, UnicodeError):
        raise UserError(f"{file.name}: is not {encoding} as declared; save it as UTF-8") from None


def label(text: str, raw: str | None = None, quoted: Callable[[str], str] = str) -> DocumentSegment:
    """Return a string of a program without its accelerator, as `inline` does."""
    line = inline(text, raw, quoted)
    line.take_accelerator()
    return line


def inline(text: str, raw: str | None = None, quoted: Callable[[str], str] = str) -> DocumentSegment:
    """Return a string in which tags and entities may stand as a segment that is written as `raw`, and whose translation
    `quoted` writes. White space stays.
    """
    text = join_surrogates(text)
    line = DocumentSegment(raw=text if raw is None else raw, quoted=quoted)
    entities = Entities(text)
    line.escape = entities.escape
    for token in tokens(text):
        if token.kind == "text":
            line.add(entities.unescape(token.raw))
        else:
            line.mark(token.raw, token.kind, token.name)
    return line


class Entities:
    """The characters that a text of a program writes as HTML does, such as `&eacute;`, wherever it has them. Others are
    written as they are, and entities of symbols that stand alone (`&amp;` between spaces) are read as they are, since a
    model may leave a symbol out.
    """

    def __init__(self, text: str) -> None:
        entities = dict.fromkeys(_ENTITY.findall(text))
        bare: set[str] = set()
        for token in _tokens(text) if entities else ():
            bare.update(_ENTITY.sub("", token.raw) if token.kind == "text" else "")
        self._lone = _lone_symbols(text)
        meanings = ((html.unescape(entity), entity) for entity in entities if entity not in self._lone)
        replaceable = [(c, entity) for c, entity in meanings if len(c) == 1 and c not in bare and category(c)[0] != "C"]
        self._raw = {ord(character): entity for character, entity in reversed(replaceable) if character != "\ufffd"}
        self._characters = {entity: character for character, entity in replaceable}

    def unescape(self, text: str) -> str:
        """What a text says."""
        return _ENTITY.sub(lambda match: self._characters.get(match[0], match[0]), text) if self._characters else text

    def escape(self, text: str) -> str:
        """A text with its characters written as before."""
        if not self._raw:
            return text
        pieces = _ENTITIES.split(text)
        return "".join(piece if piece in self._lone else piece.translate(self._raw) for piece in pieces)


def _lone_symbols(text: str) -> set[str]:
    """Return the entities of a text that stand for a symbol, and beside no letter or digit anywhere in it."""
    lone, beside_words = set[str](), set[str]()
    for match in _ENTITY.finditer(text):
        symbol = html.unescape(match[0])
        if len(symbol) == 1 and (symbol in "&•§¶†‡" or category(symbol)[0] == "S"):
            lone.add(match[0])
        begin, end = match.span()
        if _WORD.search(text[max(0, begin - 1) : begin] + text[end : end + 1]):
            beside_words.add(match[0])
    return lone - beside_words


def _escaped(text: str) -> str:
    return html.escape(text, quote=False)


def tokens(text: str) -> Iterator[Token]:
    """Yield the tags and texts of HTML. The raised number of a note is a tag with its text."""
    plain_tokens, position, before = list(_tokens(text)), 0, ""
    while position < len(plain_tokens):
        begin, content, end, next_token = [*plain_tokens[position : position + 4], *[Token("")] * 3][:4]
        before = begin.raw if begin.kind == "text" else before
        following = next_token.raw if next_token.kind == "text" else ""
        raised = [(token.kind, token.name) for token in (begin, content, end)] == RAISED
        if raised and is_note(before, html.unescape(content.raw), following):
            yield Token(begin.raw + content.raw + end.raw, "empty", begin.name)
            position += 3
        else:
            yield begin
            position += 1


def _tokens(text: str) -> Iterator[Token]:
    """Yield the tags and texts of HTML. A `<` that begins no tag is text. Takes time in proportion to the length."""
    last = {close: text.rfind(close) for _, close in _PAIRS}
    position = begun = 0
    while (position := text.find("<", position)) >= 0:
        token = tag(text, position) or _other(text, position, last)
        if token is None:
            position += 1
            continue
        if begun < position:
            yield Token(text[begun:position])
        yield token
        begun = position = position + len(token.raw)
        if token.kind == "open" and token.name in RAW:
            end = re.compile(rf"</{token.name}\b", re.IGNORECASE).search(text, position)
            position = end.start() if end else len(text)
            if begun < position:
                yield Token(text[begun:position], "other")
                begun = position
    if begun < len(text):
        yield Token(text[begun:])


def tag(text: str, position: int = 0) -> Token | None:
    """The tag that begins here, if one does."""
    match = _TAG.match(text, position)
    if match is None:
        return None
    name, rest = match["name"].lower(), match["rest"]
    if match["end"]:
        return Token(match[0], "close", name)
    kind = "empty" if name in EMPTY or rest.endswith("/") else "open"
    return Token(match[0], kind, name, name in VERBATIM or _UNTRANSLATED.search(rest) is not None)


def _other(text: str, position: int, last: dict[str, int]) -> Token | None:
    """A comment, a declaration or the like, if it ends."""
    for begin, close in _PAIRS:
        if text.startswith(begin, position) and position + len(begin) <= last[close]:
            end = text.find(close, position + len(begin)) + len(close)
            return Token(text[position:end], "other")
    return None


def parts(text: str, kept: ElementPlaceholders, languages: tuple[str, str] | None = None) -> Iterator[Part]:
    """Yield lines with words, and what stands between them, with the second of two languages in place of the first."""
    built, page_tokens, position = Builder(), list(tokens(text)), 0
    while position < len(page_tokens):
        token, position = page_tokens[position], position + 1
        annotates = token.name in ANNOTATIONS
        if token.kind == "open" and (token.kept or annotates):
            begun, position = position - 1, _closed(token.name, page_tokens, position)
            element = "".join(inner.raw for inner in page_tokens[begun:position])
            if token.name in INLINE | VERBATIM - BLOCKS:
                built.add(Token(kept.placeholder(element)), element)
                continue
            token = Token(element, "empty" if annotates else "block")
        if token.inline or annotates:
            built.add(token)
            continue
        yield from built.parts()
        built = Builder()
        yield _in_language(token, *languages) if languages and token.kind in ("open", "empty") else token.raw
    yield from built.parts()


def _in_language(token: Token, source: str, target: str) -> str:
    """A tag with the target language and its direction, if it says that it is in the source language."""
    attributes = [match for match in _ATTRIBUTE.finditer(token.raw) if match["begin"]]
    directions = [match for match in attributes if match["direction"]]
    languages = [match for match in attributes if _says_language(match, source)]
    if not languages or not _CODE.fullmatch(target):
        return token.raw
    direction = "rtl" if _main_code(target) in RIGHT_TO_LEFT else "ltr"

    def replaced(attribute: re.Match[str]) -> str:
        begin, quote = attribute["begin"], attribute["quote"]
        if begin and _says_language(attribute, source):
            return begin + target.replace("_", "-") + quote
        is_fixed = attribute["direction"] and attribute["value"].lower() in ("ltr", "rtl")
        return begin + direction + quote if is_fixed else attribute[0]

    raw = _ATTRIBUTE.sub(replaced, token.raw)
    end = len(token.name) + 1
    return f'{raw[:end]} dir="rtl"{raw[end:]}' if direction == "rtl" and not directions else raw


def _says_language(attribute: re.Match[str], language: str) -> bool:
    """Whether an attribute says that its element is in a language."""
    return not attribute["direction"] and _main_code(attribute["value"]) == _main_code(language)


def _main_code(language: str) -> str:
    """The first part of the code of a language: `pt` of `pt-BR`."""
    return re.split("[-_]", language)[0].lower()


def _closed(name: str, tokens: Sequence[Token], position: int) -> int:
    """Where an element ends of which the opening tag stands before a position: after its closing tag or, if it may
    have none, where another such element begins or the one around it ends.
    """
    inner, depth = Counter[str](), 0  # elements that are open in it
    for number in range(position, len(tokens)):
        token = tokens[number]
        if token.kind == "open" and token.name == name and name in UNCLOSED and not depth:
            return number
        if token.kind == "open" and (token.name not in UNCLOSED or token.name == name):
            inner[token.name], depth = inner[token.name] + 1, depth + 1
        elif token.kind == "close" and inner[token.name]:
            inner[token.name], depth = inner[token.name] - 1, depth - 1
        elif token.kind == "close" and token.name == name:
            return number + 1
        elif token.kind == "close" and name in UNCLOSED and token.name not in UNCLOSED | INLINE | VOID | EMPTY:
            return number
    return len(tokens)
