"""Incremental input and output: words to symbols as they arrive, chosen symbols back to words."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dragoman.configuration import arguments
from dragoman.data.language import Language
from dragoman.data.vocabulary import UNK
from dragoman.files.reading import LONGEST_TEXT
from dragoman.search.streaming import EmittedSymbol
from dragoman.text.mark import Symbol
from dragoman.text.pipeline import WordsOf
from dragoman.translation import source_inputs
from dragoman.translation.translation import StreamedWord

# What words of these numbers become, by the attention (T, S + 1) to the source so far and its end.
Replace: TypeAlias = Callable[[list[int], WordsOf, NDArray[np.float64]], Mapping[int, str]]


class ArrivingText:
    """The symbol ids that each word adds, at most LONGEST in total, with the mark before the first word. Symbols of
    earlier words never change, even if the whole text would be segmented differently. `symbols` are those that have
    arrived.
    """

    def __init__(self, words: Iterable[str], source: Language, mark: Sequence[Symbol]) -> None:
        self.symbols: list[Symbol] = []
        self._words = words
        self._source = source
        self._mark = mark

    def __iter__(self) -> Iterator[list[int]]:
        text, symbol_count = "", 0
        for word in self._words:
            arguments.checked(word, "words", str)
            if symbol_count == source_inputs.LONGEST:
                return
            text = f"{text} {word}".strip()
            symbols = self._source.text.encode(text[:LONGEST_TEXT])
            before = (*self._mark, *self._source.text.prefix) if symbols else ()
            arrived = [*before, *symbols][: source_inputs.LONGEST]
            self.symbols += arrived[symbol_count:]
            yield self._source.vocabulary.ids(arrived[symbol_count:])
            symbol_count = max(symbol_count, len(arrived))


def spoken(
    decided: Iterable[EmittedSymbol], target: Language, source: ArrivingText, replace: Replace
) -> Iterator[StreamedWord]:
    """Each word as soon as the next one begins."""
    emitted, whole = list[EmittedSymbol](), list[StreamedWord]()
    for symbol in decided:
        emitted.append(symbol)
        yielded, whole = len(whole), _words(emitted, target, source, replace)[:-1]
        yield from whole[yielded:]
    yield from _words(emitted, target, source, replace)[len(whole) :]


def _words(
    emitted: list[EmittedSymbol], target: Language, source: ArrivingText, replace: Replace
) -> list[StreamedWord]:
    """The words, separated by spaces, that these symbols spell. What takes the place of a word is not separated."""
    symbols = target.vocabulary.symbols([step.symbol for step in emitted])
    surfaces = target.text.tokenizer.surfaces(symbols)
    letters = [(letter, step.read) for surface, step in zip(surfaces, emitted, strict=True) for letter in surface]
    if any(step.symbol == UNK for step in emitted):
        words = target.text.words(symbols)
        unknown = {word for step, word in zip(emitted, words.word_of, strict=True) if step.symbol == UNK}
        replacements = replace(sorted(unknown), words, _attention(emitted, len(source.symbols)))
        for word in sorted(replacements, reverse=True):
            begin, end = words.spans[word]
            letters[begin:end] = [(replacements[word], letters[end - 1][1])]
    groups = [list(word) for blank, word in groupby(letters, key=lambda entry: entry[0] == " ") if not blank]
    return [StreamedWord("".join(letter for letter, _ in word), word[-1][1]) for word in groups]


def _attention(emitted: Sequence[EmittedSymbol], symbols: int) -> NDArray[np.float64]:
    """The attention of each step to the symbols that had arrived, with 0 for those that had not, and for the end."""
    attention = np.zeros((len(emitted), symbols + 1))
    for row, step in zip(attention, emitted, strict=True):
        row[: len(step.attention)] = step.attention
    return attention
