"""Translations that a model remembers, up to a number of bytes."""

import sys
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import replace

from dragoman.translation.translation import Translation

# Bytes, as measured with 64-bit CPython:
ENTRY = 500  # of an entry beside its translation and the texts of its key
OBJECT = 500  # of a translation, a source or a span with its empty lists and small numbers
ARRAY = 120  # of an array beside its values
NAME = 60  # of a word or symbol in a list, beside its characters
STEP = 250  # of a step with the name of its symbol and its probabilities
STATISTICS, STATISTIC = 180, 24  # bytes of the statistics of a step, and of each


class TranslationCache:
    """The translations that were used last, by what was asked. `bytes` is an estimate of what they occupy."""

    def __init__(self, most: int) -> None:
        self.bytes = self.hits = self.misses = 0
        self._most = most
        self._entries: OrderedDict[Hashable, tuple[Translation, int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, *keys: Hashable) -> Translation | None:
        """The translation of the first of these that is there."""
        for key in keys:
            if key in self._entries:
                self.hits += 1
                self._entries.move_to_end(key)
                return self._entries[key][0]
        self.misses += 1
        return None

    def put(self, key: Hashable, translation: Translation) -> None:
        """Keep a translation, in the place of those that were not used for longest. One that is larger than all may be
        is not kept.
        """
        if key in self._entries:
            return
        translation = without_model(translation)
        size = ENTRY + estimate_size(translation)
        if size > self._most:
            return
        self._entries[key] = translation, size
        self.bytes += size
        while self.bytes > self._most:
            _, (_, last) = self._entries.popitem(last=False)
            self.bytes -= last


def without_model(translation: Translation) -> Translation:
    """The same without what `explain` needs, which is larger than all else."""
    alternatives = tuple(map(without_model, translation.alternatives))
    return replace(translation, alternatives=alternatives, explainer=None)


def estimate_size(translation: Translation) -> int:
    """About how many bytes a translation occupies, with the texts of its key, in a time that does not depend on its
    length: the bytes of arrays, and constants for objects, whose texts are as long as the whole text.
    """
    texts = [translation.text, *(source.text for source in translation.sources)]
    size = OBJECT + 2 * sum(map(sys.getsizeof, texts))
    statistics = len(translation.steps[0].statistics) if translation.steps else 0
    size += len(translation.steps) * (STEP + (STATISTICS + STATISTIC * statistics if statistics else 0))
    size += NAME * (len(translation.words) + len(translation.output_symbols))
    size += OBJECT * sum(map(len, (translation.replaced, translation.spans, translation.terms)))
    for source in translation.sources:
        weights = source.by_symbol
        size += OBJECT + NAME * (len(source.words) + (len(weights.symbols) if weights else 0))
        arrays = (source.attention, source.share, source.end_attention, weights and weights.weights)
        size += sum(ARRAY + array.nbytes for array in arrays if array is not None)
    size += 0 if translation.sentinel is None else ARRAY + translation.sentinel.nbytes
    return size + sum(map(estimate_size, translation.alternatives))
