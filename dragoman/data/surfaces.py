"""Words that a vocabulary does not have: how a store spells them, and their numbers in the sentences of an example."""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import TypeAlias, final

import numpy as np
import numpy.typing as npt

from dragoman.data.vocabulary import UNK, Vocabulary
from dragoman.text.mark import Symbol

BETWEEN = "\n"  # words of a row; no normalised text has it


def joined(words: Iterable[Symbol]) -> str:
    """Words as a store keeps them."""
    return BETWEEN.join(map(str, words))


def separated(row: npt.NDArray[np.integer]) -> list[str]:
    """The words in the UTF-8 of what `joined` gave. UnicodeDecodeError where it is none."""
    text = row.tobytes().decode()
    return text.split(BETWEEN) if text else []


@final
class ExtendedVocabulary:
    """The vocabulary of the target and, numbered from its size on, the symbols of an example's sources that it does not
    have, in the order in which they first occur (of several sources, those of the first come first).

    The numbers follow from the target's vocabulary and the symbols of the sources alone, so that all who read the same
    example agree on them.
    """

    def __init__(self, vocabulary: Vocabulary, sources: Iterable[Sequence[Symbol]]) -> None:
        self._vocabulary = vocabulary
        self._own = list(dict.fromkeys(vocabulary.unknown(chain.from_iterable(sources))))
        self._ids = {symbol: number for number, symbol in enumerate(self._own, start=len(vocabulary))}

    def ids(self, symbols: Sequence[Symbol]) -> list[int]:
        """The number of each symbol; UNK for those that are neither in the vocabulary nor in the sources."""
        known = self._vocabulary.ids(symbols)
        if not self._ids:
            return known
        return [self._ids.get(symbol, number) for symbol, number in zip(symbols, known, strict=True)]

    def marked(self, ids: Sequence[int]) -> list[Symbol]:
        """The symbol of each number, marks as what they are; `<unk>` for one that is another example's."""
        size = len(self._vocabulary)
        known = self._vocabulary.marked([number if number < size else UNK for number in ids])
        own = dict(enumerate(self._own, start=size))
        return [own.get(number, symbol) for number, symbol in zip(ids, known, strict=True)]


Numbering: TypeAlias = Vocabulary | ExtendedVocabulary  # whatever numbers symbols
