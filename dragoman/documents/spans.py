"""Protected spans of texts for models that have not learnt marks for them: they are taken out, and put back in the
place that attention says.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from dragoman.documents.line import Line
from dragoman.documents.passages import Passage
from dragoman.documents.placing import Placed, placed
from dragoman.documents.translated import Sentence, Translated
from dragoman.text.protection import Protection
from dragoman.translation.translation import Translation

WITHIN = ("placeholders", "urls", "emails")  # what is protected in documents, and by a service
AROUND = ("()", "[]", '""', "''", "“”", "‘’", "«»", "„“")
PROTECTED = Protection.named(WITHIN)


class Span(NamedTuple):
    """A span that was taken out, and the characters before and behind it."""

    text: str
    before: str
    behind: str


class Stripped:
    """A sentence without its protected spans: its `text` is what a model translates. Spans that are `known` to the
    model, which has learnt marks for them, stay.
    """

    def __init__(self, sentence: str, protection: Protection | None, known: Protection | None = None) -> None:
        staying = set(known.find(sentence)) if known else set()
        found = [place for place in (protection.find(sentence) if protection else ()) if place not in staying]
        places = list(_joined(sentence, found))
        self.spans = [Span(sentence[begin:end], sentence[:begin][-1:], sentence[end:][:1]) for begin, end in places]
        line, last = Line(), 0
        for number, (begin, end) in enumerate(places):
            line.say(sentence[last:begin])
            line.mark(str(number))
            last = end
        line.say(sentence[last:])
        self.text = line.text.strip() if self.spans else sentence
        lead = len(line.text) - len(line.text.lstrip())
        self._marks = [
            mark._replace(raw=mark.raw.strip(), offset=min(max(0, mark.offset - lead), len(self.text)))
            for mark in line.marks
        ]

    @property
    def worded(self) -> bool:
        """Whether there is anything to translate: a letter or a digit."""
        return any(map(str.isalnum, self.text))

    def sentence(self, translation: Translation, number: int = 0) -> Sentence:
        """The translation with the spans in it. The sentence is the source of this number."""
        others = tuple(self._together(each, number) for each in translation.alternatives)
        return Sentence(self._together(translation, number), translation, others=others)

    def _together(self, translation: Translation, number: int) -> str:
        text = translation.text
        if not self.spans:
            return text
        if not text.strip():  # the model has nothing to say of the words, and spans are not lost with them
            return " ".join(span.text for span in self.spans)
        seen = replace(translation, sources=translation.sources[number:])
        whole = Translated(Passage((self.text,), ("", "")), (Sentence(text, seen),))
        return "".join(self._pieces(text, placed(self._marks, self.text, whole)))

    def _pieces(self, text: str, places: Sequence[Placed]) -> Iterator[str]:
        """Yield the parts of a translation and the spans, none of which touches a word that it does not touch in the
        sentence.
        """
        end, last = 0, ""
        for tag in places:
            span = self.spans[int(tag.raw)]
            part = text[end : tag.offset]
            last = part[-1:] or last
            yield part
            yield " " if _parted(last, span.before) else ""
            yield span.text
            end, last = tag.offset, span.text[-1:]
            following = text[end : end + 1]
            if _parted(following, span.behind):
                yield " "
                last = " "
        yield text[end:]


def _joined(sentence: str, places: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield spans with the brackets or quotation marks around them; those with neither words nor space between them are
    one.
    """
    last: tuple[int, int] | None = None
    for begin, end in places:
        if last and not any(each.isalnum() or each.isspace() for each in sentence[last[1] : begin]):
            begin = last[0]
        elif last:
            yield last
        while sentence[max(0, begin - 1) : begin] + sentence[end : end + 1] in AROUND:
            begin, end = begin - 1, end + 1
        last = begin, end
    yield from [last] if last else []


def _parted(found: str, given: str) -> bool:
    """Whether a character that stands beside a span is to be parted from it, which another stands beside in the
    sentence.
    """
    return bool(found) and not found.isspace() and (given.isspace() or (found.isalnum() and not given.isalnum()))
