"""Out-of-vocabulary words: their spellings in a store, and their ids within an example."""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple, TypeAlias, final

import numpy as np
import numpy.typing as npt

from dragoman.data.vocabulary import UNK, Vocabulary
from dragoman.text.mark import Symbol

BETWEEN = "\n"  # separates the words of a row; no normalized text contains it


class UnknownWordNeeds(NamedTuple):
    """What a model asks for of words outside its vocabularies: numbers of those that it may copy from the sources
    (`extended`), and the characters of source words and of target words.
    """

    extended: bool = False
    sources: bool = False
    target: bool = False


NOTHING = UnknownWordNeeds()


def join_words(words: Iterable[Symbol]) -> str:
    """Return words as they are kept in a store."""
    return BETWEEN.join(map(str, words))


def split_words(row: npt.NDArray[np.integer]) -> list[str]:
    """Return the words in the UTF-8 bytes of a `join_words` text. UnicodeDecodeError if these are not UTF-8."""
    text = row.tobytes().decode()
    return text.split(BETWEEN) if text else []


@final
class ExtendedVocabulary:
    """The target vocabulary and, numbered from its size on, the symbols of an example's sources that are not in it, in
    order of first occurrence (with several sources, those of the first source come first). Marks, which are no text,
    are not numbered.

    The numbers depend only on the target vocabulary and the source symbols, so all readers of the same example agree
    on them.
    """

    def __init__(self, vocabulary: Vocabulary, sources: Iterable[Sequence[Symbol]]) -> None:
        self._vocabulary = vocabulary
        unknown = vocabulary.unknown(chain.from_iterable(sources))
        self._own = list(dict.fromkeys(symbol for symbol in unknown if isinstance(symbol, str)))
        self._ids: dict[Symbol, int] = {
            symbol: number for number, symbol in enumerate(self._own, start=len(vocabulary))
        }

    @property
    def own(self) -> list[str]:
        """The symbols from the vocabulary's size on."""
        return list(self._own)

    def ids(self, symbols: Sequence[Symbol]) -> list[int]:
        """Return the number of each symbol; UNK for those that are neither in the vocabulary nor in the sources."""
        numbers = self._vocabulary.ids(symbols)
        # The usual sentence has no unknown word.
        if not self._ids:
            return numbers
        return [self._ids.get(symbol, number) for symbol, number in zip(symbols, numbers, strict=True)]

    def marked(self, ids: Sequence[int]) -> list[Symbol]:
        """Return the symbol of each number, marks as `Mark`; `<unk>` for a number of another example."""
        size = len(self._vocabulary)
        symbols = self._vocabulary.marked([number if number < size else UNK for number in ids])
        own = dict(enumerate(self._own, start=size))
        return [own.get(number, symbol) for number, symbol in zip(ids, symbols, strict=True)]


Numbering: TypeAlias = Vocabulary | ExtendedVocabulary  # maps symbols to numbers
