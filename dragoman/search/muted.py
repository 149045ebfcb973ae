"""Searching without some symbols: those that only sources have, those of other languages."""

from typing import Generic, final

from torch import Tensor

from dragoman.data.batch import SourceBatch
from dragoman.model.seq2seq import Prediction
from dragoman.model.shapes import Int
from dragoman.search.search import Predictor, State


@final
class Muted(Generic[State]):
    """A model that never says these symbols. What others get stays as it is: they are its own probabilities."""

    def __init__(self, model: Predictor[State], symbols: list[int]) -> None:
        self.start_id = model.start_id
        self._model = model
        self._symbols = symbols

    def begin(self, sources: tuple[SourceBatch, ...]) -> State:
        return self._model.begin(sources)

    def predict(self, symbols: Int[Tensor, "R"], state: State) -> Prediction[State]:
        step = self._model.predict(symbols, state)
        step.log_probs[:, self._symbols] = float("-inf")
        return step

    def reorder(self, state: State, rows: Int[Tensor, "R"], sentences: Int[Tensor, "B"] | None = None) -> State:
        return self._model.reorder(state, rows, sentences)
