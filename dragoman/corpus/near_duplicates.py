"""Near-duplicates: development and test sources that the training data have in nearly the same form."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import process
from rapidfuzz.distance import Indel

from dragoman.corpus.cleaning import key
from dragoman.corpus.numbering import NumberedCorpus
from dragoman.corpus.sample import spread
from dragoman.corpus.translation_memory import LONGEST
from dragoman.text.normalizer import Normalizer
from dragoman.text.pretokenizer import punctuation
from dragoman.text.protection import placeholders

LEAST = 0.8  # similarity of a near-duplicate, as a translation memory measures it
CHECKED = 1_000  # sources that are compared, at most
PORTION = 2_000  # training sources that are compared at once
SHOWN = 3  # examples,
SHOWN_CHARACTERS = 80  # cut to this length
UNKNOWN = "\x00"  # stands for every word that no checked source has

_normalize = Normalizer(lowercase=False)
_PLACEHOLDERS = placeholders()


class NearDuplicate(NamedTuple):
    """The training source that is most similar to a source, their similarity from 0 to 1, and whether the training data
    have a source with the same template.
    """

    trained: str
    similarity: float
    same_template: bool


@dataclass(frozen=True)
class NearDuplicateReport:
    """The numbers of all sources, of those that were compared, of their near-duplicates, and of these the ones with the
    same template; and a few of them as text.
    """

    sources: int
    checked: int
    near: int
    same_template: int
    examples: tuple[str, ...]

    def __str__(self) -> str:
        sampled = f" (a sample of {self.sources:,})" if self.checked < self.sources else ""
        share = 100 * self.near / max(1, self.checked)
        line = (
            f"near-duplicates in the training data: {self.near:,} of {self.checked:,} sources{sampled}, {share:.1f} %"
        )
        if self.same_template:
            line += (
                f"; {self.same_template:,} of these are equal except for case, numbers, punctuation and placeholders"
            )
        return "\n".join([line, *(f"  {example}" for example in self.examples)])


def template(source: str) -> str:
    """A key that sources share if they differ only in letter case, numbers, punctuation, placeholders and spaces. A
    source that has nothing else has the key by which `cleaning` compares it.
    """
    return _template(source, _split(source))


def _template(source: str, words: Sequence[str]) -> str:
    """The template of a source with these words."""
    text = _PLACEHOLDERS.sub(" ", source)
    words = words if text == source else _split(text)
    return " ".join(word for word in words if word.isalpha() or any(map(str.isalpha, word))).casefold() or key(source)


def find_near_duplicates(sources: Sequence[str], training: Iterable[str]) -> dict[int, NearDuplicate]:
    """Return near-duplicates by the number of their source: those with the same template, or with a similarity of LEAST
    or more as in `FuzzyMemory`. The training sources are read once; of equally similar ones the first counts. Texts are
    compared as they are, those of more than LONGEST characters only by their template.
    """
    search = _Search(sources)
    texts = iter(training)
    while portion := list(islice(texts, PORTION)):
        search.add(portion)
    return search.near_duplicates()


class _Search:
    """Compares portions of training sources with the sources that are checked, and keeps the best of each."""

    def __init__(self, sources: Sequence[str]) -> None:
        self._sources = sources
        self._templates = list(map(template, sources))
        self._by_template: dict[str, str | None] = dict.fromkeys(self._templates)
        self._rows = [row for row, source in enumerate(sources) if 0 < len(source) <= LONGEST]
        words = dict.fromkeys(word for row in self._rows for word in _split(sources[row]))
        self._characters = {word: chr(number) for number, word in enumerate(words, ord(UNKNOWN) + 1)}
        self._words = [self._by_words(_split(sources[row])) for row in self._rows]
        self._best: dict[int, tuple[str, float]] = {}

    def add(self, texts: Sequence[str]) -> None:
        """Compare these training sources."""
        split = list(map(_split, texts))
        for text, words in zip(texts, split, strict=True):
            text_template = _template(text, words)
            if text_template in self._by_template:
                self._by_template[text_template] = self._by_template[text_template] or text
        columns = [column for column, text in enumerate(texts) if 0 < len(text) <= LONGEST]
        encoded = [self._by_words(split[column]) for column in columns]
        # The similarity is a mean of two: below this of words, no similarity of characters makes up for it.
        least = 2 * LEAST - 1
        by_words = _similarities(self._words, encoded, least)
        near_rows, near_columns = (np.unique(places) for places in np.nonzero(by_words))
        rows = [self._rows[place] for place in near_rows]
        candidates = [texts[columns[place]] for place in near_columns]
        by_characters = _similarities([self._sources[row] for row in rows], candidates)
        scores = (by_words[np.ix_(near_rows, near_columns)] + by_characters) / 2
        for row, row_scores in zip(rows, scores, strict=True):
            best = int(row_scores.argmax())
            if row_scores[best] >= LEAST and row_scores[best] > self._best.get(row, ("", 0.0))[1]:
                self._best[row] = candidates[best], float(row_scores[best])

    def near_duplicates(self) -> dict[int, NearDuplicate]:
        near: dict[int, NearDuplicate] = {}
        for row, source in enumerate(self._sources):
            same = self._by_template[self._templates[row]]
            if row in self._best:
                near[row] = NearDuplicate(*self._best[row], same is not None)
            elif same is not None:
                near[row] = NearDuplicate(same, _similarity(source, same), same_template=True)
        return near

    def _by_words(self, words: Sequence[str]) -> str:
        """Each word as a character."""
        return "".join(self._characters.get(word, UNKNOWN) for word in words)


def _split(text: str) -> list[str]:
    return [text[begin:end] for begin, end in punctuation(text)]


def _similarity(one: str, other: str) -> float:
    words = Indel.normalized_similarity(_split(one), _split(other))
    return (words + Indel.normalized_similarity(one, other)) / 2


def _similarities(texts: Sequence[str], candidates: Sequence[str], least: float = 0.0) -> NDArray[np.float64]:
    """The similarity of each two, 0 where it is less than the least."""
    similarities: NDArray[np.float64] = process.cdist(
        texts, candidates, scorer=Indel.normalized_similarity, dtype=np.float64, score_cutoff=least
    )
    return similarities


def describe_near_duplicates(
    dev: str | Path, train: str | Path | Sequence[str], source: str, target: str, *, sources: tuple[str, ...] = ()
) -> NearDuplicateReport:
    """Read two corpora and find the development sources that the training data have in nearly the same form, among at
    most CHECKED of them. If the corpora have several `sources`, `source` is the one that is compared. Pairs with an
    empty side do not count.
    """
    sources = sources or (source,)
    place = sources.index(source)
    examples = NumberedCorpus(dev, sources, target)
    checked, count = spread(_numbered_sources(examples, place), CHECKED)
    training = (text for _, text in _numbered_sources(NumberedCorpus(train, sources, target), place))
    near = find_near_duplicates([text for _, text in checked], training)
    shown = [row for row, duplicate in near.items() if duplicate.trained != checked[row][1]][:SHOWN]
    return NearDuplicateReport(
        sources=count,
        checked=len(checked),
        near=len(near),
        same_template=sum(duplicate.same_template for duplicate in near.values()),
        examples=tuple(
            f"{examples.unit} {examples.name(checked[row][0])}: {_quoted(checked[row][1])}, "
            f"in training {_quoted(near[row].trained)} ({near[row].similarity:.2f})"
            for row in shown
        ),
    )


def _quoted(text: str) -> str:
    return f'"{text[:SHOWN_CHARACTERS]}{"..." if len(text) > SHOWN_CHARACTERS else ""}"'


def _numbered_sources(examples: NumberedCorpus, place: int) -> Iterator[tuple[int, str]]:
    """Yield the sources of pairs with text on both sides, normalized, with the numbers of their examples."""
    for number, example in enumerate(examples):
        text = _normalize(str(example.sources[place])).strip()
        if text and example.target.strip():
            yield number, text
