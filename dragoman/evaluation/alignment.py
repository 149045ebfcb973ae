"""Word alignments: read from attention, written and read as Pharaoh lines, compared with a gold standard."""

import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dragoman.errors import UserError
from dragoman.files import read_lines

Link: TypeAlias = tuple[int, int]  # (source word, target word), both counted from 0
Links: TypeAlias = frozenset[Link]
Weights: TypeAlias = NDArray[np.float64]

_LINK = re.compile(r"([0-9]+)([-?])([0-9]+)", re.ASCII)


class Gold(NamedTuple):
    """What a person marked for one sentence pair. A sure link is a possible one too (S is a part of P).

    `where` is the file and line that it was read from.
    """

    sure: Links
    possible: Links
    where: str = "alignment"

    def check(self, source: int, target: int) -> None:
        """UserError where a link lies beyond a sentence pair of so many words."""
        beyond = sorted((s, t) for s, t in self.possible if s >= source or t >= target)
        if beyond:
            raise UserError(
                f"{self.where}: the link {pharaoh(beyond[:1])} lies beyond the sentence pair, which has {source} and "
                f"{target} words (counted from 0)"
            )


class Agreement(NamedTuple):
    """Alignments of a corpus against the gold standard (Och and Ney 2003); fractions from 0 to 1.

    With A the links found: `error_rate` (AER) = 1 - (|A & S| + |A & P|) / (|A| + |S|), `precision` = |A & P|
    / |A|, `recall` = |A & S| / |S|. Where there is nothing to get wrong, precision and recall are 1 and the
    error rate 0.
    """

    error_rate: float
    precision: float
    recall: float

    def __str__(self) -> str:
        return f"AER = {self.error_rate:.4f} (precision {self.precision:.4f}, recall {self.recall:.4f})"


def by_words(
    attention: ArrayLike,
    target_word_of: Sequence[int],
    source_word_of: Sequence[int],
    words: tuple[int, int] | None = None,
) -> Weights:
    """The attention between symbols (T, S) as attention between words (target words, source words).

    A source word gets the sum of what its symbols got; a target word's row is the mean over its symbols. The
    two lists give the word of every symbol; -1 is no word (the end symbol), and its row or column is left
    out. `words` is the number of words on each side (target, source), by default the largest in the lists;
    one without a symbol gets zeros. Raises ValueError when a list does not fit the array.
    """
    weights = np.asarray(attention, dtype=np.float64)
    if weights.shape != (len(target_word_of), len(source_word_of)):
        raise ValueError(f"attention is {weights.shape}, the symbols are {(len(target_word_of), len(source_word_of))}")
    to_target = _membership(target_word_of, words[0] if words else None)  # (Tw, T)
    to_source = _membership(source_word_of, words[1] if words else None)  # (Sw, S)
    symbols = np.maximum(to_target.sum(axis=1, keepdims=True), 1.0)
    by_word: Weights = to_target @ weights @ to_source.T / symbols  # (Tw, Sw)
    return by_word


def _membership(word_of: Sequence[int], words: int | None) -> Weights:
    """(words, symbols): 1 where the symbol belongs to the word."""
    numbers = np.asarray(word_of, dtype=np.int64)
    count = int(numbers.max(initial=-1)) + 1 if words is None else words
    belongs: Weights = (np.arange(count)[:, None] == numbers[None, :]).astype(np.float64)
    return belongs


def links(attention: ArrayLike, threshold: float | None = None) -> Links:
    """The alignment that attention between words (target words, source words) implies.

    Without a threshold every target word is linked to the source word with most weight, the first one among
    equals; with one, to all source words that reach it. A target word whose weights are all zero gets no
    link.
    """
    weights = np.nan_to_num(np.atleast_2d(np.asarray(attention, dtype=np.float64)))
    if not weights.size:
        return frozenset()
    if threshold is None:
        chosen = weights.argmax(axis=1)
        return frozenset((int(s), t) for t, s in enumerate(chosen) if weights[t, s] > 0)
    found = np.argwhere((weights >= threshold) & (weights > 0))
    return frozenset((int(s), int(t)) for t, s in found)


def pharaoh(found: Iterable[Link]) -> str:
    """The links as one line such as `0-0 1-2`: source word, target word, in that order."""
    return " ".join(f"{source}-{target}" for source, target in sorted(found))


def read_pharaoh(line: str, where: str = "alignment") -> Gold:
    """The links of a Pharaoh line; `1-2` is a sure link and `1?2` one that is merely possible.

    Raises UserError for anything else, naming `where` (a file and line) and the piece.
    """
    sure, possible = set(), set()
    for piece in line.split():
        match = _LINK.fullmatch(piece)
        if match is None:
            raise UserError(f"{where}: '{piece}' is not a link, expected SOURCE-TARGET such as 0-1, or 0?1 if possible")
        link = (int(match[1]), int(match[3]))
        possible.add(link)
        if match[2] == "-":
            sure.add(link)
    return Gold(frozenset(sure), frozenset(possible), where)


def read_gold(path: str | Path) -> list[Gold]:
    """The gold links of each sentence pair in a file of Pharaoh lines."""
    return [read_pharaoh(line, f"{path}:{number}") for number, line in enumerate(read_lines(path), start=1)]


def error_rate(found: Sequence[Collection[Link]], gold: Sequence[Gold]) -> Agreement:
    """How well the links found for each sentence pair agree with the gold ones, over the whole corpus.

    Raises UserError when there are not as many alignments as gold ones.
    """
    if len(found) != len(gold):
        raise UserError(f"{len(found)} alignments, but {len(gold)} gold alignments")
    claimed = certain = sure_hits = possible_hits = 0
    for sentence, (sure, possible, _) in zip(found, gold, strict=True):
        unique = frozenset(sentence)
        claimed += len(unique)
        certain += len(sure)
        sure_hits += len(unique & sure)
        possible_hits += len(unique & (possible | sure))
    total = claimed + certain
    return Agreement(
        error_rate=1 - (sure_hits + possible_hits) / total if total else 0.0,
        precision=possible_hits / claimed if claimed else 1.0,
        recall=sure_hits / certain if certain else 1.0,
    )
