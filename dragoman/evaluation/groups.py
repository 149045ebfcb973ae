"""Quality by group: of sentences, by their length or a tag, and of words, by their frequency in a corpus."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from dragoman.evaluation.metrics.metric import Counts, LineMetric
from dragoman.text.tokenise import punctuation

LENGTHS = (2, 5, 10, 15, 20, 25, 30, 40, 50, 75, 100)  # the most words in each bucket, the same for all runs
FREQUENCIES = (0, 1, 3, 9, 99, 999)  # the most occurrences


class Group(NamedTuple):
    """Some sentences of a test set, by their numbers from 0."""

    name: str
    sentences: list[int]


def by_length(lines: Iterable[str]) -> list[Group]:
    """Group sentences by their number of words and marks of punctuation; empty groups are left out."""
    found: dict[int, list[int]] = {}
    for number, line in enumerate(lines):
        found.setdefault(bisect_left(LENGTHS, len(punctuation(line))), []).append(number)
    return [Group(_range(LENGTHS, bucket), numbers) for bucket, numbers in sorted(found.items())]


def by_tag(tags: Sequence[str]) -> list[Group]:
    """Group sentences by a tag each, in alphabetical order."""
    found: dict[str, list[int]] = {}
    for number, tag in enumerate(tags):
        found.setdefault(tag, []).append(number)
    return [Group(*pair) for pair in sorted(found.items())]


def _range(limits: Sequence[int], bucket: int) -> str:
    """The name of a bucket: `0`, `1-3`, `over 100`."""
    if bucket == len(limits):
        return f"over {limits[-1]}"
    first, last = limits[bucket - 1] + 1 if bucket else min(limits[0], 1), limits[bucket]
    return f"{first}" if first == last else f"{first}-{last}"


def frequencies(lines: Iterable[str]) -> Mapping[str, int]:
    """How often each word occurs in a corpus, in lower case."""
    count = Counter[str]()
    words = Words({}, 0)
    for line in lines:
        count.update(words.of(line))
    return count


class Words(LineMetric):
    """How well words of one bucket of FREQUENCIES are translated, 0 to 100: `F = 2 P R / (P + R)`, where of the words
    of the bucket, P in the translation and R in the reference are in the other one too, as often as both have them.

    Words are runs of letters and digits in lower case. Of several references, the one with most of the translation's
    words counts (the first of these), for all buckets the same.
    """

    name = "F of words"

    def __init__(self, frequency: Mapping[str, int], bucket: int) -> None:
        super().__init__(lowercase=True)
        self._frequency = frequency
        self._bucket = bucket
        self.group = _range(FREQUENCIES, bucket)

    def of(self, line: str) -> list[str]:
        """The words of a line."""
        return self._words(line)

    def number(self, lines: Iterable[str]) -> int:
        """How many words of the bucket a text has."""
        return sum(map(self._within, Counter(word for line in lines for word in self.of(line)).items()))

    def _counts(self, hypothesis: str, references: Sequence[str]) -> Counts:
        said = Counter(self.of(hypothesis))
        wanted = max((Counter(self.of(reference)) for reference in references), key=lambda each: (said & each).total())
        return [sum(map(self._within, counts.items())) for counts in (said & wanted, said, wanted)]

    def _within(self, counted: tuple[str, int]) -> int:
        word, times = counted
        return times if bisect_left(FREQUENCIES, self._frequency.get(word, 0)) == self._bucket else 0

    def value(self, sums: Counts) -> float:
        common, said, wanted = sums
        return 200.0 * common / max(1, said + wanted)
