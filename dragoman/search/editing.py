"""Searching for edit operations: they always fit the sentence that is edited."""

from dataclasses import dataclass
from typing import Generic, final

from torch import Tensor

from dragoman.data.batch import SourceBatch
from dragoman.model.seq2seq import Prediction
from dragoman.model.shapes import Int
from dragoman.model.state import select
from dragoman.search.search import Predictor, State


@dataclass(frozen=True, eq=False)
class EditingState(Generic[State]):
    """The model's own state, and how many symbols of the edited sentence no operation has spoken of yet."""

    model: State
    left: Int[Tensor, "R"]


@final
class Editing(Generic[State]):
    """A model that writes the operations of `text/edits.py`: where the edited sentence is at its end, nothing can be
    kept or deleted.

    `lengths` says how many symbols are edited of each sentence, `operations` are the ids of keeping and deleting. What
    other symbols get stays as it is: these are the model's own probabilities.
    """

    def __init__(self, model: Predictor[State], lengths: Int[Tensor, "B"], operations: tuple[int, ...]) -> None:
        self.start_id = model.start_id
        self._model = model
        self._lengths = lengths
        self._operations = operations

    def begin(self, sources: tuple[SourceBatch, ...]) -> EditingState[State]:
        return EditingState(self._model.begin(sources), self._lengths)

    def predict(self, symbols: Int[Tensor, "R"], state: EditingState[State]) -> Prediction[EditingState[State]]:
        step = self._model.predict(symbols, state.model)
        spoken = sum(symbols == operation for operation in self._operations)
        left = state.left - spoken
        for operation in self._operations:
            step.log_probs[:, operation].masked_fill_(left <= 0, float("-inf"))
        return Prediction(step.log_probs, step.attention, EditingState(step.state, left))

    def reorder(
        self, state: EditingState[State], rows: Int[Tensor, "R"], sentences: Int[Tensor, "B"] | None = None
    ) -> EditingState[State]:
        return EditingState(self._model.reorder(state.model, rows, sentences), select(state.left, rows))
