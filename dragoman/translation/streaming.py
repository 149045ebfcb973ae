"""Incremental input and output: words to symbols as they arrive, chosen symbols back to words."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from dragoman.data.language import Language
from dragoman.files import LONGEST_TEXT
from dragoman.search.streaming import EmittedSymbol
from dragoman.text.mark import Symbol
from dragoman.translation import inputs
from dragoman.translation.translation import StreamedWord


def arriving(words: Iterable[str], source: Language, mark: Sequence[Symbol]) -> Iterator[list[int]]:
    """The symbol ids that each word adds, at most LONGEST in total, with the mark before the first word. Symbols of
    earlier words never change, even if the whole text would be segmented differently.
    """
    text, known = "", 0
    for word in words:
        if known == inputs.LONGEST:
            return
        text = f"{text} {word}".strip()
        found = source.text.encode(text[:LONGEST_TEXT])
        symbols = [*(mark if found else ()), *found][: inputs.LONGEST]
        yield source.vocabulary.ids(symbols[known:])
        known = max(known, len(symbols))


def spoken(decided: Iterable[EmittedSymbol], target: Language) -> Iterator[StreamedWord]:
    """Each word as soon as the next one begins."""
    symbols, read, told = list[str](), list[int](), 0
    for each in decided:
        symbols += target.vocabulary.symbols([each.symbol])
        read.append(each.read)
        whole = _words(symbols, read, target)[:-1]
        yield from whole[told:]
        told = len(whole)
    yield from _words(symbols, read, target)[told:]


def _words(symbols: list[str], read: list[int], target: Language) -> list[StreamedWord]:
    """The words, separated by spaces, that these symbols spell."""
    surfaces = target.text.unit.surfaces(symbols)
    letters = [(letter, when) for surface, when in zip(surfaces, read, strict=True) for letter in surface]
    words = [list(word) for blank, word in groupby(letters, key=lambda each: each[0] == " ") if not blank]
    return [StreamedWord("".join(letter for letter, _ in word), word[-1][1]) for word in words]
