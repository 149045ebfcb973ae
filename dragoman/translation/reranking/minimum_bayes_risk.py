"""Minimum Bayes risk: of several translations of a text, the one that is most like all of them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from dragoman.configuration.components import Spec
from dragoman.evaluation.metrics.metric import Metric
from dragoman.search.table import SEARCHES, in_place_of
from dragoman.translation.translation import Translation

CANDIDATES = 100
PLACES = 9  # of utilities: sums in another order differ in the last digits


class MinimumBayesRisk(NamedTuple):
    """`argmax_y 1 / (n - 1) sum_(y' != y) u(y, y')` over n translations that a search gives (AN: samples, compared in
    pairs; Eikema and Aziz 2020). u is the score of y by a metric of sentences, with y' as its reference.

    A translation that was drawn several times counts several times, and each of them has the others beside it. Of equal
    ones the first counts. `candidates` is n, by default as many as the search gives, up to 100.
    """

    utility: Metric
    candidates: int | None = None

    def search(self, own: Spec) -> Spec:
        """The search that gives so many: samples, with the limits of a run's own search."""
        return own if SEARCHES[own.kind].draws else in_place_of(own, Spec("sample"))

    def count(self, most: int) -> int:
        """How many translations to ask of a search that gives so many."""
        return min(CANDIDATES, most) if self.candidates is None else self.candidates

    def ranked(self, translations: Sequence[Translation]) -> list[Translation]:
        """The different ones of these translations, best first, with their expected utility as score (negative if less
        is better by this metric).
        """
        utilities = self.expected([translation.text for translation in translations])
        first = {translation.text: translation for translation in reversed(translations)}
        scored = [replace(first[text], score=utility) for text, utility in utilities.items()]
        return sorted(scored, key=lambda translation: -translation.score)

    def expected(self, texts: Sequence[str]) -> dict[str, float]:
        """The mean utility of each different text, in order, beside the other texts; 0 if there are none."""
        counts = Counter(texts)
        scores = self.utility.similarities(list(counts))
        sums = scores @ np.array(list(counts.values()), np.float64) - scores.diagonal()
        means = sums / max(1, len(texts) - 1)
        signed = means if self.utility.higher_is_better else -means
        return dict(zip(counts, (signed.round(PLACES) + 0.0).tolist(), strict=True))  # 0.0, never -0.0
