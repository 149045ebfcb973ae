"""Model inputs: a user's sources as batches of symbols or regions, and the attention to them by words."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dragoman.corpus.features import FeatureSource, Given
from dragoman.corpus.translation_memory import Match
from dragoman.data import batch as batches
from dragoman.data.batch import SourceBatch, TokenBatch, pad_regions, pad_texts
from dragoman.data.language import Language, Source
from dragoman.data.recall import FuzzyMatch, FuzzyMatcher
from dragoman.data.surfaces import ExtendedVocabulary
from dragoman.data.vocabulary import EOS, SPECIALS
from dragoman.files.reading import LONGEST_TEXT
from dragoman.text.mark import Mark, Symbol
from dragoman.text.pipeline import WordsOf
from dragoman.text.protection import Protection
from dragoman.text.tokenizer import MARKS, SPACE
from dragoman.text.words import GLUE
from dragoman.translation.attention_matrix import SourceAttention, SymbolWeights

# The maximal number of source symbols that are read; `Translation.left_out` counts the rest. Text beyond LONGEST_TEXT
# characters is not even segmented.
LONGEST = 500

Text: TypeAlias = Given | tuple[Given, ...]  # the only source, or one item per source
Encoded: TypeAlias = list[Symbol] | NDArray[Any]  # the symbols of a text, or the regions (R, size) of an array
Weights: TypeAlias = NDArray[Any]
Words: TypeAlias = Sequence[ExtendedVocabulary] | None  # one per sentence, if a model asks for surfaces


@dataclass(frozen=True)
class ModelInputs:
    """The sources of a model. `joined`: it reads all of them as one sequence. `taught_end`: it was taught to attend to
    the end symbol from words without a counterpart. `translation_memory` fills some of the sources. `noise` hides
    symbols of a text, as in training. `spells`: it reads the characters of words outside the vocabulary.
    `protection`: it was taught marks in the place of what that finds. `competing`: its weights share a sum of 1.
    """

    sources: tuple[Source, ...]
    joined: bool = False
    taught_end: bool = False
    translation_memory: FuzzyMatcher | None = None
    noise: Callable[[list[Symbol]], list[Symbol]] | None = None
    spells: bool = False
    protection: Protection | None = None
    competing: bool = True

    @property
    def encoded_sources(self) -> tuple[Source, ...]:
        """The source of each part of what is `encoded`."""
        return self.sources

    @property
    def user_sources(self) -> tuple[Source, ...]:
        """The sources that a user gives: all that no memory fills."""
        memory = self.translation_memory
        return tuple(source for source in self.sources if not memory or source.name not in memory.answers)

    @property
    def summed(self) -> "ModelInputs":
        """The same for figures of symbols that are no weights, and always add up."""
        return replace(self, competing=True)

    def complete_inputs(self, text: Text) -> tuple[Given, ...]:
        """Return what there is for each source, given by the user or found in the memory. TypeError unless the user
        gives one text per source, or one per source that no memory fills.
        """
        # An array is one input, though it could be iterated.
        inputs = tuple(text) if isinstance(text, tuple | list) else (text,)
        if len(inputs) == len(self.sources):
            return inputs
        if not self.translation_memory or len(inputs) != len(self.user_sources):
            names = ", ".join(source.name for source in self.user_sources)
            raise TypeError(f"{len(inputs)} texts for a model of {len(self.user_sources)} sources ({names})")
        # In the order of the model, whichever sources the memory fills.
        named = dict(zip((source.name for source in self.user_sources), inputs, strict=True))
        memory = self.translation_memory
        matches = dict(zip(memory.answers, memory.texts(str(named[memory.queried_source])), strict=True))
        return tuple({**named, **matches}[source.name] for source in self.sources)

    def remembered(self, inputs: tuple[Given, ...]) -> str | None:
        """Return what the memory has as the translation of this very text."""
        if not self.translation_memory:
            return None
        names = [source.name for source in self.sources]
        return self.translation_memory.memory.exact(str(inputs[names.index(self.translation_memory.queried_source)]))

    def encoded(self, inputs: tuple[Given, ...], mark: Sequence[Mark] = ()) -> list[Encoded]:
        """Return the symbols of each source, mark first, or its regions. A blank text has none but the mark."""
        encoded_sources = [
            _encoded(source, symbols, mark) for source, symbols in zip(self.sources, inputs, strict=True)
        ]
        return [
            self.noise(symbols) if self.noise and isinstance(symbols, list) else symbols for symbols in encoded_sources
        ]

    def batch(self, encoded: Sequence[Sequence[Encoded]], words: Words = None) -> tuple[SourceBatch, ...]:
        """Return the model's input for some sentences: ids, and extended ids by the `words` of each if it asks for
        them. An empty source is masked if there are several; a lone empty source becomes `</s>`, or one region of
        zeros.
        """
        if self.joined:
            language, texts = self.sources[0], cast(Sequence[Sequence[list[Symbol]]], encoded)
            assert isinstance(language, Language)  # as all are, with one vocabulary
            # Each text is followed by an end symbol; a sentence without any is one alone.
            return (sequence([[text for text in row if text] or [[]] for row in texts], language, words, self.spells),)
        several = len(self.sources) > 1

        def read(source: Source, column: tuple[Encoded, ...]) -> SourceBatch:
            if isinstance(source, FeatureSource):
                # Attention to nothing is not a number: a lone source has one position, one of several may have none.
                blank = np.zeros((0 if several else 1, source.size))
                return pad_regions([np.asarray(regions) if len(regions) else blank for regions in column], source.size)
            texts = cast(tuple[list[Symbol], ...], column)
            return sequence([[text] if text or not several else [] for text in texts], source, words, self.spells)

        return tuple(map(read, self.sources, zip(*encoded, strict=True)))

    def seen(
        self, inputs: tuple[Given, ...], encoded: list[Encoded], target: WordsOf, weights: tuple[Weights, ...]
    ) -> tuple[tuple[SourceAttention, ...], Weights | None]:
        """Return the sources with their attention by words, from `weights` (T, S), and the attention to a sentinel,
        whose weights come last.
        """
        if self.joined:
            # Each source that is there has one more position, its end symbol.
            ends = np.cumsum([len(symbols) + 1 if len(symbols) else 0 for symbols in encoded])
            weights = (*np.split(weights[0], ends, 1)[: len(encoded)], *weights[1:])
        parts = zip(self.sources, inputs, encoded, weights, strict=False)
        attended_sources = tuple(
            self._seen(source, _name(source_input), read, target, part)._replace(match=_match(source_input))
            for source, source_input, read, part in parts
        )
        if len(weights) == len(self.sources):
            return attended_sources, None
        return attended_sources, one_column(weights[-1], target)

    def _seen(
        self, source: Source, text: str, encoded: Encoded, target: WordsOf, attention: Weights
    ) -> SourceAttention:
        if isinstance(source, FeatureSource):
            return _looked_at(source, text, attention[:, : len(encoded)], target)
        written = spelled(encoded)
        words = source.text.words(written)
        if len(encoded) or len(self.sources) == 1:
            marked = [not isinstance(symbol, str) for symbol in encoded]
            read = attention[:, : len(encoded) + 1]
            between, end = by_words(read, target, words, marked, competing=self.competing)
        else:  # this source is missing
            between, end = np.zeros((len(target.words), 0)), np.zeros(len(target.words))
        # What is left to 1 went to other sources, or to a sentinel.
        share = between.sum(1) + end
        by_symbol = None
        if len(encoded) or len(self.sources) == 1:
            names = [*map(symbol_name, encoded), SPECIALS[EOS]]
            by_symbol = SymbolWeights(names, np.array(read))
        taught = end if self.taught_end else None
        seen = SourceAttention(source.name, text, words.words, between, share, taught, by_symbol=by_symbol)
        return seen if self.competing else seen.bounded

    def nothing(self, inputs: tuple[Given, ...]) -> tuple[SourceAttention, ...]:
        """Return the sources of an empty translation."""
        nothing, none = np.zeros((0, 0)), np.zeros(0)
        return tuple(
            SourceAttention(
                source.name,
                _name(source_input),
                [],
                nothing,
                none,
                regions=isinstance(source, FeatureSource),
                match=_match(source_input),
            )
            for source, source_input in zip(self.sources, inputs, strict=True)
        )


def spelled(encoded: Encoded) -> list[str]:
    """Return the symbols that are text, without marks."""
    return [symbol for symbol in encoded if isinstance(symbol, str)]


def has_text(encoded: Sequence[Encoded]) -> bool:
    """Return whether any source has a symbol of text, and not marks of protected spans and what is between them
    alone.
    """
    return any(
        isinstance(symbols, list) and set(spelled(symbols)).difference(MARKS, (SPACE, GLUE)) for symbols in encoded
    )


def cut(encoded: Sequence[Encoded], longest: int | None) -> list[Encoded]:
    """Return the same sources, each text cut to at most `longest` symbols."""
    return [symbols[:longest] if isinstance(symbols, list) else symbols for symbols in encoded]


def length(encoded: list[Encoded]) -> int:
    """Return the number of symbols of the longest text."""
    return max((len(symbols) for symbols in encoded if isinstance(symbols, list)), default=1)


def left_out(inputs: tuple[Given, ...], encoded: Iterable[tuple[Source, Encoded]]) -> int:
    """Return how many symbols are not read because a text has more than LONGEST; beyond LONGEST_TEXT, each character
    counts as one. A source that several models read counts once.
    """
    beyond = sum(max(0, len(source_input) - LONGEST_TEXT) for source_input in inputs if isinstance(source_input, str))
    excess = dict[str, int]()
    for source, symbols in encoded:
        if isinstance(symbols, list):
            # Members of an ensemble may segment it differently: the most that any of them misses.
            excess[source.name] = max(excess.get(source.name, 0), len(symbols) - LONGEST)
    return beyond + sum(excess.values())


def _encoded(source: Source, source_input: Given, mark: Sequence[Mark]) -> Encoded:
    if isinstance(source, FeatureSource):
        return source.read(source_input)
    if not isinstance(source_input, str):
        raise TypeError(f"{source.name}: expected a text, found {type(source_input).__name__}")
    # Time and memory of segmenting grow with the text, of which a model reads LONGEST symbols anyway.
    text = source_input[:LONGEST_TEXT]
    return [*mark, *(source.text.framed(source.text.encode(text)) if source.text.normalize(text).strip() else [])]


def sequence(rows: Sequence[Sequence[list[Symbol]]], language: Language, words: Words, spells: bool) -> TokenBatch:
    """Return rows of texts as ids of the vocabulary, with extended ids by the `words` of each row if a model asks for
    them. If it `spells`, with the characters of unknown words.
    """
    padded = pad_texts(rows, repeat(language.vocabulary))
    extended = None if words is None else pad_texts(rows, words).ids
    return padded._replace(extended=extended, spelled=batches.spelled(rows, language) if spells else None)


def symbol_name(symbol: Symbol) -> str:
    """Return a symbol as results show it."""
    return f"<span{1 + MARKS.index(symbol)}>" if symbol in MARKS else str(symbol)


def _name(source_input: Given) -> str:
    """Return a text, or the name of the file that an array comes from."""
    return "" if isinstance(source_input, np.ndarray) else str(source_input)


def _match(source_input: Given) -> Match | None:
    """Return what the memory found, if this is a text from it."""
    return source_input.match if isinstance(source_input, FuzzyMatch) else None


def one_column(attention: Weights, target: WordsOf) -> Weights:
    """Return the attention (T, 1) to a single position by target words: (target words,)."""
    by_word: Weights = sum_by_words(attention, target.word_of, [0], (len(target.words), 1))[:, 0]
    return by_word


def _looked_at(source: FeatureSource, text: str, attention: Weights, target: WordsOf) -> SourceAttention:
    """Return an array with the attention (T, R) to its regions."""
    count = attention.shape[1]
    between = sum_by_words(attention, target.word_of, list(range(count)), (len(target.words), count))
    regions = [str(number) for number in range(1, count + 1)]
    return SourceAttention(source.name, text, regions, between, between.sum(1), regions=True)


def by_words(
    attention: ArrayLike, target: WordsOf, source: WordsOf, marked: Sequence[bool], *, competing: bool = True
) -> tuple[Weights, Weights]:
    """Return attention between symbols (T, S + 1), the source's end symbol last, as attention between words (target
    words, source words), and as attention to what is no word, the end and symbols (S,) that are `marked`: (target
    words,).

    Weights that are not `competing`, of which each may be 1 (`linear_chain`), are a mean over the symbols of a source
    word rather than a sum, which would grow with its length.
    """
    end = len(source.words)  # as if it were a word
    words = iter(source.word_of)
    word_of = [*(end if mark else next(words) for mark in marked), end]
    weights = sum_by_words(attention, target.word_of, word_of, (len(target.words), end + 1))
    if not competing:
        weights /= np.maximum(np.bincount(word_of, minlength=end + 1), 1)
    return weights[:, :end], weights[:, end]


def sum_by_words(
    attention: ArrayLike,
    target_word_of: Sequence[int],
    source_word_of: Sequence[int],
    words: tuple[int, int] | None = None,
) -> Weights:
    """Convert attention between symbols (T, S) to attention between words (target words, source words).

    The weight of a source word is the sum over its symbols; the row of a target word is the mean over its symbols. The
    two lists give the word of every symbol, or -1 for none (the end symbol), whose row or column is left out. `words`
    is the number of words on each side (target, source), by default as many as occur in the lists; a word without a
    symbol has zeros. Raises ValueError if a list does not fit the array.
    """
    # Sums of many small weights, compared and written with decimals.
    weights = np.asarray(attention, dtype=np.float64)
    if weights.shape != (len(target_word_of), len(source_word_of)):
        raise ValueError(f"attention is {weights.shape}, the symbols are {(len(target_word_of), len(source_word_of))}")
    to_target = _membership(target_word_of, words[0] if words else None)  # (Tw, T)
    to_source = _membership(source_word_of, words[1] if words else None)  # (Sw, S)
    symbols = np.maximum(to_target.sum(axis=1, keepdims=True), 1.0)
    by_word: Weights = to_target @ weights @ to_source.T / symbols  # (Tw, Sw)
    return by_word


def _membership(word_of: Sequence[int], words: int | None) -> Weights:
    """Return a matrix (words, symbols) that is 1 where the symbol belongs to the word."""
    numbers = np.asarray(word_of, dtype=np.int64)
    count = int(numbers.max(initial=-1)) + 1 if words is None else words
    belongs: Weights = (np.arange(count)[:, None] == numbers[None, :]).astype(np.float64)
    return belongs
