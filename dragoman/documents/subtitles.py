"""Subtitles: the spoken text is translated, and every other byte stays: times, numbers, positions, styles and notes.

A file is scanned line by line, in time proportional to its size.
"""

import re
from bisect import bisect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from dragoman.documents.document import EncodedTextDocument, File
from dragoman.documents.document_segment import Part
from dragoman.documents.html import inline
from dragoman.errors import UserError

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_TIME = r"(?:\d++:)?\d++:\d++(?:[.,]\d++)?"
_ARROW = re.compile(rf"\s*{_TIME}\s*-->\s*{_TIME}(?=\s|$)")
_MISWRITTEN = re.compile(r"\d(?=[^\r\n]*-->)[^\r\n]*:")  # what looks like times
_COMMA = re.compile(rf"\s*{_TIME},{_TIME}\s*$")
_BREAK = re.compile(r"(\r\n|\r|\n|\\N)")
_BREAK_ASS = re.compile(r"(\\[Nn])")
_TAG_OR_SPACE = re.compile(r"<[^<>]*+>| ")
# What is no word and no tag of HTML: override codes of ASS, times within a cue, and `<!--`, which marks those here.
_CODE = re.compile(r"\{\\[^{}]*+\}|<\d++:[\d:.]++>|\\h|<!--")
_MARK = re.compile(r"<!--\d+-->")
# The beginning of a line that is no part of the sentence: its position, and the dash of a speaker, maybe in italics.
_PREFIX = re.compile(r"(?:\{\\[^{}]*+\})*+(?P<speaker>(?P<tags>(?:<[a-zA-Z][^<>]*+>)*+)[-–—]+(?!\d)\s*+)?")
_NAME = re.compile(r"<(\w+)")
_DRAWN = re.compile(r"\{[^{}]*\\(?:p[1-9]|[kK][fo]?\d)")  # a drawing, or syllables with times


class Notation(NamedTuple):
    """The form of cues: the line with their times; whether a blank line ends one; the beginning of the file."""

    times: re.Pattern[str]
    closed: bool
    header: str = ""


class Cues(EncodedTextDocument):
    """Cues of lines: a line with the times, which may have a number or name above it, and lines of text below it."""

    notation: Notation

    def __init__(self, file: File) -> None:
        super().__init__(file, _cues(_LINE.findall(file.text), self.notation, file.name))


class SubRip(Cues):
    """`.srt`. Raises UserError if the file has text outside a cue."""

    notation = Notation(_ARROW, closed=False)


class WebVtt(Cues):
    """`.vtt`: the header, notes, styles and regions stay, as do names of cues and voices (`<v Ann>`)."""

    notation = Notation(_ARROW, closed=True, header="WEBVTT")


class SubViewer(Cues):
    """`.sbv`, of YouTube."""

    notation = Notation(_COMMA, closed=True)


class SubStation(EncodedTextDocument):
    """`.ass` and `.ssa`: the texts of dialogues. Drawings and karaoke stay. Raises UserError if there are no events."""

    def __init__(self, file: File) -> None:
        if file.text.strip() and "[events]" not in file.text.lower():
            raise UserError(f"{file.name}:1: invalid subtitle (expected a section [Events])")
        super().__init__(file, _dialogues(_LINE.findall(file.text)))


def cue(text: str) -> list[Part]:
    """Return the text of a cue: what each speaker says, and what stands around it."""
    return list(_utterances(text, _BREAK))


def _cues(lines: Sequence[str], notation: Notation, name: str) -> Iterator[Part]:
    """Yield the texts of cues, and what stands between them."""
    if notation.header and lines and not lines[0].lstrip("\ufeff").startswith(notation.header):
        raise UserError(f"{name}:1: invalid subtitle (expected {notation.header})")
    text: list[str] = []
    for spoken, line in zip(_spoken(lines, notation, name), lines, strict=True):
        if spoken:
            text.append(line)
            continue
        yield from _utterances("".join(text), _BREAK)
        text.clear()
        yield line
    yield from _utterances("".join(text), _BREAK)


def _spoken(lines: Sequence[str], notation: Notation, name: str) -> list[bool]:
    """Return whether each line is text of a cue."""
    spoken: list[bool] = []
    within, cues, outside = False, 0, list[int]()  # outside: lines of text that are in no cue
    for number, line in enumerate(lines):
        bare = line.strip().lstrip("\ufeff")
        if notation.times.match(line.lstrip("\ufeff")):
            within, cues = True, cues + 1
            if number and lines[number - 1].strip().lstrip("\ufeff").isdecimal():  # its number
                spoken[number - 1] = False
                if outside[-1:] == [number - 1]:
                    outside.pop()
        elif not bare:
            within = within and not notation.closed
        elif not notation.closed and _MISWRITTEN.match(bare):
            raise UserError(
                f"{name}:{number + 1}: invalid subtitle (expected times such as 00:00:01,000 --> 00:00:02,000)"
            )
        elif not within:
            outside.append(number)
        spoken.append(bool(bare) and within and not notation.times.match(line))
    if outside and not (notation.closed and (notation.header or cues)):
        raise UserError(f"{name}:{outside[0] + 1}: invalid subtitle (expected a number or times before its text)")
    return spoken


def _dialogues(lines: Sequence[str]) -> Iterator[Part]:
    """Yield the texts of the dialogues, and what stands between them."""
    events, fields = False, 10  # of a dialogue, the text being the last
    for line in lines:
        head, colon, values = line.partition(":")
        kind = head.strip().lower()
        if kind.startswith("["):
            events = kind.startswith("[events]")
        elif events and kind == "format":
            fields = values.count(",") + 1
        if not (events and colon and kind == "dialogue" and values.count(",") >= fields - 1):
            yield line
            continue
        *settings, text = values.split(",", fields - 1)
        yield f"{head}:{','.join(settings)},"
        if _DRAWN.search(text):
            yield text
        else:
            end = text[len(text.rstrip("\r\n")) :]
            yield from _utterances(text.removesuffix(end), _BREAK_ASS)
            yield end


def _utterances(text: str, line_break: re.Pattern[str]) -> Iterator[Part]:
    """Yield the text of a cue, that of each speaker by itself, and the line breaks between and around them."""
    first, *pieces = line_break.split(text)
    lines, breaks, between = list[str](), list[str](), ""  # of an utterance; what stands before the next line
    for before, line in zip(["", *pieces[::2]], [first, *pieces[1::2]], strict=True):
        between += before
        if not line.strip():
            between += line
            continue
        if lines and not _speaker(line):
            breaks.append(between)
        else:
            yield from [_utterance(lines, breaks)] if lines else []
            yield between
            lines, breaks = list[str](), list[str]()
        lines.append(line)
        between = ""
    yield from [_utterance(lines, breaks)] if lines else []
    yield between


def _speaker(line: str) -> bool:
    match = _PREFIX.match(line)
    return match is not None and match["speaker"] is not None


@dataclass(frozen=True)
class _UtteranceLayout:
    """What of an utterance is no part of its text: what stands before and after it, its codes and line breaks."""

    before: str
    after: str
    codes: Mapping[str, str]
    breaks: Sequence[str]

    def written(self, text: str) -> str:
        """An utterance in as many lines of about the same length, if it has spaces enough."""
        text = text.strip()
        spaces = [match.start() for match in _TAG_OR_SPACE.finditer(text) if match[0] == " "]
        parts, begin = [self.before], 0
        for number, line_break in enumerate(self.breaks):
            ideal = begin + (len(text) - begin) / (len(self.breaks) + 1 - number)
            place = bisect(spaces, ideal)
            cuts = [space for space in spaces[max(0, place - 1) : place + 1] if space > begin]
            if not cuts:
                break
            cut = min(cuts, key=lambda space: abs(space - ideal))
            parts += [text[begin:cut], line_break]
            begin = cut + 1
        written = "".join([*parts, text[begin:], self.after])
        return _MARK.sub(lambda match: self.codes.get(match[0], match[0]), written)


def _utterance(lines: Sequence[str], breaks: Sequence[str]) -> Part:
    """Return the text of a speaker, from lines and the breaks between them. Without words it stays as it is."""
    raw = "".join(map("".join, zip(["", *breaks], lines, strict=True)))
    prefix = _PREFIX.match(lines[0])
    assert prefix is not None
    before, after = prefix[0], ""
    text = " ".join(" ".join([lines[0][len(before) :], *lines[1:]]).split())
    for tag in reversed(_NAME.findall(prefix["tags"] or "")):  # an element around the dash is around all of the text
        if text.endswith(f"</{tag}>"):
            text, after = text.removesuffix(f"</{tag}>"), f"</{tag}>{after}"
    codes: dict[str, str] = {}

    def mark(match: re.Match[str]) -> str:
        place = f"<!--{len(codes)}-->"
        codes[place] = match[0]
        return place

    line = inline(
        _CODE.sub(mark, text), raw, partial(_UtteranceLayout.written, _UtteranceLayout(before, after, codes, breaks))
    )
    return line if line.worded else raw
