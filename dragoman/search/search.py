"""The interface of all searches, and what they need of a model."""

from abc import ABC, abstractmethod
from typing import Protocol, TypeVar, runtime_checkable

import torch
from torch import Tensor

from dragoman.data.batch import SourceBatch
from dragoman.errors import UserError
from dragoman.model.seq2seq import Prediction
from dragoman.model.shapes import Int
from dragoman.search.hypothesis import Hypothesis
from dragoman.search.limits import Limit

State = TypeVar("State")


@runtime_checkable
class Predictor(Protocol[State]):
    """Whatever can be searched: a model, or several behaving as one.

    Its states are of its own making: whoever searches only hands them back.
    """

    start_id: int

    def begin(self, sources: tuple[SourceBatch, ...]) -> State:
        """The state before the first symbol, with a row for each sentence."""

    def predict(self, symbols: Int[Tensor, "R"], state: State) -> Prediction[State]:
        """One step: every row reads a symbol (`start_id` first) and predicts the next."""

    def reorder(self, state: State, rows: Int[Tensor, "R"], sentences: Int[Tensor, "B"] | None = None) -> State:
        """The state of these rows, equally many of each sentence and side by side. `sentences` are those that are left,
        if some are not: what belongs to a source need be there once.
        """


class Search(ABC):
    """`search(model, sources, n_best, spare)`: for each sentence its best hypotheses, the best first, at least one.

    Up to `spare` more may follow: the next best of those that had ended by then.
    """

    limit: Limit  # how long a hypothesis may become
    width: int  # how many hypotheses of a sentence are followed at once: as many can be asked for

    @torch.inference_mode()
    def __call__(
        self, model: Predictor[State], sources: tuple[SourceBatch, ...], n_best: int = 1, spare: int = 0
    ) -> list[list[Hypothesis]]:
        if not 1 <= n_best <= self.width:
            raise UserError(
                f"n-best {n_best}: this search gives from 1 to {self.width} translations, a wider beam more"
            )
        return self.find(model, sources, n_best, spare)

    @abstractmethod
    def find(
        self, model: Predictor[State], sources: tuple[SourceBatch, ...], n_best: int, spare: int
    ) -> list[list[Hypothesis]]: ...
