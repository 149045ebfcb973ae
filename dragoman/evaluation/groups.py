"""Quality by group: of sentences, by their length or a tag; of words, by their frequency in a corpus; and of edits, by
their type.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from rapidfuzz.distance import Levenshtein

from dragoman.evaluation.metrics.metric import Counts, LineMetric
from dragoman.text.normalizer import composed
from dragoman.text.pretokenizer import punctuation

LENGTHS = (2, 5, 10, 15, 20, 25, 30, 40, 50, 75, 100)  # the most words in each bucket, the same for all runs
FREQUENCIES = (0, 1, 3, 9, 99, 999)  # the most occurrences
EDITS = ("insert", "delete", "substitute")


class SentenceGroup(NamedTuple):
    """Some sentences of a test set, by their numbers from 0."""

    name: str
    sentences: list[int]


def by_length(lines: Iterable[str]) -> list[SentenceGroup]:
    """Group sentences by their number of words and marks of punctuation; empty groups are left out."""
    buckets: dict[int, list[int]] = {}
    for number, line in enumerate(lines):
        buckets.setdefault(bisect_left(LENGTHS, len(punctuation(line))), []).append(number)
    return [SentenceGroup(_range(LENGTHS, bucket), numbers) for bucket, numbers in sorted(buckets.items())]


def by_tag(tags: Sequence[str]) -> list[SentenceGroup]:
    """Group sentences by a tag each, in alphabetical order."""
    by_tag_name: dict[str, list[int]] = {}
    for number, tag in enumerate(tags):
        by_tag_name.setdefault(tag, []).append(number)
    return [SentenceGroup(*pair) for pair in sorted(by_tag_name.items())]


def _range(limits: Sequence[int], bucket: int) -> str:
    """The name of a bucket: `0`, `1-3`, `over 100`."""
    if bucket == len(limits):
        return f"over {limits[-1]}"
    first, last = limits[bucket - 1] + 1 if bucket else min(limits[0], 1), limits[bucket]
    return f"{first}" if first == last else f"{first}-{last}"


def frequencies(lines: Iterable[str]) -> Mapping[str, int]:
    """How often each word occurs in a corpus, in lower case."""
    count = Counter[str]()
    words = WordBucketF1({}, 0)
    for line in lines:
        count.update(words.of(line))
    return count


class WordBucketF1(LineMetric):
    """How well words of one bucket of FREQUENCIES are translated, 0 to 100: `F = 2 P R / (P + R)`, where of the words
    of the bucket, P in the translation and R in the reference are in the other one too, as often as both have them.

    Words are runs of letters and digits in lower case. Of several references, the one with most of the translation's
    words counts (the first of these), for all buckets the same.
    """

    name = "F1 of words"

    def __init__(self, frequency: Mapping[str, int], bucket: int) -> None:
        super().__init__(lowercase=True)
        self._frequency = frequency
        self._bucket = bucket
        self.group = _range(FREQUENCIES, bucket)

    def of(self, line: str) -> list[str]:
        """The words of a line."""
        return self._words(composed(line))

    def number(self, lines: Iterable[str]) -> int:
        """How many words of the bucket a text has."""
        return sum(map(self._within, Counter(word for line in lines for word in self.of(line)).items()))

    def _counts(self, hypothesis: str, references: Sequence[str]) -> Counts:
        counts = Counter(self.of(hypothesis))
        wanted = max(
            (Counter(self.of(reference)) for reference in references),
            key=lambda reference_counts: (counts & reference_counts).total(),
        )
        return [sum(map(self._within, counts.items())) for counts in (counts & wanted, counts, wanted)]

    def _within(self, counted: tuple[str, int]) -> int:
        word, times = counted
        return times if bisect_left(FREQUENCIES, self._frequency.get(word, 0)) == self._bucket else 0

    def value(self, sums: Counts) -> float:
        common, predicted, wanted = sums
        return 200.0 * common / max(1, predicted + wanted)


class Edit(NamedTuple):
    """One word inserted, deleted or substituted: the new word, and the number of the old one, or of that before which
    the new one is inserted.
    """

    type: str
    place: int
    word: str


def edits(before: Sequence[str], after: Sequence[str]) -> Counter[Edit]:
    """The fewest edits that turn the words `before` into `after` (Levenshtein 1966). Of equally few, which they are is
    left to rapidfuzz.
    """
    counts = Counter[Edit]()
    for edit in Levenshtein.editops(before, after):
        name = "substitute" if edit.tag == "replace" else edit.tag
        counts[Edit(name, edit.src_pos, "" if name == "delete" else after[edit.dest_pos])] += 1
    return counts


class _OfEdits(LineMetric):
    """A metric of the edits of one type in EDITS. Words are separated by white space, as in `wer`."""

    def __init__(self, edit: str, *, lowercase: bool = False) -> None:
        super().__init__(lowercase=lowercase)
        self.group = edit

    def edits(self, before: str, after: str) -> Counter[Edit]:
        """The edits, of all types, that turn one line into another."""
        return edits(*(self._cased(composed(text)).split() for text in (before, after)))

    def _number(self, counts: Counter[Edit]) -> int:
        return sum(times for edit, times in counts.items() if edit.type == self.group)


class EditTypeRate(_OfEdits):
    """Edits of one type that turn the translation into the reference, in percent of the reference's words: lower is
    better. The rates of all types add up to the word error rate.

    Of several references, the nearest counts (the shortest of equally near ones), for all types the same.
    """

    name = "Edits"
    higher_is_better = False

    def _counts(self, hypothesis: str, references: Sequence[str]) -> Counts:
        candidates = ((self.edits(hypothesis, reference), len(reference.split())) for reference in references)
        nearest, words = min(candidates, key=lambda pair: (pair[0].total(), pair[1]))
        return self._number(nearest), words

    def value(self, sums: Counts) -> float:
        count, words = sums
        return 100.0 * count / max(1, words)


class EditScore(_OfEdits):
    """How well edits of one type are made, 0 to 100: `F = 2 P R / (P + R)`, where of the edits of the type, P that the
    translation makes and R that the reference makes are in the other one too. Both are edits of the same text, such as
    a machine translation, one line in `edited` for each line to score.

    Of several references, the one with most of the translation's edits counts (the first of these), for all types the
    same.
    """

    name = "F1 of edits"

    def __init__(self, edit: str, edited: Sequence[str], *, lowercase: bool = False) -> None:
        super().__init__(edit, lowercase=lowercase)
        self._edited = edited

    def counts(self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> Float[np.ndarray, "N K"]:
        return super().counts(hypotheses, [self._edited, *references])

    def number(self, lines: Iterable[str]) -> int:
        """How many edits of the type turn the edited text into this one."""
        return sum(self._number(self.edits(*pair)) for pair in zip(self._edited, lines, strict=True))

    def _counts(self, hypothesis: str, references: Sequence[str]) -> Counts:
        before, *afters = references
        predicted = self.edits(before, hypothesis)
        wanted = max(
            (self.edits(before, after) for after in afters), key=lambda candidate: (predicted & candidate).total()
        )
        return [self._number(edits_of) for edits_of in (predicted & wanted, predicted, wanted)]

    def value(self, sums: Counts) -> float:
        common, predicted, wanted = sums
        return 200.0 * common / max(1, predicted + wanted)
