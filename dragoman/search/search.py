"""The interface of all searches."""

from abc import ABC, abstractmethod

from dragoman.data.batch import Sequence
from dragoman.search.hypothesis import Hypothesis, Steps


class Search(ABC):
    """`search(model, sources)`: for each sentence its best hypotheses, the best first; at least one each."""

    @abstractmethod
    def __call__(self, model: Steps, sources: tuple[Sequence, ...], n_best: int = 1) -> list[list[Hypothesis]]: ...
