"""Texts of any length as sentences, and back without loss (extra `documents`)."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from dragoman.errors import UserError, missing_library
from dragoman.text.pretokenizer import chinese_or_japanese, spaceless

LONGEST = 500  # characters of a sentence: a longer one is cut, so that no text keeps others waiting
WINDOW = 4 * LONGEST  # characters of a line that are split at once, since long ones take more than linear time
_CUT = re.compile(r"[,;:)\]–—،、；：，]\s*|\s+")
_QUOTES = "\"'\u2018\u2019\u201c\u201d»«()[]…—"  # beside which a sentence ends or begins
_SPACES = " \u3000\u00a0"
# The number or letter of an item of a list: before its text, and as the sentence that a full stop makes of it.
_NUMBER, _ROMAN = r"\d+(?:\.\d+)*", "[ivx]{1,5}|[IVX]{1,5}"
_ITEM = re.compile(rf"\s*(?:{_NUMBER}\.|\(?(?:{_NUMBER}|[A-Za-z]|{_ROMAN})\))\s+(?=\S)")
_ITEM_ALONE = re.compile(rf"(?:{_NUMBER}|[A-Za-z]|{_ROMAN})\.")
_COLUMN = re.compile(r"(?<=\t)")  # after a tab
_AROUND = re.compile(r"\s*(.*?)\s*", re.DOTALL)
BREAK = re.compile(r"<br\s{0,3}/?>", re.IGNORECASE)


class Passage(NamedTuple):
    """A text as its sentences and what stands before, between and after them: white space, and numbers or letters of
    items of a list (`1.`, `(a)`, `iv.`). There is one `between` more than there are sentences. Of several texts that a
    model reads together, these are the sentences of the first that is not blank, and each of the `rows` has a sentence
    of every text.
    """

    sentences: tuple[str, ...]
    between: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...] = ()

    @property
    def read(self) -> tuple[str | tuple[str, ...], ...]:
        """What a model reads for each sentence."""
        return self.rows or self.sentences

    def joined(self, translations: Sequence[str]) -> str:
        """The text with translations in place of its sentences."""
        return "".join([self.between[0], *map("".join, zip(translations, self.after(translations), strict=True))])

    def body(self, translations: Sequence[str]) -> str:
        """The same without what stands before the first and after the last sentence."""
        text = self.joined(translations)
        return text[len(self.between[0]) : len(text) - len(self.between[-1])] if translations else ""

    def after(self, translations: Sequence[str], first: int = 0) -> list[str]:
        """What stands after the translation of each sentence, from the one of this number on: what stands after the
        sentence, with a space where the script of the translation has one between sentences and that of the text has
        not, and none where it is the other way round.
        """
        return [self._behind(number, translation) for number, translation in enumerate(translations, first)]

    def _behind(self, number: int, translation: str) -> str:
        space, sentence = self.between[number + 1], self.sentences[number]
        if number + 1 == len(self.sentences) or space.strip(_SPACES) or not translation or translation == sentence:
            return space
        joined = chinese_or_japanese(translation.rstrip(_QUOTES)[-1:])
        if space:
            return "" if joined else space.replace("\u3000", " ")
        beside = sentence.rstrip(_QUOTES)[-1:], self.sentences[number + 1].lstrip(_QUOTES)[:1]
        return " " if not joined and any(spaceless(c) or chinese_or_japanese(c) for c in beside) else ""

    @property
    def whole(self) -> "Passage":
        """The text as one sentence."""
        if not self.sentences:
            return self
        first, last = self.between[0], self.between[-1]
        return Passage((self.body(self.sentences),), (first, last))

    def part(self, first: int, end: int) -> "Passage":
        """The passage of some sentences, with what stands after them, and before them if they are the first."""
        between = self.between[first + 1 : end + 1]
        return Passage(self.sentences[first:end], ("" if first else self.between[0], *between), self.rows[first:end])


def split_text(text: str, language: str, *, sentences: bool = True) -> Passage:
    """Split a text into its sentences by the rules of a language, and never across lines. Without `sentences`, a line
    is one, or each of its columns if tabs divide it. Long ones are cut, where possible after a comma or the like, or
    between words. The number or letter of an item of a list is no sentence.
    """
    pieces, between = list[str](), [""]
    for line in text.splitlines(keepends=True):
        for part in _sentences(line, language) if sentences else [line]:
            if sentences and _ITEM_ALONE.fullmatch(part.strip()):
                between[-1] += part
                continue
            if item := _ITEM.match(part):
                between[-1] += item[0]
                part = part[item.end() :]
            columns = [part] if sentences else _COLUMN.split(part)
            for piece in (short for column in columns for short in _cut(column)):
                match = _AROUND.fullmatch(piece)
                assert match is not None
                begin, end = match.span(1)
                between[-1] += piece[:begin]
                if begin < end:
                    pieces.append(piece[begin:end])
                    between.append("")
                between[-1] += piece[end:]
    return Passage(tuple(pieces), tuple(between))


def beside(texts: Sequence[str], languages: Sequence[str], *, sentences: bool = True) -> Passage:
    """Split several texts that a model reads together: into sentences if every line has as many in each text, or else
    into lines. A blank text is missing. UserError if the texts have not as many lines either.
    """
    present = [number for number, text in enumerate(texts) if text.strip()]
    for smaller in (True, False) if sentences else (False,):
        counts = [_counts(texts[number], languages[number], sentences=smaller) for number in present]
        if all(count == counts[0] for count in counts):
            passages = [split_text(*side, sentences=smaller) for side in zip(texts, languages, strict=True)]
            first = passages[present[0] if present else 0]
            columns = [passage.sentences or ("",) * len(first.sentences) for passage in passages]
            return first._replace(rows=tuple(zip(*columns, strict=True)))
    numbers = " and ".join(str(len(count)) for count in counts)
    raise UserError(
        f"the texts do not match line by line: they have {numbers} lines, or long lines of different lengths"
    )


def _counts(text: str, language: str, *, sentences: bool) -> list[int]:
    """The sentences of each line that has some."""
    counts = (len(split_text(line, language, sentences=sentences).sentences) for line in text.splitlines())
    return [count for count in counts if count]


def _sentences(line: str, language: str) -> Iterator[str]:
    """Yield the sentences of a line. Those at the end of a window depend on what follows, and are split anew with it,
    unless they are as long as a window.
    """
    begin = 0
    while len(line) - begin > WINDOW:
        last = begin + WINDOW - LONGEST
        for part in _segments(line[begin : begin + WINDOW], language):
            yield part
            begin += len(part)
            if begin >= last:
                break
    yield from _segments(line[begin:], language)


def _segments(line: str, language: str) -> Sequence[str]:
    try:
        from sentencex import segment
    except ModuleNotFoundError as error:
        raise missing_library(error.name, "documents") from error
    parts = [str(part) for part in segment(language, line)]
    return parts if "".join(parts) == line else [line]


def _cut(sentence: str) -> Iterator[str]:
    """Yield parts of a sentence that have at most LONGEST characters."""
    while len(sentence) > LONGEST:
        places = [match.end() for match in _CUT.finditer(sentence[:LONGEST])]
        place = places[-1] if places and places[-1] > LONGEST // 4 else LONGEST
        yield sentence[:place]
        sentence = sentence[place:]
    yield sentence


def split_lines(text: str, language: str, *, sentences: bool) -> Passage:
    """Split a text as `split_text` does. `<br />` is a line break: Subtitle Edit writes the lines of subtitles so."""
    if not BREAK.search(text):
        return split_text(text, language, sentences=sentences)
    parts, between = list[str](), [""]
    for line, written in zip(BREAK.split(text), [*BREAK.findall(text), ""], strict=True):
        passage = split_text(line, language, sentences=sentences)
        between[-1] += passage.between[0]
        parts += passage.sentences
        between += passage.between[1:]
        between[-1] += written
    return Passage(tuple(parts), tuple(between))
