"""Texts in capitals, as headings and buttons have them: read in the letter case that a model knows, and translated in
capitals.
"""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from operator import attrgetter

from dragoman.data.language import Language
from dragoman.data.vocabulary import UNK
from dragoman.text.pretokenizer import PIECE, Span
from dragoman.text.protection import Protection
from dragoman.translation.sentence import LEAST_CAPITALS, Sentence, TextTransform
from dragoman.translation.transforms.tag_placement import places
from dragoman.translation.translation import Translation

RARER = math.log(4)  # by how much a letter of the text has to be less probable in capitals than as it is read instead
DOTTED = ("tr", "az")  # languages whose i has its dot in capitals, too
_WORD = re.compile(PIECE)


class Casing(TextTransform):
    """Texts in capitals of the one `source`: read in the letter case that the model knows, and translated in capitals.
    Not those whose translation has a given beginning.
    """

    applies_to = attrgetter("in_capitals")

    def __init__(self, source: Language) -> None:
        self._source = source

    def prepare(self, sentence: Sentence) -> Sentence:
        if sentence.beginning or sentence.answer is not None:
            return sentence
        text = read_capitals(self._source, str(sentence.inputs[0]), sentence.protection)
        return sentence if text is None else sentence.noted(self, inputs=(text,), prepared_inputs=(text,))

    def needs_details(self, sentence: Sentence) -> bool:
        return False

    def complete(self, translation: Translation, sentence: Sentence) -> Translation:
        return write_capitals(translation, sentence.language)


def read_capitals(language: Language, text: str, protection: Protection | None) -> str | None:
    """How a model reads a text in capitals: each of its words in lower case, with a capital first or as it is, whatever
    has the most probable symbols by their frequencies in the training corpus. Characters keep their places, and
    protected spans stay. None for a text that is not in capitals, or that the model knows about as well so: if it was
    trained on capitals, or reads lower case alone; and where no frequencies are known (of an imported run).
    """
    spans = protection.find(text) if protection else []
    words = [match.span() for match in _WORD.finditer(text) if not _overlaps(match.span(), spans)]
    letters = [character for begin, end in words for character in text[begin:end] if character.isalpha()]
    cased = sum(character.isupper() for character in letters)
    if cased < LEAST_CAPITALS or any(character.islower() for character in letters) or not language.symbol_count:
        return None
    parts, done, gain = list[str](), 0, 0.0
    for begin, end in words:
        word, first = text[begin:end], not parts
        forms = [word, _lowered(word, language.name), word[:1] + _lowered(word[1:], language.name)]
        log_probs = [_log_prob(language, form, first=first) for form in forms]
        best = max(range(len(forms)), key=lambda number: log_probs[number])
        gain += log_probs[best] - log_probs[0]
        parts += [text[done:begin], forms[best]]
        done = end
    read = "".join([*parts, text[done:]])
    return read if gain > RARER * cased and read != text else None


def write_capitals(translation: Translation, language: str) -> Translation:
    """A translation in capitals, but for the protected spans in it."""
    spans = [span.target for span in translation.spans if span.target]
    parts, done = list[str](), 0
    for begin, end in sorted(spans):
        parts += [_raised(translation.text[done:begin], language), translation.text[begin:end]]
        done = end
    text = "".join([*parts, _raised(translation.text[done:], language)])
    words = list(_as_written(translation, text, language))
    return replace(translation, text=text, words=words)


def _as_written(translation: Translation, text: str, language: str) -> Iterator[str]:
    """Yield the words of a translation as its text in capitals has them."""
    for word, (begin, end) in zip(translation.words, places(translation.words, translation.text), strict=True):
        yield text[begin:end] if begin < end else _raised(word, language)


def _overlaps(word: Span, spans: Sequence[Span]) -> bool:
    return any(begin < word[1] and word[0] < end for begin, end in spans)


def _log_prob(language: Language, word: str, *, first: bool) -> float:
    """The log-probability of a word at the beginning of a text or within it, by the frequencies of its symbols."""
    unit, normalized = language.text.tokenizer, language.text.normalize(word)
    symbols = unit.encode(normalized) if first else unit.segments(f" {normalized}")
    counts = [0 if number == UNK else language.counts[number] for number in language.vocabulary.ids(symbols)]
    return sum(math.log((count + 1) / language.symbol_count) for count in counts)


def _lowered(text: str, language: str) -> str:
    """A text in lower case, with as many characters."""
    if _dotted(language):
        text = text.replace("I", "\u0131").replace("\u0130", "i")
    return "".join(lower if len(lower := character.lower()) == 1 else character for character in text)


def _raised(text: str, language: str) -> str:
    """A text in capitals, with as many characters."""
    if _dotted(language):
        text = text.replace("i", "\u0130")
    return "".join(upper if len(upper := character.upper()) == 1 else character for character in text)


def _dotted(language: str) -> bool:
    return re.split("[-_]", language)[0].lower() in DOTTED
