"""An inverted index over the n-grams of many texts: in milliseconds those that share most with another text."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

EDGE = "\x00"  # around each text, so that how it begins and ends counts; no normalised text contains it
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
    """The hashed n-grams of texts, one text behind the other, and how many each has."""
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
