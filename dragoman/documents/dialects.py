"""Extensions of Markdown that the parser does not know, hidden from it: a copy of a file that is parsed in its place.

Every byte of the copy stands where it stands in the file. Lines of markup are blank in it, and an admonition or a
definition is the item of a list, so that its indented body is no code.
"""

import re
from typing import NamedTuple

RULE_ITEM = b"- ***"  # an item that begins with a thematic break, which has no text
_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_QUOTED = re.compile(rb"[ \t]*(?:>[ \t]?)*[ \t]*")  # before the text of a line
_FENCE = re.compile(rb"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])\s+)*(`{3,}|~{3,})")
_ITEM = re.compile(rb"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]")
_VALUE = rb"""(?:"[^"\n]*"|'[^'\n]*'|[^\s{}"']++)"""
_ATTRIBUTE = rb"(?:[#.][\w:-]++|[\w:-]++=" + _VALUE + rb")"
ATTRIBUTES = re.compile(rb"\{(?::[^{}\n]*|[ \t]*" + _ATTRIBUTE + rb"(?:[ \t]++" + _ATTRIBUTE + rb")*+[ \t]*+)\}")
# `!!! note "Title"` (MkDocs), `??? note`, `=== "Tab"`
_ADMONITION = re.compile(
    rb'(?:!!!|\?\?\?\+?)[ \t]+[\w-][\w -]*+(?:"(?P<title>[^"\n]*)")?[ \t]*|===[!+]?[ \t]+"(?P<tab>[^"\n]*)"[ \t]*'
)
# `:::tip[Title]` (Docusaurus), `::: tip Title` (VuePress), `::: {.note}` (Pandoc), `:::`
_DIRECTIVE = re.compile(
    rb":{3,}[ \t]*(?:\{[^{}\n]*\}[ \t]*+:*|[\w-]++(?:\[(?P<title>[^\[\]\n]*)\]|[ \t]++(?P<words>[^\s{\[:][^{\n]*+))?"
    rb"[ \t]*+(?:\{[^{}\n]*\}[ \t]*+)?:*)?"
)
_ABBREVIATION = re.compile(rb"\*\[[^\]\n]+\]:[ \t]*(?P<title>[^\r\n]*)")
_DEFINITION = re.compile(rb":[ \t]+\S")
_NAMES = rb"(?:[\w$]+|\*\s*as\s+[\w$]+|\{[^{}\n]*\})"  # that a module imports
_MODULE = re.compile(
    rb"""import\b\s*(?:(?:type\s+)?"""
    + _NAMES
    + rb"(?:\s*,\s*"
    + _NAMES
    + rb""")?\s*from\s*)?["'][^"'\n]+["'];?[ \t]*$"""
    rb"|import\s+(?:[\w*]+\s*,\s*)?\{[^}\n]*$"
    rb"|export\s+(?:(?:const|let|var|function\*?|class|async\s+function)\s+\w+\s*[=({:]|\{|\*\s|default\s*[({<]"
    rb"|default\s+(?:function|class|async)\b|default\s+\w+;?[ \t]*$)"
)
_NO_BRACES = re.compile(  # comments and strings
    rb"""(?<!:)//[^\n]*|\\.|"(?:[^"\\\n]|\\.)*+"|'(?:[^'\\\n]|\\.)*+'|`(?:[^`\\\n]|\\.)*+`"""
)
_HEADING = re.compile(rb"#{1,6}[ \t]")
_ALONE = re.compile(
    ATTRIBUTES.pattern + rb"|\[\[?_?toc_?\]?\]|\\[A-Za-z]+(?:\{[^{}\n]*\})*|\{\{[<%][^\n]*[>%]\}\}|\{%[^\n]*%\}",
    re.IGNORECASE,
)
# In a line: wiki links, short codes of Hugo and Liquid, and commands of LaTeX.
STAYING = re.compile(
    rb"\[\[[^\[\]\n]+\]\]|\{\{[<%][^\n{}]*[>%]\}\}|\{%[^\n{}]*%\}|(?<!\\)\\[A-Za-z]{3,}(?:\{[^{}\n]*\})?"
)


class Parsable(NamedTuple):
    """A file as it is parsed, and where else texts stand in it: titles, of admonitions for instance."""

    data: bytes
    titles: list[tuple[int, int]]


def hide_extensions(data: bytes) -> Parsable:
    """Hide the extensions of a file of Markdown, in time proportional to its size."""
    return _Scanner().scan(data)


class _Scanner:
    def __init__(self) -> None:
        self.titles: list[tuple[int, int]] = []
        self._bodies: list[int] = []  # columns of the admonitions and definitions that are open
        self._items: list[int] = []  # columns of the texts of list items that are open
        self._fence, self._fence_column, self._fence_quoted = b"", 0, False
        self._module = self._listed = self._texted = False
        self._braces = 0  # that are open in a module

    def scan(self, data: bytes) -> Parsable:
        lines: list[bytes] = []
        position = 0
        for line in _LINE.findall(data):
            lines.append(self._hidden(line, position))
            position += len(line)
        return Parsable(b"".join(lines), self.titles)

    def _hidden(self, line: bytes, position: int) -> bytes:
        text = line.rstrip()
        if not text:
            self._module = self._module and self._braces > 0
            self._texted = False
            if self._fence_quoted:
                self._end_fence()
            return line
        column = len(line) - len(line.lstrip(b" "))
        if column < self._fence_column or (self._fence_quoted and not text.lstrip().startswith(b">")):
            self._end_fence()
        if not self._fence:
            while self._items and column < self._items[-1]:
                self._items.pop()
            if item := _ITEM.match(line):
                self._items.append(item.end())
            while self._bodies and column < self._bodies[-1] + 4 and not (self._texted and column > self._bodies[-1]):
                self._bodies.pop()
            self._listed = bool(_ITEM.match(line)) or (self._listed and column > 0)
        hidden = line if self._in_fence(text) else self._blanked(line, text, position, column)
        self._texted = bool(hidden.strip()) and not hidden.lstrip().startswith(RULE_ITEM)
        return hidden

    def _in_fence(self, text: bytes) -> bool:
        """Return whether a line is of a block of code, and note where that begins and ends."""
        fence = _FENCE.match(text)
        if self._fence:
            if fence and fence[1].startswith(self._fence) and not text[fence.end() :].strip():
                self._end_fence()
            return True
        if fence:
            self._fence_column = self._items[-1] if self._items else 0
            self._fence_quoted = text.lstrip().startswith(b">")
        self._fence = fence[1] if fence else b""
        return fence is not None

    def _end_fence(self) -> None:
        """End a block of code: at its closing fence, or with the item or quotation that it stands in."""
        self._fence, self._fence_column, self._fence_quoted = b"", 0, False

    def _blanked(self, line: bytes, text: bytes, position: int, column: int) -> bytes:
        if self._in_module(text):
            return b" " * len(text) + line[len(text) :]
        prefix = _QUOTED.match(text)
        begin = prefix.end() if prefix else 0
        code = column >= (self._bodies[-1] + 8 if self._bodies else 4) and not self._listed and not self._texted
        if code:
            return line
        if self._texted and _DEFINITION.match(text, begin):
            self._bodies.append(column)
            return line[:begin] + b"-" + line[begin + 1 :]
        admonition = _ADMONITION.fullmatch(text, begin)
        if admonition:
            self._bodies.append(column)
        match = admonition or _DIRECTIVE.fullmatch(text, begin) or _ABBREVIATION.fullmatch(text, begin)
        if match:
            spans = (match.span(name) for name, title in match.groupdict().items() if title)
            self.titles += ((position + start, position + end) for start, end in spans)
        if match or _ALONE.fullmatch(text, begin):
            sign = RULE_ITEM if admonition else b""
            return line[:begin] + sign.ljust(len(text) - begin) + line[len(text) :]
        return line

    def _in_module(self, text: bytes) -> bool:
        """Return whether a line is of a module, which ends at a blank line outside of all its braces, or a heading."""
        if self._module and self._braces and _HEADING.match(text):  # what seems to be a brace was none
            self._module = False
        if not self._module:
            self._braces = 0
            self._module = not self._texted and _MODULE.match(text) is not None
        if self._module:
            code = _NO_BRACES.sub(b"", text)
            self._braces += sum(map(code.count, (b"{", b"(", b"["))) - sum(map(code.count, (b"}", b")", b"]")))
        return self._module
