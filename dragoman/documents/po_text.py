"""The text of a message catalogue (`.po`), in which single messages are replaced and all other lines stay."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from dragoman.corpus.catalogues import BACKSLASH

FUZZY = "fuzzy"
CONFIDENCE = "# dragoman: confidence {:.0%}"
LOST_NUMBER = "# dragoman: msgstr[{}] was translated without its number ({})"
_CONFIDENCE = re.compile(r"\s*#\s*dragoman: confidence \d+%\s*")
_LOST_NUMBER = re.compile(r"\s*#\s*dragoman: msgstr\[(\d+)\] was translated without its number \(\d+\)\s*")
_COMMENTS = re.compile(r"\s*(?:#(?![,.:|=~]).*)?")  # of translators
_FLAGS = re.compile(r"\s*#,\s*\S")
_ABOVE_TEXTS = re.compile(r"\s*(?:#(?!\|).*)?")  # comments but for the previous texts of a message
_TRANSLATION = re.compile(r"\s*(?:msgstr\b|\"|$)")
_NO_TEXT = re.compile(r'\s*msgid\s+""\s*')


class LineEdit(NamedTuple):
    """New lines in the place of those from `start` to `end`."""

    start: int
    end: int
    lines: list[str]


@dataclass
class DraftedMessage:
    """A message of polib with a draft, and its comments: the confidence, which is that of its least sure form, and the
    number of a form that was translated without it. `numbers` has each form of a plural that is drafted.
    """

    entry: Any
    confidence: float | None = None
    numbers: dict[int, int | None] = field(default_factory=dict)

    @property
    def comments(self) -> list[str]:
        """The lines of the comments."""
        lost = [LOST_NUMBER.format(form, number) for form, number in self.numbers.items() if number is not None]
        return lost if self.confidence is None else [*lost, CONFIDENCE.format(self.confidence)]

    def replaces(self, line: str) -> bool:
        """Whether a line is a comment on an earlier draft, which no longer holds."""
        lost = _LOST_NUMBER.fullmatch(line)
        return int(lost[1]) in self.numbers if lost else bool(_CONFIDENCE.fullmatch(line))


class CatalogueText:
    """The lines of a catalogue, with its entries by polib, of which some are to be replaced."""

    def __init__(self, text: str, entries: Iterable[Any]) -> None:
        self._line_end = "\r\n" if "\r\n" in text else "\n"
        self._lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
        self._starts = [*sorted(map(_start, entries)), len(self._lines)]

    def replaced(self, drafts: Iterable[DraftedMessage], header: Any) -> str:
        """Return the text with drafts in the place of messages, which become fuzzy. `header`: an entry in its place, or
        None.
        """
        edits = [self._message(draft) for draft in drafts]
        if header is not None:
            edits.append(self._header(header))
        lines = self._lines.copy()
        for start, end, new in sorted(edits, reverse=True):
            lines[start:end] = new
        return self._line_end.join(lines)

    def _message(self, draft: DraftedMessage) -> LineEdit:
        start = _start(draft.entry)
        stop = next(following for following in self._starts if following > start)
        begin = next(number for number in range(start, stop) if _is_translation(self._lines[number]))
        head = [line for line in self._lines[start:begin] if not draft.replaces(line)]
        comments = _first_unlike(_COMMENTS, head)
        head[comments:comments] = draft.comments
        if FUZZY not in draft.entry.flags:
            _add_flag(head)
        return LineEdit(start, self._end(begin), [*head, *_translation(draft.entry)])

    def _header(self, entry: Any) -> LineEdit:
        """Replace the translation of the header. A file without one gets one at its beginning."""
        for number, line in enumerate(self._lines[:-1]):
            if _NO_TEXT.fullmatch(line) and _is_translation(self._lines[number + 1]):
                return LineEdit(number + 1, self._end(number + 1), _translation(entry))
        return LineEdit(0, 0, ['msgid ""', *_translation(entry), ""])

    def _end(self, begin: int) -> int:
        """Return the line after the translation that begins on this one."""
        end = begin + _first_unlike(_TRANSLATION, self._lines[begin:], whole=False)
        while not self._lines[end - 1].strip():
            end -= 1
        return end


def _start(entry: Any) -> int:
    """Return the index of an entry's first line, which polib counts from 1, but for that of the file."""
    return int(max(entry.linenum - 1, 0))


def _is_translation(line: str) -> bool:
    return line.lstrip().startswith("msgstr")


def _first_unlike(pattern: re.Pattern[str], lines: Sequence[str], *, whole: bool = True) -> int:
    """Return the index of the first line that does not match, the whole of it or its beginning."""
    matches = pattern.fullmatch if whole else pattern.match
    return next((number for number, line in enumerate(lines) if not matches(line)), len(lines))


def _add_flag(head: list[str]) -> None:
    """Mark a message as fuzzy, in its line of flags or in a new one."""
    for number, line in enumerate(head):
        if _FLAGS.match(line):
            head[number] = f"{line.rstrip()}, {FUZZY}"
            return
    head.insert(_first_unlike(_ABOVE_TEXTS, head), f"#, {FUZZY}")


def _translation(entry: Any) -> list[str]:
    """Return the lines of a translation."""
    lines = str(entry).replace(BACKSLASH, "\\").rstrip("\n").split("\n")
    return lines[next(number for number, line in enumerate(lines) if _is_translation(line)) :]
