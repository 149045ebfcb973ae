"""A sample of a corpus, from which the sizes of a configuration are chosen."""

import re
from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple, TypeVar

import numpy as np

from dragoman.corpus.examples import Pair, is_blank, read_pairs
from dragoman.errors import UserError
from dragoman.text.normalizer import Normalizer
from dragoman.text.pretokenizer import bleu_tokenization, punctuation
from dragoman.text.protection import KINDS, Protection

SAMPLED = 200_000  # number of pairs that are analysed
BYTES = 256  # symbols that every inventory of subwords has, besides one for the space
EXAMPLES = 20_000  # number of these pairs that are kept, at most,
EXAMPLE_CHARACTERS = 2_000  # up to this length of each side, which limits memory

LOOKED = 20_000  # number of pairs in which protected spans are looked for
SPANS = ("placeholders", "tags", "urls", "emails")  # numbers are not: what they are says how their words end
FEWEST, COMMON = 20, 0.005  # pairs that have spans, at least: as many as this, and this share of all
SAME = 0.9  # least share of these that have the same on both sides

APART = re.compile(r"\S [.,]( |$)")  # as in tokenized text
TOGETHER = re.compile(r"[^\s.,][.,]( |$)")
RUN = re.compile(r"[^\W\d_]{2,}|\d{2,}")  # characters that subwords may join

Item = TypeVar("Item")


def spread(items: Iterable[Item], most: int) -> tuple[list[Item], int]:
    """All items if there are at most `most`, otherwise every 2nd, 4th, 8th, ...; and how many there are in all. They
    are read once.
    """
    chosen, step, count = list[Item](), 1, 0
    for item in items:
        if count % step == 0:
            chosen.append(item)
        count += 1
        if len(chosen) > most:
            chosen, step = chosen[::2], 2 * step
    return chosen, count


class Inventory(NamedTuple):
    """The numbers of distinct words, characters, and runs of letters or digits in a text."""

    words: int
    characters: int
    runs: int

    @classmethod
    def of(cls, words: Collection[str]) -> "Inventory":
        runs = {run for word in words for run in RUN.findall(word)}
        return cls(len(words), len(set().union(*words)), len(runs))

    def symbols(self, wanted: int) -> int:
        """The number of subwords to learn from the text: about `wanted`, if the text has that many.

        Each byte, the space and each character take a symbol. Beyond these there should be at least as many as there
        are characters, and at most half as many as there are runs: each run can become a symbol, so half always can.
        """
        least = BYTES + 1 + self.characters
        return min(max(wanted, least + self.characters), least + self.runs // 2)


class CorpusSample(NamedTuple):
    """What the choice of sizes depends on, measured on the first 200,000 pairs; `pairs` counts all pairs."""

    pairs: int
    words: float  # mean of both sides
    longest: int  # words; 99 % of the sentences have at most this many
    source: Inventory
    target: Inventory
    both: Inventory
    shared: float  # overlap of the two languages' letter frequencies, from 0 to 1
    tokenized: bool  # punctuation is separated from words
    examples: Sequence[Pair]  # some of the pairs, spread over the sample and normalized
    blank: int = 0  # pairs that have an empty side, beside the others
    spans: tuple[str, ...] = ()  # kinds of protected spans that both sides share
    tokenize: str | None = None  # how BLEU should separate words of a target without spaces

    def __str__(self) -> str:
        kind = "tokenized" if self.tokenized else "natural"
        pairs = f"{self.pairs:,} pairs" + (f" (and {self.blank:,} with an empty side)" if self.blank else "")
        return (
            f"{pairs} of {kind} text, {self.words:.1f} words a sentence, 99 % of them up to "
            f"{self.longest}; {self.both.words:,} different words, {self.both.characters:,} characters"
            + (f"; the same {' and '.join(self.spans)} on both sides" if self.spans else "")
        )


class SharedSpans:
    """Counts, for each kind of protected spans, the pairs that have some, and those with the same on both sides."""

    def __init__(self) -> None:
        self._finders = {kind: Protection([KINDS[kind]()]) for kind in SPANS}
        self._same: Counter[str] = Counter()
        self._kinds_by_pair: list[tuple[str, ...]] = []  # the kinds of each pair

    def add(self, pair: Pair) -> None:
        if len(self._kinds_by_pair) == LOOKED:
            return
        there: list[str] = []
        for kind, finder in self._finders.items():
            source, target = (sorted(text[begin:end] for begin, end in finder.find(text)) for text in pair)
            self._same[kind] += bool(source) and source == target
            there += [kind] if source or target else []
        self._kinds_by_pair.append(tuple(there))

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds that are nearly always the same, if enough pairs have any of them."""
        counts = Counter(kind for there in self._kinds_by_pair for kind in there)
        same = [kind for kind in SPANS if self._same[kind] and self._same[kind] >= SAME * counts[kind]]
        pairs = sum(1 for there in self._kinds_by_pair if set(same).intersection(there))
        return tuple(same) if pairs >= max(FEWEST, COMMON * len(self._kinds_by_pair)) else ()


def measure_sample(where: str, source: str, target: str) -> CorpusSample:
    """Measure what the choice of sizes depends on, in a corpus named as for `read_pairs`. UserError if a side has no
    words.
    """
    normalize = Normalizer(lowercase=False)
    words: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
    lengths = array("i")
    apart = together = blank = 0
    shared = SharedSpans()

    def usable() -> Iterator[Pair]:
        nonlocal blank
        for pair in read_pairs(where, source, target):
            if any(map(is_blank, pair)):
                blank += 1
            else:
                yield pair

    def analysed() -> Iterator[Pair]:
        nonlocal apart, together
        for pair in islice(stream, SAMPLED):
            shared.add(pair)
            normalized = Pair(*map(normalize, pair))
            for side, text in enumerate(normalized):
                tokens = [text[begin:end] for begin, end in punctuation(text)]
                words[side].update(tokens)
                lengths.append(len(tokens))
                apart += len(APART.findall(text))
                together += len(TOGETHER.findall(text))
            yield Pair(*(text[:EXAMPLE_CHARACTERS] for text in normalized))

    stream = usable()
    examples, pairs = spread(analysed(), EXAMPLES)
    if not all(words):
        raise UserError(f"{where}: the corpus is empty (a side has no words)")
    letters = [_letters(side) for side in words]
    pairs += sum(1 for _ in stream)  # which counts the blank ones, too
    return CorpusSample(
        pairs=pairs,
        words=sum(lengths) / len(lengths),
        longest=int(np.percentile(np.frombuffer(lengths, np.int32), 99)),
        source=Inventory.of(words[0]),
        target=Inventory.of(words[1]),
        both=Inventory.of(words[0].keys() | words[1].keys()),
        shared=sum(min(share, letters[1].get(letter, 0.0)) for letter, share in letters[0].items()),
        tokenized=apart > together,
        examples=examples,
        blank=blank,
        spans=shared.kinds,
        tokenize=bleu_tokenization(letters[1]),
    )


def _letters(words: Counter[str]) -> dict[str, float]:
    """The relative frequency of each character in a text with these word counts."""
    counts: Counter[str] = Counter()
    for word, count in words.items():
        for character in word:
            counts[character] += count
    total = counts.total()
    return {character: count / total for character, count in counts.items()}
