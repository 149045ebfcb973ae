"""Sample segmentations of words into known pieces, so that training segments a sentence differently in every epoch.

sentencepiece can sample too, but not reproducibly: its generator has another seed in every process.
"""

import math
import re
import zlib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import lru_cache
from random import Random
from typing import final

from dragoman.text.tokenizer import SPACE

VARIANTS = 64  # segmentations of each word, from which each occurrence takes one
CACHED = 1 << 17  # segmentations that are kept in memory
LONGEST_PIECE = 16  # characters; sentencepiece learns no longer pieces
UNKNOWN_PENALTY = 10.0  # nats below the least probable piece, as in sentencepiece

_WORD = re.compile(f"{SPACE}[^{SPACE}]*")


class Sampler(ABC):
    """`sampler(text, seed)` returns the symbols of a text with marked spaces, a function of these arguments alone.

    Pieces never cross word boundaries, so words are segmented one by one. `scores` maps every piece to its score;
    characters that are not pieces are spelled in bytes.
    """

    def __init__(self, scores: Mapping[str, float]) -> None:
        self.scores = scores
        self._variant = lru_cache(CACHED)(self._drawn)

    def __call__(self, text: str, seed: int) -> list[str]:
        draw = Random(seed)
        return [piece for word in _WORD.findall(text) for piece in self._variant(word, draw.randrange(VARIANTS))]

    def _drawn(self, word: str, number: int) -> tuple[str, ...]:
        pieces = self.cut(word, Random(zlib.crc32(f"{number}:{word}".encode())))
        return tuple(symbol for piece in pieces for symbol in ([piece] if piece in self.scores else _bytes(piece)))

    @abstractmethod
    def cut(self, word: str, draw: Random) -> list[str]:
        """Sample a segmentation of a word into pieces and unknown characters."""


def _bytes(character: str) -> list[str]:
    return [f"<0x{byte:02X}>" for byte in character.encode()]


@final
class MergeDropout(Sampler):
    """BPE-dropout (Provilkov et al. 2020, algorithm 1): at each step, every possible merge is dropped with probability
    `dropout`, and the best of the others is made; segmentation ends when there is none.
    """

    def __init__(self, scores: Mapping[str, float], dropout: float) -> None:
        super().__init__(scores)
        self.dropout = dropout

    def cut(self, word: str, draw: Random) -> list[str]:
        pieces = list(word)
        while True:
            best, place = -math.inf, -1
            for index in range(len(pieces) - 1):
                score = self.scores.get(pieces[index] + pieces[index + 1], -math.inf)
                if score > best and draw.random() >= self.dropout:
                    best, place = score, index
            if place < 0:
                return pieces
            pieces[place : place + 2] = [pieces[place] + pieces[place + 1]]


@final
class LatticeSampler(Sampler):
    """Samples a segmentation with probability proportional to p^alpha, where p is the product of the probabilities of
    its pieces (Kudo 2018, 3.2). It samples from all segmentations: forward filtering, backward sampling.
    """

    def __init__(self, scores: Mapping[str, float], alpha: float) -> None:
        super().__init__(scores)
        self.alpha = alpha
        self._unknown = min(scores.values(), default=0.0) - UNKNOWN_PENALTY

    def cut(self, word: str, draw: Random) -> list[str]:
        ending = self._arcs_by_end(word)
        totals = [0.0]  # log of the sum over all segmentations of each prefix
        for arcs in ending:
            totals.append(_log_sum([totals[begin] + score for begin, score in arcs]))
        pieces: list[str] = []
        end = len(word)
        while end:
            arcs = ending[end - 1]
            weights = [math.exp(totals[begin] + score - totals[end]) for begin, score in arcs]
            begin = draw.choices([begin for begin, _ in arcs], weights)[0]
            pieces.append(word[begin:end])
            end = begin
        return pieces[::-1]

    def _arcs_by_end(self, word: str) -> list[list[tuple[int, float]]]:
        """For each character, the begin and the score of each piece that ends with it."""
        arcs_by_end: list[list[tuple[int, float]]] = []
        for end in range(1, len(word) + 1):
            begins = range(max(0, end - LONGEST_PIECE), end)
            arcs = [
                (begin, self.alpha * self.scores[word[begin:end]]) for begin in begins if word[begin:end] in self.scores
            ]
            if word[end - 1] not in self.scores:
                arcs.append((end - 1, self.alpha * self._unknown))
            arcs_by_end.append(arcs)
        return arcs_by_end


def _log_sum(values: list[float]) -> float:
    largest = max(values)
    return largest + math.log(sum(math.exp(value - largest) for value in values))
