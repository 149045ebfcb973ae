"""Rates of errors in words, tokens or characters, of lines without any, and of repeated and omitted words."""

from abc import abstractmethod
from collections import Counter
from collections.abc import Sequence
from typing import Literal

from rapidfuzz.distance import Levenshtein

from dragoman.evaluation.metrics.metric import Counts, LineMetric

LONGEST = 100  # words of a repeated phrase; without a limit, very long lines would take very long


class ExactMatchRate(LineMetric):
    """The percentage of lines that equal one of their references: the accuracy in tasks of single words.

    100 minus this score is called word error rate in SIGMORPHON's tasks and elsewhere; that is not the word error rate
    of speech recognition (`wer`). Nor is this score `accuracy`, which is that of symbols under teacher forcing.
    """

    name = "Exact match"

    def _counts(self, hypothesis: str, references: Sequence[str]) -> Counts:
        return self._cased(hypothesis) in map(self._cased, references), 1

    def value(self, sums: Counts) -> float:
        right, lines = sums
        return 100.0 * right / lines


class Rate(LineMetric):
    """A share in percent: lower is better. Both counts are summed over the corpus."""

    higher_is_better = False

    def value(self, sums: Counts) -> float:
        part, whole = sums
        return 100.0 * part / max(1, whole)


class ErrorRate(Rate):
    """Errors in percent of the reference's tokens: lower is better.

    With several references, the nearest counts (the shortest of equally near ones). Errors and tokens are summed over
    the corpus, so that long lines weigh more than short ones, and a line that is much longer than its reference can
    have a rate above 100.
    """

    def _counts(self, hypothesis: str, references: Sequence[str]) -> Counts:
        tokens = self._tokens(hypothesis)
        other_references = map(self._tokens, references)
        return min((self._errors(tokens, other), len(other)) for other in other_references)

    def _tokens(self, line: str) -> Sequence[str]:
        """What is counted, by default words separated by white space."""
        return self._cased(line).split()

    @abstractmethod
    def _errors(self, hypothesis: Sequence[str], reference: Sequence[str]) -> int:
        """The number of errors in the tokens of a translation."""


class WordErrorRate(ErrorRate):
    """Word error rate, WER: insertions, deletions and substitutions of words separated by white space."""

    name = "WER"

    def _errors(self, hypothesis: Sequence[str], reference: Sequence[str]) -> int:
        return Levenshtein.distance(hypothesis, reference)


class TokenErrorRate(WordErrorRate):
    """Insertions, deletions and substitutions of tokens, in percent of the reference's tokens: lower is better.

    Tokens are separated by white space, such as phones ("phone error rate"); with `unit: character` they are all
    characters, including spaces. Unlike in `ter`, no single edit accounts for tokens that have been moved.
    """

    name = "Token error rate"

    def __init__(self, *, lowercase: bool = False, unit: Literal["token", "character"] = "token") -> None:
        super().__init__(lowercase=lowercase)
        self.unit = unit

    def signature(self, references: int) -> str:
        return f"{super().signature(references)}|unit:{self.unit}"

    def _tokens(self, line: str) -> Sequence[str]:
        return self._cased(line) if self.unit == "character" else super()._tokens(line)


class CharacterErrorRate(WordErrorRate):
    """Character error rate, CER: insertions, deletions and substitutions of characters, including spaces."""

    name = "CER"

    def _tokens(self, line: str) -> Sequence[str]:
        return self._cased(line)


class PositionIndependentErrorRate(ErrorRate):
    """Position-independent word error rate, PER (Tillmann et al. 1997): words that are wrong wherever they stand,
    `max(|h|, |r|) - sum_w min(h(w), r(w))`, where w is h(w) times in the translation and r(w) times in the reference.
    """

    name = "PER"

    def _errors(self, hypothesis: Sequence[str], reference: Sequence[str]) -> int:
        common = (Counter(hypothesis) & Counter(reference)).total()
        return max(len(hypothesis), len(reference)) - common


class WordFaultRate(Rate):
    """A share of words, in percent: lower is better. Words are runs of letters and digits. Of several references, the
    one with the fewest faults counts (and the longest of these).
    """

    def _counts(self, hypothesis: str, references: Sequence[str]) -> Counts:
        words = self._words(hypothesis)
        counts = [self._faults(words, self._words(reference)) for reference in references]
        return min(counts, key=lambda count: (count[0], -count[1]))

    @abstractmethod
    def _faults(self, hypothesis: Sequence[str], reference: Sequence[str]) -> tuple[int, int]:
        """The number of faults, and the number of words that they are a share of."""


class RepeatedWords(WordFaultRate):
    """Words that say again what was just said, as in "I am am am", in percent of the translation's words:
    `100 sum max(0, repeated(h) - repeated(r)) / sum |h|`, summed over the corpus. A word is repeated where it and the
    words around it copy the words right before them (see `repeated`); what a reference repeats ("very, very good") is
    no fault.
    """

    name = "Repeated words"

    def _faults(self, hypothesis: Sequence[str], reference: Sequence[str]) -> tuple[int, int]:
        return max(0, repeated(hypothesis) - repeated(reference)), len(hypothesis)


class DroppedWords(WordFaultRate):
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
