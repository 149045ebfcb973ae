"""Protected spans for which a model has learnt no marks: they are taken out of what it reads, and put back into its
translation where attention says, as markup is (detag and project: Hanneman and Dinu 2020).
"""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dragoman.corpus.features import Given
from dragoman.data.language import Language
from dragoman.data.source import Source
from dragoman.errors import UserError
from dragoman.text.protection import Protection
from dragoman.text.tokenise import Span
from dragoman.translation.attention_matrix import SHORT, SourceAttention
from dragoman.translation.sentence import OriginalText, Sentence, TextTransform
from dragoman.translation.source_inputs import LONGEST
from dragoman.translation.transforms.insertion import Back, Whole, joined, merged, spread
from dragoman.translation.transforms.stripped_text import Group, Rest, rest, unknown, without
from dragoman.translation.transforms.tag_placement import Ends, Node, places, unbroken
from dragoman.translation.translation import KeptSpan, Translation


@dataclass(frozen=True)
class Detached:
    """What is `given` for each source, and what a model reads: the texts without their protected spans, but for those
    that are `known` to the model. The spans of the source of this number come back in the translation, each once. Those
    of the beginning of the translation, if it is given, stay there; of white space beside them, one space is left.
    """

    protection: Protection
    known: Protection | None
    given: tuple[Given, ...]
    rests: Mapping[int, Rest]
    number: int
    name: str
    beginning: Rest | None = None

    @property
    def read(self) -> tuple[Given, ...]:
        """What the model reads; nothing of a text without words."""
        texts = {number: each.text if self.worded else "" for number, each in self.rests.items()}
        return tuple(texts.get(number, each) for number, each in enumerate(self.given))

    @property
    def source(self) -> Rest:
        """The rest of the source whose spans come back."""
        return self.rests[self.number]

    @property
    def worded(self) -> bool:
        """Whether there is anything to translate in that source. If not, it stays as it is."""
        return self.source.worded

    @property
    def spans(self) -> list[Span]:
        """The places in that source of the spans that were taken out."""
        return [span for group in self.source.groups for span in group.spans]

    def found(self, text: str) -> list[Span]:
        """The spans of a text that the model does not know."""
        return unknown(text, self.protection, self.known)

    def begun(self, prefix: str) -> "Detached":
        """The same with the beginning of the translation. UserError if it has a span that the source has not."""
        found = replace(self, beginning=rest(prefix, self.found(prefix), beginning=True))
        if found._backs() is None:
            raise UserError(f"prefix: {SHORT.repr(prefix)} has a protected span that the source has not")
        return found

    def _backs(self) -> tuple[list[Back], list[Back]] | None:
        """The groups of the beginning, each with its place there, and those that are left; None if the source lacks a
        span of the beginning.
        """
        text, groups = str(self.given[self.number]), self.source.groups
        left: dict[str, deque[tuple[Span, int]]] = {}
        for group in groups:
            for begin, end in group.spans:
                left.setdefault(text[begin:end], deque()).append(((begin, end), group.number))
        first = list[Back]()
        for group in self.beginning.groups if self.beginning else ():
            said = [group.text[begin - group.begin : end - group.begin] for begin, end in group.spans]
            taken = [left[each].popleft() for each in said if left.get(each)]
            if len(taken) < len(said):
                return None
            first.append(Back(group, tuple(span for span, _ in taken), taken[0][1], group.offset))
        gone = {span for back in first for span in back.sources}
        others = list[Back]()
        for group in groups:
            if gone.isdisjoint(group.spans):
                others.append(Back(group, group.spans, group.number))
                continue
            for begin, end in group.spans:
                if (begin, end) not in gone:
                    beside = text[max(0, begin - 1) : begin], text[end : end + 1]
                    alone = Group(text[begin:end], ((begin, end),), begin, group.offset, *beside, group.number)
                    others.append(Back(alone, alone.spans, group.number))
        return first, others

    def remembered(self, found: Translation) -> Translation:
        """A whole translation from a memory, with what it has of the spans."""
        text, left = str(self.given[self.number]), dict[str, deque[Span]]()
        for begin, end in self.found(found.text):
            left.setdefault(found.text[begin:end], deque()).append((begin, end))
        there = ((text[slice(*span)], span) for span in self.spans)
        return replace(
            found,
            spans=tuple(
                KeptSpan(said, self.name, span, left[said].popleft() if left.get(said) else None)
                for said, span in there
            ),
        )

    def _unread(self, found: Translation) -> Translation:
        """The translation of a text without words, which is the text itself, as one word."""
        text = str(self.given[self.number])
        sources = list(found.sources)
        for number, each in enumerate(sources):
            sources[number] = each._replace(attention=np.zeros((1, len(each.words))), share=np.zeros(1))
        sources[self.number] = sources[self.number]._replace(
            words=[text], attention=np.ones((1, 1)), share=np.ones(1), by_symbol=None
        )
        spans = tuple(KeptSpan(text[slice(*span)], self.name, span, span) for span in self.spans)
        return replace(found, sources=tuple(sources), text=text, words=[text], spans=spans)

    def attached(self, found: Translation, kept: int = 0, closed: Sequence[Span] = ()) -> Translation:
        """A translation of what was read with the spans in it: in its text, and the first of them as words of it and of
        its sources, which attend to each other. Its first `kept` characters are those of the beginning; nothing is put
        into those that are `closed`, nor into spans that the model knows.
        """
        if not self.worded:
            return self._unread(found)
        inner = [*closed, *(each.target for each in found.spans if each.target)]
        backs = self._placed(found, kept, inner)
        whole = self._whole(found.text, backs, kept)
        shown = [back for back in backs if back.number < LONGEST]
        words, numbers, rows = merged(found.words, found.text, [(back.offset, back.group.text) for back in shown])
        replaced, sources = list(found.replaced), list[SourceAttention]()
        for number, seen in enumerate(found.sources):
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
                each._replace(source_word=moved[each.source_word]) if each.source == seen.name else each
                for each in replaced
            ]
        return replace(
            found,
            sources=tuple(sources),
            text=whole.text,
            words=words,
            steps=tuple(each if each.word is None else each._replace(word=numbers[each.word]) for each in found.steps),
            sentinel=None if found.sentinel is None else spread(found.sentinel, numbers, len(words)),
            replaced=tuple(each._replace(word=numbers[each.word]) for each in replaced),
            spans=self._kept(found, backs, whole),
        )

    def _placed(self, found: Translation, kept: int, closed: Sequence[Span]) -> list[Back]:
        """The groups with their places in the translation, from left to right, none in a word that a beginning cuts."""
        first, others = self._backs() or ([], [])
        seen, read = found.sources[self.number], self.source.text
        begins, ends = list(places(seen.words, read)), list(places(found.words, found.text))
        links = [(begins[source], ends[target]) for source, target in seen.alignment]
        nodes = [Node(back.group.offset, None, (str(number),)) for number, back in enumerate(others)]
        tags = Ends(read, found.text, links).written(nodes, (0, len(read)), (0, len(found.text)))
        least, behind = unbroken(found.text, kept, len(found.text)) if kept else 0, list[Back]()
        for tag in tags:
            place = max(least, tag.offset)
            place = max((end for begin, end in closed if begin < place < end), default=place)
            behind.append(others[int(tag.raw)]._replace(offset=place))
        first = [back._replace(offset=min(back.offset, kept)) for back in first]
        return [*first, *sorted(behind, key=lambda back: back.offset)]

    def _whole(self, text: str, backs: Sequence[Back], kept: int) -> Whole:
        """A translation with groups in their places, with spaces around them where they would not be the same spans
        without.
        """
        whole = joined(text, backs, kept)
        spans = [
            (there + begin - group.begin, there + end - group.begin)
            for (group, *_), (there, _) in zip(backs, whole.places, strict=True)
            for begin, end in group.spans
        ]
        return whole if self.found(whole.text) == spans else joined(text, backs, kept, apart=True)

    def _kept(self, found: Translation, backs: Sequence[Back], whole: Whole) -> tuple[KeptSpan, ...]:
        """Where all spans of the source stand in the translation, those that the model knows too."""
        text = str(self.given[self.number])
        kept = [
            each._replace(place=self.source.place(each.place), target=each.target and whole.place(each.target))
            for each in found.spans
        ]
        for back, (there, _) in zip(backs, whole.places, strict=True):
            for source, (begin, end) in zip(back.sources, back.group.spans, strict=True):
                first = there + begin - back.group.begin
                kept.append(KeptSpan(text[slice(*source)], self.name, source, (first, first + end - begin)))
        return tuple(sorted(kept, key=lambda each: each.place))


class TagProjection(TextTransform):
    """Spans of `protection`, but for those that the model has `known` marks for, are taken out of what it reads, and
    inserted into its translation where attention says, as markup is (detag and project: Hanneman and Dinu 2020).
    """

    inserts = True

    def __init__(self, protection: Protection, known: Protection | None, edited: int | None) -> None:
        self.protection = protection
        self.known = known
        self.edited = edited

    def prepare(self, sentence: Sentence) -> Sentence:
        detached = detach(self.protection, self.known, sentence.sources, sentence.given, self.edited)
        if detached is None:
            return sentence
        source, original, beginning = detached.source, None, sentence.beginning
        if detached.worded:
            original = OriginalText(str(sentence.given[detached.number]), detached.spans, source.place)
            if beginning is not None:
                detached = detached.begun(beginning)
                beginning = detached.beginning.text if detached.beginning else beginning
        return sentence.noted(self, detached, read=detached.read, original=original, beginning=beginning)

    def accepts(self, sentence: Sentence, ids: Sequence[int], surfaces: Sequence[str]) -> bool:
        """Whether the model writes no such span itself."""
        detached: Detached = sentence.notes[self]
        return not detached.found("".join(surfaces))

    def finish(self, translation: Translation, sentence: Sentence) -> Translation:
        detached: Detached = sentence.notes[self]
        prefix, _ = sentence.restore(sentence.written_prefix)
        closed = [span for transform in sentence.notes for span in transform.closed(translation, sentence)]
        return detached.attached(translation, len(prefix), closed)

    def answer(self, translation: Translation, sentence: Sentence) -> Translation:
        detached: Detached = sentence.notes[self]
        return detached.remembered(translation)

    def contrast(self, text: str, sentence: Sentence) -> str:
        return without(text, self.protection, self.known)


def detach(
    protection: Protection,
    known: Protection | None,
    sources: Sequence[Source],
    given: tuple[Given, ...],
    edited: int | None = None,
) -> Detached | None:
    """What a model that knows these spans reads of its sources. None if there is no text. The spans of the text that is
    `edited` come back, or else those of the first one that is not blank.
    """
    texts = {
        number: each
        for number, (source, each) in enumerate(zip(sources, given, strict=True))
        if isinstance(source, Language) and isinstance(each, str)
    }
    filled = [number for number, text in texts.items() if text.strip()]
    if not filled:
        return None
    number = edited if edited in filled else filled[0]
    found = Detached(protection, known, given, {}, number, sources[number].name)
    return replace(found, rests={number: rest(text, found.found(text)) for number, text in texts.items()})
