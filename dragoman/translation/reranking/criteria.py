"""Criteria: figures of whole translations, by which several of a sentence are ranked (Och 2003: feature functions)."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import NamedTuple, TypeAlias, final

import numpy as np

from dragoman.corpus.features import Given
from dragoman.search.ranking import LEAST
from dragoman.translation.attention_matrix import SourceAttention
from dragoman.translation.reranking.nbest_lists import Lists
from dragoman.translation.translation import Scored, Translation

LOWEST = -1e5  # in place of log 0
PLACES = 4  # decimals: the last digits of log P depend on the batch, and what ranks translations must not
MODEL, LENGTH_MODEL, REVERSE = "model", "length_model", "reverse"

Scorer: TypeAlias = Callable[[Sequence[tuple[Given, ...]], Sequence[str]], Sequence[Scored]]  # of sources and targets


class Candidates(NamedTuple):
    """Different translations of a sentence, what is given for each of its sources, and its number, from 0."""

    number: int
    inputs: tuple[Given, ...]
    translations: Sequence[Translation]


class Figure(NamedTuple):
    """A criterion of one translation; `value / length^alpha` is what counts, and `least` where the value is lower."""

    value: float
    length: int = 1
    least: float = LOWEST

    def normalized(self, alpha: float) -> float:
        return round(max(self.least, self.value) / math.pow(self.length, alpha), PLACES) + 0.0  # 0.0, never -0.0


class Criterion(ABC):
    """A criterion of translations; more is better, unless its weight says otherwise."""

    name: str

    @abstractmethod
    def figures(self, sentences: Sequence[Candidates]) -> list[list[Figure]]:
        """The figure of each translation of each sentence."""


class Own(Criterion, ABC):
    """A criterion that a translation and its source tell by themselves."""

    def figures(self, sentences: Sequence[Candidates]) -> list[list[Figure]]:
        return [[self.of(translation) for translation in candidates.translations] for candidates in sentences]

    @abstractmethod
    def of(self, translation: Translation) -> Figure:
        """The figure of a translation."""


@final
class Model(Own):
    """`log P(y | x) / |y|^alpha`, as beam search with `normalization: length` ranks: |y| counts the end symbol."""

    name = MODEL

    def of(self, translation: Translation) -> Figure:
        return Figure(translation.log_prob, max(1, len(translation.steps)))


@final
class Length(Own):
    """The number of symbols, the end symbol counted: a reward for each, or with a negative weight a price."""

    name = "length"

    def of(self, translation: Translation) -> Figure:
        return Figure(len(translation.steps))


@final
class Coverage(Own):
    """`sum_j log min(sum_t alpha_tj, 1)` over the words of all texts, where alpha_tj is the attention of target word t
    to source word j (Wu et al. 2016).
    """

    name = "coverage"

    def of(self, translation: Translation) -> Figure:
        texts = [source for source in translation.sources if not source.regions]
        return Figure(sum(map(_covered, texts)))


def _covered(source: SourceAttention) -> float:
    attended = np.nan_to_num(source.attention).sum(0).clip(LEAST, 1.0)
    return float(np.log(attended).sum())


@final
class LengthModel(Own):
    """`- (|y| - c |x|)^2 / (2 s^2 |x|)`, log P of the number of characters under Gale and Church (1993) but for terms
    that a sentence's translations share. `ratio` is c, `variance` s^2; x is the first text.
    """

    name = LENGTH_MODEL

    def __init__(self, ratio: float, variance: float) -> None:
        self.ratio = ratio
        self.variance = variance

    def of(self, translation: Translation) -> Figure:
        text = next((text_source.text for text_source in translation.sources if not text_source.regions), "")
        source = max(1, len(text))
        return Figure(-((len(translation.text) - self.ratio * source) ** 2) / (2 * self.variance * source))

    @classmethod
    def fitted(cls, pairs: Sequence[tuple[str, str]]) -> "LengthModel":
        """c and s^2 of given pairs: all characters of one side by those of the other, and the mean of the squared
        difference for each character of the source.
        """
        ratio = sum(len(target) for _, target in pairs) / max(1, sum(len(source) for source, _ in pairs))
        squares = [(len(target) - ratio * len(source)) ** 2 / max(1, len(source)) for source, target in pairs]
        return cls(round(ratio, 6), max(1e-6, round(sum(squares) / max(1, len(pairs)), 6)))


@final
class OtherRun(Criterion):
    """`log P'(y | x) / |y|^alpha` under another run, that reads the same sources; |y| is in the symbols of that run."""

    def __init__(self, name: str, score: Scorer) -> None:
        self.name = name
        self._score = score

    def figures(self, sentences: Sequence[Candidates]) -> list[list[Figure]]:
        sources = [candidates.inputs for candidates in sentences for _ in candidates.translations]
        texts = [translation.text for candidates in sentences for translation in candidates.translations]
        return _grouped(self._score(sources, texts), sentences)


@final
class Reverse(Criterion):
    """`log P(x | y)` under a run that translates back. It is not divided by a length: x is the same for all y."""

    name = REVERSE

    def __init__(self, score: Scorer) -> None:
        self._score = score

    def figures(self, sentences: Sequence[Candidates]) -> list[list[Figure]]:
        texts: list[tuple[Given, ...]] = [(one.text,) for item in sentences for one in item.translations]
        sources = [_text(item.inputs) for item in sentences for _ in item.translations]
        return [
            [item._replace(length=1) for item in figures_of_sentence]
            for figures_of_sentence in _grouped(self._score(texts, sources), sentences)
        ]


def _text(sources: tuple[Given, ...]) -> str:
    (text,) = sources
    assert isinstance(text, str)
    return text


def _grouped(scored: Sequence[Scored], sentences: Sequence[Candidates]) -> list[list[Figure]]:
    """The scores of all translations of all sentences, by sentence."""
    ungrouped = (Figure(item.log_prob, item.symbols) for item in scored)
    return [list(islice(ungrouped, len(item.translations))) for item in sentences]


@final
class ListedScore(Criterion):
    """A criterion that a user gives: a figure for every translation in an n-best list."""

    def __init__(self, name: str, lists: Lists) -> None:
        self.name = name
        self._lists = lists

    def figures(self, sentences: Sequence[Candidates]) -> list[list[Figure]]:
        return [
            [self._of(candidates.number, translation) for translation in candidates.translations]
            for candidates in sentences
        ]

    def _of(self, number: int, translation: Translation) -> Figure:
        return Figure(self._lists.of(number, translation.text, self.name), least=-math.inf)


def figures(criteria: Sequence[Criterion], sentences: Sequence[Candidates]) -> list[list[dict[str, Figure]]]:
    """The figures of each translation of each sentence by all criteria, by name."""
    by_criterion = {item.name: item.figures(sentences) for item in criteria}
    return [
        [{name: of[number][place] for name, of in by_criterion.items()} for place in range(len(item.translations))]
        for number, item in enumerate(sentences)
    ]


OWN: Mapping[str, type[Model | Length | Coverage]] = {"model": Model, "length": Length, "coverage": Coverage}
