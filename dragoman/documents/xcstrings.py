"""String catalogues of Xcode (`.xcstrings`): strings without a translation get one, to be reviewed."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

from dragoman.corpus.naming import is_same_language
from dragoman.corpus.objects import parse_json
from dragoman.corpus.plural_forms import plural_rule, read_forms
from dragoman.documents.document import Document, File
from dragoman.documents.document_segment import join_surrogates, lacks_placeholder
from dragoman.documents.html import label
from dragoman.documents.translated import TranslatedText
from dragoman.errors import UserError

UNIT, REVIEW = "stringUnit", "needs_review"
UNTRANSLATED = ("", "new")  # states of a unit that is no translation yet
DESCRIPTIONS = ("argNum", "formatSpecifier")  # of a substitution: which argument it stands for
_EMPTY = re.compile(r"^( *)(.*)\{\}(,?)$", re.MULTILINE)

Node = Mapping[str, Any]


class UntranslatedString(NamedTuple):
    """A unit without a translation: the keys that lead to it from the localizations of its string, and its source. The
    values under `copied`, a part of that way each, are those of the source language.
    """

    string: str
    path: tuple[str, ...]
    text: str
    copied: tuple[tuple[tuple[str, ...], Any], ...] = ()


class StringCatalogue(Document):
    """The strings of a catalogue, with their variations by device and number, which lack the target language. UserError
    if the file is no catalogue, or in another language.
    """

    def __init__(self, file: File) -> None:
        self._text, source = file.text, file.languages[0]
        self._content = parse_json(self._text.removeprefix("\ufeff"), file.name)
        if not isinstance(self._content, dict) or not isinstance(self._content.get("strings"), dict):
            raise UserError(f"{file.name}:1: invalid Xcode string catalog (no strings)")
        self._source = str(self._content.get("sourceLanguage", source))
        if self._source != source and not is_same_language(self._source, source):
            raise UserError(f"{file.name}: is in {self._source}, and the run translates {source}")
        gaps = self._find_all_gaps(file)
        pairs = [(gap, line) for gap in gaps if (line := label(gap.text)).worded]
        self._gaps = [gap for gap, _ in pairs]
        self.lines = [line for _, line in pairs]

    def _find_all_gaps(self, file: File) -> list[UntranslatedString]:
        """Return what lacks the target language. UserError if a string is not as Xcode writes it."""
        strings: dict[str, Any] = self._content["strings"]
        try:
            codes = (
                code for entry in strings.values() for code in entry.get("localizations", {}) if code != self._source
            )
            target = file.languages[1]
            self._target = next((code for code in codes if is_same_language(code, target)), target.replace("_", "-"))
            return [gap for key, entry in strings.items() for gap in self._find_gaps(key, entry)]
        except (AttributeError, TypeError, KeyError, ValueError, RecursionError):
            raise UserError(f"{file.name}: invalid Xcode string catalog (a string has an unknown form)") from None

    def _find_gaps(self, key: str, entry: Any) -> Iterator[UntranslatedString]:
        if (
            not isinstance(entry, dict)
            or entry.get("shouldTranslate") is False
            or entry.get("extractionState") == "stale"
        ):
            return
        localizations = entry.get("localizations", {})
        source = localizations.get(self._source) or {UNIT: {"value": key}}
        target = localizations.get(self._target, {})
        if UNIT in source or not _is_translated(target):
            yield from (gap._replace(string=key) for gap in _missing(source, target, (self._target,), self._target))

    def written(self, translated: Sequence[TranslatedText]) -> bytes:
        filled = False
        for gap, line, translation in zip(self._gaps, self.lines, translated, strict=True):
            if translation.complete:
                filled = True
                self._fill(gap, line.written(translation))
        return join_surrogates(_serialize(self._content, self._text) if filled else self._text).encode()

    def _fill(self, gap: UntranslatedString, text: str) -> None:
        entry = self._content["strings"][gap.string]
        node = _child(entry, "localizations")
        for key in gap.path:
            node = _child(node, key)
        node[UNIT] = {"state": REVIEW, "value": text}
        for path, value in gap.copied:
            node = entry["localizations"]
            for key in path[:-1]:
                node = node[key]
            node.setdefault(path[-1], value)


def _missing(source: Node, target: Node, path: tuple[str, ...], language: str) -> Iterator[UntranslatedString]:
    """Yield what a localization lacks that the source language has, below these keys."""
    if UNIT in source and not _is_translated(target):
        yield UntranslatedString("", path, str(source[UNIT].get("value", "")))
    for kind, sources in source.get("variations", {}).items():
        if kind in path:
            raise ValueError("nested variations of the same kind")
        for name, node in (_plurals(sources, language) if kind == "plural" else sources).items():
            there = target.get("variations", {}).get(kind, {}).get(name, {})
            yield from _missing(node, there, (*path, "variations", kind, name), language)
    for name, node in source.get("substitutions", {}).items():
        below = (*path, "substitutions", name)
        copied = tuple(((*below, key), node[key]) for key in DESCRIPTIONS if key in node)
        for gap in _missing(node, target.get("substitutions", {}).get(name, {}), below, language):
            yield gap._replace(copied=(*gap.copied, *copied))


def _plurals(sources: Node, language: str) -> Node:
    """The categories of a language, each with its source: that of the same category, but the plural where other numbers
    than 1 have the category, and the singular lacks a placeholder.
    """
    rule, other = plural_rule(language), sources.get("other")
    if rule is None or other is None:
        return sources
    forms = read_forms(rule.header)
    shared = forms is not None and not forms.alone
    nodes = {category: sources.get(category, other) for category in dict.fromkeys((*rule.categories, "other"))}
    if shared and "one" in nodes and lacks_placeholder(_value(nodes["one"]), _value(other)):
        nodes["one"] = other
    return nodes


def _value(node: Node) -> str:
    """The text of a node; empty if the node has variations instead."""
    return str(node.get(UNIT, {}).get("value", ""))


def _is_translated(node: Node) -> bool:
    unit = node.get(UNIT, {})
    return bool(unit.get("value")) and unit.get("state", "") not in UNTRANSLATED


def _child(node: dict[str, Any], key: str) -> dict[str, Any]:
    """The object under a key, which is added, in alphabetical order if the other keys are."""
    if key not in node:
        ordered = list(node) == sorted(node)
        node[key] = {}
        if ordered:
            items = sorted(node.items())
            node.clear()
            node.update(items)
    return cast("dict[str, Any]", node[key])


def _serialize(content: Any, original: str) -> str:
    """Write a catalogue in the style of Xcode, or of the file that it was read from."""
    indent = re.search(r'\n( +)"', original)
    separator = " : " if '" : ' in original else ": "
    text = json.dumps(
        content, ensure_ascii=False, indent=len(indent[1]) if indent else None, separators=(",", separator)
    )
    if re.search(r"\{\n *\n", original):
        text = _EMPTY.sub(r"\1\2{\n\n\1}\3", text)
    if "\\/" in original:
        text = text.replace("/", "\\/")
    text = text.replace("\n", "\r\n") if "\r\n" in original else text
    return "\ufeff" * original.startswith("\ufeff") + text + original[len(original.rstrip()) :]
