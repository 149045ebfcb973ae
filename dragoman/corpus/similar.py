"""The most similar pairs of a corpus, read once from its beginning to its end: no index, and memory for a few pairs."""

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from heapq import nlargest
from itertools import islice

import numpy as np
from rapidfuzz import process
from rapidfuzz.distance import Indel

from dragoman.corpus.examples import Pair
from dragoman.corpus.memory import CANDIDATES, LONGEST, Match
from dragoman.text.normalise import Normaliser
from dragoman.text.tokenise import Tokeniser

PORTION = 10_000  # pairs that are compared at once


def most_similar(
    pairs: Iterable[Pair], texts: Sequence[str], count: int, normalise: Normaliser, tokenise: Tokeniser
) -> list[list[Match]]:
    """For each text at most `count` different translations of the sources most similar to it, by the similarity of
    `Nearest`: the mean of that of characters and that of words. The sources that are most similar by characters are
    compared by words, so that a nearer one is rarely missed. Of equally near ones the first counts; texts of more than
    2,000 characters are neither found nor find any.
    """
    asked = [normalise(text).strip() for text in texts]
    near: list[list[tuple[float, int, Pair]]] = [[] for _ in texts]
    for first, portion in _portions(pairs):
        known = [(number, pair, normalise(pair.source).strip()) for number, pair in enumerate(portion, start=first)]
        kept = [each for each in known if 0 < len(each[2]) <= LONGEST and each[1].target.strip()]
        scores = process.cdist(
            asked, [source for *_, source in kept], scorer=Indel.normalized_similarity, dtype=np.float64
        )
        for place, row in enumerate(scores):
            best = np.argsort(-row, kind="stable")[:CANDIDATES].tolist()
            every = (
                (float(row[column]), -number, Pair(source, pair.target))
                for column, (number, pair, source) in zip(best, map(kept.__getitem__, best), strict=True)
            )
            near[place] = nlargest(CANDIDATES, [*near[place], *every], key=lambda each: each[:2])
    return [_best(text, found, count, tokenise) for text, found in zip(asked, near, strict=True)]


def _portions(pairs: Iterable[Pair]) -> Iterator[tuple[int, list[Pair]]]:
    """Yield the pairs, some at a time, and the number of the first of these."""
    rest, first = iter(pairs), 0
    while portion := list(islice(rest, PORTION)):
        yield first, portion
        first += len(portion)


def _best(text: str, near: Sequence[tuple[float, int, Pair]], count: int, tokenise: Tokeniser) -> list[Match]:
    words = _words(text, tokenise)
    scored = (
        (_similarity(text, pair.source) + _similarity(words, _words(pair.source, tokenise)), number, pair)
        for _, number, pair in (near if 0 < len(text) <= LONGEST else ())
    )
    found = dict[str, Match]()
    for both, _, pair in sorted(scored, key=lambda item: item[:2], reverse=True):
        found.setdefault(pair.target, Match(pair.target, float(both / 2), pair.source))
        if len(found) == count:
            break
    return list(found.values())


def _similarity(one: Sequence[str], other: Sequence[str]) -> Fraction:
    """The share of both that is the same, exactly: rounding must not decide which of equally near ones is first."""
    length = len(one) + len(other)
    return Fraction(length - Indel.distance(one, other), length) if length else Fraction(1)


def _words(text: str, tokenise: Tokeniser) -> list[str]:
    return [text[begin:end] for begin, end in tokenise(text)]
