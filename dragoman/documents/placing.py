"""Tags of a text in its translation: where the words are that their words became, by attention."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from dragoman.documents.translated import TranslatedSentence, TranslatedText
from dragoman.text.pretokenizer import Span
from dragoman.translation.transforms.tag_placement import Ends, Node, Placed, places, shared

_LETTER = re.compile(r"\w")
LEAST = 0.1  # of the attention of a word, to link a word that none is linked to


class Tag(NamedTuple):
    """A tag as it is written, before this character of a text; its kind: open, close or empty; its name."""

    raw: str
    offset: int
    kind: str
    name: str


def place_tags(marks: Sequence[Tag], text: str, translated: TranslatedText) -> list[Placed]:
    """The tags of a text in its translation, from left to right. Every tag comes through once, and elements are nested
    as they were. An element is around the words that its words are linked to; without links, in proportion.
    """
    links, weak = list(_links(translated, _within)), list(_links(translated, _weak_links))
    ends = Ends(text, translated.text, links, weak)
    return list(ends.written(_tree(marks, len(text)), (0, len(text)), (0, len(translated.text))))


def _tree(marks: Sequence[Tag], length: int) -> list[Node]:
    """The elements of a text. A tag without its other half stands alone."""
    closing = pair_tags(marks)
    closed = set(closing.values())
    stack = [Node(0, length, ())]
    for number, mark in enumerate(marks):
        if number in closed:
            stack.pop()
        elif number in closing:
            close = marks[closing[number]]
            node = Node(mark.offset, close.offset, (mark.raw, close.raw))
            stack[-1].within.append(node)
            stack.append(node)
        else:
            stack[-1].within.append(Node(mark.offset, None, (mark.raw,)))
    return stack[0].within


def pair_tags(marks: Sequence[Tag]) -> dict[int, int]:
    """Which tag closes which, by their numbers."""
    closing, stack, names = dict[int, int](), list[int](), Counter[str]()
    for number, mark in enumerate(marks):
        if mark.kind == "open":
            stack.append(number)
            names[mark.name] += 1
        elif mark.kind == "close" and names[mark.name]:
            while marks[stack[-1]].name != mark.name:
                names[marks[stack.pop()].name] -= 1
            closing[stack.pop()] = number
            names[mark.name] -= 1
    return closing


def _links(
    translated: TranslatedText, links_of: Callable[[str, TranslatedSentence], Iterator[tuple[Span, Span]]]
) -> Iterator[tuple[Span, Span]]:
    """Yield linked words of a text and its translation, by their places, from those of each of its sentences."""
    source, target = len(translated.passage.between[0]), len(translated.passage.between[0])
    after = translated.passage.after([done.text for done in translated.sentences])
    yield from _same(translated.passage.between[0], 0, 0)
    for source_sentence, done, space, translated_space in zip(
        translated.passage.sentences, translated.sentences, translated.passage.between[1:], after, strict=True
    ):
        for (a, b), (c, d) in links_of(source_sentence, done):
            yield (source + a, source + b), (target + c, target + d)
        source, target = source + len(source_sentence), target + len(done.text)
        yield from _same(space, source, target)
        source, target = source + len(space), target + len(translated_space)


def _same(between: str, source: int, target: int) -> Iterator[tuple[Span, Span]]:
    """Yield what stays beside sentences, such as the number of an item, as a word that is linked to itself."""
    item = between.strip()
    if item:
        begin = between.index(item)
        end = begin + len(item)
        yield (source + begin, source + end), (target + begin, target + end)


def _within(sentence: str, done: TranslatedSentence) -> Iterator[tuple[Span, Span]]:
    """Yield linked words of a sentence and its translation; by way of another one, words that are linked with the same
    characters of that. A punctuation mark says no word, whatever it attends to.
    """
    if done.whole is None or not done.whole.sources:
        return
    seen, read = done.whole.sources[0], sentence if done.read is None else done.read.text
    begins, ends = list(places(seen.words, read)), list(places(done.whole.words, done.text))
    links = [
        (begins[first], ends[second])
        for first, second in seen.alignment
        if _LETTER.search(done.whole.words[second]) or not _LETTER.search(seen.words[first])
    ]
    if done.read is None:
        yield from links
        return
    for word, middle in _within(sentence, done.read):
        yield from ((word, there) for here, there in links if shared(here, middle) > 0)


def _weak_links(sentence: str, done: TranslatedSentence) -> Iterator[tuple[Span, Span]]:
    """Yield words of a sentence that no word of its translation is linked to, and what attends to each most there."""
    if done.whole is None or not done.whole.sources or done.read is not None:
        return
    seen = done.whole.sources[0]
    if not seen.attention.size:
        return
    begins, ends = list(places(seen.words, sentence)), list(places(done.whole.words, done.text))
    linked = {first for first, _ in seen.alignment}
    for word, target in enumerate(seen.attention.argmax(0).tolist()):
        if word not in linked and word < len(begins) and seen.attention[target, word] >= LEAST:
            yield begins[word], ends[target]
