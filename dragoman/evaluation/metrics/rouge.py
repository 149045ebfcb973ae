"""ROUGE: how much of a reference a text has, in n-grams or in order."""

from abc import abstractmethod
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal, TypeAlias

from rapidfuzz.distance import LCSseq

from dragoman.configuration.values import Positive
from dragoman.evaluation.metrics.metric import Counts, LineMetric

Measure: TypeAlias = Literal["f", "precision", "recall"]


class Rouge(LineMetric):
    """ROUGE (Lin 2004), 0 to 100: the mean over all sentences of recall R, of precision P or, by default, of
    `F = (1 + β²) R P / (R + β² P)`, which weights recall β times as much. `measure` selects one, and `beta` is β.

    Words are runs of letters and digits in any script, in lower case unless `lowercase: false`. Of several references,
    the one with the highest F counts (the first of several).
    """

    unit: str  # what overlaps, as the name tells it

    def __init__(self, *, measure: Measure = "f", beta: Positive = 1.0, lowercase: bool = True) -> None:
        super().__init__(lowercase=lowercase)
        self.measure = measure
        self.beta = beta
        self.name = f"ROUGE-{self.unit}" if measure == "f" else f"ROUGE-{self.unit} {measure}"

    def signature(self, references: int) -> str:
        weight = f"|beta:{self.beta:g}" if self.measure == "f" else ""
        return f"{super().signature(references)}|measure:{self.measure}{weight}"

    def _counts(self, hypothesis: str, references: Sequence[str]) -> Counts:
        words = self._words(hypothesis)
        measures = (self._measures(words, self._words(reference)) for reference in references)
        best = max(measures, key=lambda measures: measures[0])
        return best[("f", "precision", "recall").index(self.measure)], 1

    def value(self, sums: Counts) -> float:
        total, sentences = sums
        return 100.0 * total / sentences

    def _measures(self, hypothesis: Sequence[str], reference: Sequence[str]) -> tuple[float, float, float]:
        """F, precision and recall."""
        common, of_hypothesis, of_reference = self._overlap(hypothesis, reference)
        if not common:
            return 0.0, 0.0, 0.0
        precision, recall = common / of_hypothesis, common / of_reference
        weight = self.beta**2
        return (1 + weight) * recall * precision / (recall + weight * precision), precision, recall

    @abstractmethod
    def _overlap(self, hypothesis: Sequence[str], reference: Sequence[str]) -> tuple[int, int, int]:
        """How much they have in common, how much there is in the translation, and how much in the reference."""


class Rouge1(Rouge):
    """ROUGE-1: words that translation and reference have in common."""

    unit = "1"

    def _overlap(self, hypothesis: Sequence[str], reference: Sequence[str]) -> tuple[int, int, int]:
        return _common(Counter(hypothesis), Counter(reference))


class Rouge2(Rouge):
    """ROUGE-2: pairs of adjacent words in common."""

    unit = "2"

    def _overlap(self, hypothesis: Sequence[str], reference: Sequence[str]) -> tuple[int, int, int]:
        return _common(Counter(pairwise(hypothesis)), Counter(pairwise(reference)))


def _common(hypothesis: "Counter[object]", reference: "Counter[object]") -> tuple[int, int, int]:
    return (hypothesis & reference).total(), hypothesis.total(), reference.total()


class RougeL(Rouge):
    """ROUGE-L: the longest common subsequence of words."""

    unit = "L"

    def _overlap(self, hypothesis: Sequence[str], reference: Sequence[str]) -> tuple[int, int, int]:
        return LCSseq.similarity(hypothesis, reference), len(hypothesis), len(reference)
