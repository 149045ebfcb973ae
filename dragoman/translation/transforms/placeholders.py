"""Protected spans of a user's texts: marks in their place for the model, and the spans in the place of marks again."""

import re
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import torch

from dragoman.corpus.features import Given
from dragoman.data.language import Language
from dragoman.data.source import Source
from dragoman.data.vocabulary import UNK
from dragoman.errors import UserError
from dragoman.search.spans import EachMark
from dragoman.text.mark import Symbol
from dragoman.text.protection import Masked, ProtectedSpan, Protection
from dragoman.text.tokenise import Span
from dragoman.text.unit import MARK, MARKS, SPACE
from dragoman.translation import source_inputs
from dragoman.translation.attention_matrix import SHORT, SourceAttention
from dragoman.translation.source_inputs import Encoded
from dragoman.translation.translation import KeptSpan

LEAD: Final = "<0xF4>"  # the first byte of a mark in UTF-8, and of no character with a meaning
WORD: Final = "u"  # stands for what is unknown
_APART: Final = re.compile(f"({MARK.pattern})")


class Marked(NamedTuple):
    """What there is for each source, and a target if one is given, with marks for the protected `spans` of the named
    source.
    """

    given: tuple[Given, ...]
    target: str = ""
    spans: tuple[ProtectedSpan, ...] = ()
    source: str = ""

    def restored(self, pieces: Sequence[str]) -> tuple[list[str], list[tuple[ProtectedSpan, Span]]]:
        """The pieces of a text with the spans in the place of marks, and each of these spans with its place in the
        text. Spaces beside a span of white space, which has its own, are left out.
        """
        left: dict[str, deque[ProtectedSpan]] = {}
        for span in self.spans:
            left.setdefault(span.mark, deque()).append(span)
        parts = list[_Part]()
        for number, piece in enumerate(pieces):
            for part in _APART.split(piece):
                found = left[part].popleft() if left.get(part) else None
                parts.append(_Part(number, found.text if found else part, found))
        _close(parts)
        texts, places, end = [""] * len(pieces), list[tuple[ProtectedSpan, Span]](), 0
        for number, text, found in parts:
            if found:
                places.append((found, (end, end + len(text))))
            texts[number] += text
            end += len(text)
        return texts, places

    def place(self, span: Span) -> Span:
        """A part of the source with marks as one of the source as given."""
        begin, end = map(self._moved, span)
        return begin, end

    def _moved(self, place: int) -> int:
        longer = (0 if each.begin - begin >= place else len(each.text) - 1 for begin, each in self._shifted())
        return place + sum(longer)

    def _shifted(self) -> Iterator[tuple[int, ProtectedSpan]]:
        """Yield the spans, each with how much longer the ones before it are than their marks."""
        longer = 0
        for each in self.spans:
            yield longer, each
            longer += len(each.text) - 1

    def text(self, text: str) -> str:
        """A text with the spans in the place of marks."""
        return "".join(self.restored([text])[0])

    def keeps(self, text: str, protection: Protection) -> bool:
        """Whether a text, given with marks, then has these spans and no others."""
        (restored,), places = self.restored([text])
        return protection.find(restored) == [place for _, place in places]

    def words(self, words: Sequence[str]) -> list[str]:
        """The words of a text with the spans in the place of marks."""
        return self.restored(words)[0] if self.spans else list(words)

    def seen(self, sources: tuple[SourceAttention, ...]) -> tuple[SourceAttention, ...]:
        """The same of sources."""
        return tuple(each._replace(words=self.words(each.words)) for each in sources) if self.spans else sources

    def kept(self, text: str) -> tuple[KeptSpan, ...]:
        """Where each span stands in a translation, given with marks."""
        places = dict(self.restored([text])[1])
        return tuple(KeptSpan(each.text, self.source, (each.begin, each.end), places.get(each)) for each in self.spans)

    def prefix(self, text: str, protection: Protection) -> str:
        """The beginning of a translation with marks. UserError if it has a span that the source has not."""
        found = protection.like(text, self.spans)
        if self.text(found) != text or len(protection.find(text)) != len(MARK.findall(found)):
            raise UserError(f"prefix: {SHORT.repr(text)} has a protected span that the source has not (text.protect)")
        return found


class _Part(NamedTuple):
    """A part of the piece of this number: a span, or what stands beside spans."""

    number: int
    text: str
    span: ProtectedSpan | None


def _close(parts: list[_Part]) -> None:
    """Remove the spaces beside spans of white space."""
    for place, each in enumerate(parts):
        if each.span and each.text.isspace():
            for beside, strip in ((range(place - 1, -1, -1), str.rstrip), (range(place + 1, len(parts)), str.lstrip)):
                for other in beside:
                    if parts[other].span:
                        break
                    parts[other] = parts[other]._replace(text=strip(parts[other].text, " "))
                    if parts[other].text:
                        break


def marked(
    protection: Protection | None, sources: Sequence[Source], given: tuple[Given, ...], target: str | None = None
) -> Marked:
    """Texts to translate with marks; if there is a target, in it too, and only for spans that come through there."""
    texts = [place for place, each in enumerate(sources) if isinstance(each, Language)]
    if protection is None or not all(isinstance(given[place], str) for place in texts):
        return Marked(given, target or "")
    read = [str(given[place]) for place in texts]
    found: Masked = protection.masked(read) if target is None else protection.masked_pair(read, target)
    there = dict(zip(texts, found.texts, strict=False))
    changed = tuple(there.get(place, each) for place, each in enumerate(given))
    name = sources[texts[found.number]].name if texts else ""
    return Marked(changed, "" if target is None else found.texts[-1], found.spans, name)


def first_text(sources: Sequence[Source], given: tuple[Given, ...]) -> tuple[Language | None, str]:
    """The first source that is a text and not blank, and the text; None and "" if all are blank."""
    texts = [(each, str(text)) for each, text in zip(sources, given, strict=True) if isinstance(each, Language)]
    return next((each for each in texts if each[1].strip()), (None, ""))


def each_mark(encoded: Sequence[Sequence[Encoded]], target: Language, device: torch.device, *, apart: bool) -> EachMark:
    """The constraint that each sentence has the marks of its sources, given as the symbols that are read. `apart`: with
    room for spaces between them.
    """
    ids = dict(zip(target.vocabulary.ids(MARKS), MARKS, strict=True))
    rows = list[list[int]]()
    for sources in encoded:
        wanted = marks_of(sources)
        rows.append([wanted[ids[number]] for number in sorted(ids)])
    (space,) = target.vocabulary.ids([SPACE])
    marks = torch.tensor(sorted(ids), device=device)
    return EachMark(torch.tensor(rows, device=device), marks, space if apart and space != UNK else None)


def marks_of(sources: Sequence[Encoded]) -> Counter[str]:
    """How often the translation of these sources has each mark."""
    found = Counter[str]()
    for each in sources:  # what a further source has is in the first, too
        found |= Counter(symbol for symbol in source_inputs.spelled(each) if symbol in MARKS)
    return found


def unsaid(target: Language) -> list[int]:
    """Symbols that no translation with marks has: with this byte, another character could be taken for a mark."""
    return [number for number in target.vocabulary.ids([LEAD]) if number != UNK]


def faithful(
    protection: Protection, target: Language, given: Marked, ids: Sequence[int], said: Sequence[Symbol]
) -> bool:
    """Whether nothing in a translation, or in the beginning of one, looks like a span but the spans themselves."""
    return given.keeps("".join(spelled(target, ids, said)), protection)


def spelled(target: Language, ids: Sequence[int], said: Sequence[Symbol]) -> list[str]:
    """What each symbol of a translation spells; a word for what is unknown."""
    written = [WORD if number == UNK else str(symbol) for number, symbol in zip(ids, said, strict=True)]
    return target.text.unit.surfaces(written)
