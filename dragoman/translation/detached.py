"""Protected spans for which a model has learnt no marks: they are taken out of what it reads, and put back into its
translation where attention says, as markup is (detag and project: Hanneman and Dinu 2020).
"""

import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.corpus.features import Given
from dragoman.data.language import Language
from dragoman.data.source import Source
from dragoman.errors import UserError
from dragoman.text.protection import Protection
from dragoman.text.tokenise import Span
from dragoman.translation.attended import SHORT, SourceAttention
from dragoman.translation.placing import Ends, Node, places
from dragoman.translation.translation import KeptSpan, Translation

_CLOSING = re.compile(r"[.,;:!?](?!\S)")
AROUND = ("()", "[]", '""', "''", "“”", "‘’", "«»", "„“")


class Group(NamedTuple):
    """Spans of a text with nothing but punctuation between them, and the brackets or quotation marks around them: as
    they are written, where each span stands in the text, where the group begins there, and before which character of
    the rest (`offset`); the characters before and behind it; its number in the source.
    """

    text: str
    spans: tuple[Span, ...]
    begin: int
    offset: int
    before: str
    behind: str
    number: int


class Rest(NamedTuple):
    """A text without its protected spans, which are in `groups`. Of a space on both sides of a span, one is left.
    `places` tells where each character of the rest stands in the text.
    """

    text: str
    places: Sequence[int]
    groups: tuple[Group, ...]

    @property
    def worded(self) -> bool:
        """Whether there is anything to translate: a letter or a digit."""
        return any(map(str.isalnum, self.text))

    def place(self, span: Span) -> Span:
        """A part of the rest, at least one character long, as a part of the text."""
        begin, end = span
        return self.places[begin], self.places[end - 1] + 1


def unknown(text: str, protection: Protection | None, known: Protection | None) -> list[Span]:
    """The protected spans of a text that a model does not know."""
    there = set(known.find(text)) if known else ()
    return [place for place in (protection.find(text) if protection else ()) if place not in there]


def without(text: str, protection: Protection | None, known: Protection | None) -> str:
    """A text without its protected spans, but for those that a model knows."""
    return rest(text, unknown(text, protection, known)).text


def rest(text: str, spans: Sequence[Span], *, beginning: bool = False) -> Rest:
    """A text without these spans, from left to right. It has no space at its ends then, but for that behind the
    `beginning` of a translation.
    """
    if not spans:
        return Rest(text, range(len(text)), ())
    left, groups, last = list[int](), list[Group](), 0

    def keep(begin: int, end: int) -> None:
        spaced = not left or text[left[-1]].isspace()
        while spaced and begin < end and text[begin].isspace():
            begin += 1
        left.extend(range(begin, end))

    for number, (begin, end, within) in enumerate(_grouped(text, spans)):
        keep(last, begin)
        beside = text[max(0, begin - 1) : begin], text[end : end + 1]
        groups.append(Group(text[begin:end], within, begin, len(left), *beside, number))
        last = end
    keep(last, len(text))
    while left and not beginning and text[left[-1]].isspace():
        left.pop()
    found = tuple(each._replace(offset=min(each.offset, len(left))) for each in groups)
    return Rest("".join(text[place] for place in left), left, found)


def _grouped(text: str, spans: Sequence[Span]) -> Iterator[tuple[int, int, tuple[Span, ...]]]:
    """Yield the begin and end of each group, and its spans."""
    groups = list[list[Span]]()
    for each in spans:
        between = text[groups[-1][-1][1] : each[0]] if groups else " "
        if any(character.isalnum() or character.isspace() for character in between):
            groups.append([])
        groups[-1].append(each)
    last = 0
    for within in groups:
        begin, end = within[0][0], within[-1][1]
        while begin > last and text[begin - 1] + text[end : end + 1] in AROUND:
            begin, end = begin - 1, end + 1
        yield begin, end, tuple(within)
        last = end


class Back(NamedTuple):
    """A group that is put back before this character of a translation: the spans of the source that its own are, and
    the number of their group there.
    """

    group: Group
    sources: tuple[Span, ...]
    number: int
    offset: int = 0


class Whole(NamedTuple):
    """A translation with its spans, the place in it of each group that was put back, and before which characters of the
    translation how many characters were put in.
    """

    text: str
    places: list[Span]
    inserted: list[tuple[int, int]]

    def place(self, span: Span) -> Span:
        """A part of the translation without spans, as one of this."""
        begin, end = span
        before = sum(count for offset, count in self.inserted if offset <= begin)
        within = sum(count for offset, count in self.inserted if begin < offset < end)
        return begin + before, end + before + within


@dataclass(frozen=True)
class Detached:
    """What is `given` for each source, and what a model reads: the texts without their protected spans, but for those
    that are `known` to the model. The spans of the first text that is not blank, the source of this number, come back
    in the translation, each once. Those of the beginning of the translation, if it is given, stay there.
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
            if not all(left.get(each) for each in said):
                return None
            taken = [left[each].popleft() for each in said]
            first.append(Back(group, tuple(span for span, _ in taken), taken[0][1], group.offset))
        gone = {span for back in first for span in back.sources}
        rest_of = list[Back]()
        for group in groups:
            if gone.isdisjoint(group.spans):
                rest_of.append(Back(group, group.spans, group.number))
                continue
            for begin, end in group.spans:
                if (begin, end) not in gone:
                    beside = text[max(0, begin - 1) : begin], text[end : end + 1]
                    alone = Group(text[begin:end], ((begin, end),), begin, group.offset, *beside, group.number)
                    rest_of.append(Back(alone, alone.spans, group.number))
        return first, rest_of

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

    def unread(self, found: Translation) -> Translation:
        """The translation of a text without words, which is the text itself, as one word."""
        text = str(self.given[self.number])
        sources = list(found.sources)
        for number, each in enumerate(sources):
            sources[number] = each._replace(attention=np.zeros((1, len(each.words))), share=np.zeros(1))
        sources[self.number] = sources[self.number]._replace(words=[text], attention=np.ones((1, 1)), share=np.ones(1))
        spans = tuple(KeptSpan(text[slice(*span)], self.name, span, span) for span in self.spans)
        return replace(found, sources=tuple(sources), text=text, words=[text], spans=spans)

    def attached(self, found: Translation, kept: int) -> Translation:
        """A translation of what was read with the spans in it: in its text, as words of it and of its sources, which
        attend to each other. Its first `kept` characters are those of the beginning.
        """
        backs = self._placed(found, kept)
        whole = _whole(found.text, backs)
        words, numbers, rows = _merged(found.words, found.text, [(back.offset, back.group.text) for back in backs])
        replaced, sources = list(found.replaced), list[SourceAttention]()
        for number, seen in enumerate(found.sources):
            groups, read = (self.rests[number].groups, self.rests[number].text) if number in self.rests else ((), "")
            shown = seen.words or not read  # a source that only starts the decoder has no words
            inserted = [(group.offset, group.text) for group in groups] if shown else []
            names, moved, columns = _merged(seen.words, read, inserted)
            own = [(rows[place], columns.get(back.number)) for place, back in enumerate(backs) if place in rows]
            attention = _spread(_spread(seen.attention, numbers, len(words)).T, moved, len(names)).T
            share = _spread(seen.share, numbers, len(words))
            end = None if seen.end_attention is None else _spread(seen.end_attention, numbers, len(words))
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
            sentinel=None if found.sentinel is None else _spread(found.sentinel, numbers, len(words)),
            replaced=tuple(each._replace(word=numbers[each.word]) for each in replaced),
            spans=self._kept(found, backs, whole),
        )

    def _placed(self, found: Translation, kept: int) -> list[Back]:
        """The groups with their places in the translation, from left to right."""
        first, others = self._backs() or ([], [])
        seen, read = found.sources[self.number], self.source.text
        begins, ends = list(places(seen.words, read)), list(places(found.words, found.text))
        links = [(begins[source], ends[target]) for source, target in seen.alignment]
        nodes = [Node(back.group.offset, None, (str(number),)) for number, back in enumerate(others)]
        tags = Ends(read, found.text, links).written(nodes, (0, len(read)), (0, len(found.text)))
        behind = [others[int(tag.raw)]._replace(offset=max(kept, tag.offset)) for tag in tags]
        return [*(back._replace(offset=min(back.offset, kept)) for back in first), *behind]

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


def detach(
    protection: Protection, known: Protection | None, sources: Sequence[Source], given: tuple[Given, ...]
) -> Detached | None:
    """What a model that knows these spans reads of its sources. None if there is no text."""
    texts = {
        number: each
        for number, (source, each) in enumerate(zip(sources, given, strict=True))
        if isinstance(source, Language) and isinstance(each, str)
    }
    number = next((number for number, text in texts.items() if text.strip()), None)
    if number is None:
        return None
    found = Detached(protection, known, given, {}, number, sources[number].name)
    return replace(found, rests={number: rest(text, found.found(text)) for number, text in texts.items()})


def _whole(text: str, backs: Sequence[Back]) -> Whole:
    """A translation with groups in their places. No span touches a word that it does not touch in its source, but
    perhaps the punctuation behind it.
    """
    parts, found, inserted, length, done, last = list[str](), list[Span](), list[tuple[int, int]](), 0, 0, ""
    for group, _, _, offset in backs:
        part = text[done:offset]
        last = part[-1:] or last
        before = " " if _parted(last, group.before) else ""
        parted = _parted(text[offset : offset + 1], group.behind) and not _CLOSING.match(text, offset)
        behind = " " if parted else ""
        begin = length + len(part) + len(before)
        parts += [part, before, group.text, behind]
        found.append((begin, begin + len(group.text)))
        inserted.append((offset, len(before) + len(group.text) + len(behind)))
        length, done, last = begin + len(group.text) + len(behind), offset, behind or group.text[-1:]
    return Whole("".join([*parts, text[done:]]), found, inserted)


def _parted(found: str, given: str) -> bool:
    """Whether a character that stands beside a span is to be parted from it, which another stands beside in the
    source.
    """
    return bool(found) and not found.isspace() and (given.isspace() or (found.isalnum() and not given.isalnum()))


def _merged(
    words: Sequence[str], text: str, inserted: Sequence[tuple[int, str]]
) -> tuple[list[str], list[int], dict[int, int]]:
    """The words of a text, and further ones before these characters of it; the numbers among them that the words have
    now, and those of the further ones by their place. What is put into a word becomes a part of it.
    """
    found, numbers, rows, left = list[str](), list[int](), dict[int, int](), deque(enumerate(inserted))
    for word, (begin, end) in zip(words, places(words, text), strict=True):
        while left and left[0][1][0] <= begin:
            number, (_, further) = left.popleft()
            rows[number] = len(found)
            found.append(further)
        parts, done = list[str](), begin
        while left and left[0][1][0] < end:
            _, (offset, further) = left.popleft()
            parts += [word[done - begin : offset - begin], further]
            done = offset
        numbers.append(len(found))
        found.append("".join([*parts, word[done - begin :]]))
    for number, (_, further) in left:
        rows[number] = len(found)
        found.append(further)
    return found, numbers, rows


def _spread(values: NDArray[np.float64], numbers: Sequence[int], length: int) -> NDArray[np.float64]:
    """Values in the rows of these numbers among `length`, and zeros in the others."""
    found = np.zeros((length, *values.shape[1:]))
    found[list(numbers)] = values
    return found
