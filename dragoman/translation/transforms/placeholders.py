"""Protected spans of a user's texts: marks in their place for the model, and the spans in the place of marks again."""

import re
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import torch

from dragoman.corpus.features import Given
from dragoman.data.language import Language, Source
from dragoman.data.vocabulary import UNK
from dragoman.errors import UserError
from dragoman.search.constraints import Constraint, ForbiddenSymbols
from dragoman.search.spans import RequiredMarks
from dragoman.text.pretokenizer import Span
from dragoman.text.protection import Masked, ProtectedSpan, Protection
from dragoman.text.tokenizer import MARK, MARKS, SPACE
from dragoman.translation import source_inputs
from dragoman.translation.attention_matrix import SHORT, SourceAttention
from dragoman.translation.sentence import OriginalText, Sentence, TextTransform
from dragoman.translation.source_inputs import Encoded
from dragoman.translation.translation import KeptSpan, Translation

LEAD: Final = "<0xF4>"  # the first byte of a mark in UTF-8, and of no character with a meaning
_APART: Final = re.compile(f"({MARK.pattern})")


class PlaceholderText(NamedTuple):
    """What a model reads of each source, and a target if one is given, with marks for the protected `spans` of the
    named source.
    """

    prepared_inputs: tuple[Given, ...]
    target: str | None = None
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
                protected = left[part].popleft() if left.get(part) else None
                parts.append(_Part(number, protected.text if protected else part, protected))
        _close(parts)
        texts, places, end = [""] * len(pieces), list[tuple[ProtectedSpan, Span]](), 0
        for number, text, protected in parts:
            if protected:
                places.append((protected, (end, end + len(text))))
            texts[number] += text
            end += len(text)
        return texts, places

    def place(self, span: Span) -> Span:
        """A part of the source with marks as one of the source as given."""
        begin, end = map(self._moved, span)
        return begin, end

    def _moved(self, place: int) -> int:
        longer = (0 if span.begin - begin >= place else len(span.text) - 1 for begin, span in self._shifted())
        return place + sum(longer)

    def _shifted(self) -> Iterator[tuple[int, ProtectedSpan]]:
        """Yield the spans, each with how much longer the ones before it are than their marks."""
        longer = 0
        for span in self.spans:
            yield longer, span
            longer += len(span.text) - 1

    def text(self, text: str) -> str:
        """A text with the spans in the place of marks."""
        return self.restored_text(text)[0]

    def restored_text(self, text: str) -> tuple[str, list[Span]]:
        """A text with the spans in the place of marks, and where these spans are."""
        (restored,), places = self.restored([text])
        return restored, [place for _, place in places]

    def words(self, words: Sequence[str]) -> list[str]:
        """The words of a text with the spans in the place of marks."""
        return self.restored(words)[0]

    def seen(self, sources: tuple[SourceAttention, ...]) -> tuple[SourceAttention, ...]:
        """The same of sources."""
        return tuple(source._replace(words=self.words(source.words)) for source in sources) if self.spans else sources

    def locate_spans(self, text: str) -> tuple[KeptSpan, ...]:
        """Where each span stands in a translation, given with marks."""
        places = dict(self.restored([text])[1])
        return tuple(KeptSpan(span.text, self.source, (span.begin, span.end), places.get(span)) for span in self.spans)

    def prefix(self, text: str, protection: Protection) -> str:
        """The beginning of a translation with marks. UserError if it has a span that the source has not."""
        marked = protection.like(text, self.spans)
        if self.text(marked) != text or len(protection.find(text)) != len(MARK.findall(marked)):
            raise UserError(f"prefix: {SHORT.repr(text)} has a protected span that is not in the source (text.protect)")
        return marked


class _Part(NamedTuple):
    """A part of the piece of this number: a span, or what stands beside spans."""

    number: int
    text: str
    span: ProtectedSpan | None


def _close(parts: list[_Part]) -> None:
    """Remove the spaces beside spans of white space."""
    for place, part in enumerate(parts):
        if part.span and part.text.isspace():
            for beside, strip in ((range(place - 1, -1, -1), str.rstrip), (range(place + 1, len(parts)), str.lstrip)):
                for other in beside:
                    if parts[other].span:
                        break
                    parts[other] = parts[other]._replace(text=strip(parts[other].text, " "))
                    if parts[other].text:
                        break


def insert_placeholders(
    protection: Protection, sources: Sequence[Source], prepared_inputs: tuple[Given, ...], target: str | None = None
) -> PlaceholderText:
    """Texts to translate with marks; if there is a target, in it too, and only for spans that come through there."""
    numbers = [number for number, source in enumerate(sources) if isinstance(source, Language)]
    if not numbers or not all(isinstance(prepared_inputs[number], str) for number in numbers):
        return PlaceholderText(prepared_inputs, target)
    texts = [str(prepared_inputs[number]) for number in numbers]
    masked: Masked = protection.masked(texts) if target is None else protection.masked_pair(texts, target)
    changed = dict(zip(numbers, masked.texts, strict=False))
    return PlaceholderText(
        tuple(changed.get(number, text) for number, text in enumerate(prepared_inputs)),
        None if target is None else masked.texts[-1],
        masked.spans,
        sources[numbers[masked.number]].name,
    )


class Placeholders(TextTransform):
    """Protected spans of a run's `protection` (`text.protect`), for which its model has marks: the model reads a
    mark in the place of a span, each mark comes back, and then the span in its place.
    """

    applies_to_given = True

    def __init__(self, protection: Protection, target: Language) -> None:
        self.protection = protection
        self.target = target
        self._numbers = dict(sorted(zip(target.vocabulary.ids(MARKS), MARKS, strict=True)))

    def prepare(self, sentence: Sentence) -> Sentence:
        text = insert_placeholders(self.protection, sentence.sources, sentence.prepared_inputs, sentence.target)
        shown = sentence.shown
        spans = [(span.begin, span.end) for span in text.spans]
        return sentence.noted(
            self,
            text,
            prepared_inputs=text.prepared_inputs,
            target=text.target,
            beginning=None if sentence.beginning is None else text.prefix(sentence.beginning, self.protection),
            original=OriginalText(
                shown.text,
                sorted([*shown.spans, *map(shown.to_original, spans)]),
                lambda span: shown.to_original(text.place(span)),
            ),
            restore=text.restored_text,
        )

    def constraints(self, batch: Sequence[Sentence], device: torch.device, *, strict: bool) -> list[Constraint]:
        """Each mark as often as the sources have it; `strict`, with room for spaces between them."""
        vocabulary = self.target.vocabulary
        counts = [count_placeholders(sentence.truncated) for sentence in batch]
        rows = [[count[mark] for mark in self._numbers.values()] for count in counts]
        (space,) = vocabulary.ids([SPACE])
        marks = torch.tensor(list(self._numbers), device=device)
        each_mark = RequiredMarks(torch.tensor(rows, device=device), marks, space if strict and space != UNK else None)
        # With the first byte of a mark, another character could be taken for one.
        lead = [number for number in vocabulary.ids([LEAD]) if number != UNK]
        return [each_mark, *([ForbiddenSymbols(lead, len(vocabulary), device)] if lead else [])]

    def symbols(self, sentence: Sentence) -> list[int]:
        return self.target.vocabulary.ids(list(count_placeholders(sentence.encoded)))

    def accepts(self, sentence: Sentence, ids: Sequence[int], surfaces: Sequence[str]) -> bool:
        """Whether nothing looks like a span but the spans themselves."""
        restored, places = sentence.restore("".join(surfaces))
        return self.protection.find(restored) == places

    def finish(self, translation: Translation, sentence: Sentence) -> Translation:
        text: PlaceholderText = sentence.notes[self]
        return replace(
            translation,
            sources=text.seen(translation.sources),
            text=text.text(translation.text),
            words=text.words(translation.words),
            spans=text.locate_spans(translation.text),
        )

    def contrast(self, text: str, sentence: Sentence) -> str:
        return self.protection.like(text, sentence.notes[self].spans)


def count_placeholders(sources: Sequence[Encoded]) -> Counter[str]:
    """How often the translation of these sources has each mark."""
    counts = Counter[str]()
    for source in sources:  # what a further source has is in the first, too
        counts |= Counter(symbol for symbol in source_inputs.spelled(source) if symbol in MARKS)
    return counts
