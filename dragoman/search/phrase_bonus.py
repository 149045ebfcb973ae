"""Phrases that are favored: a bonus for each of their symbols, taken back where one breaks off."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

from torch import Tensor

from dragoman.data.batch import SourceBatch
from dragoman.data.vocabulary import PAD
from dragoman.model.predictor import Continuations, Prediction, Predictor
from dragoman.model.shapes import Int
from dragoman.model.state import select_rows
from dragoman.search.phrases import PhraseConstraint, SentencePhrases


@dataclass(frozen=True, eq=False)
class BonusState:
    """The model's state, and that of the phrases; `begun`: whether there is a symbol before the next one."""

    model: Any
    phrases: Any
    begun: bool


@final
class PhraseBonus(Predictor[BonusState]):
    """A model that adds `weight` to log P of each symbol with which a phrase that is missing begins or goes on, and
    takes back what it has added to a phrase that breaks off, at the end symbol as at any other (shallow fusion with
    failure arcs, as in Zhao et al. 2019). So beginnings of phrases are worth nothing in the end.
    """

    def __init__(self, model: Predictor[Any], phrases: PhraseConstraint, weight: float) -> None:
        self.start_id = model.start_id
        self._model = model
        self._phrases = phrases
        self._weight = weight

    def begin(self, sources: tuple[SourceBatch, ...]) -> BonusState:
        return BonusState(self._model.begin(sources), self._phrases.start(), begun=False)

    def predict(self, symbols: Int[Tensor, "R"], state: BonusState) -> Prediction[BonusState]:
        # The start symbol, which the first step reads, is no part of a translation.
        phrases = self._phrases.advance(symbols, state.phrases) if state.begun else state.phrases
        step = self._model.predict(symbols, state.model)
        broken, following, gains = self._phrases.gains(phrases)
        # All symbols lose what has begun; those that go on with a phrase get it back, and more, below.
        if broken.any():
            step.log_probs.add_(broken.unsqueeze(1), alpha=self._weight)
        columns, has_column = step.find_columns(following)
        rows, places = (has_column & (following != PAD)).nonzero(as_tuple=True)  # (N,) each
        more = self._weight * (gains[rows, places] - broken[rows])
        step.log_probs[rows, columns[rows, places]] += more.to(step.log_probs.dtype)
        return step.followed_by(BonusState(step.state, phrases, begun=True))

    def reorder(
        self, state: BonusState, rows: Int[Tensor, "R"], sentences: Int[Tensor, "B"] | None = None
    ) -> BonusState:
        phrases = select_rows(state.phrases, rows)
        return replace(state, model=self._model.reorder(state.model, rows, sentences), phrases=phrases)

    def replace_candidates(self, candidates: Continuations, step: Prediction[BonusState]) -> Continuations:
        return self._model.replace_candidates(candidates, step.followed_by(step.state.model))


def bonuses(phrases: SentencePhrases, symbols: Sequence[int], weight: float) -> Iterator[float]:
    """Yield what `PhraseBonus` added to log P of each symbol and of the end: less than 0 where a phrase breaks off."""
    readings = phrases.start
    for symbol in symbols:
        broken, gains = phrases.gains(readings)
        yield weight * gains.get(symbol, broken)
        readings = phrases.after(readings, symbol)
    yield weight * phrases.gains(readings)[0]
