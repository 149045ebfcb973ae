"""Rates of errors in words, tokens or characters, and of lines without any."""

from abc import abstractmethod
from collections import Counter
from collections.abc import Sequence
from typing import Literal

from rapidfuzz.distance import Levenshtein

from dragoman.evaluation.metrics.metric import Counts, LineMetric


class ExactMatch(LineMetric):
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


class ErrorRate(LineMetric):
    """Errors in percent of the reference's tokens: lower is better.

    With several references, the nearest counts (the shortest of equally near ones). Errors and tokens are summed over
    the corpus, so that long lines weigh more than short ones, and a line that is much longer than its reference can
    have a rate above 100.
    """

    higher_is_better = False

    def _counts(self, hypothesis: str, references: Sequence[str]) -> Counts:
        tokens = self._tokens(hypothesis)
        other_references = map(self._tokens, references)
        return min((self._errors(tokens, other), len(other)) for other in other_references)

    def value(self, sums: Counts) -> float:
        errors, tokens = sums
        return 100.0 * errors / max(1, tokens)

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
