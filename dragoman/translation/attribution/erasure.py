"""Sources without one of their words: what a model reads when it is erased."""

from itertools import takewhile

import numpy as np

from dragoman.corpus.features import FeatureSource
from dragoman.data.language import Source
from dragoman.data.vocabulary import SPECIALS, UNK
from dragoman.text.mark import Mark, Symbol
from dragoman.translation.source_inputs import Encoded, spelled

NOTHING_KNOWN = Mark(SPECIALS[UNK])  # in no vocabulary, and no word of a text


def without_word(source: Source, read: Encoded, word: int, *, in_place: bool = False) -> Encoded:
    """What a model reads of a source without the word (or region) of this number.

    A text is shortened by the word and one space beside it, and segmented anew, as if it had been given so. The only
    word of a text, and any word where the others must stay `in_place`, becomes `<unk>` instead, each symbol of it; the
    only region becomes zeros. A source that has fewer words is as it was.
    """
    if isinstance(source, FeatureSource):
        regions = np.asarray(read)
        return np.delete(regions, word, 0) if len(regions) > 1 else np.zeros_like(regions)
    symbols = spelled(read)
    before, after = (list(takewhile(_is_mark, side)) for side in (read, reversed(read)))
    words = source.text.words(symbols)
    if word >= len(words.words):
        return read
    if in_place or len(words.words) == 1:
        symbols_with_words = zip(symbols, words.word_of, strict=True)
        kept = (NOTHING_KNOWN if place == word else symbol for symbol, place in symbols_with_words)
        return [*before, *kept, *after[::-1]]
    text, (begin, end) = source.text.decode(symbols), words.spans[word]
    head, tail = text[:begin], text[end:]
    head, tail = (head[:-1], tail) if head.endswith(" ") else (head, tail if head else tail.removeprefix(" "))
    return [*before, *source.text.encode(head + tail), *after[::-1]]


def _is_mark(symbol: Symbol) -> bool:
    return isinstance(symbol, Mark)


def without_text(source: Source, read: Encoded) -> Encoded:
    """What a model reads of one of several sources when the sentence lacks it."""
    if isinstance(source, FeatureSource):
        return np.asarray(read)[:0]
    return [symbol for symbol in read if isinstance(symbol, Mark)]
