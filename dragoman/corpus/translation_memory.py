"""A translation memory: the translations of the sources that are most similar to a new one (Bulte and Tezcan 2019)."""

import gzip
import json
import math
from abc import ABC, abstractmethod
from collections import Counter
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
from dragoman.files.writing import write_atomically
from dragoman.text.normalizer import Normalizer
from dragoman.text.pretokenizer import Pretokenizer

LONGEST = 2_000  # characters of a source that is kept or looked up: time grows with their square
CANDIDATES = 1_000  # texts from each index that are compared in full
PORTION = 10_000  # pairs that `most_similar` compares at once
CHARACTERS = 0xD000  # that words may be written as, below the surrogates
EDGE = "\x00"  # around each text, so that how it begins and ends counts; no normalized text contains it
BLOCK = 20_000  # texts that are cut at a time
POSTINGS = 200_000  # about how many postings a query reads: those of its rarest n-grams
FACTORS = np.array([0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D], np.uint32)  # odd, so that no bit of a character is lost

Numbers = NDArray[np.uint32]


class NgramIndex:
    """The n-grams of each text's characters, with `size - 1` edges around it, each counted once. An n-gram is known by
    a hash of 32 bits, so that two of them may rarely be taken for one.
    """

    def __init__(self, texts: Sequence[str], size: int) -> None:
        self._size = size
        parts = [_postings(texts[begin : begin + BLOCK], begin, size) for begin in range(0, len(texts), BLOCK)]
        postings = np.concatenate(parts) if parts else np.empty(0, np.uint64)
        del parts
        postings.sort()  # by n-gram, then by text
        ngrams = (postings >> np.uint64(32)).astype(np.uint32)
        self._texts = postings.astype(np.uint32)  # the low half of each
        begins = np.flatnonzero(np.r_[True, ngrams[1:] != ngrams[:-1]][: len(ngrams)])
        self._ngrams = ngrams[begins]
        self._offsets = np.append(begins, len(ngrams))
        self._sizes = np.bincount(self._texts, minlength=len(texts)).astype(np.float32)  # n-grams of each text

    def nearest(self, text: str, count: int) -> Numbers:
        """The numbers of at most `count` texts, ascending, that share most n-grams with this one, in proportion to
        those of both (Dice 1945); the first of equals.

        The shared n-grams are looked for among the rarest of this text, until POSTINGS postings are read: frequent ones
        tell little and cost most.
        """
        wanted = np.unique(_ngrams([text], self._size)[0])
        postings = np.concatenate([np.empty(0, np.uint32), *self._lists(wanted)])
        postings.sort()  # a text stands once in the list of an n-gram, and so as often as it shares one
        begins = np.flatnonzero(np.r_[True, postings[1:] != postings[:-1]][: len(postings)])
        candidates, shared = postings[begins], np.diff(begins, append=len(postings)).astype(np.float32)
        scores = shared / (self._sizes[candidates] + len(wanted))
        if len(candidates) > count:
            least = np.partition(scores, -count)[-count]
            above, equal = candidates[scores > least], candidates[scores == least]
            candidates = np.append(above, equal[: count - len(above)])
        return np.sort(candidates)

    def _lists(self, wanted: Numbers) -> list[Numbers]:
        """The texts that have each of these n-grams, the shortest lists first, as far as they are read."""
        places = np.searchsorted(self._ngrams, wanted)
        inside = places < len(self._ngrams)
        places = places[inside][self._ngrams[places[inside]] == wanted[inside]]
        lengths = self._offsets[places + 1] - self._offsets[places]
        order = np.argsort(lengths, kind="stable")
        few = np.cumsum(lengths[order]) <= POSTINGS
        few[:1] = True
        return [self._texts[self._offsets[place] : self._offsets[place + 1]] for place in places[order[few]]]


def _ngrams(texts: Sequence[str], size: int) -> tuple[Numbers, NDArray[np.int64]]:
    """The hashed n-grams of texts, one text after the other, and how many each has."""
    edge = EDGE * (size - 1)
    counts = np.fromiter(map(len, texts), np.int64, len(texts)) + len(edge)
    whole = edge + edge.join(texts) + edge
    codes = np.frombuffer(whole.encode("utf-32-le", "surrogatepass"), np.uint32)
    hashes = np.zeros(len(codes) - size + 1, np.uint32)
    for place, factor in enumerate(FACTORS[:size]):
        hashes += codes[place : place + len(hashes)] * factor
    hashes ^= hashes >> np.uint32(15)
    return hashes, counts


def _postings(texts: Sequence[str], first: int, size: int) -> NDArray[np.uint64]:
    """N-gram and text of each posting, as the high and the low half of a number; `first` is the first text's."""
    hashes, counts = _ngrams(texts, size)
    numbers = np.repeat(np.arange(first, first + len(texts), dtype=np.uint64), counts)
    postings = hashes.astype(np.uint64) << np.uint64(32) | numbers
    postings.sort()
    distinct: NDArray[np.uint64] = postings[np.r_[True, postings[1:] != postings[:-1]][: len(postings)]]
    return distinct


class Match(NamedTuple):
    """A translation from the memory, the similarity of its source, from 0 to 1 (identical), and that source as it is
    compared.
    """

    translation: str
    score: float
    source: str


class SimilarSource(NamedTuple):
    """A match, and the words of its source, each as a character."""

    match: Match
    words: str


class NoMemory:
    """No translation memory."""


class FuzzyMemory(ABC):
    """Sources that are similar to a text, by the mean of two similarities: of characters and of words. Each is

        1 - (insertions + deletions) / (length of the one + length of the other)

    Texts are compared as `normalize` makes them, without white space around them. Candidates are those that share most
    trigrams of characters, or most words, with a text; these are compared in full, so that a nearer one is rarely
    missed. Of equally near ones the first of the memory is taken.

    A text has at most `count` of them, all with a similarity of at least `threshold`.
    """

    def __init__(
        self,
        pairs: Iterable[Pair],
        normalize: Normalizer,
        tokenize: Pretokenizer,
        threshold: float,
        count: int,
    ) -> None:
        self._normalize = normalize
        self._tokenize = tokenize
        self._threshold = threshold
        self._count = count
        kept = [(self._compared(pair.source), pair.target) for pair in distinct(pairs) if len(pair.source) <= LONGEST]
        self._sources, self._targets = ([row[side] for row in kept] for side in (0, 1))
        self._first = {source: row for row, source in reversed(list(enumerate(self._sources)))}
        words = dict.fromkeys(chain.from_iterable(_split(source, tokenize) for source in self._sources))
        self._numbers = {word: 1 + number % CHARACTERS for number, word in enumerate(words)}
        self._words = list(map(self._by_words, self._sources))
        self._indices = NgramIndex(self._sources, 3), NgramIndex(self._words, 1)

    def __len__(self) -> int:
        return len(self._sources)

    def matches(self, text: str, without: str | None = None) -> list[Match]:
        """At most `count` different translations of sources that reach the threshold. The pair of this text with the
        translation `without` (but for spaces and letter case) is left out, wherever it stands.
        """
        source = self._compared(text)
        if not source or len(source) > LONGEST:
            return []
        words = self._by_words(source)
        return self._choose(words, self._candidates(source, words, without))

    @abstractmethod
    def _choose(self, words: str, candidates: Iterator[SimilarSource]) -> list[Match]:
        """Return at most `count` of the candidates for a text with these words."""

    def _candidates(self, source: str, words: str, without: str | None) -> Iterator[SimilarSource]:
        """Yield candidates with different translations that reach the threshold, the most similar first."""
        rows, scores = self._scored(source, words)
        translations = set[str]()
        for place in np.argsort(-scores, kind="stable"):
            row, score = rows[place], float(scores[place])
            target = self._targets[row]
            if score < self._threshold:
                return
            if without is not None and self._sources[row] == source and _alike(target, without):
                continue
            if target not in translations:
                translations.add(target)
                yield SimilarSource(Match(target, score, self._sources[row]), self._words[row])

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
        return self._normalize(text).strip()

    def _by_words(self, text: str) -> str:
        """Each word as a character; all words that the memory does not have as the same one, which is in no source."""
        return "".join(chr(self._numbers.get(word, 0)) for word in _split(text, self._tokenize))


@final
class NearestMemory(FuzzyMemory):
    """The most similar sources, in the order of their similarity."""

    def __init__(
        self,
        pairs: Iterable[Pair],
        normalize: Normalizer,
        tokenize: Pretokenizer,
        *,
        threshold: Annotated[float, Field(gt=0, le=1)] = 0.5,
        count: Annotated[int, Field(ge=1, le=MOST_RECALLED)] = 1,
    ) -> None:
        super().__init__(pairs, normalize, tokenize, threshold, count)

    def _choose(self, words: str, candidates: Iterator[SimilarSource]) -> list[Match]:
        return [candidate.match for candidate in islice(candidates, self._count)]


@final
class CoveringMemory(FuzzyMemory):
    """Sources that complement each other: the most similar one, and then, again and again, the one that covers most
    words of the text that none has covered yet, by their inverse document frequencies

        log(1 + sources / sources with the word)

    and of equally good ones the most similar, as long as one covers any (greedy maximization of a submodular coverage).
    """

    def __init__(
        self,
        pairs: Iterable[Pair],
        normalize: Normalizer,
        tokenize: Pretokenizer,
        *,
        threshold: Annotated[float, Field(gt=0, le=1)] = 0.5,
        count: Annotated[int, Field(ge=2, le=MOST_RECALLED)],
    ) -> None:
        super().__init__(pairs, normalize, tokenize, threshold, count)
        self._frequencies = Counter(chain.from_iterable(map(set, self._words)))

    def _choose(self, words: str, candidates: Iterator[SimilarSource]) -> list[Match]:
        left = {word: math.log1p(len(self) / self._frequencies[word]) for word in words if word in self._frequencies}
        matches = list[Match]()
        by_cover = dict[frozenset[str], Match]()  # the most similar one of those that have the same words of the text
        for candidate in candidates:
            cover = frozenset(left.keys() & candidate.words)
            if not matches:
                matches.append(candidate.match)
                covered = cover
            by_cover.setdefault(cover, candidate.match)
        while matches and len(matches) < self._count:
            for word in covered:
                left.pop(word, None)
            # Exact sums: the order of a set must not decide between equal ones.
            gains = {cover: math.fsum(left[word] for word in cover if word in left) for cover in by_cover}
            covered = max(gains, key=gains.__getitem__)
            if not gains[covered]:
                break
            matches.append(by_cover[covered])
        return matches


def most_similar(
    pairs: Iterable[Pair], texts: Sequence[str], count: int, normalize: Normalizer, tokenize: Pretokenizer
) -> list[list[Match]]:
    """Return for each text at most `count` different translations of the sources most similar to it, as in
    `FuzzyMemory`, but without an index: the pairs are read once. The sources that are most similar by characters are
    compared by words, so that a nearer one is rarely missed. Of equally near ones the first counts; texts of more than
    LONGEST characters are neither found nor find any.
    """
    texts = [normalize(text).strip() for text in texts]
    nearest: list[list[tuple[float, int, Pair]]] = [[] for _ in texts]
    numbered = enumerate(pairs)
    while portion := list(islice(numbered, PORTION)):
        normalized = [(number, Pair(normalize(pair.source).strip(), pair.target)) for number, pair in portion]
        rows = [row for row in normalized if 0 < len(row[1].source) <= LONGEST and row[1].target.strip()]
        for place, scores in enumerate(_similarities(texts, [pair.source for _, pair in rows])):
            best = np.argsort(-scores, kind="stable")[:CANDIDATES].tolist()
            candidates = [(float(scores[column]), -rows[column][0], rows[column][1]) for column in best]
            nearest[place] = nlargest(CANDIDATES, nearest[place] + candidates, key=itemgetter(0, 1))
    return [_best(text, candidates, count, tokenize) for text, candidates in zip(texts, nearest, strict=True)]


def _best(text: str, candidates: Sequence[tuple[float, int, Pair]], count: int, tokenize: Pretokenizer) -> list[Match]:
    words = _split(text, tokenize)
    scored = (
        (_similarity(text, pair.source) + _similarity(words, _split(pair.source, tokenize)), number, pair)
        for _, number, pair in (candidates if 0 < len(text) <= LONGEST else ())
    )
    matches: dict[str, Match] = {}
    for both, _, pair in sorted(scored, key=itemgetter(0, 1), reverse=True):
        matches.setdefault(pair.target, Match(pair.target, float(both / 2), pair.source))
    return list(matches.values())[:count]


def _split(text: str, tokenize: Pretokenizer) -> list[str]:
    return [text[begin:end] for begin, end in tokenize(text)]


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


MEMORIES = {"none": NoMemory, "nearest": NearestMemory, "covering": CoveringMemory}
