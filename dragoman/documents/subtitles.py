"""SubRip subtitles (extra `documents`): what is said is translated, at the same time and in as many lines."""

import re
from collections.abc import Sequence
from functools import partial

import srt

from dragoman.documents.document import Document, File
from dragoman.documents.html import inline
from dragoman.documents.line import Line
from dragoman.documents.translated import Translated
from dragoman.errors import UserError

_PLACED = re.compile(r"(?:\{\\[^{}]*\})*")  # where a subtitle stands: {\an8}
_SPEAKER = re.compile(r"\n\s*[-–—]")  # somebody else begins to speak


class Subtitles(Document):
    """The subtitles of a file. UserError where it has none."""

    def __init__(self, file: File) -> None:
        text = file.text
        self._end = "\r\n" if "\r\n" in text else "\n"
        self._begin = "\ufeff" if text.startswith("\ufeff") else ""
        try:
            self._subtitles = list(srt.parse(text.replace("\r\n", "\n")))
        except (srt.SRTParseError, ValueError, OverflowError) as error:
            line = 1 + text.count("\n", 0, getattr(error, "expected_start", 0))
            raise UserError(f"{file.name}:{line}: is no subtitle") from None
        if not self._subtitles and text.strip():
            raise UserError(f"{file.name}:1: is no subtitle")
        self.lines = [_line(each.content) for each in self._subtitles]

    def written(self, translated: Sequence[Translated]) -> bytes:
        subtitles = [
            srt.Subtitle(each.index, each.start, each.end, line.written(said), each.proprietary)
            for each, line, said in zip(self._subtitles, self.lines, translated, strict=True)
        ]
        composed: str = srt.compose(subtitles, reindex=False, eol=self._end)
        return (self._begin + composed).encode()


def _line(content: str) -> Line:
    found = _PLACED.match(content)
    place = found[0] if found else ""
    said = content.removeprefix(place)
    several = 1 if _SPEAKER.search(said) else sum(bool(each.strip()) for each in said.split("\n"))
    line = inline(said if several == 1 else " ".join(said.split()))
    behind = content[len(content.rstrip("\n")) :]
    line.raw, line.quoted = content, partial(_written, place, several, behind)
    return line


def _written(place: str, lines: int, behind: str, text: str) -> str:
    """A subtitle in so many lines of about the same length."""
    found, rest = list[str](), text.rstrip("\n")
    for left in range(lines, 1, -1):
        spaces = [match.start() for match in re.finditer(r" (?![^<]*>)", rest)]
        if not spaces:
            break
        cut = min(spaces, key=lambda space: abs(space - len(rest) / left))
        found.append(rest[:cut])
        rest = rest[cut + 1 :]
    return place + "\n".join([*found, rest]) + behind
