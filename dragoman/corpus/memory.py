"""A translation memory: the translations of the sources that are most similar to a new one (Bulte and Tezcan 2019)."""

import gzip
import json
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from heapq import nlargest
from itertools import chain, islice
from operator import itemgetter
from pathlib import Path
from typing import Annotated, NamedTuple, final

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from rapidfuzz import process
from rapidfuzz.distance import Indel

from dragoman.configuration.data import MOST_RECALLED
from dragoman.corpus.examples import Pair
from dragoman.corpus.ngrams import NgramIndex
from dragoman.files.writing import write_atomically
from dragoman.text.normalizer import Normalizer
from dragoman.text.pretokenizer import Pretokenizer

LONGEST = 2_000  # characters of a source that is kept or looked up: time grows with their square
CANDIDATES = 1_000  # texts from each index that are compared in full
PORTION = 10_000  # pairs that `most_similar` compares at once
CHARACTERS = 0xD000  # that words may be written as, below the surrogates


class Match(NamedTuple):
    """A translation from the memory, the similarity of its source, from 0 to 1 (identical), and that source as it is
    compared.
    """

    translation: str
    score: float
    source: str


class NoMemory:
    """No translation memory."""


@final
class Nearest:
    """The nearest sources by the mean of two similarities: of characters and of words. Each is

        1 - (insertions + deletions) / (length of the one + length of the other)

    Texts are compared as `normalise` makes them, without white space around them. Candidates are those that share most
    trigrams of characters, or most words, with a text; these are compared in full, so that a nearer one is rarely
    missed. Of equally near ones the first of the memory is taken.
    """

    def __init__(
        self,
        pairs: Iterable[Pair],
        normalise: Normalizer,
        tokenise: Pretokenizer,
        *,
        threshold: Annotated[float, Field(gt=0, le=1)] = 0.5,
        count: Annotated[int, Field(ge=1, le=MOST_RECALLED)] = 1,
    ) -> None:
        self._normalise = normalise
        self._tokenise = tokenise
        self._threshold = threshold
        self._count = count
        kept = [(self._compared(pair.source), pair.target) for pair in distinct(pairs) if len(pair.source) <= LONGEST]
        self._sources, self._targets = ([row[side] for row in kept] for side in (0, 1))
        self._first = {source: row for row, source in reversed(list(enumerate(self._sources)))}
        words = dict.fromkeys(chain.from_iterable(_split(source, tokenise) for source in self._sources))
        self._numbers = {word: 1 + number % CHARACTERS for number, word in enumerate(words)}
        self._words = list(map(self._by_words, self._sources))
        self._indices = NgramIndex(self._sources, 3), NgramIndex(self._words, 1)

    def __len__(self) -> int:
        return len(self._sources)

    def matches(self, text: str, without: str | None = None) -> list[Match]:
        """At most `count` different translations of sources that reach the threshold, the most similar first. The pair
        of this text with the translation `without` (but for spaces and letter case) is left out, wherever it stands.
        """
        source = self._compared(text)
        words = self._by_words(source)
        if not source or len(source) > LONGEST:
            return []
        rows, scores = self._scored(source, words)
        matches: dict[str, Match] = {}
        for place in np.argsort(-scores, kind="stable"):
            row, score = rows[place], float(scores[place])
            target = self._targets[row]
            if len(matches) == self._count or score < self._threshold:
                break
            if without is not None and self._sources[row] == source and _alike(target, without):
                continue
            matches.setdefault(target, Match(target, score, self._sources[row]))
        return list(matches.values())

    def exact(self, text: str) -> str | None:
        """Return the first translation of an identical source; None if there is none."""
        row = self._first.get(self._compared(text))
        return None if row is None else self._targets[row]

    def _scored(self, source: str, words: str) -> tuple[list[int], NDArray[np.float64]]:
        """Return the candidates in the order of the memory, with their similarities."""
        near = [index.nearest(text, CANDIDATES) for index, text in zip(self._indices, (source, words), strict=True)]
        same = [self._first[source]] if source in self._first else []
        rows = sorted(set(chain(*(numbers.tolist() for numbers in near), same)))
        pairs = (source, self._sources), (words, self._words)
        scores = [_similarities([text], [texts[row] for row in rows])[0] for text, texts in pairs]
        return rows, (scores[0] + scores[1]) / 2

    def _compared(self, text: str) -> str:
        return self._normalise(text).strip()

    def _by_words(self, text: str) -> str:
        """Each word as a character; all words that the memory does not have as the same one, which is in no source."""
        return "".join(chr(self._numbers.get(word, 0)) for word in _split(text, self._tokenise))


def most_similar(
    pairs: Iterable[Pair], texts: Sequence[str], count: int, normalise: Normalizer, tokenise: Pretokenizer
) -> list[list[Match]]:
    """Return for each text at most `count` different translations of the sources most similar to it, as in `Nearest`,
    but without an index: the pairs are read once. The sources that are most similar by characters are compared by
    words, so that a nearer one is rarely missed. Of equally near ones the first counts; texts of more than LONGEST
    characters are neither found nor find any.
    """
    texts = [normalise(text).strip() for text in texts]
    nearest: list[list[tuple[float, int, Pair]]] = [[] for _ in texts]
    numbered = enumerate(pairs)
    while portion := list(islice(numbered, PORTION)):
        normalised = [(number, Pair(normalise(pair.source).strip(), pair.target)) for number, pair in portion]
        rows = [row for row in normalised if 0 < len(row[1].source) <= LONGEST and row[1].target.strip()]
        for place, scores in enumerate(_similarities(texts, [pair.source for _, pair in rows])):
            best = np.argsort(-scores, kind="stable")[:CANDIDATES].tolist()
            candidates = [(float(scores[column]), -rows[column][0], rows[column][1]) for column in best]
            nearest[place] = nlargest(CANDIDATES, nearest[place] + candidates, key=itemgetter(0, 1))
    return [_best(text, candidates, count, tokenise) for text, candidates in zip(texts, nearest, strict=True)]


def _best(text: str, candidates: Sequence[tuple[float, int, Pair]], count: int, tokenise: Pretokenizer) -> list[Match]:
    words = _split(text, tokenise)
    scored = (
        (_similarity(text, pair.source) + _similarity(words, _split(pair.source, tokenise)), number, pair)
        for _, number, pair in (candidates if 0 < len(text) <= LONGEST else ())
    )
    matches: dict[str, Match] = {}
    for both, _, pair in sorted(scored, key=itemgetter(0, 1), reverse=True):
        matches.setdefault(pair.target, Match(pair.target, float(both / 2), pair.source))
    return list(matches.values())[:count]


def _split(text: str, tokenise: Pretokenizer) -> list[str]:
    return [text[begin:end] for begin, end in tokenise(text)]


def _similarity(one: Sequence[str], other: Sequence[str]) -> Fraction:
    """Return the similarity exactly: rounding must not decide which of equally near ones is first."""
    length = len(one) + len(other)
    return Fraction(length - Indel.distance(one, other), length) if length else Fraction(1)


def _similarities(texts: Sequence[str], sources: Sequence[str]) -> NDArray[np.float64]:
    scores: NDArray[np.float64] = process.cdist(texts, sources, scorer=Indel.normalized_similarity, dtype=np.float64)
    return scores


def _alike(one: str, other: str) -> bool:
    """Whether two translations differ only in spaces and letter case."""
    return one.lower().split() == other.lower().split()


def write(path: Path, pairs: Iterable[Pair], names: tuple[str, str]) -> None:
    """Write the pairs as JSON Lines with these keys. Equal pairs give equal bytes."""
    with write_atomically(path, "wb") as raw, gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as file:
        for pair in distinct(pairs):
            line = json.dumps(dict(zip(names, pair, strict=True)), ensure_ascii=False)
            file.write(f"{line}\n".encode())


def distinct(pairs: Iterable[Pair]) -> Iterator[Pair]:
    """Yield each distinct pair that has text on both sides."""
    return iter(dict.fromkeys(pair for pair in pairs if all(text.strip() for text in pair)))


MEMORIES = {"none": NoMemory, "nearest": Nearest}
