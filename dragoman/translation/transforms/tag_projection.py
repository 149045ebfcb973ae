"""Protected spans for which a model has learned no marks: they are taken out of what it reads, and put back into its
translation where attention says, as markup is (detag and project: Hanneman and Dinu 2020).
"""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dragoman.corpus.features import Given
from dragoman.data.language import Language, Source
from dragoman.errors import UserError
from dragoman.text.pretokenizer import Span
from dragoman.text.protection import Protection
from dragoman.translation.attention_matrix import SHORT, SourceAttention
from dragoman.translation.sentence import OriginalText, Sentence, TextTransform
from dragoman.translation.source_inputs import LONGEST
from dragoman.translation.transforms.insertion import Reinsertion, RestoredText, joined, merged, spread
from dragoman.translation.transforms.stripped_text import Group, StrippedText, strip_spans, unknown, without
from dragoman.translation.transforms.tag_placement import Ends, Node, places, unbroken
from dragoman.translation.translation import KeptSpan, Translation


@dataclass(frozen=True)
class StrippedSource:
    """The `inputs` of all sources, and the texts without their protected spans, which the model reads instead.

    Spans that `model_protection` finds stay in these texts: the model has learned marks for them. The spans of the
    source with this `number` and `name` are inserted into its translation, each once. Spans in the given `beginning`
    of the translation stay there. Of white space on both sides of a span, one space is left.
    """

    protection: Protection
    model_protection: Protection | None
    inputs: tuple[Given, ...]
    rests: Mapping[int, StrippedText]
    number: int
    name: str
    beginning: StrippedText | None = None

    @property
    def prepared_inputs(self) -> tuple[Given, ...]:
        """What the model reads; nothing of a text without words."""
        texts = {number: stripped.text if self.worded else "" for number, stripped in self.rests.items()}
        return tuple(texts.get(number, source_input) for number, source_input in enumerate(self.inputs))

    @property
    def source(self) -> StrippedText:
        """The rest of the source whose spans come back."""
        return self.rests[self.number]

    @property
    def worded(self) -> bool:
        """Whether there is anything to translate in that source. If not, it stays as it is."""
        return self.source.worded

    @property
    def is_changed(self) -> bool:
        """Whether any source has spans that the model does not read."""
        return any(rest.groups for rest in self.rests.values())

    @property
    def spans(self) -> list[Span]:
        """The places in that source of the spans that were taken out."""
        return [span for group in self.source.groups for span in group.spans]

    def find_unknown(self, text: str) -> list[Span]:
        """The spans of a text that the model does not know."""
        return unknown(text, self.protection, self.model_protection)

    def begun(self, prefix: str) -> "StrippedSource":
        """The same with the beginning of the translation. UserError if it has a span that the source has not."""
        stripped = replace(self, beginning=strip_spans(prefix, self.find_unknown(prefix), beginning=True))
        if stripped._split_reinsertions() is None:
            raise UserError(f"prefix: {SHORT.repr(prefix)} has a protected span that is not in the source")
        return stripped

    def _split_reinsertions(self) -> tuple[list[Reinsertion], list[Reinsertion]] | None:
        """The groups of the beginning, each with its place there, and those that are left; None if the source lacks a
        span of the beginning.
        """
        text, groups = str(self.inputs[self.number]), self.source.groups
        left: dict[str, deque[tuple[Span, int]]] = {}
        for group in groups:
            for begin, end in group.spans:
                left.setdefault(text[begin:end], deque()).append(((begin, end), group.number))
        first = list[Reinsertion]()
        for group in self.beginning.groups if self.beginning else ():
            span_texts = [group.text[begin - group.begin : end - group.begin] for begin, end in group.spans]
            taken = [left[span_text].popleft() for span_text in span_texts if left.get(span_text)]
            if len(taken) < len(span_texts):
                return None
            first.append(Reinsertion(group, tuple(span for span, _ in taken), taken[0][1], group.offset))
        gone = {span for back in first for span in back.sources}
        remaining = list[Reinsertion]()
        for group in groups:
            if gone.isdisjoint(group.spans):
                remaining.append(Reinsertion(group, group.spans, group.number))
                continue
            for begin, end in group.spans:
                if (begin, end) not in gone:
                    beside = text[max(0, begin - 1) : begin], text[end : end + 1]
                    alone = Group(text[begin:end], ((begin, end),), begin, group.offset, *beside, group.number)
                    remaining.append(Reinsertion(alone, alone.spans, group.number))
        return first, remaining

    def remembered(self, translation: Translation) -> Translation:
        """A whole translation from a memory, with what it has of the spans."""
        text, left = str(self.inputs[self.number]), dict[str, deque[Span]]()
        for begin, end in self.find_unknown(translation.text):
            left.setdefault(translation.text[begin:end], deque()).append((begin, end))
        there = ((text[slice(*span)], span) for span in self.spans)
        return replace(
            translation,
            spans=tuple(
                KeptSpan(span_text, self.name, span, left[span_text].popleft() if left.get(span_text) else None)
                for span_text, span in there
            ),
        )

    def _unread(self, translation: Translation) -> Translation:
        """The translation of a text without words, which is the text itself, as one word."""
        text = str(self.inputs[self.number])
        sources = list(translation.sources)
        for number, source in enumerate(sources):
            sources[number] = source._replace(attention=np.zeros((1, len(source.words))), share=np.zeros(1))
        sources[self.number] = sources[self.number]._replace(
            words=[text], attention=np.ones((1, 1)), share=np.ones(1), by_symbol=None
        )
        spans = tuple(KeptSpan(text[slice(*span)], self.name, span, span) for span in self.spans)
        return replace(translation, sources=tuple(sources), text=text, words=[text], spans=spans)

    def attached(self, translation: Translation, kept: int = 0, closed: Sequence[Span] = ()) -> Translation:
        """A translation of what was read with the spans in it: in its text, and the first of them as words of it and of
        its sources, which attend to each other. Its first `kept` characters are those of the beginning; nothing is put
        into those that are `closed`, nor into spans that the model knows.
        """
        if not self.worded:
            return self._unread(translation)
        if not self.is_changed:
            return translation
        inner = [*closed, *(span.target for span in translation.spans if span.target)]
        reinsertions = self._placed(translation, kept, inner)
        restored = self._restore(translation.text, reinsertions, kept)
        shown = [back for back in reinsertions if back.number < LONGEST]
        words, numbers, rows = merged(
            translation.words, translation.text, [(back.offset, back.group.text) for back in shown]
        )
        replaced, sources = list(translation.replaced), list[SourceAttention]()
        for number, seen in enumerate(translation.sources):
            groups, read = (self.rests[number].groups, self.rests[number].text) if number in self.rests else ((), "")
            starts = read and not seen.words  # the decoder alone, without attention
            inserted = [] if starts else [(group.offset, group.text) for group in groups[:LONGEST]]
            names, moved, columns = merged(seen.words, read, inserted)
            own = [(rows[place], columns.get(back.number)) for place, back in enumerate(shown) if place in rows]
            attention = spread(spread(seen.attention, numbers, len(words)).T, moved, len(names)).T
            share = spread(seen.share, numbers, len(words))
            end = None if seen.end_attention is None else spread(seen.end_attention, numbers, len(words))
            for row, column in own if number == self.number else ():
                share[row] = 1.0
                if column is not None:
                    attention[row, column] = 1.0
            sources.append(seen._replace(words=names, attention=attention, share=share, end_attention=end))
            replaced = [
                replacement._replace(source_word=moved[replacement.source_word])
                if replacement.source == seen.name
                else replacement
                for replacement in replaced
            ]
        return replace(
            translation,
            sources=tuple(sources),
            text=restored.text,
            words=words,
            steps=tuple(
                step if step.word is None else step._replace(word=numbers[step.word]) for step in translation.steps
            ),
            sentinel=None if translation.sentinel is None else spread(translation.sentinel, numbers, len(words)),
            replaced=tuple(replacement._replace(word=numbers[replacement.word]) for replacement in replaced),
            spans=self._locate_spans(translation, reinsertions, restored),
        )

    def _placed(self, translation: Translation, kept: int, closed: Sequence[Span]) -> list[Reinsertion]:
        """The groups with their places in the translation, from left to right, none in a word that a beginning cuts."""
        first, remaining = self._split_reinsertions() or ([], [])
        seen, read = translation.sources[self.number], self.source.text
        begins, ends = list(places(seen.words, read)), list(places(translation.words, translation.text))
        links = [(begins[source], ends[target]) for source, target in seen.alignment]
        nodes = [Node(back.group.offset, None, (str(number),)) for number, back in enumerate(remaining)]
        tags = Ends(read, translation.text, links).written(nodes, (0, len(read)), (0, len(translation.text)))
        least, after = unbroken(translation.text, kept, len(translation.text)) if kept else 0, list[Reinsertion]()
        for tag in tags:
            place = max(least, tag.offset)
            place = max((end for begin, end in closed if begin < place < end), default=place)
            after.append(remaining[int(tag.raw)]._replace(offset=place))
        first = [back._replace(offset=min(back.offset, kept)) for back in first]
        return [*first, *sorted(after, key=lambda back: back.offset)]

    def _restore(self, text: str, reinsertions: Sequence[Reinsertion], kept: int) -> RestoredText:
        """A translation with groups in their places, with spaces around them where they would not be the same spans
        without.
        """
        restored = joined(text, reinsertions, kept)
        spans = [
            (there + begin - group.begin, there + end - group.begin)
            for (group, *_), (there, _) in zip(reinsertions, restored.places, strict=True)
            for begin, end in group.spans
        ]
        return restored if self.find_unknown(restored.text) == spans else joined(text, reinsertions, kept, apart=True)

    def _locate_spans(
        self, translation: Translation, reinsertions: Sequence[Reinsertion], restored: RestoredText
    ) -> tuple[KeptSpan, ...]:
        """Where all spans of the source stand in the translation, those that the model knows too."""
        text = str(self.inputs[self.number])
        kept = [
            span._replace(place=self.source.place(span.place), target=span.target and restored.place(span.target))
            for span in translation.spans
        ]
        for back, (there, _) in zip(reinsertions, restored.places, strict=True):
            for source, (begin, end) in zip(back.sources, back.group.spans, strict=True):
                first = there + begin - back.group.begin
                kept.append(KeptSpan(text[slice(*source)], self.name, source, (first, first + end - begin)))
        return tuple(sorted(kept, key=lambda span: span.place))


class TagProjection(TextTransform):
    """Removes the spans of `protection` from what the model reads, and inserts them into its translation where
    attention points to, as markup is projected (detag and project: Hanneman and Dinu 2020).

    Spans that `model_protection` finds are not removed: the model has learned marks for them.
    """

    inserts = True

    def __init__(self, protection: Protection, model_protection: Protection | None, edited: int | None) -> None:
        self.protection = protection
        self.model_protection = model_protection
        self.edited = edited

    def prepare(self, sentence: Sentence) -> Sentence:
        stripped = detach(self.protection, self.model_protection, sentence.sources, sentence.inputs, self.edited)
        if stripped is None:
            return sentence
        source, original, beginning = stripped.source, None, sentence.beginning
        if stripped.worded:
            original = OriginalText(str(sentence.inputs[stripped.number]), stripped.spans, source.place)
            if beginning is not None:
                stripped = stripped.begun(beginning)
                beginning = stripped.beginning.text if stripped.beginning else beginning
        return sentence.noted(
            self, stripped, prepared_inputs=stripped.prepared_inputs, original=original, beginning=beginning
        )

    def needs_details(self, sentence: Sentence) -> bool:
        stripped: StrippedSource = sentence.notes[self]
        return stripped.is_changed

    def accepts(self, sentence: Sentence, ids: Sequence[int], surfaces: Sequence[str]) -> bool:
        """Whether the model writes no such span itself."""
        stripped: StrippedSource = sentence.notes[self]
        return not stripped.find_unknown("".join(surfaces))

    def finish(self, translation: Translation, sentence: Sentence) -> Translation:
        stripped: StrippedSource = sentence.notes[self]
        prefix, _ = sentence.restore(sentence.written_prefix)
        closed = [span for transform in sentence.notes for span in transform.closed(translation, sentence)]
        return stripped.attached(translation, len(prefix), closed)

    def finish_known(self, translation: Translation, sentence: Sentence) -> Translation:
        stripped: StrippedSource = sentence.notes[self]
        return stripped.remembered(translation)

    def contrast(self, text: str, sentence: Sentence) -> str:
        return without(text, self.protection, self.model_protection)


def detach(
    protection: Protection,
    model_protection: Protection | None,
    sources: Sequence[Source],
    inputs: tuple[Given, ...],
    edited: int | None = None,
) -> StrippedSource | None:
    """What a model that knows these spans reads of its sources. None if there is no text. The spans of the text that is
    `edited` come back, or else those of the first one that is not blank.
    """
    texts = {
        number: source_input
        for number, (source, source_input) in enumerate(zip(sources, inputs, strict=True))
        if isinstance(source, Language) and isinstance(source_input, str)
    }
    filled = [number for number, text in texts.items() if text.strip()]
    if not filled:
        return None
    number = edited if edited in filled else filled[0]
    stripped = StrippedSource(protection, model_protection, inputs, {}, number, sources[number].name)
    return replace(
        stripped, rests={number: strip_spans(text, stripped.find_unknown(text)) for number, text in texts.items()}
    )
