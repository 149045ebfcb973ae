"""The interface of libraries that search by themselves, in the place of a predictor and our searches."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

from dragoman.data.batch import SourceBatch
from dragoman.search.constraints import Constraint
from dragoman.search.decoding import Deadline
from dragoman.search.hypothesis import Hypothesis
from dragoman.search.search import Search


class SearchRequest(NamedTuple):
    """A batch of sentences, as `Search` is called with it. Each hypothesis begins with the prefix of its sentence.
    Without `details`, log P of symbols may be NaN, and there is no attention, which is faster.
    """

    search: Search
    sources: tuple[SourceBatch, ...]
    prefixes: Sequence[Sequence[int]]
    n_best: int = 1
    spare: int = 0
    constraints: Sequence[Constraint] = ()
    deadline: Deadline | None = None
    details: bool = True


class SearchEngine(ABC):
    """A library with a model and searches of its own."""

    name: str  # as in `--engine`

    @abstractmethod
    def find(self, request: SearchRequest) -> list[list[Hypothesis]]:
        """Return the hypotheses of each sentence, best first. UserError for what the library cannot do."""
