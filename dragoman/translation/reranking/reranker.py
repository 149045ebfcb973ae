"""Reranking: the best of several translations by the weighted sum of criteria."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from dragoman.configuration.components import Spec
from dragoman.search.table import with_width
from dragoman.translation.reranking.criteria import Candidates, Criterion, figures
from dragoman.translation.translation import Translation


class Reranker(NamedTuple):
    """`argmax_y sum_k w_k h_k(y)` over up to `candidates` different translations that a search gives, with criteria h_k
    and their weights w_k; of equal ones the one that the search ranks higher. `alpha` divides log-probabilities by a
    power of the length. `first_number` is the number of the first text in its file, for criteria that are
    read from a file.
    """

    criteria: Sequence[Criterion]
    weights: Mapping[str, float]
    alpha: float = 1.0
    candidates: int = 20
    first_number: int = 0

    def search(self, own: Spec) -> Spec:
        """The search that gives so many: a run's own, with a wider beam if need be."""
        return with_width(own, self.candidates)

    def count(self, most: int) -> int:
        """How many translations to ask of a search that gives so many."""
        return min(self.candidates, most)

    def ranked(self, sentences: Sequence[Candidates]) -> list[list[Translation]]:
        """The translations of each sentence, best first, with their criteria, and the weighted sum as score."""
        sentences_and_figures = zip(sentences, figures(self.criteria, sentences), strict=True)
        scored = (
            [
                self._rescore(one, {name: figure.normalized(self.alpha) for name, figure in criteria.items()})
                for one, criteria in zip(item.translations, of_each, strict=True)
            ]
            for item, of_each in sentences_and_figures
        )
        return [sorted(translations, key=lambda item: -item.score) for translations in scored]

    def _rescore(self, translation: Translation, criteria: Mapping[str, float]) -> Translation:
        total = sum((self.weights[name] * value for name, value in criteria.items()), 0.0)
        return replace(translation, score=total, criteria=criteria, alternatives=())
