"""Read YAML 1.2 text as plain values with the line of every key, and write plain values as YAML text."""

import math
import re
import sys
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from dragoman.configuration.messages import shown

Path: TypeAlias = tuple[str | int, ...]

TAG = "tag:yaml.org,2002:"
DEEPEST = 50  # levels of nesting; no configuration is deeper than this
MOST = 10_000  # keys and items
LONGEST_NUMBER = 100  # characters
CONSTANTS: Mapping[str, Mapping[str, bool | None]] = {  # in lower case, by their tag
    "null": dict.fromkeys(("null", "~", "")),
    "bool": dict.fromkeys(("true", "yes", "on", "y"), True)  # `yes` and the like after %YAML 1.1
    | dict.fromkeys(("false", "no", "off", "n"), False),
}


class Position(NamedTuple):
    """Where something was written. Lines count from 1; overrides on the command line sort after all lines."""

    line: int
    text: str


class YamlFault(NamedTuple):
    """A part of a document that cannot be read."""

    place: Position
    path: Path
    message: str


@dataclass
class YamlDocument:
    """Plain values (None, bool, int, float, str, list, dict), the place of each key and item, and the faults."""

    name: str
    value: Any = None
    places: dict[Path, Position] = field(default_factory=dict)
    faults: list[YamlFault] = field(default_factory=list)

    def place(self, line: int) -> Position:
        """The place of a line in this document."""
        return Position(line, f"{self.name}:{line}")

    def nearest(self, path: Path) -> Path:
        """The longest prefix of a path that was written in the document."""
        parts = (path[:length] for length in range(len(path), 0, -1))
        return next((part for part in parts if part in self.places), ())

    def fault(self, place: Position, path: Path, message: str) -> None:
        """Record a fault."""
        self.faults.append(YamlFault(place, path, message))


@dataclass
class Override(YamlDocument):
    """The value of a command-line option, which has no lines."""

    def place(self, line: int) -> Position:
        return Position(LAST, self.name)


LAST = sys.maxsize


def read(text: str, name: str) -> YamlDocument:
    """Read the only document of a text. `no` and dates are text, `1e-3` is a number, NaN and infinity are faults."""
    return _read(text, YamlDocument(name))


def _read(text: str, document: YamlDocument) -> YamlDocument:
    try:
        node = YAML(typ="safe", pure=True).compose(text)
        document.value = None if node is None else _value(node, (), document)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        document.fault(document.place(mark.line + 1 if mark else 1), (), _reason(error))
    except (YAMLError, ValueError, RecursionError) as error:
        place = document.place(text.count("\n", 0, getattr(error, "position", 0)) + 1)
        document.fault(place, (), f"not readable as YAML ({' '.join(str(error).split())[:100]})")
    return document


def _reason(error: MarkedYAMLError) -> str:
    problem = " ".join((error.problem or error.context or "broken").split())
    return "a tab; YAML indents with spaces" if "'\\t'" in problem else f"not readable as YAML ({problem})"


def _value(node: Node, path: Path, document: YamlDocument) -> Any:
    place = document.place(node.start_mark.line + 1)
    if len(path) > DEEPEST or len(document.places) > MOST:  # also stops nested aliases from expanding
        raise ValueError(f"more than {DEEPEST} levels or {MOST} values")
    if isinstance(node, MappingNode) and node.tag == TAG + "map":
        return _mapping(node, path, document)
    if isinstance(node, SequenceNode) and node.tag == TAG + "seq":
        for index, item in enumerate(node.value):
            document.places[*path, index] = document.place(item.start_mark.line + 1)
        return [_value(item, (*path, index), document) for index, item in enumerate(node.value)]
    try:
        return _scalar(node)
    except ValueError as error:
        document.fault(place, path, str(error))
        return None


def _mapping(node: MappingNode, path: Path, document: YamlDocument) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key, value in node.value:
        place = document.place(key.start_mark.line + 1)
        if not isinstance(key, ScalarNode):
            document.fault(place, (*path, "?"), "a key must be a word, not a list or a mapping")
        elif key.value in values:
            before = document.places[*path, key.value].line
            document.fault(place, (*path, key.value), f"duplicate key, already on line {before}")
        else:
            document.places[*path, key.value] = place
            values[key.value] = _value(value, (*path, key.value), document)
    return values


def _scalar(node: Node) -> Any:
    tag, text = str(node.tag), node.value
    type_name = tag.removeprefix(TAG) if isinstance(node, ScalarNode) else ""  # `!!int [1]` is no number
    if type_name in ("str", "timestamp", "value", "merge"):
        if any(0xD800 <= ord(character) < 0xE000 for character in text):
            raise ValueError("half of a surrogate pair; use the character itself")
        return text
    if type_name in CONSTANTS:
        if text.lower() not in CONSTANTS[type_name]:
            raise ValueError(f"the tag !!{type_name} does not fit {shown(text)}")
        return CONSTANTS[type_name][text.lower()]
    if type_name in ("int", "float") and len(text) > LONGEST_NUMBER:
        raise ValueError(f"{text[:20]}... is too long for a number")
    if type_name == "int":
        digits = text.replace("_", "")
        if ":" in digits:  # after %YAML 1.1
            raise ValueError(f"{text} is a base-60 number in YAML; quote it to make it text")
        return int(digits) if re.fullmatch(r"[-+]?[0-9]+", digits) else int(digits, 0)
    if type_name == "float":
        if ":" in text:
            raise ValueError(f"{text} is a base-60 number in YAML; quote it to make it text")
        number = float(text.replace("_", "").lower().replace(".inf", "inf").replace(".nan", "nan"))
        if not math.isfinite(number):
            raise ValueError(f"{text} is not a finite number")
        return number
    raise ValueError(f"the tag {tag.replace(TAG, '!!')} is not supported")


def override(document: YamlDocument, key: str, text: str) -> None:
    """Set `key` (dotted; it need not exist yet) to the value of `text` as YAML."""
    parsed = _read(text, Override(f"--{key}"))
    place = parsed.place(1)
    holder = document.value = document.value or {}
    *before, last = key.split(".")
    path: Path = ()
    for name in before:
        path = (*path, name)
        inner = holder.get(name)
        if isinstance(inner, str):  # `score: additive`, if the override sets an option of it
            inner = {"kind": inner}
            document.places[*path, "kind"] = document.places[path]
            document.places[path] = place
        if not isinstance(inner, dict):
            inner = {}
            document.places[path] = place
        holder[name] = holder = inner
    path = (*path, last)
    document.places = {old_path: there for old_path, there in document.places.items() if old_path[: len(path)] != path}
    document.places |= {path: place} | {(*path, *inner): place for inner in parsed.places}
    document.faults += [fault._replace(path=(*path, *fault.path)) for fault in parsed.faults]
    holder[last] = parsed.value


def write(values: Mapping[str, Any], notes: Mapping[Path, str] | None = None) -> str:
    """Nested mappings as indented YAML, with each list on one line; `notes` become comments."""
    return "".join(line + "\n" for line in _lines(values, (), notes or {}))


NOTE_COLUMN = 34
WIDEST = 110


def _lines(values: Mapping[str, Any], path: Path, notes: Mapping[Path, str]) -> Iterator[str]:
    margin = "  " * len(path)
    apart = False
    for name, value in values.items():
        block = isinstance(value, Mapping) and len(value) > 0
        if notes and not path and (block or apart):
            yield ""
        apart = block
        line = f"{margin}{scalar(name)}:" + ("" if block else f" {scalar(value)}")
        note = notes.get((*path, name))
        if note is not None and len(noted := f"{line:<{NOTE_COLUMN}}  # {note}") <= WIDEST:
            line = noted
        elif note is not None:
            yield from (f"{margin}# {part}" for part in textwrap.wrap(note, WIDEST - len(margin) - 2))
        yield line
        if block:
            yield from _lines(value, (*path, name), notes)


PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*")
RESERVED = {"null", "true", "false", "yes", "no", "on", "off", "y", "n"}  # some only in YAML 1.1
ESCAPES = {"\n": "\\n", "\t": "\\t", '"': '\\"', "\\": "\\\\"}


def scalar(value: Any) -> str:
    """A value as YAML on one line."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{scalar(name)}: {scalar(item)}" for name, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(scalar(item) for item in value) + "]"
    if isinstance(value, float) and not math.isfinite(value):
        return ".nan" if math.isnan(value) else f"{'-' * (value < 0)}.inf"
    if not isinstance(value, str):
        return repr(value)
    if PLAIN.fullmatch(value) and value.lower() not in RESERVED:
        return value
    return '"' + "".join(_escaped(character) for character in value) + '"'


def _escaped(character: str) -> str:
    if character in ESCAPES:
        return ESCAPES[character]
    return character if character.isprintable() else f"\\U{ord(character):08x}"
