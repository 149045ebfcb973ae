"""Characters and their numbers, by which parts of a model read and spell words."""

from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import final

import numpy as np
import torch
from jaxtyping import Int64
from torch import Tensor

from dragoman.data.vocabulary import BOS, EOS, PAD, UNK, SymbolTable
from dragoman.text.mark import Symbol

LONGEST_WORD = 50  # characters of a word, its end included, that are read or spelled; the rest does not exist


@final
class Alphabet:
    """The characters of one side's words, numbered like symbols: specials and marks first, which no text spells, then
    the characters.

    A word is the numbers of its characters between BOS and EOS; unknown characters are UNK. Of a word with LONGEST_WORD
    characters or more, the first LONGEST_WORD are read, without EOS. A special or mark is its own number alone, and
    `<pad>` nothing.
    """

    def __init__(self, characters: Sequence[str], first: int) -> None:
        self.first = first
        self.characters = tuple(characters)
        self._numbers = {character: number for number, character in enumerate(characters, start=first)}

    @classmethod
    def of(cls, symbols: SymbolTable) -> "Alphabet":
        return cls(symbols.characters, symbols.first)

    def __len__(self) -> int:
        return self.first + len(self.characters)

    def number(self, character: str) -> int:
        """Return the number of a character; UNK if it is unknown."""
        return self._numbers.get(character, UNK)

    def numbers(self, word: Symbol) -> list[int]:
        """Return the numbers of a word; those of the unknown word for a mark."""
        if not isinstance(word, str):
            return [UNK]
        # Cut after the end: a longest word has none, and is told apart from one that ends there.
        return [BOS, *[*map(self.number, word[:LONGEST_WORD]), EOS][:LONGEST_WORD]]

    def word(self, numbers: Iterable[int]) -> str:
        """Return the word that these numbers spell up to its end, without what is no character."""
        spelled = takewhile(lambda number: number != EOS, numbers)
        return "".join(self.characters[number - self.first] for number in spelled if number >= self.first)

    def words(self, words: Sequence[Symbol]) -> Int64[Tensor, "W L"]:
        """Return words as rows, padded to the length of the longest."""
        return _stack([self.numbers(word) for word in words])

    def vocabulary(self, symbols: SymbolTable) -> Int64[Tensor, "V L"]:
        """Return all symbols of a table as rows."""
        own = [[number] if number != PAD else [] for number in range(min(self.first, len(symbols)))]
        return _stack([*own, *map(self.numbers, symbols.spellings[self.first :])])


def _stack(rows: Sequence[list[int]]) -> Int64[Tensor, "_ _"]:
    matrix = np.full((len(rows), max(map(len, rows), default=0)), PAD, np.int64)
    for row, numbers in zip(matrix, rows, strict=True):
        row[: len(numbers)] = numbers
    return torch.from_numpy(matrix)
