"""The faults of attention without memory: repeated words and omitted words."""

from abc import abstractmethod
from collections import Counter
from collections.abc import Sequence

from dragoman.evaluation.metrics.metric import Counts, LineMetric

LONGEST = 100  # words of a repeated phrase; without a limit, very long lines would take very long


class Fault(LineMetric):
    """A share of words, in percent: lower is better. Words are runs of letters and digits. Of several references, the
    one with the fewest faults counts (and the longest of these).
    """

    higher_is_better = False

    def _counts(self, hypothesis: str, references: Sequence[str]) -> Counts:
        words = self._words(hypothesis)
        counts = [self._faults(words, self._words(reference)) for reference in references]
        return min(counts, key=lambda count: (count[0], -count[1]))

    def value(self, sums: Counts) -> float:
        faults, words = sums
        return 100.0 * faults / max(1, words)

    @abstractmethod
    def _faults(self, hypothesis: Sequence[str], reference: Sequence[str]) -> tuple[int, int]:
        """The number of faults, and the number of words that they are a share of."""


class RepeatedWords(Fault):
    """Words that say again what was just said, as in "I am am am", in percent of the translation's words:
    `100 sum max(0, repeated(h) - repeated(r)) / sum |h|`, summed over the corpus. A word is repeated where it and the
    words around it copy the words right before them (see `repeated`); what a reference repeats ("very, very good") is
    no fault.
    """

    name = "Repeated words"

    def _faults(self, hypothesis: Sequence[str], reference: Sequence[str]) -> tuple[int, int]:
        return max(0, repeated(hypothesis) - repeated(reference)), len(hypothesis)


class DroppedWords(Fault):
    """Words of the reference that the translation lacks, in percent of the reference's words:
    `100 sum_w max(0, r(w) - h(w)) / sum |r|` with w r(w) times in the reference and h(w) times in the translation,
    summed over the corpus.

    A word that was translated by another one is missing like one that was left out, so this compares systems on the
    same references, and no two test sets.
    """

    name = "Dropped words"

    def _faults(self, hypothesis: Sequence[str], reference: Sequence[str]) -> tuple[int, int]:
        return (Counter(reference) - Counter(hypothesis)).total(), len(reference)


def repeated(words: Sequence[str]) -> int:
    """The number of words in copies of what stands right before them: for any n up to LONGEST, positions i with
    `words[i] == words[i - n]` in a run of n or more such positions (2 in "I am am am", 3 in "a b a b a").
    """
    if len(set(words)) == len(words):
        return 0
    copies = set[int]()
    for n in range(1, min(LONGEST, len(words) // 2) + 1):
        run = 0
        for i in range(n, len(words) + 1):
            if i < len(words) and words[i] == words[i - n]:
                run += 1
                continue
            if run >= n:
                copies.update(range(i - run, i))
            run = 0
    return len(copies)
