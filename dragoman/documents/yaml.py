"""YAML: its strings are translated. Keys, comments, anchors and the style of each string stay."""

import json
import re
from collections.abc import Iterator
from functools import partial
from operator import itemgetter
from typing import Any, NamedTuple

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from dragoman.documents.document import LOCALE_KEYS, File, TextDocument, target_code
from dragoman.documents.document_segment import DocumentSegment, Part
from dragoman.documents.html import label
from dragoman.errors import UserError

STRING = "tag:yaml.org,2002:str"
BLOCKS = ("|", ">")
_BOOLEAN = re.compile(r"y|yes|n|no|on|off|true|false", re.IGNORECASE)  # in YAML 1.1, which many still read
_ANCHOR = re.compile(r"&\S+\s+")


class YamlStrings(TextDocument):
    """The strings of a file of YAML. Where the source language is the only key of all, as in the files of Ruby on
    Rails, or the value of one of LOCALE_KEYS, the target language takes its place. UserError with the line where it is
    no YAML.
    """

    def __init__(self, file: File) -> None:
        text = file.text
        try:
            nodes = list(_reader().compose_all(text))
        except YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            what = getattr(error, "problem", None) or str(error).splitlines()[0]
            raise UserError(f"{file.name}:{mark.line + 1 if mark else 1}: invalid YAML ({what})") from None
        except (ValueError, OverflowError):  # an escape such as "\UFFFFFFFF"
            raise UserError(f"{file.name}: invalid YAML (an escape is no character)") from None
        except RecursionError:
            raise UserError(f"{file.name}:1: invalid YAML (too deep)") from None
        super().__init__(_parts(text, nodes, file.languages))


def _reader() -> YAML:
    reader = YAML(typ="safe", pure=True)
    reader.allow_duplicate_keys = True
    return reader


def _parts(text: str, nodes: list[Any], languages: tuple[str, str]) -> Iterator[Part]:
    end = 0
    for root in nodes:
        for begin, after, part in sorted(_replacements(text, root, languages), key=itemgetter(0)):
            yield from (text[end:begin], part)
            end = after
    yield text[end:]


def _replacements(text: str, root: Any, languages: tuple[str, str]) -> Iterator[tuple[int, int, Part]]:
    """Yield what changes in a document of YAML, in any order: where it begins and ends, and what takes its place."""
    codes = {id(node): (node, code) for node, code in _codes(root, languages)}  # an alias is the node of its anchor
    for node, code in codes.values():
        # Without quotes, many readers take the code of Norwegian for a truth value.
        quote = node.style or ('"' if _BOOLEAN.fullmatch(code) else "")
        yield _begin(text, node), node.end_mark.index, quote + code + quote
    for scalar in _scalars(root, set(codes)):
        begin, line = _line(text, scalar)
        if line.worded:
            yield begin, begin + len(line.raw), line


def _codes(root: Any, languages: tuple[str, str]) -> Iterator[tuple[Any, str]]:
    """Yield the nodes that name the source language of a file, each with the code of the target language."""
    if root is None or root.id != "mapping":
        return
    keys = [key for key, _ in root.value]
    named = keys if len(keys) == 1 else [value for key, value in root.value if key.value in LOCALE_KEYS]
    for node in named:
        if node.id == "scalar" and node.style not in BLOCKS and (code := target_code(node.value, languages, "-")):
            yield node, code


class _Scalar(NamedTuple):
    """A scalar that is no key, and whether it stands in brackets."""

    node: Any
    bracketed: bool


def _scalars(node: Any, seen: set[int], *, bracketed: bool = False) -> Iterator[_Scalar]:
    """Yield the scalars of a node that have not been seen, in their order. An alias is the node of its anchor."""
    if node is None or id(node) in seen:
        return
    seen.add(id(node))
    if node.id == "scalar":
        yield _Scalar(node, bracketed)
        return
    for child in node.value:
        value = child[1] if node.id == "mapping" else child
        yield from _scalars(value, seen, bracketed=bracketed or bool(node.flow_style))


def _begin(text: str, node: Any) -> int:
    """Return where a scalar begins, after its anchor."""
    begin: int = node.start_mark.index
    anchor = _ANCHOR.match(text, begin, node.end_mark.index)
    return anchor.end() if anchor else begin


def _line(text: str, scalar: _Scalar) -> tuple[int, DocumentSegment]:
    """Where a scalar begins, after its anchor, and its text; no text if it is no string."""
    node = scalar.node
    begin, end = _begin(text, node), node.end_mark.index
    plain = node.style is None
    if node.tag != STRING or text.startswith("!", begin) or (plain and _BOOLEAN.fullmatch(node.value)):
        return begin, DocumentSegment()
    raw = text[begin:end]
    return begin, label(node.value.rstrip("\n"), raw, partial(_written, raw, scalar))


def _written(raw: str, scalar: _Scalar, text: str) -> str:
    """A string in the style of another, or in double quotes where that would say something else."""
    style, value = scalar.node.style, scalar.node.value
    text = text.rstrip("\n") + value[len(value.rstrip("\n")) :]
    double = json.dumps(text, ensure_ascii=False)
    styled = double
    if style is None:
        styled = text
    elif style == "'":
        styled = "'" + text.replace("'", "''") + "'"
    elif style in BLOCKS:
        newline = "\r\n" if "\r\n" in raw else "\n"
        head, _, rest = raw.partition(newline)
        indent = rest[: len(rest) - len(rest.lstrip())].rpartition("\n")[2]
        lines = text.rstrip("\n").split("\n")
        joined = (newline if style == "|" else 2 * newline).join(indent + line if line else line for line in lines)
        double += newline
        styled = f"{head}{newline}{joined}{raw[len(raw.rstrip()) :]}"
    doubtful = style is None and _BOOLEAN.fullmatch(text)
    return styled if not doubtful and _says(styled, text, bracketed=scalar.bracketed) else double


def _says(written: str, text: str, *, bracketed: bool) -> bool:
    """Whether this is what a text is written as."""
    try:
        content = _reader().load(f"key: {written}")
        return bool(content == {"key": text} and (not bracketed or _reader().load(f"[{written}]") == [text]))
    except YAMLError:
        return False
