"""Translations of documents that need no model."""

from collections.abc import Callable

import numpy as np

from dragoman.documents.document import Document
from dragoman.documents.document_segment import PROTECTED
from dragoman.documents.passages import split_text
from dragoman.documents.translated import TranslatedSentence, TranslatedText
from dragoman.text.protection import Protection
from dragoman.translation.attention_matrix import SourceAttention
from dragoman.translation.transforms.stripped_text import strip_spans, unknown
from dragoman.translation.transforms.tag_projection import StrippedSource
from dragoman.translation.translation import Translation

Say = Callable[[str], TranslatedText]


def same(text: str) -> TranslatedText:
    """Every line as it is, and each of its words linked to itself."""
    passage = split_text(text, "en", sentences=False)
    return TranslatedText(passage, tuple(_sentence(sentence, sentence.split(), 1) for sentence in passage.sentences))


def backwards(text: str) -> TranslatedText:
    """Every line with its words in capitals and backwards, and the links of that."""
    passage = split_text(text, "en", sentences=False)
    return TranslatedText(
        passage,
        tuple(_sentence(sentence, [w.upper() for w in sentence.split()][::-1], -1) for sentence in passage.sentences),
    )


def nothing(text: str) -> TranslatedText:
    """Every line without a translation."""
    passage = split_text(text, "en", sentences=False)
    return TranslatedText(passage, tuple(TranslatedSentence("") for _ in passage.sentences))


def replaced(translation: str, text: str) -> TranslatedText:
    """Every line with the same translation."""
    passage = split_text(text, "en", sentences=False)
    return TranslatedText(passage, tuple(TranslatedSentence(translation) for _ in passage.sentences))


def _sentence(text: str, done: list[str], order: int) -> TranslatedSentence:
    words = text.split()
    attention = np.eye(len(words))[::order].astype(np.float64)
    seen = SourceAttention("en", text, words, attention, np.ones(len(words)))
    translation = text if order == 1 else " ".join(done)
    return TranslatedSentence(translation, Translation((seen,), translation, done, -1.0, -1.0, ()))


def spoken(document: Document, say: Say = backwards) -> bytes:
    """A document with a translation of each of its lines."""
    return document.written([say(line.text) for line in document.lines])


def protected(text: str) -> TranslatedText:
    """The same backwards, but for what a service protects, which no model reads."""
    passage = split_text(text, "en", sentences=False)
    return TranslatedText(passage, tuple(_protected(detached(sentence)) for sentence in passage.sentences))


def _protected(sentence: StrippedSource) -> TranslatedSentence:
    if not sentence.worded:
        return TranslatedSentence(str(sentence.inputs[0]))
    text = sentence.source.text
    done = _sentence(text, [word.upper() for word in text.split()][::-1], -1)
    assert done.whole
    whole = sentence.attached(done.whole, 0)
    return TranslatedSentence(whole.text, whole)


def detached(
    text: str, protection: Protection | None = PROTECTED, known_spans: Protection | None = None
) -> StrippedSource:
    """A text without the spans that a service protects."""
    assert protection
    return StrippedSource(
        protection, known_spans, (text,), {0: strip_spans(text, unknown(text, protection, known_spans))}, 0, "en"
    )
