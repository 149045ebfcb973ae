"""Random ways to cut words into known pieces, for training that sees a sentence cut anew in every epoch.

sentencepiece can draw such ways, but not the same ones in another process: its generator is salted.
"""

import math
import re
import zlib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import lru_cache
from random import Random
from typing import final

from dragoman.text.unit import SPACE

VARIANTS = 64  # ways drawn for each word, kept, and chosen from for each occurrence
CACHED = 1 << 17  # ways that are kept
LONGEST_PIECE = 16  # characters; sentencepiece learns no longer ones
UNKNOWN_PENALTY = 10.0  # nats below the least probable piece, sentencepiece's

_WORD = re.compile(f"{SPACE}[^{SPACE}]*")


class Sampler(ABC):
    """`sampler(text, seed)`: the symbols of a text with spaces marked, a function of the two alone.

    Pieces never reach from one word into the next, so words are cut one by one. `scores` has every piece that text
    is cut into; characters that are none are spelled in bytes.
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
        """One way to cut a word into pieces and unknown characters."""


def _bytes(character: str) -> list[str]:
    return [f"<0x{byte:02X}>" for byte in character.encode()]


@final
class MergeDropout(Sampler):
    """BPE-dropout (Provilkov et al. 2020, algorithm 1): before each merge, every possible one is left out with
    probability `dropout`; the best of the rest is made, and where none is left, that is the end.
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
    """A way to cut a word with probability in proportion to p^alpha, p the product of its pieces' (Kudo 2018, 3.2),
    drawn from all ways at once: sums forwards, choices backwards.
    """

    def __init__(self, scores: Mapping[str, float], alpha: float) -> None:
        super().__init__(scores)
        self.alpha = alpha
        self._unknown = min(scores.values(), default=0.0) - UNKNOWN_PENALTY

    def cut(self, word: str, draw: Random) -> list[str]:
        ending = self._ending(word)
        totals = [0.0]  # log of the sum over all ways to cut the first so many characters
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

    def _ending(self, word: str) -> list[list[tuple[int, float]]]:
        """For each character, where the pieces that end with it begin, and their scores."""
        found: list[list[tuple[int, float]]] = []
        for end in range(1, len(word) + 1):
            begins = range(max(0, end - LONGEST_PIECE), end)
            arcs = [
                (begin, self.alpha * self.scores[word[begin:end]]) for begin in begins if word[begin:end] in self.scores
            ]
            if word[end - 1] not in self.scores:
                arcs.append((end - 1, self.alpha * self._unknown))
            found.append(arcs)
        return found


def _log_sum(values: list[float]) -> float:
    largest = max(values)
    return largest + math.log(sum(math.exp(value - largest) for value in values))
